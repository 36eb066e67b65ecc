"""Calibration of `bpu`, the stand-in for BPU: its thresholds are fixed, and somebody has to choose them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Unpack

from .files import must_be_read_again
from .interrupts import Interrupts
from .outputs import Outputs
from .replay import INTERRUPTED, run_pairs
from .setting_types import Settings
from .settings import Pairs, Path, Progress, check_progress, device_and_config, entry_of, pairs, path_text

SCHEME = "bpu"
# What is tried of each threshold, beside its default, with which the search begins.
CANDIDATES = (0, 1, 2, 4, 8, 16)

Thresholds = dict[str, int]


@dataclass(frozen=True)
class Calibration:
    """The thresholds with which a trace has the least total I/O time of all that were tried."""

    thresholds: Thresholds
    """Each threshold of `bpu` with its value, those that were given included."""

    total_ns: int
    """Total I/O time with them: the sum of all response times."""

    default_total_ns: int
    """The same with the default thresholds."""

    runs: int
    """How often the trace was replayed."""


def calibrate(
    trace: Path,
    *,
    device: Path | None = None,
    config: Path | None = None,
    progress: Progress | None = None,
    **settings: Unpack[Settings],
) -> Calibration:
    """Finds the thresholds of `bpu` with which a trace has the least total I/O time (SPEC 3.5).

    One threshold after the other takes the best of its candidates, until a round changes none: a search that replays
    the trace some tens of times, and may miss a combination that is better still. Equal times keep what there was.
    Arguments are those of `run`; a threshold that is among the settings is not varied. Raises InputError, or
    KeyboardInterrupt after Ctrl-C.
    """
    check_progress(progress)
    trace, (device, config) = path_text(trace, "trace"), device_and_config(device, config)
    with Interrupts() as interrupts:

        def watched(*told: object) -> bool:
            return not interrupts.came and (progress is None or progress(*told) is not False)  # type: ignore[arg-type]

        return calibrate_pairs(trace, device, config, lambda name: watched, pairs(settings))


def thresholds_of(scheme: str) -> Thresholds:
    """The parameters of a scheme that bear its name, with their defaults."""
    parameters = entry_of(scheme)["parameters"]
    return {each["name"]: int(each["default"]) for each in parameters if each["name"].startswith(f"{scheme}_")}


def calibrate_pairs(
    trace: str,
    device: str | None,
    config: str | None,
    begin: Callable[[str], Progress],
    settings: Pairs,
) -> Calibration:
    """`calibrate` with settings as pairs; calls `begin` before each run, for what is told of its progress."""
    must_be_read_again(trace, "a calibration replays the trace again and again")
    given = {key.removeprefix("scheme."): value for key, value in settings}
    defaults = {name: default for name, default in thresholds_of(SCHEME).items() if name not in given}
    varied = list(defaults)
    found: dict[tuple[int, ...], int] = {}

    def total_ns(thresholds: Thresholds) -> int:
        key = tuple(thresholds[name] for name in varied)
        if key not in found:
            own = [*settings, *((name, str(thresholds[name])) for name in varied)]
            with Outputs({}).open() as opened:
                watch = begin(f"run {len(found) + 1}")
                result = run_pairs(trace, device, SCHEME, config, False, watch, own, opened)
            if result.status == INTERRUPTED:
                raise KeyboardInterrupt
            found[key] = result.latency_ns.all.total
        return found[key]

    best = defaults
    default_total_ns = total_ns(best)
    changes = True
    while changes:
        changes = False
        for name in varied:
            tried = [best, *({**best, name: value} for value in (defaults[name], *CANDIDATES))]
            fastest = min(tried, key=total_ns)
            changes = changes or fastest != best
            best = fastest
    fixed = {name: int(given[name]) for name in thresholds_of(SCHEME) if name in given}
    return Calibration({**best, **fixed}, total_ns(best), default_total_ns, len(found))
