"""What a validation case is, and how one is measured: a workload replayed through the Python API."""

import hashlib
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import flashraid as fr
from reference import closed_forms, nand_model

PAGE_BYTES = 4096
SAMPLES = Path(__file__).parents[2] / "samples"


@dataclass(frozen=True)
class Workload:
    """Uniformly random requests of `flashraid trace synth`; addresses and sizes in pages of 4 KiB."""

    name: str
    requests: int
    space_pages: int
    interval_ns: int
    seed: int = 1
    read_share: float = 0.0
    min_pages: int = 1
    max_pages: int = 1
    arrivals: str = "fixed"
    sha256: str = ""  # first digits of the trace file's, in SSDsim's format; empty if it is nowhere published

    def write(self, path: Path) -> None:
        """Writes the trace, and checks that it is the published one."""
        fr.synth(
            path,
            requests=self.requests,
            space_bytes=self.space_pages * PAGE_BYTES,
            interval_ns=self.interval_ns,
            format="ssdsim",
            read_share=self.read_share,
            min_pages=self.min_pages,
            max_pages=self.max_pages,
            arrivals=self.arrivals,
            seed=self.seed,
        )
        check_published(self, path)


@dataclass(frozen=True)
class Recording:
    """The reads and writes of one of `samples/`, without the flushes and discards between them."""

    name: str
    requests: int
    sha256: str  # as in `Workload`

    def write(self, path: Path) -> None:
        """Writes the trace, and checks that it is the published one."""
        fr.convert(SAMPLES / f"{self.name}-transactions.csv.gz", path, to="ssdsim", on_error="skip")
        lines = path.read_text(encoding="ascii").splitlines(keepends=True)
        path.write_text("".join(lines[: self.requests]), encoding="ascii")
        check_published(self, path)


def check_published(workload: Workload | Recording, path: Path) -> None:
    """Raises if the trace is not the published one."""
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if not found.startswith(workload.sha256):
        raise AssertionError(
            f"workload {workload.name}: the trace's SHA-256 is {found[:12]}, published is {workload.sha256}"
        )


@dataclass(frozen=True)
class Setup:
    """A configuration: scheme raid0 on a device with these settings changed."""

    name: str
    settings: Mapping[str, Any] = field(hash=False)
    device: str = "ssd1"


def responses_ns(requests: Iterable[nand_model.Request], setup: Setup, page_bytes: int = PAGE_BYTES) -> list[int]:
    """The engine's response time of each request, in this order; arrivals do not go back."""
    wanted = list(requests)
    simulation = fr.Simulation(device=setup.device, scheme="raid0", **setup.settings)
    ids = simulation.submit_many(
        ["read" if request.is_read else "write" for request in wanted],
        [request.first_page * page_bytes for request in wanted],
        [request.pages * page_bytes for request in wanted],
        [request.arrival_ns for request in wanted],
    )
    simulation.finish()
    latencies = {completion.id: completion.latency_ns for completion in simulation.take_completions()}
    return [latencies[number] for number in ids]


class Figure(NamedTuple):
    """A measured figure, and the half-width of its 95 % confidence interval if it is a mean over seeds."""

    value: float
    half_width: float | None = None


class Runner:
    """Runs each workload on each setup once; traces are kept in `folder`.

    With `most_requests` workloads are cut short: everything runs, and no figure means anything.
    """

    def __init__(self, folder: Path, most_requests: int | None = None) -> None:
        self.folder = folder
        self.most_requests = most_requests
        self._results: dict[tuple[Workload | Recording, Setup], fr.Result] = {}
        self._responses: dict[tuple[Workload | Recording, nand_model.Rules], tuple[list[int], list[int]]] = {}

    def run(self, workload: Workload | Recording, setup: Setup) -> fr.Result:
        """The result. Every request must have completed, and every page read must have been on the flash."""
        if (workload, setup) not in self._results:
            result = self.run_once(workload, setup)
            self._results[workload, setup] = result
        return self._results[workload, setup]

    def run_once(self, workload: Workload | Recording, setup: Setup) -> fr.Result:
        """The same, for a workload used only here: the trace is deleted afterwards, unless it is a published one."""
        workload = self.cut(workload)
        trace = self.trace(workload)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of saturation, which is wanted here
            result = fr.run(trace, device=setup.device, scheme="raid0", format="ssdsim", **setup.settings)
        if not workload.sha256:
            trace.unlink()
        if result.status != 0 or result.requests.completed != workload.requests or result.requests.unmapped_reads:
            raise AssertionError(f"{workload.name} on {setup.name}: {result.requests}, status {result.status}")
        return result

    def model_ns(self, workload: Workload | Recording, rules: nand_model.Rules) -> tuple[list[int], list[int]]:
        """Response times of the reads and of the writes by the independent model of `ssd1`; a write ends at data-in."""
        if (workload, rules) not in self._responses:
            requests = self.requests(workload)
            responses = nand_model.responses_ns(requests, closed_forms.Flash(), program_end=False, rules=rules)
            self._responses[workload, rules] = responses
        return self._responses[workload, rules]

    def requests(self, workload: Workload | Recording) -> list[nand_model.Request]:
        """What is in the trace; whole pages."""
        with self.trace(self.cut(workload)).open(encoding="ascii") as lines:
            rows = [[int(number) for number in line.split()] for line in lines]
        return [nand_model.Request(ns, kind == 1, sector // 8, sectors // 8) for ns, _, sector, sectors, kind in rows]

    def trace(self, workload: Workload | Recording) -> Path:
        """The trace's file; a published one is written once."""
        trace = self.folder / f"{workload.name}.ssdsim"
        if not (workload.sha256 and trace.exists()):
            workload.write(trace)
        return trace

    def cut(self, workload: Workload | Recording) -> Workload | Recording:
        """The workload as it is run."""
        if self.most_requests is None or workload.requests <= self.most_requests:
            return workload
        return replace(workload, requests=self.most_requests, sha256="")


@dataclass(frozen=True)
class Case:
    """One row of docs/validation.md."""

    name: str
    workload: str  # name of the workload, or what else is run
    setup: Setup | None  # None: measured without the engine
    expected: float
    unit: str
    decimals: int
    tolerance: float | None  # relative; 0 is exact; None: reported only
    source: str
    measure: Callable[[Runner], Figure]
    quick: bool = True

    def figure(self, runner: Runner) -> Figure:
        """What is measured, rounded as the document gives it."""
        value, half_width = self.measure(runner)
        return Figure(round(value, self.decimals), None if half_width is None else round(half_width, self.decimals))

    def deviation(self, figure: Figure) -> float:
        """How far the figure is from what is expected, as a share of that."""
        return figure.value / self.expected - 1

    def holds(self, figure: Figure) -> bool:
        """Whether the figure is within the tolerance.

        Of a mean over seeds the interval must contain what is expected, and its half-width be within the tolerance.
        """
        if self.tolerance is None:
            return True
        if figure.half_width is not None:
            off = abs(figure.value - self.expected)
            return off <= figure.half_width <= self.tolerance * figure.value
        return abs(self.deviation(figure)) <= self.tolerance


@dataclass(frozen=True)
class Section:
    """Cases that belong together, and what is to be said about them."""

    title: str
    before: str
    cases: tuple[Case, ...]
    after: str = ""
    workloads: tuple[Workload, ...] = ()


def described(workload: Workload) -> dict[str, Any]:
    """The workload's parameters that differ from their defaults."""
    return {
        each.name: getattr(workload, each.name)
        for each in fields(workload)
        if each.name not in ("name", "sha256") and getattr(workload, each.name) != each.default
    }
