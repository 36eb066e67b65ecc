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


class Comparison(Drawn):
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
