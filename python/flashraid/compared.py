"""Results side by side as data. `comparison` adds how that is shown."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from . import fio
from .measured import Measured
from .record import OpenRecord

if TYPE_CHECKING:
    import polars

# How the engine's warnings of an overload begin.
OF_OVERLOAD = ("offered load is ", "the device falls behind the trace")

AnyResult = TypeVar("AnyResult", bound=Measured, covariant=True)


class Compared(Generic[AnyResult]):
    """The results of several schemes under one workload as data."""

    def __init__(
        self,
        results: list[AnyResult],
        capacity: Sequence[Mapping[str, Any]] = (),
        seeds: int = 1,
        *,
        repeats: Sequence[Sequence[AnyResult]] = (),
        partial: bool = False,
    ) -> None:
        self.results = results
        self.repeats = [list(each) for each in repeats]
        self.capacity = [OpenRecord(each) for each in capacity]
        self.seeds = seeds
        self.partial = partial
        self.left_out: Mapping[str, str] = {}
        self.why_once = ""

    @property
    def warnings(self) -> list[str]:
        """What is likely to mislead in the results: each text once, after the schemes that it concerns.

        Schemes that are left out come first, then overloads, which concern all latencies.
        """
        schemes = dict.fromkeys(each.scheme for each in self.results)
        concerned: dict[str, dict[str, None]] = {}
        for each in [*self.results, *self._worse]:
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
    def _worse(self) -> list[AnyResult]:
        """Repeats that ended with another status than the run that they repeat."""
        firsts = self.results[:: self.seeds]
        return [
            again
            for first, of in zip(firsts, self.repeats, strict=False)
            for again in of
            if again.status != first.status
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
    def has_own_spaces(self) -> bool:
        """Whether each scheme has a logical space of its own (`equal="fill"`)."""
        return len({each.capacity.space_bytes for each in self.results}) > 1

    @property
    def status(self) -> int:
        """The command's exit status: the most severe status of the results and repeats."""
        found = {result.status for result in [*self.results, *self._worse]}
        return next((status for status in (1, 130, 3) if status in found), 0)

    @property
    def json(self) -> str:
        """One JSON object with `schema` and `results`, each result as `run` writes it (docs/result.md)."""
        head = "".join(f'  "{key}": {_indented(json.dumps(value, indent=2))},\n' for key, value in self._head().items())
        lists = {"results": _list_of(self.results)}
        if self.repeats:
            lists["repeats"] = _in_brackets(_list_of(of) for of in self.repeats)
        body = ",\n".join(f'  "{key}": {_indented(text)}' for key, text in lists.items())
        return f"{{\n{head}{body}\n}}\n"

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
        again = {"repeats": [[each.to_dict() for each in of] for of in self.repeats]} if self.repeats else {}
        return {**self._head(), "results": [result.to_dict() for result in self.results], **again}

    def to_frame(self) -> "polars.DataFrame":
        """One row for each result, with the columns of `Result.to_frame`; null where a scheme lacks a parameter."""
        import polars

        return polars.concat([result.to_frame() for result in self.results], how="diagonal_relaxed")


# Comparisons of results, whatever these can do besides.
Results = Compared[Measured]


def _list_of(results: Sequence[Measured]) -> str:
    """A list of results as JSON, each as it was written."""
    return _in_brackets(result.json.rstrip("\n") for result in results)


def _in_brackets(texts: Iterable[str]) -> str:
    body = ",\n".join(f"  {_indented(text)}" for text in texts)
    return f"[\n{body}\n]"


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")
