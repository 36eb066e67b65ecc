"""Recomputes the figures of a result from the logs of its run, and says where the two disagree.

    python tests/reference/recompute.py RESULT.json REQUESTS OPERATIONS [TIMELINE.json]
    python tests/reference/recompute.py --folders FOLDER ...

The files are those of `--json`, `--log-latency`, `--log-operations` and `--timeline` with `--timeline-window ..`; logs
may be CSV or Parquet. A folder has them as result.json, requests.csv, operations.csv and, if at all, timeline.json. A
run must have been replayed to its end. Disagreements are printed one a line; the exit status is 1 if there are any.

Nothing here knows the engine: only the definitions of docs/result.md and docs/outputs.md, the configuration in the
result, and the logs.
Every key of the result is recomputed, or in the table NOT_RECOMPUTED with the reason why not; a key that is neither is
a disagreement too.
"""

import fnmatch
import re
import sys
from math import isclose
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # called by its path, it does not know the folder of its package
    sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.recomputing.figures import Between, by_cause
from reference.recomputing.host_side import of_host_side
from reference.recomputing.logs import Run
from reference.recomputing.members import of_members, of_ssds
from reference.recomputing.operations import (
    check_programs,
    counts,
    of_amplification,
    of_collections,
    of_slc_cache,
    of_units,
)
from reference.recomputing.parts import of_parts
from reference.recomputing.replaced_parts import of_rebuilds, of_replacements
from reference.recomputing.requests import check_order, of_bandwidth, of_latencies_around, of_workload
from reference.recomputing.units import of_busy_times, of_offered_load
from reference.recomputing.wear import of_wear

# Keys that are not recomputed, by pattern ("*" also takes what follows a "/"), and why not. What follows from them
# alone is recomputed nonetheless.
DECIDED = "counted where the scheme decides, which no operation shows; models without time check it (tests/reference)"
AT_THE_END = "the state at the end, which no log shows; its parts are checked against the maps by the property tests"
GIVEN = "given: the configuration, or what follows from it before anything runs (crates/sim/tests/suite/config)"
INPUT = "a fact of the trace, which the readers' tests check"
NOT_RECOMPUTED = {
    "schema version device scheme seed partial config* protects* placement* survives*": GIVEN,
    "workload/name workload/sha256 workload/format workload/time_unit workload/devices workload/skipped": INPUT,
    "workload/ignored* workload/out_of_order workload/displaced workload/filtered workload/wrapped": INPUT,
    "workload/left_out workload/compacted* workload/unsupported* workload/lost_events workload/reissued": INPUT,
    "workload/truncated workload/warnings* workload/spread_tick_ns workload/steps_back": INPUT,
    "workload/passes": "how often the trace was begun, as the run was told (crates/sim/tests/suite/wear_out.rs)",
    "capacity/user_bytes capacity/space_bytes capacity/filled_bytes capacity/redundancy_bytes capacity/tables*": GIVEN,
    "capacity/redundancy_share capacity/nvram* capacity/share_of_preset buffer/destage_bytes_per_second": GIVEN,
    "capacity/placed_pages precondition* drive*": "happens before time begins, so that no log has it",
    "flash_units/programs/* padded_units": "the log has programs of flash pages, each by the cause of its first unit "
    "(crates/sim/tests/suite/units.rs)",
    "requests/unmapped_reads requests/prefilled_pages": DECIDED,
    "parity_updates* buffer/kind buffer/read_hits buffer/read_misses buffer/write_hits buffer/write_misses": DECIDED,
    "buffer/evictions buffer/pages_written_out buffer/failed_evictions*": DECIDED,
    "buffer/destages buffer/pages_destaged": DECIDED,
    "mapping*": "lookups in RAM; crates/sim/tests/suite/translation.rs and a model of the table check them",
    "guard/hits guard/misses guard/commit* guard/widened guard/widen_reads": DECIDED,
    "guard/entries guard/most_entries guard/old_pages guard/most_old_pages buffer/pages_buffered": AT_THE_END,
    "collection/merges_*": "they differ in what they leave, not in what they do: crates/ftl/tests/suite/hybrid.rs",
    "members/*/free_blocks members/*/state losses* capacity/live_pages": AT_THE_END,
    "capacity/effective_over_provisioning": AT_THE_END,
    "capacity/usable_over_provisioning": AT_THE_END,
    "faults*": "what was injected, as the run was told",
    "devices/*/state devices/*/member devices/*/free_blocks": AT_THE_END,
    "wear_outs/*/exposed_pages wear_outs/*/pages_lost": "needs each scheme's rule of what a failure takes: "
    "crates/sim/tests/suite/wear_out.rs",
    "rebuild/*/failed* rebuild/*/pages_lost rebuild/*/pages_copied": "what failed, and how pages were brought back: "
    "decided, and checked page by page by torture",
    "rebuild/*/pages_superseded": "what was still lost at the end of a rebuild is in no log: "
    "crates/sim/tests/suite/failure.rs",
    "replacements/*/old_device replacements/*/new_device replacements/*/outcome replacements/*/is_shadow": "decided: "
    "crates/sim/tests/suite/array.rs",
    "replacements/*/started_ns replacements/*/ended_ns replacements/*/hot_* replacements/*/cold_*": DECIDED,
    "replacements/*/shadow_reads_after": DECIDED,
    "window*": "needs each scheme's rule of what a failure takes: crates/sim/tests/suite/results.rs tries them all",
    "verify*": "found by the oracle, and checked by deliberate faults (crates/torture/tests/suite/mutants.rs)",
    "drain/pages drain/commits drain/simulated_ns drain/flash_ops/*": "a drain comes after all outputs have ended",
    "engine*": "what the machine needed",
}
LISTED = re.compile("|".join(fnmatch.translate(pattern) for patterns in NOT_RECOMPUTED for pattern in patterns.split()))


def recomputed(run: Run) -> tuple[dict[str, Any], list[str]]:
    """Figures by path, and what contradicts itself in the logs."""
    found: dict[str, Any] = {}
    complaints: list[str] = []
    check_order(run, complaints)
    done = counts(run)
    found["simulated_ns"] = run.end - run.begin
    of_workload(run, found)
    for action, counted in done.items():
        found.update({f"flash_ops/{action}/{cause}": count for cause, count in by_cause(counted).items()})
    buses, units = of_busy_times(run, found, complaints)
    of_host_side(run, found)
    of_offered_load(run, found, buses)
    of_bandwidth(run, found)
    units_done = of_units(run, done, found)
    of_slc_cache(run, found)
    of_amplification(run, found, units_done)
    check_programs(run, complaints)
    of_collections(run, found, units_done)
    of_members(run, found, units, run.end)
    of_wear(run, found)
    of_ssds(run, found, units)
    of_rebuilds(run, found)
    of_latencies_around(run, found)
    of_replacements(run, found)
    of_parts(run, found, done)
    return found, complaints


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Values by path. Empty lists and objects are values."""
    if isinstance(value, dict | list) and value:
        found: dict[str, Any] = {}
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            found |= leaves(part, f"{path}/{key}" if path else str(key))
        return found
    return {path: value}


def agrees(told: Any, expected: Any) -> bool:
    if isinstance(expected, Between):
        slack = 1e-9 * max(1.0, abs(told or 0.0))
        return told is not None and bool(expected.least - slack <= told <= expected.most + slack)
    if isinstance(told, float) or isinstance(expected, float):
        return told is not None and expected is not None and isclose(told, expected, rel_tol=1e-9, abs_tol=1e-12)
    return bool(told == expected)


def check(run: Run) -> list[str]:
    """What is wrong with the result, or with this script's knowledge of it."""
    found, complaints = recomputed(run)
    told = leaves(run.result)
    for path, value in told.items():
        if path in found:
            if not agrees(value, found[path]):
                complaints.append(f"{path} is {value}, recomputed {found[path]}")
        elif value not in ([], {}) and not LISTED.match(path):
            complaints.append(f"{path} is neither recomputed nor listed with the reason why not")
    complaints += [f"{path} is recomputed, and the result does not have it" for path in found if path not in told]
    return complaints


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--folders"]:
        folders = [Path(folder) for folder in arguments[1:]]
        runs = {}
        for folder in folders:
            timeline = folder / "timeline.json"
            runs[str(folder)] = (
                folder / "result.json",
                folder / "requests.csv",
                folder / "operations.csv",
                timeline if timeline.exists() else None,
            )
    elif len(arguments) in (3, 4):
        paths = [Path(path) for path in arguments]
        runs = {arguments[0]: (paths[0], paths[1], paths[2], paths[3] if len(paths) == 4 else None)}
    else:
        print(__doc__)
        return 2
    status = 0
    for name, files in runs.items():
        for complaint in check(Run(*files)):
            print(f"{name}: {complaint}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
