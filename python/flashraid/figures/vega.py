"""Figures for the screen: Vega-Lite, through Altair.

Only functions that draw import this module: Altair takes half a second to load.
"""

from typing import Any, Literal

import altair

from .model import Axis, Figure
from .style import (
    DARK,
    DASHES,
    LIGHT,
    MOST_DASHED,
    MOST_MARKS,
    TIMES,
    drawn,
    is_whole,
    placed,
    starts_at_zero,
    steps_of_a_decade,
    tail,
    title,
    values,
)

Width = int | Literal["container"]

SHAPES = ("circle", "square", "triangle-up", "cross", "triangle-down", "triangle-right", "triangle-left")
HEIGHT = 260
# Of a chart in a notebook.
NOTEBOOK_WIDTH = 520
# Of one panel of several, which Vega-Lite cannot fit to the width of a page.
PANEL_WIDTH = 280
# The number of a row in its line.
ROW = "number_of_row"
# The number of a part of a bar.
PART = "part_of_bar"
# Marks the rows that a paper states.
STATED = "is_stated"
# The label of a vertical rule.
RULE = "label_of_rule"
# The styles of their lines and labels.
RULE_LINE, RULE_LABEL = "rule", "rule-label"
# Marks the rules whose labels are at the bottom.
AT_BOTTOM = "is_at_bottom"
# Pixels of a legend's row, of an entry without its text, and of a letter of it.
LEGEND_WIDTH, ENTRY_WIDTH, LETTER_WIDTH = 330, 34, 6.2
# Parts of a bar below this share of the highest bar are too low for a number in them.
LEAST_NUMBERED = 0.06


def chart(figure: Figure, width: Width = "container") -> Any:
    """The figure as an Altair chart, without colors of a theme: `config` has those.

    Hovering shows a row; a click on the legend hides or shows a series; dragging moves and the wheel with Ctrl scales
    what has two number axes, and a double click resets that. A figure with a `facet` has a panel of fixed width for
    each value, since Vega-Lite cannot fit several to a page; `Figure.panels` splits it.
    """
    rows = drawn(figure, figure.frame)
    layers = _LAYERS[figure.mark](figure, rows)
    data = rows.to_dicts()
    if figure.stated is not None:
        stated = drawn(figure, figure.stated)
        layers = [layer.transform_filter(f"!datum.{STATED}") for layer in layers]
        layers.append(_stated(figure, stated).transform_filter(f"datum.{STATED}"))
        data += [row | {STATED: True} for row in stated.to_dicts()]
    if figure.rules:
        layers = [layer.transform_filter(f"!isValid(datum.{RULE})") for layer in layers] + _rules(figure)
        data += rule_rows(figure)
    if not figure.facet:
        return altair.layer(
            *layers, data=altair.InlineData(values=data), title=figure.title, width=width, height=HEIGHT
        )
    panel = altair.layer(
        *layers,
        data=altair.InlineData(values=data),
        width=PANEL_WIDTH if width == "container" else width,
        height=HEIGHT,
    )
    order = values(figure, figure.facet)
    field = altair.Facet(field=figure.facet, type="nominal", sort=order, title=None)
    return panel.facet(facet=field, columns=2, title=figure.title)


def config(dark: bool) -> dict[str, Any]:
    """Vega-Lite's `config` with the colors for a light or a dark page."""
    text, faint, page = ("#e8e8e8", "#484848", "#1b1b1b") if dark else ("#1a1a1a", "#dddddd", "#ffffff")
    palette = list(DARK if dark else LIGHT)
    return {
        "background": "transparent",
        "mark": {"color": palette[0]},
        "axis": {
            "labelColor": text,
            "titleColor": text,
            "titleFontWeight": "normal",
            "domainColor": text,
            "tickColor": text,
            "gridColor": faint,
        },
        "header": {"labelColor": text, "titleColor": text},
        "legend": {"labelColor": text, "titleColor": text},
        "title": {"color": text, "anchor": "start", "fontSize": 13},
        "view": {"stroke": None},
        "range": {"category": palette, "ordinal": palette},
        # Parts of a bar are separated by the page's color, and what a paper states has that of its text.
        "bar": {"stroke": page, "strokeWidth": 1},
        "style": {"stated": {"color": page, "stroke": text}, "number": {"color": page, "fontSize": 10}}
        | {RULE_LINE: {"color": text}, RULE_LABEL: {"color": text}}
        | {"number-above": {"color": text, "fontSize": 9}},
    }


def with_config(drawing: Any, dark: bool = False) -> Any:
    """The chart with the colors of `config`, on a background of its own: for a notebook."""
    colors = config(dark)
    del colors["background"]
    return drawing.configure(**colors, background="#1b1b1b" if dark else "#ffffff")


def together(figures: list[Figure], width: int = NOTEBOOK_WIDTH) -> Any:
    """The figures one below the other, each with its own scales and legend."""
    charts = [chart(figure, PANEL_WIDTH if figure.facet else width) for figure in figures]
    return altair.vconcat(*charts).resolve_scale(color="independent", shape="independent", strokeDash="independent")


def _type(axis: Axis) -> Any:
    return "nominal" if axis.scale == "category" else "quantitative"


def _encoding(figure: Figure, axis: Axis) -> dict[str, Any]:
    field: dict[str, Any] = {"field": placed(axis), "type": _type(axis), "title": title(axis)}
    if axis.scale == "category":
        order = values(figure, axis.column)
        turned = sum(len(str(value)) + 2 for value in order) > 60
        axis_of = altair.Axis(labelAngle=-40 if turned else 0, labelLimit=300)
        return field | {"sort": order, "scale": altair.Scale(domain=order), "axis": axis_of}
    if axis.scale == "log":
        is_labeled = f"indexof({list(steps_of_a_decade(figure, axis))}, {_LEADING}) >= 0"
        return field | {
            "scale": altair.Scale(type="log"),
            "axis": _labeled(is_labeled, _TIME if axis.is_time else _NUMBER),
        }
    if places := tail(figure, axis):
        ticks = places.ticks()
        labels = [label for _, label in ticks]
        text = f"datum.value > {places.edge - 0.01} ? 'max' : {labels}[round(datum.value)]"
        marks = altair.Axis(values=[place for place, _ in ticks], labelExpr=text, labelOverlap="greedy")
        return field | {"scale": altair.Scale(domain=[0, places.edge], nice=False), "axis": marks}
    if is_whole(figure, axis):
        return field | {"axis": _labeled("datum.value == floor(datum.value)", "format(datum.value, ',d')")}
    return field


def _labeled(test: str, text: str) -> Any:
    """An axis with labels and grid lines where a test holds, whose text an expression gives."""
    axis = altair.Axis(labelExpr=f"{test} ? {text} : ''")
    axis.gridOpacity = altair.condition(test, altair.value(1), altair.value(0))
    return axis


# The first digit of a tick, which is all it has.
_LEADING = "round(datum.value / pow(10, floor(log(datum.value) / LN10 + 1e-9)))"
_NUMBER = "format(datum.value, datum.value < 1 ? '~g' : ',d')"
_TIME = "".join(f"datum.value >= {one} ? format(datum.value / {one}, ',d') + ' {unit}' : " for unit, one in TIMES)
_TIME = f"({_TIME}format(datum.value, '~g') + ' {TIMES[-1][0]}')"


def _x(figure: Figure) -> Any:
    return altair.X(**_encoding(figure, figure.x))


def _y(figure: Figure, **more: Any) -> Any:
    if figure.y.scale == "linear":
        more["scale"] = altair.Scale(zero=starts_at_zero(figure))
    return altair.Y(**_encoding(figure, figure.y), **more)


def _tooltip(figure: Figure) -> list[Any]:
    columns = {column: column for column in (figure.facet, figure.series) if column}
    found = [altair.Tooltip(field=column, type="nominal", title=title) for column, title in columns.items()]
    for axis in (figure.x, figure.y):
        number = {"format": ",d" if is_whole(figure, axis) else ",.6~r"}
        shape: dict[str, Any] = {} if axis.scale == "category" else number
        found.append(altair.Tooltip(field=axis.column, type=_type(axis), title=axis.title, **shape))
    return found


def _legend(names: list[Any], **more: Any) -> Any:
    longest = max(len(str(name)) for name in names)
    columns = max(1, int(LEGEND_WIDTH // (ENTRY_WIDTH + LETTER_WIDTH * longest)))
    return altair.Legend(
        orient="top", title=None, columns=min(columns, len(names)), labelLimit=320, symbolStrokeWidth=0, **more
    )


def _scaled(figure: Figure, channel: Any, names: list[Any], legend: Any, ways: Any = None) -> Any:
    scale: dict[str, Any] = {"domain": names}
    if ways is not None:
        scale["range"] = [ways[at % len(ways)] for at in range(len(names))]
    return channel(field=figure.series, type="nominal", sort=names, scale=altair.Scale(**scale), legend=legend)


def _shown(figure: Figure, names: list[Any]) -> Any:
    """The parameter that holds the series shown, all of them at first; a click on the legend takes one out."""
    return altair.selection_point(
        name=f"shown_{_identifier(figure)}",
        fields=[figure.series],
        bind="legend",
        toggle="true",
        value=[{figure.series: name} for name in names],
    )


def _zoom(figure: Figure) -> Any:
    return altair.selection_interval(
        name=f"zoom_{_identifier(figure)}", bind="scales", zoom="wheel![event.ctrlKey || event.metaKey]"
    )


def _identifier(figure: Figure) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in figure.name)


def _lines(figure: Figure, rows: Any) -> list[Any]:
    """Lines, with marks at some points, and invisible points that say what they are."""
    is_line = figure.mark != "points"
    x, y, tooltip = _x(figure), _y(figure), _tooltip(figure)
    names = values(figure, figure.series) if figure.series else []
    many = max((len(part) for part in rows.partition_by(figure.series)), default=0) if figure.series else len(rows)
    line = altair.Chart().mark_line(
        interpolate="step-after" if figure.mark == "steps" else "linear",
        strokeWidth=1.8 if many <= MOST_DASHED else 1.1,
    )
    line = line.encode(x=x, y=y)
    points = altair.Chart().mark_point(size=36, filled=True).encode(x=x, y=y, tooltip=tooltip)
    targets = altair.Chart().mark_point(size=90, opacity=0).encode(x=x, y=y, tooltip=tooltip)
    if is_line and (step := -(-many // MOST_MARKS)) > 1:
        groups = [column for column in (figure.series, figure.facet) if column]
        numbered: Any = [{"op": "row_number", "as": ROW}]
        points = points.transform_window(numbered, groupby=groups).transform_filter(f"datum.{ROW} % {step} == 1")
    if names:
        legend, shown = _legend(names), _shown(figure, names)
        opacity = altair.when(shown).then(altair.value(1)).otherwise(altair.value(0.04))
        color = _scaled(figure, altair.Color, names, legend)
        dashes = [[round(2 * length, 1) for length in dash] for dash in DASHES]
        line = line.encode(color=color, opacity=opacity, detail=altair.Detail(field=figure.series, type="nominal"))
        if many <= MOST_DASHED:
            line = line.encode(strokeDash=_scaled(figure, altair.StrokeDash, names, legend, dashes))
        points = points.encode(color=color, shape=_scaled(figure, altair.Shape, names, legend, SHAPES), opacity=opacity)
    layers = [line, points, targets] if is_line else [points, targets]
    # Vega-Lite makes a legend react only for parameters of the first layer.
    if names:
        layers[0] = layers[0].add_params(shown)
    if figure.x.scale != "category" and figure.y.scale != "category":
        layers[0] = layers[0].add_params(_zoom(figure))
    return layers


def _bars(figure: Figure, rows: Any) -> list[Any]:
    bars = altair.Chart().mark_bar(width=_band(figure)).encode(x=_x(figure), y=_y(figure), tooltip=_tooltip(figure))
    if not figure.series:
        return [bars]
    names = values(figure, figure.series)
    shown = _shown(figure, names)
    numbers = _numbers(names)
    offset = altair.XOffset(field=figure.series, type="nominal", sort=names)
    bars = bars.encode(
        xOffset=offset,
        color=_scaled(figure, altair.Color, names, _numbered_legend(names, numbers)),
        opacity=altair.when(shown).then(altair.value(1)).otherwise(altair.value(0.08)),
    )
    texts = altair.Chart().transform_calculate(**{PART: numbers.format(f"datum.{figure.series}") + " + 1"})
    texts = texts.mark_text(style="number-above", dy=-5).encode(
        x=_x(figure), y=_y(figure), xOffset=offset, text=altair.Text(f"{PART}:Q")
    )
    return [bars.add_params(shown), texts]


def _numbers(names: list[Any]) -> str:
    """The expression of a part's place among the names, with {} for its name."""
    return f"indexof({[str(name) for name in names]}, toString({{}}))"


def _numbered_legend(names: list[Any], numbers: str) -> Any:
    return _legend(names, labelExpr=f"({numbers.format('datum.value')} + 1) + ' ' + datum.label")


def _band(figure: Figure) -> Any:
    """The width of a bar as a share of its category's: a few bars are not to fill a page."""
    if figure.mark == "bars" and figure.series:
        return altair.Undefined
    return {"band": min(0.8, 0.2 * len(values(figure, figure.x.column)))}


def _stack(figure: Figure, rows: Any) -> list[Any]:
    """Bars of parts, with the number of the part in it, which the legend repeats."""
    names = values(figure, figure.series)
    shown = _shown(figure, names)
    order = altair.Order(field=PART, type="quantitative")
    numbers = _numbers(names)
    number = {PART: numbers.format(f"datum.{figure.series}") + " + 1"}
    is_there = f"datum.{figure.y.column} > 0"  # nothing is drawn of a part without height, not even its edges
    bars = altair.Chart().mark_bar(width=_band(figure)).transform_calculate(**number).transform_filter(is_there)
    legend = _numbered_legend(names, numbers)
    bars = bars.encode(
        x=_x(figure),
        y=_y(figure, stack="zero"),
        order=order,
        color=_scaled(figure, altair.Color, names, legend),
        opacity=altair.when(shown).then(altair.value(1)).otherwise(altair.value(0.08)),
        tooltip=_tooltip(figure),
    ).add_params(shown)
    places = [column for column in (figure.facet, figure.x.column) if column]
    highest = rows.select(*places, figure.y.column).group_by(places).sum()[figure.y.column].max() or 0
    texts = altair.Chart().transform_calculate(**number).transform_filter(is_there)
    texts = texts.mark_text(style="number").encode(
        x=_x(figure),
        y=_y(figure, stack="zero", bandPosition=0.5),
        order=order,
        text=altair.condition(
            f"datum.{figure.y.column} >= {LEAST_NUMBERED * highest}", altair.Text(f"{PART}:Q"), altair.value("")
        ),
        detail=altair.Detail(field=figure.series, type="nominal"),
    )
    return [bars, texts]


def rule_rows(figure: Figure) -> list[dict[str, Any]]:
    """The rows of vertical rules: those of all panels are in each of them."""
    belongs = figure.facet or figure.series
    return [
        {figure.x.column: rule.at, RULE: rule.label, AT_BOTTOM: number % 2 == 1}
        | ({belongs: rule.of or panel} if belongs else {})
        for panel in (values(figure, figure.facet) if figure.facet else [""])
        for number, rule in enumerate(rule for rule in figure.rules if not figure.facet or rule.of in ("", panel))
    ]


def _rules(figure: Figure) -> list[Any]:
    """Vertical rules, with their labels along them."""
    base = altair.Chart().transform_filter(f"isValid(datum.{RULE})").encode(x=_x(figure))
    label = altair.Text(field=RULE, type="nominal")
    # Labels of neighbors, at the top and at the bottom, do not meet.
    align, y = f"datum.{AT_BOTTOM} ? 'left' : 'right'", f"datum.{AT_BOTTOM} ? height - 2 : 2"
    texts = base.mark_text(style=RULE_LABEL, angle=270, align=altair.expr(align), dy=-6, fontSize=10, clip=True)
    return [
        base.mark_rule(style=RULE_LINE, strokeDash=[5, 3], strokeWidth=1, clip=True),
        texts.encode(text=label, y=altair.value(altair.expr(y))),
    ]


def _stated(figure: Figure, rows: Any) -> Any:
    marks = altair.Chart().transform_calculate(by="'paper'")
    marks = marks.mark_point(style="stated", filled=True, shape="diamond", strokeWidth=1.6, opacity=1)
    # A legend of its own, which no other channel has a part in.
    legend = altair.Legend(orient="top", title=None, symbolType="diamond")
    size = altair.Size(field="by", type="ordinal", scale=altair.Scale(range=[70, 70]), legend=legend)
    marks = marks.encode(x=_x(figure), y=_y(figure), size=size, tooltip=_tooltip(figure))
    if figure.series and figure.mark == "bars":
        names = values(figure, figure.series)
        marks = marks.encode(xOffset=altair.XOffset(field=figure.series, type="nominal", sort=names))
    return marks


_LAYERS = {"line": _lines, "steps": _lines, "points": _lines, "bars": _bars, "stack": _stack}
