"""Figures of traces as tables print them, `64.5 %`, `8.3 KB` or `0.2 ms`: ours have to agree to the digits printed."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .._native import InputError
from ..settings import known_name
from .judgements import is_within
from .originals import FIGURES, LONGEST
from .papers import Paper

# How much one of each unit is. Of a KB papers do not say whether it is 1,000 or 1,024 bytes.
UNITS: Mapping[str, tuple[float, ...]] = {
    "": (1.0,),
    "%": (0.01,),
    "KB": (1000.0, 1024.0),
    "GB": (1e9, float(1 << 30)),
    "us": (1e3,),
    "ms": (1e6,),
    "s": (1e9,),
    "min": (60e9,),
    "/s": (1.0,),
}
# As of the register's values.
NEAR = 0.10
QUANTILES = ("p20", "p40", "p60", "p80", LONGEST)
# Besides what is recorded of a trace, what follows from it.
DERIVED: Mapping[str, Callable[[Mapping[str, Any]], float]] = {
    "bytes": lambda figures: figures["requests"] * (figures["mean_bytes"] or 0),
    "read_share": lambda figures: 1 - figures["write_share"],
}
KEYS = (
    *(key for key in FIGURES if key != "interarrival_ns"),
    *DERIVED,
    *(f"interarrival_ns.{each}" for each in QUANTILES),
)


@dataclass(frozen=True)
class Printed:
    """A number with its unit."""

    number: float
    half_digit: float  # half of what the last digit printed is worth
    unit: str

    @classmethod
    def of(cls, text: str) -> "Printed":
        """The number of a text; raises ValueError if it is none."""
        found = re.fullmatch(r"([0-9][0-9,]*(?:\.([0-9]+))?) ?([A-Za-z%/]*)", text)
        if found is None or found[3] not in UNITS:
            raise ValueError(text)
        return cls(float(found[1].replace(",", "")), 0.5 * 10.0 ** -len(found[2] or ""), found[3])

    @property
    def value(self) -> float:
        """The figure, in the unit of `trace info --json`."""
        return self.number * UNITS[self.unit][0]

    def agrees(self, ours: float) -> bool:
        """Whether a figure would be printed so."""
        return any(abs(ours / one - self.number) <= self.half_digit * (1 + 1e-9) for one in UNITS[self.unit])

    def is_near(self, ours: float) -> bool:
        """Whether a figure would be printed so, or differs by 10 % at most."""
        return self.agrees(ours) or is_within(1 + NEAR, ours, self.value)

    def ours(self, ours: float | None) -> str:
        """A figure in the same unit."""
        return "-" if ours is None else f"{ours / UNITS[self.unit][0]:,.7g} {self.unit}".rstrip()


def figure_of(figures: Mapping[str, Any], key: str) -> float | None:
    """A figure of a trace, by its key; None if the trace has too few requests for it."""
    if key in DERIVED:
        return DERIVED[key](figures)
    name, _, quantile = key.partition(".")
    found = (figures[name] or {}).get(quantile) if quantile else figures[name]
    return None if found is None else float(found)


def check(of: Mapping[str, str], paper: Paper, where: str) -> None:
    """Refuses what is no figure of a trace of the paper."""
    for key in of:
        known_name(f"{where} trace", key, ("of", "figure", "printed"))
    for key in ("of", "figure", "printed"):
        if key not in of:
            raise InputError(f"{where} trace: {key} is missing")
    known_name(f"{where} trace of", of["of"], paper.originals)
    known_name(f"{where} trace figure", of["figure"], KEYS)
    try:
        Printed.of(of["printed"])
    except ValueError:
        units = ", ".join(filter(None, UNITS))
        raise InputError(f"{where} trace printed {of['printed']}: allowed is a number and one of {units}") from None
