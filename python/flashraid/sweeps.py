"""Sweeps: many runs as a plan says, on all cores or on a cluster, into a dataset."""

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from ._native import InputError
from .figures import Figure
from .figures.drawn import Drawn
from .files import scratch_folder
from .interrupts import Interrupts
from .settings import Path, check_progress, path_text
from .sweeping import local, view
from .sweeping.dataset import Dataset, frame_of, read
from .sweeping.job import DONE, FAILED, OF_RECORDING, REFUSED, Job, told_once
from .sweeping.plan import Plan, made
from .sweeping.plan import read as read_plan
from .sweeping.resolved import Resolved, jobs_of, resolve
from .sweeping.where import Label, Where, where

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True)
class SweepStatus:
    """How far a sweep is."""

    runs: int
    """Distinct runs of the plan."""
    kept: int
    """Those that the dataset had before."""
    done: int
    """Those that have a row by now, the kept ones included."""
    failed: int
    """Those of them that were refused or failed."""
    workers: int
    """Processes that work for it."""
    dashboard: str
    """The address of Dask's dashboard; empty if there is none."""
    waits_for: str
    """What of the cluster is away; empty while all is well."""
    later_seconds: float | None = 0.0
    """What is likely to follow these runs, as further rounds of the advisor; None if that is not known yet."""
    notes: tuple[str, ...] = ()
    """What else there is to say of the cluster: which workers get no run, and why."""


# Called several times a second; returning False stops the sweep.
Watch = Callable[[SweepStatus], object]


class Sweep(Drawn):
    """The results of a sweep.

    `folder` is its dataset, or None if it was not kept. `partial` is whether it was interrupted.
    """

    def __init__(
        self,
        plan: Plan,
        resolved: list[Resolved],
        rows: "polars.DataFrame",
        folder: FilePath | None,
        *,
        partial: bool,
    ) -> None:
        self.plan, self.folder, self.partial = plan, folder, partial
        self._resolved, self._rows = resolved, rows

    @property
    def axes(self) -> tuple[str, ...]:
        """The keys in which the points of the plan differ."""
        return self.plan.axes

    def to_frame(self) -> "polars.DataFrame":
        """A row for each point of the plan, in its order: its values of the axes, and the columns of its run.

        Points whose difference changes nothing are one run, and have the same row. A run that is not finished has the
        status `unfinished`; the columns of docs/sweeps.md are null where a run does not have them.
        """
        return self._frame

    @cached_property
    def _frame(self) -> "polars.DataFrame":
        import polars

        points = frame_of([self._head(each) for each in self._resolved])
        rows = self._rows
        if rows.is_empty():
            rows = polars.DataFrame(schema={"run": str, "status": str, "reason": str})
        known = [name for name in rows.columns if name not in points.columns or name == "run"]
        points = points.with_columns(polars.col("run").cast(polars.String))
        joined = points.join(rows.select(known), on="run", how="left", maintain_order="left")
        refused = polars.Series("_refused", [each.refused or None for each in self._resolved], polars.String)
        return joined.with_columns(
            polars.when(refused.is_not_null())
            .then(polars.lit(REFUSED))
            .otherwise("status")
            .fill_null("unfinished")
            .alias("status"),
            polars.coalesce(refused, "reason").fill_null("").alias("reason"),
        )

    def _head(self, each: Resolved) -> dict[str, Any]:
        values = {axis: _cell(each.point.get(axis)) for axis in self.plan.axes if axis not in each.idle}
        missing = {axis: None for axis in self.plan.axes}
        return missing | values | {"run": each.job.run if each.job else None}

    @property
    def warnings(self) -> dict[str, list[str]]:
        """What of each recording is likely to mislead, by trace; only of traces of which there is something to say."""
        found: dict[str, list[str]] = {}
        rows = self._frame
        if OF_RECORDING in rows.columns:
            for trace, texts in rows.select("trace", OF_RECORDING).drop_nulls().rows():
                if texts:
                    found.setdefault(trace, []).append(texts)
        return {trace: told_once(texts) for trace, texts in found.items()}

    @property
    def failed(self) -> "polars.DataFrame":
        """The rows of points that were refused or failed, with the reason."""
        import polars

        return self._frame.filter(polars.col("status").is_in([REFUSED, FAILED]))

    def counts(self) -> dict[str, int]:
        """How many runs of the plan have each status, `done` first; points that are refused have no run."""
        statuses = {row["run"]: row["status"] for row in self._heads() if row["run"]}
        found = Counter(statuses.values())
        return {name: found[name] for name in sorted(found, key=lambda name: (name != DONE, name))}

    @property
    def summary(self) -> str:
        """The counts of runs and of refused points in words."""
        counts, refused = self.counts(), sum(each.job is None for each in self._resolved)
        said = ", ".join(f"{count:,} {status}" for status, count in counts.items())
        return f"{sum(counts.values()):,} runs: {said or 'none'}{f'; {refused:,} points refused' if refused else ''}"

    def reasons(self) -> list[tuple[str, str, int]]:
        """Why points were refused or failed: status, reason, and how many points it concerns."""
        found = Counter((row["status"], row["reason"]) for row in self._heads() if row["status"] in (REFUSED, FAILED))
        return [(status, reason, count) for (status, reason), count in found.items()]

    def _heads(self) -> list[dict[str, Any]]:
        return self._frame.select("run", "status", "reason").to_dicts()

    @property
    def status(self) -> int:
        """The command's exit status: 130 interrupted, 1 a violation, 3 points without a whole result, 0 else."""
        found = set(self._frame["status"])
        if "violation" in found:
            return 1
        if self.partial or "unfinished" in found:
            return 130
        return 0 if found == {DONE} else 3

    def lines(self) -> list[view.Line]:
        """What the command shows of each point, or of all points that differ in the seed alone."""
        return view.lines(self._frame, self.axes)

    def figures(self) -> list[Figure]:
        """What `plot` and `chart` draw: each main figure over an axis, with a line for each combination of others."""
        from .figures import of_sweeps

        return of_sweeps.of_sweep(self.axes, self.lines())

    def report(self, path: Path, title: str = "") -> None:
        """Writes a report to the file `path` (.html); `title` replaces its heading.

        Raises InputError if the file cannot be written.
        """
        from .report import of_sweeps

        of_sweeps.of_sweep(self, path, title)

    def __repr__(self) -> str:
        return f"<Sweep: {len(self._resolved)} points over {', '.join(self.axes) or 'nothing'}, status {self.status}>"


def _cell(value: Any) -> Any:
    """A value of an axis as a frame takes it: a list as its text."""
    return json.dumps(value) if isinstance(value, list | tuple | dict) else value


def sweep(
    plan: Path | Mapping[str, Any],
    *,
    out: Path | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    tls_ca: Path | None = None,
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
    progress: Watch | None = None,
) -> Sweep:
    """Does the runs of a plan, on all cores or on a Dask cluster.

    `plan` is a TOML file, or a dict with its tables (docs/sweeps.md): `{"fixed": {"trace": "t.csv.gz", "device":
    "ssd1"}, "grid": {"scheme": ["raid5", "cr5m"], "gc_threshold": [0.05, 0.1]}}`. `out` is the folder of the dataset,
    in which runs that are finished are never done again; without one, results are only returned. `jobs` says how many
    runs are under way at the same time, by default one on each core; with 1 all are done in this process. `scheduler`
    is the address of a Dask scheduler, as `tcp://host:8786`, or `tls://host:8786` with the certificate of who signed
    those of the cluster, and one's own with its key: `tls_ca`, `tls_cert`, `tls_key`, files in PEM. Results are the
    same wherever they are made.

    `progress` is called several times a second with a SweepStatus, and stops the sweep by returning False. Ctrl-C and
    that raise KeyboardInterrupt; what was finished is in the dataset. Raises InputError for a plan of which no point
    can be run.
    """
    check_progress(progress)
    place = where(jobs, scheduler, tls_ca, tls_cert, tls_key)
    found = made(plan) if isinstance(plan, Mapping) else read_plan(path_text(plan, "plan"))
    folder = None if out is None else folder_text(out)
    with Interrupts() as interrupts:
        watch: Watch = lambda status: not interrupts.came and (progress is None or progress(status) is not False)  # noqa: E731
        result = sweep_planned(found, folder, place, watch)
    if result.partial:
        raise KeyboardInterrupt
    return result


def folder_text(out: Path, label: Label = str) -> str:
    """The folder of a dataset as text."""
    text = path_text(out, label("out"))
    if not text:
        raise InputError(f"{label('out')}: empty name: allowed is the name of a folder")
    return text


def sweep_planned(plan: Plan, out: str | None, place: Where, watch: Watch) -> Sweep:
    """The same for a plan that was read. Returns what there is, also if it was interrupted."""
    points = len(plan.points)
    resolved = resolve(plan, lambda: watch(SweepStatus(points, 0, 0, 0, 0, "", "its plan")) is not False)
    with ExitStack() as undo:
        folder = out or os.path.join(undo.enter_context(scratch_folder()), "runs")
        with Dataset(folder) as dataset:
            is_partial = do_runs(resolved, dataset, place, watch)
            dataset.tidy([each.job.run for each in resolved if each.job])
        return Sweep(plan, resolved, read(dataset.path), FilePath(out) if out else None, partial=is_partial)


def _together(jobs: list[Job]) -> list[Job]:
    """The jobs that begin with the same device one after the other."""
    first: dict[str, int] = {}
    order = [first.setdefault(job.preparation or job.run, at) for at, job in enumerate(jobs)]
    return [job for _, job in sorted(zip(order, jobs, strict=True), key=lambda pair: pair[0])]


def do_runs(
    resolved: list[Resolved],
    dataset: Dataset,
    place: Where,
    watch: Watch,
    most_bytes: int | None = None,
    seen: Callable[[str], object] = str,
) -> bool:
    """Does what the dataset does not have, in this process with at most so much memory. Returns whether it was
    interrupted; `seen` is told of each row, as a line.
    """
    all_jobs = list(jobs_of(resolved))
    left = _together([job for job in all_jobs if not dataset.is_finished(job.run)])
    kept = len(all_jobs) - len(left)
    done, failed = kept, 0

    def then(row: str) -> None:
        nonlocal done, failed
        if (ended := dataset.add(row)) is not None:
            done += 1
            failed += ended in (REFUSED, FAILED)
            seen(row)

    def status(workers: int = 1, dashboard: str = "", waits_for: str = "", notes: tuple[str, ...] = ()) -> bool:
        said = SweepStatus(len(all_jobs), kept, done, failed, workers, dashboard, waits_for, notes=notes)
        return watch(said) is not False

    if not status():
        return True
    try:
        if place.scheduler is None:
            local.do_all(left, then, status, place.threads, most_bytes)
        elif left:
            from .sweeping import on_dask

            told = lambda now: status(now.workers, now.dashboard, now.waits_for, now.notes)  # noqa: E731
            on_dask.do_all(place, left, then, told)
    except KeyboardInterrupt:
        return True
    status()
    return False
