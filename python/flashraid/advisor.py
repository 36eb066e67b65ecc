"""The advisor: which scheme, with which parameters, for a workload on a device, and how sure that is."""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._native import InputError
from .advising.candidates import Candidate, candidates
from .advising.objectives import Objective, objectives
from .advising.search import DoRuns, Must, Search, Tried, Workload, plan_of
from .settings import Pairs, configuration
from .sizes import filled_pages
from .sweeping.dataset import Dataset, read
from .sweeping.resolved import Resolved, resolve
from .sweeps import SweepStatus, do_runs
from .trace import trace_info

# Told of the round and of its runs; returning False stops the advisor.
Watch = Callable[[str, SweepStatus], object]


@dataclass(frozen=True)
class Question:
    """What is asked."""

    trace: str
    device: str | None
    config: str | None
    settings: Pairs
    schemes: Sequence[str] | None = None
    vary: Mapping[str, Sequence[str]] | None = None
    musts: Sequence[Must] = ()
    fault: str | None = "chip:0.0"
    tail: str = "p99"
    seeds: int = 3


@dataclass(frozen=True)
class Found:
    """What a search found."""

    question: Question
    objectives: list[Objective]
    tried: list[Tried]
    finalists: list[Tried]
    refused: dict[str, str]
    cost: int
    requests: int


def search(question: Question, out: str | None, jobs: int | None, scheduler: str | None, watch: Watch) -> Found:
    """Searches. Raises KeyboardInterrupt if the watch returns False, InputError if there is nothing to choose from."""
    vary = question.vary or {}
    choice, refused = candidates(question.device, question.config, question.schemes, question.settings, vary)
    if not choice:
        raise InputError(f"no scheme can be had: {next(iter(refused.values()), 'none is named')}")
    requests = requests_of(question.trace, question.settings)
    fixed = fixed_of(question, choice)
    place = out or tempfile.mkdtemp(prefix="flashraid-")
    try:
        with Dataset(place) as dataset:
            do = runs_of(dataset, jobs, scheduler, watch)
            workload = Workload(fixed, requests, question.fault, question.seeds)
            wanted = objectives(question.tail, question.fault is not None)
            tried = [Tried(each) for each in choice]
            found = Search(tried, wanted, list(question.musts), workload, do)
            finalists = found.run()
            return Found(question, wanted, tried, finalists, refused, found.cost, requests)
    finally:
        if out is None:
            shutil.rmtree(place, ignore_errors=True)


def requests_of(trace: str, settings: Pairs) -> int:
    """How many requests a run replays."""
    reading = {key: value for key, value in settings if key in READING}
    limit = int(dict(settings).get("limit", 0))
    count = int(trace_info(trace, **reading).requests)
    return min(count, limit) if limit else count


READING = ("format", "time_unit", "device_filter", "on_error", "op", "action", "object_bytes")


def fixed_of(question: Question, choice: Iterable[Candidate]) -> dict[str, Any]:
    """What all runs have in common: with the same logical space and filled bytes, those of the smallest capacity."""
    own = [
        configuration(question.device, each.scheme, question.config, [*question.settings, *each.settings])
        for each in choice
    ]
    run, page_bytes = own[0]["config"]["run"], own[0]["config"]["device"]["page_bytes"]
    space_bytes = run["space_bytes"] or min(each["user_bytes"] for each in own)
    fill_bytes = run["fill_bytes"] or filled_pages(run["fill"], space_bytes // page_bytes) * page_bytes
    places = {"trace": question.trace, "device": question.device, "config": question.config}
    settings = {key: value for key, value in question.settings if key not in ("fill", "fill_bytes", "space_bytes")}
    common = {"space_bytes": space_bytes, **({"fill_bytes": fill_bytes} if fill_bytes else {})}
    return {key: value for key, value in places.items() if value is not None} | settings | common


def runs_of(dataset: Dataset, jobs: int | None, scheduler: str | None, watch: Watch) -> DoRuns:
    """Does runs into a dataset, which keeps them for a second question."""

    def do(name: str, points: Sequence[dict[str, Any]]) -> list[Mapping[str, Any]]:
        resolved = resolve(plan_of(points))
        if do_runs(resolved, dataset, jobs, scheduler, lambda status: watch(name, status)):
            raise KeyboardInterrupt
        rows = {row["run"]: row for row in read(dataset.path).to_dicts()}
        return [_row(each, rows) for each in resolved]

    return do


def _row(each: Resolved, rows: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    return rows[each.job.run] if each.job else {"status": "refused", "reason": each.refused}
