"""What both renderers share: colors that differ in luminance, and the places of values on an axis."""

from dataclasses import dataclass
from math import log10
from typing import TYPE_CHECKING, Any

from .model import Axis, Figure

if TYPE_CHECKING:
    import polars

# Neighbors differ in luminance, so that a gray print and any color vision tell them apart. Against white each has a
# contrast of at least 3:1, and those of DARK against a dark page.
LIGHT = ("#08346b", "#d45d00", "#006b4d", "#3b97d4", "#772761", "#c8487d", "#593600", "#676767")
DARK = ("#fae282", "#e66e0f", "#48d1a5", "#3f88db", "#e7c7ed", "#ea7ea9", "#95cdf6", "#aeaeae")

# Lengths of dash and gap, in line widths. Their number and that of the shapes is no multiple of the other and of the
# number of colors: what repeats one differs in another.
DASHES = ((1, 0), (5, 2), (1.5, 1.5), (6, 2, 1.5, 2), (9, 3), (4, 1.5, 1.5, 1.5, 1.5, 1.5), (3, 3))

# Lines with more points than this have marks at some of them.
MOST_MARKS = 12

# Lines with more points than this are thin and solid: where a line rises and falls all the time, dashes are no pattern.
MOST_DASHED = 60

# Units of the ticks of times in microseconds, the largest first.
TIMES = (("s", 1e6), ("ms", 1e3), ("us", 1))

# Room for the maximum on the "tail" scale, in decades.
BEHIND_THE_TAIL = 0.9


@dataclass(frozen=True)
class Tail:
    """Places of quantiles on the "tail" scale: q at -log10(1 - q), and the maximum (q = 1) at the right edge."""

    edge: float

    @classmethod
    def of(cls, quantiles: list[Any]) -> "Tail":
        """The scale for these quantiles."""
        finite = [-log10(1 - quantile) for quantile in quantiles if quantile < 1]
        return cls(max(finite, default=0.0) + BEHIND_THE_TAIL)

    def place(self, quantile: float) -> float:
        """Where a quantile is."""
        return self.edge if quantile >= 1 else -log10(1 - quantile)

    def ticks(self) -> list[tuple[float, str]]:
        """Places with their labels."""
        whole = [(float(nines), percent(nines)) for nines in range(int(self.edge - BEHIND_THE_TAIL + 1e-9) + 1)]
        return [*whole, (self.edge, "max")]


def percent(nines: int) -> str:
    """The share that has so many nines: 99.9 % for three."""
    digits = "9" * nines
    return {0: "0", 1: "90 %", 2: "99 %"}.get(nines, f"{digits[:2]}.{digits[2:]} %")


def placed(axis: Axis) -> str:
    """The column of the places where an axis shows its column."""
    return f"{axis.column}_place" if axis.scale == "tail" else axis.column


def tail(figure: Figure, axis: Axis) -> Tail | None:
    """The places of the quantiles on an axis, if it has such a scale."""
    if axis.scale != "tail":
        return None
    return Tail.of(values(figure, axis.column))


def drawn(figure: Figure, frame: "polars.DataFrame") -> "polars.DataFrame":
    """The rows of `frame` with the columns that `placed` names. A logarithm has no place for 0: there it is null."""
    import polars

    for axis in (figure.x, figure.y):
        if axis.scale == "log":
            frame = frame.with_columns(polars.when(polars.col(axis.column) > 0).then(polars.col(axis.column)))
        elif places := tail(figure, axis):
            values = [places.place(quantile) for quantile in frame[axis.column]]
            frame = frame.with_columns(polars.Series(placed(axis), values, dtype=polars.Float64))
    return frame


def steps_of_a_decade(figure: Figure, axis: Axis) -> tuple[int, ...]:
    """Which numbers between the powers of ten a log axis labels: more of them if it spans few powers."""
    found = [value for value in values(figure, axis.column) if value]
    return (1, 2, 5) if found and max(found) < 50 * min(found) else (1,)


def title(axis: Axis) -> str:
    """The title beside an axis: without the unit where the ticks have it."""
    return axis.title.removesuffix(" (us)") if axis.is_time else axis.title


def is_whole(figure: Figure, axis: Axis) -> bool:
    """Whether an axis counts: half a block is no tick."""
    frames = [frame for frame in (figure.frame, figure.stated) if frame is not None]
    return all(frame.schema[axis.column].is_integer() for frame in frames)


def starts_at_zero(figure: Figure) -> bool:
    """Whether the y axis begins at 0: that of bars that go up, and where it takes little room from what lines show."""
    if figure.y.scale != "linear":
        return False
    found = [value for value in values(figure, figure.y.column) if value is not None]
    if figure.mark in ("bars", "stack"):
        return all(value >= 0 for value in found)
    return bool(found) and 0 <= 2 * min(found) <= max(found)


def values(figure: Figure, column: str) -> list[Any]:
    """The values of a column in order of first appearance, those of stated rows last."""
    frames = [frame for frame in (figure.frame, figure.stated) if frame is not None]
    return list(dict.fromkeys(value for frame in frames for value in frame[column].to_list()))
