"""Figures for print: matplotlib, at the width of a paper's column.

Only functions that draw import this module: matplotlib takes half a second to load.
"""

import io
import os
from typing import Any, Literal

import matplotlib
import matplotlib.figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from .model import Axis, Figure
from .style import (
    DASHES,
    LIGHT,
    MOST_DASHED,
    MOST_MARKS,
    TIMES,
    Tail,
    drawn,
    is_whole,
    placed,
    starts_at_zero,
    steps_of_a_decade,
    tail,
    title,
    values,
)

Columns = Literal[1, 2]

# Inches: the column of a page with two of them, and the page.
WIDTHS = {1: 3.4, 2: 7.0}
HEIGHT = 2.3
DPI = 300
STATED = "paper"
MARKERS = ("o", "s", "^", "P", "v", ">", "<")
# Lines only: each dot of a hatch is a path of its own in SVG, and a figure then has a quarter of a megabyte.
HATCHES = ("", "////", "\\\\\\\\", "xxxx", "----", "++++", "||||")
# More bars than a column has room for.
MOST_BARS = 12
LINE_HEIGHT = 0.15
# Degrees of labels that would touch each other, and their height for each letter's width.
SLANTED, SLANT = 40, 0.64
# Panels in a row, and the inches of each further row.
MOST_PANELS = 4
PANEL_HEIGHT = 1.5
# Points of the label of a vertical rule.
RULE_SIZE = 6
# Inches beside the area that is drawn in, for the labels of the y axis.
FRAME_WIDTH = 0.6
# Inches of a letter and of an entry of a legend without its text.
LETTER_WIDTH, ENTRY_WIDTH = 0.062, 0.48

STYLE: Any = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "figure.titlesize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "axes.axisbelow": True,
    "grid.linewidth": 0.4,
    "grid.color": "#dddddd",
    "hatch.linewidth": 0.5,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "legend.borderpad": 0.1,
    "legend.labelspacing": 0.3,
    "legend.columnspacing": 1.2,
    "figure.constrained_layout.h_pad": 0.04,
    "figure.constrained_layout.w_pad": 0.02,
    "figure.dpi": 120,
    "savefig.dpi": DPI,
    # Text stays text, and the same figures make the same file.
    "svg.fonttype": "none",
    "svg.hashsalt": "flashraid",
}


class Drawing(matplotlib.figure.Figure):
    """A matplotlib figure that notebooks show, and that is saved alike wherever it is saved."""

    def savefig(self, fname: Any, **keywords: Any) -> None:
        """As matplotlib's; the same figure makes the same file."""
        ending = keywords.get("format", os.path.splitext(fname)[1][1:] if isinstance(fname, str | os.PathLike) else "")
        if ending == "svg":
            keywords = {"metadata": {"Date": None}} | keywords
        with matplotlib.rc_context(STYLE):
            super().savefig(fname, **keywords)

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=144)
        return file.getvalue()


def figure(figure: Figure, columns: Columns | None = None, height: float = HEIGHT) -> Drawing:
    """The figure at the width of one or two columns of a page, without a number as many as its panels and bars need.

    It is `height` inches high, and higher with more than one row of a legend or with slanted labels. Its title is left
    to a caption.
    """
    if columns is None:
        is_wide = figure.facet or (figure.mark in ("bars", "stack") and len(figure.frame) > MOST_BARS)
        columns = 2 if is_wide else 1
    with matplotlib.rc_context(STYLE):
        drawing = Drawing(figsize=(WIDTHS[columns], height), layout="constrained")
        beside = _draw(figure, drawing, WIDTHS[columns], "upper")
        drawing.set_size_inches(WIDTHS[columns], height + beside)
    return drawing


def together(figures: list[Figure]) -> Drawing:
    """The figures in two columns over the width of a page, each with its title."""
    rows = -(-len(figures) // 2)
    with matplotlib.rc_context(STYLE):
        drawing = Drawing(figsize=(2 * WIDTHS[1] + 0.4, rows * (HEIGHT + 0.4) + 0.3), layout="constrained")
        parts = drawing.subfigures(rows, 2, squeeze=False, hspace=0.06, wspace=0.04)
        for each, part in zip(figures, parts.flat, strict=False):
            part.suptitle(each.title, x=0.02, ha="left")
            _draw(each, part, WIDTHS[1], "lower")
    return drawing


def _draw(figure: Figure, part: Any, width: float, legend: str) -> float:
    """Draws, and returns the inches of height that a legend and labels take beyond a row each."""
    panels = figure.panels()
    columns = min(len(panels), MOST_PANELS)
    lines = -(-len(panels) // columns)
    grid = part.subplots(lines, columns, sharey=True, sharex=lines > 1, squeeze=False)
    all_axes = list(grid.flat)[: len(panels)]
    for unused in list(grid.flat)[len(panels) :]:
        unused.set_axis_off()
    for panel, axes in zip(panels, all_axes, strict=True):
        axes.use_sticky_edges = False  # no bar ends at the frame
        _DRAWERS[figure.mark](figure, panel, axes)
        _scales(figure, axes, (width - FRAME_WIDTH) / columns)
        if panel.stated is not None and len(panel.stated):  # nothing, drawn beyond the axes, upsets the layout
            _stated(figure, panel, axes)
        for number, rule in enumerate(panel.rules):
            axes.axvline(rule.at, color="black", linewidth=0.7, linestyle=(0, (4, 2)), zorder=0.5)
            in_panel: Any = axes.get_xaxis_transform()
            # Labels of neighbors do not meet.
            height, va = (0.02, "bottom") if number % 2 else (0.98, "top")
            place = {"rotation": 90, "ha": "right", "va": va, "fontsize": RULE_SIZE}
            axes.text(rule.at, height, rule.label, transform=in_panel, clip_on=True, **place)
        if figure.facet:
            axes.set_title(panel.title.removeprefix(f"{figure.title}: "))
        at = all_axes.index(axes)
        is_lowest = at + columns >= len(panels)
        axes.tick_params(labelbottom=is_lowest)
        axes.set(xlabel=title(figure.x) if is_lowest else "", ylabel=title(figure.y) if at % columns == 0 else "")
        axes.grid(axis="y")
    if starts_at_zero(figure):
        all_axes[0].set_ylim(bottom=0)
    elif figure.mark in ("bars", "stack") and figure.y.scale == "linear":
        for axes in all_axes:
            axes.axhline(0, color="black", linewidth=0.6)
    rows = _legend(part, list(all_axes), width, legend)
    slanted = [len(label.get_text()) for label in all_axes[0].get_xticklabels() if label.get_rotation()]
    more = (lines - 1) * PANEL_HEIGHT
    return more + LINE_HEIGHT * max(0, rows - 1) + SLANT * LETTER_WIDTH * max(slanted, default=0)


def _places(figure: Figure, axis: Axis, frame: Any) -> list[float]:
    """Where the rows are on an axis; categories are at whole numbers."""
    if axis.scale != "category":
        return frame[placed(axis)].to_list()  # type: ignore[no-any-return]
    order = values(figure, axis.column)
    return [float(order.index(value)) for value in frame[axis.column]]


def _of_series(figure: Figure, frame: Any) -> list[tuple[int, str, Any]]:
    """The drawn rows of each series, with its number and name."""
    rows = drawn(figure, frame)
    if not figure.series:
        return [(0, "", rows)]
    column = figure.series
    return [(at, str(name), rows.filter(rows[column] == name)) for at, name in enumerate(values(figure, column))]


def _lines(figure: Figure, panel: Figure, axes: Any) -> None:
    for at, name, rows in _of_series(figure, panel.frame):
        color = LIGHT[at % len(LIGHT)]
        is_line = figure.mark != "points"
        is_dense = len(rows) > MOST_DASHED
        step = max(1, -(-len(rows) // MOST_MARKS)) if is_line else 1
        axes.plot(
            _places(figure, figure.x, rows),
            [float("nan") if value is None else value for value in _places(figure, figure.y, rows)],
            color=color,
            label=name,
            drawstyle="steps-post" if figure.mark == "steps" else "default",
            linestyle=_dashes(0 if is_dense else at) if is_line else "none",
            linewidth=0.8 if is_dense else 1.2,
            marker=MARKERS[at % len(MARKERS)],
            markevery=((2 * at + 1) * step // 7 % step, step),
            markerfacecolor="white" if is_line else color,
        )


def _dashes(at: int) -> Any:
    lengths = DASHES[at % len(DASHES)]
    return (0, lengths) if lengths[1] else "-"


def _bars(figure: Figure, panel: Figure, axes: Any) -> None:
    parts = _of_series(figure, panel.frame)
    for at, name, rows in parts:
        if rows.is_empty():
            continue  # an empty set of bars has no color for the legend
        thick, offset = _side_by_side(at, len(parts))
        axes.bar(
            [place + offset for place in _places(figure, figure.x, rows)],
            rows[figure.y.column].to_list(),
            thick,
            label=name,
            **_filled(at if figure.series else 0),
        )


def _side_by_side(at: int, count: int) -> tuple[float, float]:
    """Width of a bar, and its distance from the middle of its category."""
    thick = (0.7 if count == 1 else 0.8) / count
    return thick, (at - (count - 1) / 2) * thick


def _stack(figure: Figure, panel: Figure, axes: Any) -> None:
    below = [0.0] * len(values(figure, figure.x.column))
    for at, name, rows in _of_series(figure, panel.frame):
        if rows.is_empty():
            continue
        places = [int(place) for place in _places(figure, figure.x, rows)]
        heights = [height or 0.0 for height in rows[figure.y.column]]
        axes.bar(places, heights, 0.7, bottom=[below[place] for place in places], label=name, **_filled(at))
        for place, height in zip(places, heights, strict=True):
            below[place] += height


def _filled(at: int) -> dict[str, Any]:
    """Fills alternate between dark with light hatches and light with dark ones."""
    return {
        "facecolor": LIGHT[at % len(LIGHT)],
        "hatch": HATCHES[at % len(HATCHES)],
        "edgecolor": "white",
        "linewidth": 0.6,
    }


def _stated(figure: Figure, panel: Figure, axes: Any) -> None:
    parts = _of_series(figure, panel.stated)
    places: list[float] = []
    heights: list[float] = []
    for at, _, rows in parts:
        offset = _side_by_side(at, len(parts))[1] if figure.mark == "bars" else 0.0
        places += [place + offset for place in _places(figure, figure.x, rows)]
        heights += _places(figure, figure.y, rows)
    axes.plot(
        places,
        heights,
        "D",
        color="black",
        markerfacecolor="white",
        markersize=4.5,
        zorder=5,
        label=STATED,
        clip_on=False,
    )


def _apart(places: Tail, width: float) -> list[str]:
    """The labels of the ticks, without those that would touch one further right on an axis so many inches wide."""
    found: list[str] = []
    right = float("inf")
    for place, label in reversed(places.ticks()):
        middle, half = width * place / places.edge, (len(label) + 1) * LETTER_WIDTH / 2
        fits = middle + half < right
        found.append(label if fits else "")
        right = middle - half if fits else right
    return found[::-1]


def _number(value: float, place: int) -> str:
    return f"{value:,.10g}"


def _time(microseconds: float, place: int) -> str:
    name, factor = next((unit for unit in TIMES if unit[1] <= microseconds * (1 + 1e-9)), TIMES[-1])
    return f"{_number(microseconds / factor, place)} {name}"


def _scales(figure: Figure, axes: Any, width: float) -> None:
    for axis, of, set_scale in ((figure.x, axes.xaxis, axes.set_xscale), (figure.y, axes.yaxis, axes.set_yscale)):
        if axis.scale == "log":
            set_scale("log")
            of.set_major_locator(LogLocator(subs=steps_of_a_decade(figure, axis), numticks=7))
            of.set_major_formatter(FuncFormatter(_time if axis.is_time else _number))
            of.set_minor_locator(NullLocator())
        elif axis.scale == "linear":
            steps = [1, 2, 2.5, 5, 10]
            of.set_major_locator(MaxNLocator(5 if of is axes.xaxis else 6, steps=steps, integer=is_whole(figure, axis)))
            of.set_major_formatter(FuncFormatter(_number))
        elif places := tail(figure, axis):
            of.set_major_locator(FixedLocator([place for place, _ in places.ticks()]))
            of.set_ticklabels(_apart(places, width))
            axes.set_xlim(0, places.edge)
        else:
            labels = [str(value) for value in values(figure, axis.column)]
            of.set_major_locator(FixedLocator(range(len(labels))))
            is_long = sum(len(label) + 2 for label in labels) * LETTER_WIDTH > width
            few = max(0.0, 3 - len(labels)) / 2  # which are not to fill the page
            axes.set_xlim(-0.5 - few, len(labels) - 0.5 + few)
            of.set_ticklabels(
                labels, **({"rotation": SLANTED, "ha": "right", "rotation_mode": "anchor"} if is_long else {})
            )


def _legend_width(labels: list[str], columns: int) -> float:
    """Inches of a legend whose rows have so many entries."""
    longest = (max(map(len, labels[column::columns])) for column in range(columns))
    return sum(ENTRY_WIDTH + LETTER_WIDTH * letters for letters in longest)


def _legend(part: Any, all_axes: list[Any], width: float, place: str) -> int:
    """One legend for all panels, above (`upper`) or below them; returns the number of its rows."""
    found = {
        label: handle for axes in all_axes for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    found.pop("", None)
    if not found:
        return 0
    labels = sorted(found, key=lambda label: label == STATED)  # which keeps the order but for that one
    columns = next(count for count in range(len(labels), 0, -1) if count == 1 or _legend_width(labels, count) <= width)
    rows = -(-len(labels) // columns)
    columns = -(-len(labels) // rows)  # as few as the rows need
    # matplotlib fills columns; people read rows.
    ordered = [label for column in range(columns) for label in labels[column::columns]]
    part.legend([found[label] for label in ordered], ordered, loc=f"outside {place} center", ncols=columns)
    return rows


_DRAWERS = {"line": _lines, "steps": _lines, "points": _lines, "bars": _bars, "stack": _stack}
