"""Several schemes under one workload."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import fio, notebook
from .figures.drawn import Drawn
from .record import OpenRecord
from .result import Result
from .settings import Path

if TYPE_CHECKING:
    import polars

    from .figures import Figure


# How the engine's warning of an overload begins.
OF_OVERLOAD = "offered load is "


class Comparison(Drawn):
    """The results of a comparison, in the order of the schemes, and for each scheme in that of the seeds.

    `results` lists them, one for each of `seeds` seeds of each scheme. `capacity` tells for each scheme how many
    requests per second it completes in a closed loop, if the comparison measured that (docs/result.md). `partial` is
    whether it was interrupted. `left_out` has the schemes that `all` does not stand for on this device, and why.
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
        self.left_out: Mapping[str, str] = {}

    @property
    def warnings(self) -> list[str]:
        """What is likely to mislead in the results: each text once, after the schemes that it concerns.

        Schemes that are left out come first, then overloads, which concern all latencies.
        """
        schemes = dict.fromkeys(each.scheme for each in self.results)
        concerned: dict[str, dict[str, None]] = {}
        for each in self.results:
            for text in each.warnings:
                concerned.setdefault(text, {})[each.scheme] = None
        ordered = sorted(concerned.items(), key=lambda item: not item[0].startswith(OF_OVERLOAD))
        are_all = len(schemes) > 1
        left_out = [f"{name} is left out: {why}" for name, why in self.left_out.items()]
        return left_out + [
            f"{'all schemes' if are_all and len(names) == len(schemes) else ', '.join(names)}: {text}"
            for text, names in ordered
        ]

    @property
    def differences(self) -> list[str]:
        """In what the results differ besides their schemes, so that these cannot be compared: `traces`, for instance.

        Results of `compare` differ in nothing; those of several files may. The first seed of each scheme tells.
        """
        results = self.results[:: self.seeds]
        # A run until SSDs are worn out has as many requests as that takes.
        whole = [
            each for each in results if not each.partial and each.config.run.to_dict().get("until", "end") == "end"
        ]
        of: dict[str, list[Any]] = {
            "traces": [each.workload.sha256 or each.workload.name for each in results],
            "devices": [each.device for each in results],
            "queue depths": [each.config.run.queue_depth for each in results],
            "numbers of requests": [each.workload.requests for each in whole],
        }
        return [what for what, values in of.items() if len(set(values)) > 1]

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

    def to_frame(self) -> "polars.DataFrame":
        """One row for each result, with the columns of `Result.to_frame`; null where a scheme lacks a parameter."""
        import polars

        return polars.concat([result.to_frame() for result in self.results], how="diagonal_relaxed")

    def figures(self) -> "list[Figure]":
        """What `plot` and `chart` draw, as data (docs/figures.md): each scheme with its first seed."""
        from .figures import of_results

        return of_results.figures(self.results[:: self.seeds])

    def report(self, path: Path, title: str = "") -> None:
        """Writes a report of the results to the file `path` (.html), as docs/report.md describes it.

        `title` replaces the heading, which names trace, schemes and device. Charts over time need a comparison with
        `series=`. Raises InputError if the file cannot be written.
        """
        from . import report

        report.of_comparison(self, path, title)

    def _repr_html_(self) -> str:
        return notebook.of_comparison(self)

    def __repr__(self) -> str:
        schemes = ", ".join(result.scheme for result in self.results[:: self.seeds])
        return f"<Comparison: {schemes}, status {self.status}>"


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")
