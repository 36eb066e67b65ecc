"""What a figure shows, as data. `vega.py` draws it for the screen, `printed.py` for paper; nothing else knows how."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import polars

# "tail" is for quantiles: positions are spaced by the logarithm of the share above them, so that 99 % and 99.9 % are
# as far apart as 90 % and 99 %. "category" has a place for each text, in order of first appearance in the frame.
Scale = Literal["linear", "log", "tail", "category"]
# "bars" of several series stand beside each other, those of a "stack" upon each other; "steps" are lines that change
# at x.
Mark = Literal["line", "steps", "points", "bars", "stack"]


@dataclass(frozen=True)
class Axis:
    """An axis, and the column of the frame that it shows."""

    column: str
    title: str  # with the unit: "latency (us)"
    scale: Scale = "linear"
    is_time: bool = False  # in microseconds, on a log scale whose ticks carry the unit that suits them


@dataclass(frozen=True)
class Rule:
    """A vertical line with a label, as at a failure."""

    at: float  # on the x axis
    label: str
    of: str = ""  # the panel, or without panels the series, that it belongs to; without one it belongs to all


@dataclass(frozen=True)
class Figure:
    """A figure. Everything drawn is a row of `frame` or `stated`, in long form: one row for each mark."""

    name: str  # of its files and anchors: "read-latency"
    title: str
    about: str  # what it shows and how to read it, in a sentence or two
    mark: Mark
    frame: "polars.DataFrame"
    x: Axis
    y: Axis
    series: str = ""  # the column that tells lines, or the parts of bars, apart; in order of first appearance
    facet: str = ""  # the column with a panel for each value
    # Numbers that a paper states, in the same columns, drawn as marks of their own beside ours.
    stated: "polars.DataFrame | None" = field(default=None, repr=False)
    rules: tuple[Rule, ...] = ()

    def table(self) -> "polars.DataFrame":
        """All rows drawn; with stated ones, a column `source` tells them (`paper`) from ours (`flashraid`)."""
        import polars

        if self.stated is None:
            return self.frame
        ours, theirs = (polars.lit(source).alias("source") for source in ("flashraid", "paper"))
        return polars.concat([self.frame.with_columns(ours), self.stated.with_columns(theirs)], how="diagonal_relaxed")

    def panels(self) -> "list[Figure]":
        """The figure of each panel, named by its value as well; the figure itself if it has no `facet`."""
        if not self.facet:
            return [self]
        parts = self.frame.partition_by(self.facet, as_dict=True, maintain_order=True)
        return [self._panel(value, frame) for (value,), frame in parts.items()]

    def _panel(self, value: object, frame: "polars.DataFrame") -> "Figure":
        stated = None if self.stated is None else self.stated.filter(self.stated[self.facet] == value)
        name, title = f"{self.name}-{value}".replace(" ", "-"), f"{self.title}: {value}"
        rules = tuple(rule for rule in self.rules if rule.of in ("", value))
        return replace(self, name=name, title=title, frame=frame, stated=stated, facet="", rules=rules)
