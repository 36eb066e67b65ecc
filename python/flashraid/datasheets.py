"""The data sheet of a drive, as its maker would print it, simulated."""

import json
import os
import shlex
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack, cast

from . import _native, machine
from ._native import InputError, __version__
from .advising.endurance import DAYS_OF_A_YEAR, YEARS_OF_WARRANTY
from .figures import Figure, of_sheets
from .figures.drawn import Drawn
from .files import scratch_folder
from .html_table import html_table
from .interrupts import Interrupts
from .outputs import OpenOutputs, Outputs
from .replay import doubts
from .result import Result
from .setting_types import Settings
from .settings import (
    Pairs,
    Path,
    Progress,
    bare,
    check_flags,
    check_progress,
    check_texts,
    configuration,
    given,
    pairs,
    utf8_path,
)
from .sheets import cells
from .sheets.measurements import LEAST_BYTES, MEASUREMENTS, WORN_BY, Drive, Measurement, State
from .side_by_side import Begin, Place, Run, SharedDevice, SideBySide, Together
from .sizes import check_range

SCHEMA = 1
MOST_PE_CYCLES = 2**32 - 1
LARGEST_SEED = 2**63 - 1  # the largest number that a profile has
MOST_NAMED = 3  # lines in a warning
AMPLIFICATION, ENDURANCE = "write_amplification", "endurance_drive_writes_per_day"


class Line(NamedTuple):
    """A line of a sheet: what was measured, and the run that measured it."""

    measurement: Measurement
    requests: int
    profile: str  # of its requests, as TOML
    result: Result


@dataclass(frozen=True)
class Plan:
    """A data sheet whose runs can begin."""

    device: str
    scheme: str
    settings: Pairs
    seed: int
    is_quick: bool
    pe_cycles: int | None
    jobs: int | None
    detail: Mapping[str, Any]  # of the drive
    sheet: Mapping[str, Any] | None  # what its maker states

    @property
    def runs(self) -> int:
        """How many there are."""
        return len(self.measurements)

    @property
    def measurements(self) -> list[Measurement]:
        """What can be measured of this drive."""
        drive = self.drive
        return [each for each in MEASUREMENTS if each.is_of(drive)]

    @property
    def drive(self) -> Drive:
        """What the measurements depend on."""
        config = self.detail["config"]
        return Drive.of(self.detail["user_bytes"], config["device"], config.get("array", {}).get("devices", 1))


def default_scheme() -> str:
    """The scheme of a drive of which nothing else is said: the first that protects nothing."""
    schemes = json.loads(_native.schemes(None))
    return str(next(each["name"] for each in schemes if each["protects"] == "none"))


def planned(
    device: str,
    scheme: str | None,
    settings: Pairs,
    *,
    pe_cycles: int | None,
    is_quick: bool,
    jobs: int | None,
    label: Callable[[str], str] = str,
) -> Plan:
    """Checks what was asked for. `label` gives what messages call an argument."""
    if pe_cycles is not None:
        check_range(label("pe_cycles"), pe_cycles, 1, MOST_PE_CYCLES)
    if jobs is not None:
        check_range(label("jobs"), jobs, 1, machine.MOST_JOBS)
    own, seed = _split(settings)
    scheme = default_scheme() if scheme is None else scheme
    detail = configuration(device, scheme, None, own)
    for idle in detail["idle"]:
        raise InputError(idle["text"])
    slices = detail["config"]["device"]["slice"]
    if WORN_BY.queue_depth % slices:
        depth = WORN_BY.queue_depth
        raise InputError(f"slice = {slices}: allowed in a data sheet is what divides its depth of {depth}")
    if detail["user_bytes"] < LEAST_BYTES:
        name = detail["config"]["device"]["name"]
        raise InputError(f"{name}: the host gets {detail['user_bytes']:,} bytes: allowed is {LEAST_BYTES:,} or more")
    sheet = json.loads(_native.device(device, scheme)).get("sheet")
    limit = detail["config"]["device"]["pe_limit"] or None
    return Plan(device, scheme, own, seed, is_quick, pe_cycles or limit, jobs, detail, sheet)


def _split(settings: Pairs) -> tuple[Pairs, int]:
    """The settings of the drive, and the seed."""
    tables = {each["key"]: each["table"] for each in json.loads(_native.settings())}
    own, seed = [], 0
    for key, value in settings:
        name = bare(key)
        if name == "seed":
            seed = _seed(key, value)
        elif key == "scheme.name" or tables.get(name) == "run":
            what = "the scheme is an argument of its own" if key == "scheme.name" else "each line has its own"
            raise InputError(f"{key} = {value}: not allowed in a data sheet: {what}")
        else:
            own.append((key, value))
    return own, seed


def _seed(key: str, value: str) -> int:
    if not (value.isascii() and value.isdecimal() and int(value) <= LARGEST_SEED):
        raise InputError(f"{key} = {value}: allowed is a whole number from 0 to {LARGEST_SEED}")
    return int(value)


def datasheet(
    device: Path,
    *,
    scheme: str | None = None,
    pe_cycles: int | None = None,
    quick: bool = False,
    jobs: int | None = None,
    progress: Progress | None = None,
    **settings: Unpack[Settings],
) -> "Datasheet":
    """Measures what the data sheet of a drive states (docs/datasheet.md).

    `device` is a preset or a TOML file, `scheme` by default one without redundancy; `settings` are those of the drive,
    and `seed`. The endurance follows from `pe_cycles`, by default the `pe_limit` of the device. `quick` measures a
    tenth of the requests. So many runs as `jobs` says, by default as many as there are cores, are under way at the same
    time; `progress` is that of `compare`. Raises InputError, or KeyboardInterrupt after Ctrl-C.
    """
    check_flags(quick=quick)
    check_texts(**given(scheme=scheme))
    check_progress(progress)
    name = utf8_path(device, "device")
    if name is None:
        raise InputError("device = None: allowed is a preset, or a TOML file")
    plan = planned(name, scheme, pairs(settings, scheme), pe_cycles=pe_cycles, is_quick=quick, jobs=jobs)
    with Interrupts() as interrupts:
        found = measured(plan, Together(interrupts, progress, plan.runs).begin)
    for text in found.warnings:
        warnings.warn(text, stacklevel=2)
    return found


def measured(plan: Plan, begin: Begin, say: Callable[[str], object] = lambda text: None) -> "Datasheet":
    """Does all runs of a sheet. Raises KeyboardInterrupt if one is interrupted.

    Before the first, `say` is told what is likely to mislead in a steady drive, which takes longest to prepare.
    """
    with ExitStack() as undo:
        no_files = undo.enter_context(Outputs({}).open())
        folder = undo.enter_context(scratch_folder())
        shared = {state: SharedDevice(sum(each.state is state for each in plan.measurements)) for state in State}
        # Beside a drive that runs share, each has one of its own.
        needed_bytes = [2 * plan.detail["memory_bytes"]] * plan.runs
        side_by_side = SideBySide(Place(plan.device, None), begin, machine.at_once(needed_bytes, plan.jobs))
        undo.callback(side_by_side.stop)
        found = {each: _run(plan, each, folder, no_files, shared) for each in _ordered(plan.measurements)}
        worn_by = found[WORN_BY][0]
        for text in doubts(worn_by.trace, plan.device, plan.scheme, None, worn_by.settings):
            say(text)
        done = {each: side_by_side.do(run) for each, (run, *_) in found.items()}
        side_by_side.wait()
        lines = []
        for measurement in plan.measurements:
            future = done[measurement]
            result = None if future.cancelled() else future.result()
            if result is None or result.partial:
                raise KeyboardInterrupt
            lines.append(Line(measurement, *found[measurement][1:], result))
    return Datasheet(plan, lines)


def _ordered(lines: Sequence[Measurement]) -> list[Measurement]:
    """The lines as they are begun: the one whose drive takes longest to prepare first, while others go on beside it."""
    first, *others = (each for each in lines if each.is_steady)
    return [first, *(each for each in lines if not each.is_steady), *others]


def _run(
    plan: Plan, measurement: Measurement, folder: str, no_files: OpenOutputs, shared: Mapping[State, SharedDevice]
) -> tuple[Run, int, str]:
    """The run of a line, how many requests it measures, and their profile."""
    requests = measurement.requests(plan.drive, plan.is_quick)
    profile = measurement.profile(plan.drive, requests, plan.seed)
    path = os.path.join(folder, f"{measurement.name}.toml")
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(profile)
    settings = [*plan.settings, *measurement.settings(plan.drive, requests), ("seed", str(plan.seed))]
    run = Run(measurement.title, plan.scheme, path, settings, no_files, False, shared[measurement.state])
    return run, requests, profile


class Datasheet(Drawn):
    """The data sheet of a drive, simulated: `values` has its figures by name, `lines` the runs that measured them.

    `sheet` is what the maker of the drive states, if its file says so (`source`, `fitted`, `figures`), and `deviations`
    by what share of that the simulated figures are above. `warnings` lists what is likely to mislead, and `status` is
    the command's exit status.
    """

    def __init__(self, plan: Plan, lines: Sequence[Line]) -> None:
        self.plan = plan
        self.lines = list(lines)
        self.values = dict(_values(plan, lines))

    @property
    def device(self) -> str:
        """The name of the drive."""
        return str(self.plan.detail["config"]["device"]["name"])

    @property
    def scheme(self) -> str:
        """The scheme of the drive."""
        return self.plan.scheme

    @property
    def seed(self) -> int:
        """The seed of all requests."""
        return self.plan.seed

    @property
    def title(self) -> str:
        """What the sheet is of."""
        slices = self.plan.drive.slices
        part = "" if slices == 1 else f" on one of {slices} slices"
        return f"{self.device} under {self.scheme}, seed {self.seed}: data sheet, simulated{part}"

    @property
    def capacity(self) -> dict[str, int]:
        """The bytes of the flash, and those that the host gets."""
        of, slices = self.lines[0].result.capacity, self.plan.drive.slices
        return {"raw_bytes": slices * of.raw_bytes, "user_bytes": slices * of.user_bytes}

    @property
    def endurance(self) -> dict[str, Any]:
        """Drive writes a day of steady 4-KiB random writes, and what they follow from; None without a limit of P/E
        cycles.
        """
        return {
            "drive_writes_per_day": self.values.get(ENDURANCE),
            "years": YEARS_OF_WARRANTY,
            "pe_cycles": self.plan.pe_cycles,
            "write_amplification": self.values.get(AMPLIFICATION),
        }

    @property
    def sheet(self) -> dict[str, Any] | None:
        """What the maker states."""
        return None if self.plan.sheet is None else dict(self.plan.sheet)

    @property
    def deviations(self) -> dict[str, float]:
        """By what share of the maker's each figure is above it, for those that he states."""
        stated = (self.plan.sheet or {}).get("figures", {})
        return {
            name: found / stated[name] - 1
            for name in figure_names()
            if name in stated and (found := self.values.get(name)) is not None
        }

    @property
    def status(self) -> int:
        """The command's exit status: 3 if requests failed for lack of space or were left unfinished, else 0."""
        return max(each.result.status for each in self.lines)

    @property
    def warnings(self) -> list[str]:
        """What is likely to mislead: each text once, after the lines that it concerns."""
        return self.warnings_but(())

    def warnings_but(self, said: Collection[str]) -> list[str]:
        """The same without the texts that were `said` before the runs."""
        concerned: dict[str, list[str]] = {}
        for each in self.lines:
            for text in [*each.result.warnings, *_of_fresh(each)]:
                # Nobody asked for the seed in this very run, and the title says that it is of a slice.
                if text not in said and not text.startswith(("seed = ", "slice = ")):
                    concerned.setdefault(text, []).append(each.measurement.title)
        return [f"{_named(of, len(self.lines))}: {text}" for text, of in concerned.items()]

    def to_dict(self) -> dict[str, Any]:
        """The JSON object as plain dicts, lists, numbers and strings."""
        stated = {} if self.sheet is None else {"sheet": {**self.sheet, "deviations": self.deviations}}
        return {
            "schema": SCHEMA,
            "version": __version__,
            "device": self.device,
            "scheme": self.scheme,
            "seed": self.seed,
            "quick": self.plan.is_quick,
            "slices": self.plan.drive.slices,
            "capacity": self.capacity,
            "figures": self.values,
            "endurance": self.endurance,
            **stated,
            "runs": [_of_line(self.plan, each) for each in self.lines],
        }

    @property
    def json(self) -> str:
        """All of the sheet as one JSON object."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    def figures(self) -> list[Figure]:
        """What `plot` and `chart` draw, as data."""
        return of_sheets.of_sheet([(each.measurement, each.result) for each in self.lines], self.values)

    def report(self, path: Path, title: str = "") -> None:
        """Writes the sheet as a page to the file `path` (.html); `title` replaces its heading."""
        from .report import of_sheets as report

        report.of_sheet(self, path, title)

    def facts(self) -> list[list[str]]:
        """Capacity and endurance as rows of texts."""
        return cells.facts(self.capacity, self.endurance)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """What was measured, as heads and rows of texts."""
        return cells.table([(each.measurement, each.requests) for each in self.lines], self.values)

    def beside(self) -> tuple[list[str], list[list[str]]]:
        """The figures beside those that the maker states, as heads and rows of texts."""
        return cells.beside(self.plan.sheet, self.values, self.deviations)

    def profiles(self) -> list[str]:
        """The profile of each line, as TOML; `commands` names its file."""
        return [each.profile for each in self.lines]

    def commands(self) -> list[str]:
        """The commands that repeat the runs, one for each line."""
        return [_command(self.plan, each) for each in self.lines]

    def _repr_html_(self) -> str:
        heads, rows = self.table()
        shown = html_table(self.title, heads, rows) + html_table("", ["", ""], self.facts())
        return shown + (html_table("Beside the maker's sheet", *self.beside()) if self.sheet else "")

    def __repr__(self) -> str:
        return f"<Datasheet: {self.device} under {self.scheme}, {len(self.lines)} lines>"


def figure_names() -> Iterator[str]:
    """The names of all figures, in order."""
    for measurement in MEASUREMENTS:
        yield from measurement.figures.values()
    yield from (AMPLIFICATION, ENDURANCE)


def _values(plan: Plan, lines: Sequence[Line]) -> Iterator[tuple[str, float | None]]:
    """The figures, by name; None of what could not be measured."""
    results, slices = {each.measurement: each.result for each in lines}, plan.drive.slices
    for measurement in MEASUREMENTS:
        for place, name in measurement.figures.items():
            yield name, _value(results[measurement], place, name, slices) if measurement in results else None
    of = next(each.result for each in lines if each.measurement is WORN_BY)
    amplification = of.write_amplification
    yield AMPLIFICATION, amplification
    capacity = of.capacity
    if plan.pe_cycles and amplification:
        days = YEARS_OF_WARRANTY * DAYS_OF_A_YEAR
        yield ENDURANCE, plan.pe_cycles * capacity.raw_bytes / (amplification * capacity.user_bytes * days)
    else:
        yield ENDURANCE, None


def _value(result: Any, place: str, name: str, slices: int) -> float | None:
    """A figure out of a result: rates are those of all slices together, latencies of a slice are not the drive's."""
    if slices > 1 and name.endswith("_ns"):
        return None
    for key in place.split("."):
        result = result[key]
    if result is None or name.endswith("_ns"):
        return cast("float | None", result)
    return float(result) * slices / (1e6 if name.endswith("_mb_s") else 1)


def _named(titles: Sequence[str], lines: int) -> str:
    """The lines that a warning concerns, of so many, by name if they are few."""
    if len(titles) == lines:
        return "all lines"
    return "; ".join(titles) if len(titles) <= MOST_NAMED else f"{len(titles)} of {lines} lines"


def _of_fresh(line: Line) -> Iterator[str]:
    if line.measurement.state is State.ERASED and line.result.collection.collections:
        yield "GC ran: this drive is too small for so many writes to be those of a fresh one"


def _command(plan: Plan, line: Line) -> str:
    """The command that repeats the run of a line, whose profile is in a file of its name."""
    of = line.measurement
    words = ["flashraid", "run", f"{of.name}.toml", "--device", plan.device, "--scheme", plan.scheme]
    for key, value in [*plan.settings, *of.settings(plan.drive, line.requests), ("seed", str(plan.seed))]:
        words += ["--set", f"{key}={value}"]
    return shlex.join(words)


def _of_line(plan: Plan, line: Line) -> dict[str, Any]:
    of = line.measurement
    return {
        "name": of.name,
        "title": of.title,
        "state": of.state.value,
        "request_bytes": of.size_bytes,
        "read_share": of.read_share,
        "queue_depth": of.queue_depth,
        "requests": line.requests,
        "warmup_requests": of.warmup(plan.drive, line.requests),
        "seed": line.result.seed,
        "profile": line.profile,
        "command": _command(plan, line),
        "result": line.result.to_dict(),
    }
