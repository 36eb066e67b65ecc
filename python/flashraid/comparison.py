"""Several schemes under one workload."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import fio
from .record import OpenRecord
from .result import Result

if TYPE_CHECKING:
    import matplotlib.figure
    import polars

PERCENTILES = {"p50": "50", "p90": "90", "p95": "95", "p99": "99", "p99_9": "99.9", "p99_99": "99.99"}


class Comparison:
    """The results of a comparison, in the order of the schemes, and for each scheme in that of the seeds.

    `results` lists them, one for each of `seeds` seeds of each scheme. `capacity` tells for each scheme how many
    requests per second it completes in a closed loop, if the comparison measured that (docs/result.md). `partial` is
    whether it was interrupted.
    """

    def __init__(
        self,
        results: list[Result],
        capacity: Sequence[Mapping[str, Any]] = (),
        seeds: int = 1,
        *,
        partial: bool = False,
    ) -> None:
        self.results = results
        self.capacity = [OpenRecord(each) for each in capacity]
        self.seeds = seeds
        self.partial = partial

    @property
    def warnings(self) -> list[str]:
        """What is likely to mislead in the results, with the scheme; what is equal for several seeds is said once."""
        return list(dict.fromkeys(f"{each.scheme}: {text}" for each in self.results for text in each.warnings))

    @property
    def status(self) -> int:
        """The command's exit status: the most severe status of the results."""
        return next((status for status in (1, 130, 3) if any(result.status == status for result in self.results)), 0)

    @property
    def json(self) -> str:
        """One JSON object with `schema` and `results`, each result as `run` writes it (docs/result.md)."""
        head = "".join(f'  "{key}": {_indented(json.dumps(value, indent=2))},\n' for key, value in self._head().items())
        each = ",\n".join(_indented(_indented(result.json.rstrip("\n"))) for result in self.results)
        return f'{{\n{head}  "results": [\n    {each}\n  ]\n}}\n'

    def _head(self) -> dict[str, Any]:
        """What the JSON holds beside the results."""
        seeds = {"seeds": self.seeds} if self.seeds > 1 else {}
        capacity = {"capacity": [each.to_dict() for each in self.capacity]} if self.capacity else {}
        return {"schema": self.results[0].schema, **seeds, **capacity}

    @property
    def fio_json(self) -> str:
        """The results in fio's JSON format, one job for each scheme; needs a comparison with `fio=True`."""
        return fio.merged([result.fio_json for result in self.results])

    def to_dict(self) -> dict[str, Any]:
        """The JSON object as plain dicts, lists, numbers and strings."""
        return {**self._head(), "results": [result.to_dict() for result in self.results]}

    def frame(self) -> "polars.DataFrame":
        """One row for each result, with the columns of `Result.to_frame`; null where a scheme lacks a parameter."""
        import polars

        return polars.concat([result.to_frame() for result in self.results], how="diagonal_relaxed")

    def plot(self) -> "matplotlib.figure.Figure":
        """Plots read and write latency percentiles, and flash operations per host request by cause."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(13, 4), layout="constrained")
        reads, writes, operations = figure.subplots(1, 3)
        for axes, kind in ((reads, "read"), (writes, "write")):
            for result in self.results:
                if result.latency[kind].count > 0:
                    values_us = [result.latency[kind][percentile] / 1000 for percentile in PERCENTILES]
                    axes.plot(list(PERCENTILES.values()), values_us, marker="o", label=result.scheme)
            axes.set(title=f"{kind} latency", xlabel="percentile", ylabel="us")
            if axes.lines:
                axes.set_yscale("log")
                axes.legend()
        self._plot_operations(operations)
        first = self.results[0]
        figure.suptitle(f"{first.workload.name} on {first.device}")
        return figure

    def _plot_operations(self, axes: Any) -> None:
        names = [result.scheme for result in self.results]
        bottom = [0.0] * len(names)
        for action in ("reads", "programs"):
            for cause in self.results[0].flash_ops[action]:
                heights = [
                    result.flash_ops[action][cause] / max(1, result.requests.completed) for result in self.results
                ]
                if cause != "total" and any(heights):
                    hatch = "//" if action == "programs" else None
                    axes.bar(names, heights, bottom=bottom, label=f"{action}: {cause}", hatch=hatch)
                    bottom = [low + height for low, height in zip(bottom, heights, strict=True)]
        axes.set(title="flash operations per host request", ylabel="page operations")
        if axes.patches:
            axes.legend(loc="upper left", bbox_to_anchor=(1, 1))


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")
