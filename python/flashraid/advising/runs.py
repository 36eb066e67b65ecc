"""The runs of a search: into a dataset, round by round, with what is likely to be left."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..sweeping.dataset import Dataset, read
from ..sweeping.resolved import Resolved, resolve
from ..sweeping.where import Where
from ..sweeps import SweepStatus, do_runs
from .forecast import Forecast
from .search import plan_of

# Told of the round and of its runs; returning False stops the advisor.
Watch = Callable[[str, SweepStatus], object]
# The memory that runs may take, unless the user says how many of them may be under way: then it is what is free.
MOST_BYTES = 1792 << 20


class Runs:
    """Does runs into a dataset, which keeps them for a second question."""

    def __init__(self, dataset: Dataset, place: Where, watch: Watch) -> None:
        self._dataset, self._place, self._watch = dataset, place, watch
        self.forecast: Forecast | None = None

    def __call__(self, name: str, points: Sequence[dict[str, Any]]) -> list[Mapping[str, Any]]:
        """The rows of the points, all of one round, in order."""
        resolved, forecast, began = resolve(plan_of(points)), self.forecast, time.monotonic()
        point_of = {each.job.run: each.point for each in resolved if each.job}
        if forecast:
            forecast.begin(name)

        rows: dict[str, Mapping[str, Any]] = {}

        def seen(line: str) -> None:
            row = json.loads(line)
            rows[row["run"]] = row
            if forecast:
                forecast.take(point_of[row["run"]], row)

        def told(status: SweepStatus) -> bool:
            share = (status.done - status.kept) / max(1, status.runs - status.kept)
            later = forecast.later(time.monotonic() - began, share) if forecast else None
            return self._watch(name, replace(status, later_seconds=later)) is not False

        most_bytes = MOST_BYTES if self._place.jobs is None else None
        if do_runs(resolved, self._dataset, self._place, told, most_bytes, seen):
            raise KeyboardInterrupt
        # Those that the dataset had before.
        if kept := [run for run in point_of if run not in rows]:
            whole = read(self._dataset.path)
            rows |= {row["run"]: row for row in whole.filter(whole["run"].is_in(kept)).iter_rows(named=True)}
        return [_row(each, rows) for each in resolved]


def _row(each: Resolved, rows: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    return rows[each.job.run] if each.job else {"status": "refused", "reason": each.refused}
