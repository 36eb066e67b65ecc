"""A report as one HTML file. Scripts, styles and data are part of it."""

import functools
import gzip
import importlib.resources
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._native import InputError, __version__
from ..extras import need
from ..figures import Figure
from ..files import NewFile
from ..settings import Path
from .parts import Part, Table

if TYPE_CHECKING:
    import polars

# Rows of a chart's table in the page; its CSV has all.
MOST_ROWS = 100
# Of one panel of several.
PANEL_HEIGHT = 170
# Digits of the numbers that a chart draws, and of those that its table shows.
DIGITS, DIGITS_SHOWN = 7, 6


def write(title: str, parts: Sequence[Part], target: Path | NewFile) -> None:
    """Writes a report with a title and these parts to a file, atomically."""
    file = target if isinstance(target, NewFile) else NewFile(target, "report")
    try:
        file.write(html(title, parts))
    finally:
        file.discard()


def html(title: str, parts: Sequence[Part]) -> str:
    """The report as the text of an HTML file."""
    need("plot", "report")
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from ..figures import vega

    names = [block.name for part in parts for block in part.blocks if isinstance(block, Figure)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"report: allowed is one figure of each name, and there are several: {', '.join(twice)}")
    environment = Environment(
        loader=PackageLoader("flashraid", "report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"json": _json, "letter": _letter, "kind": lambda block: type(block).__name__}
    return environment.get_template("page.html.j2").render(
        title=title,
        parts=parts,
        first_with_charts=next(
            (part for part in parts if any(isinstance(block, Figure) for block in part.blocks)), None
        ),
        has_wide_tables=any(isinstance(block, Table) and block.is_wide for part in parts for block in part.blocks),
        style=_text_of("page.css"),
        script=_text_of("page.js"),
        vega=_vega() if names else "",
        configs={theme: vega.config(theme == "dark") for theme in ("light", "dark")},
        chart=_chart,
        table=_table,
        version=__version__,
    )


def _text_of(name: str) -> str:
    return importlib.resources.files("flashraid.report").joinpath(name).read_text(encoding="utf-8")


@functools.cache
def _vega() -> str:
    """Vega, Vega-Lite and vega-embed, in a scope of their own; `make bundle` has made the file."""
    bundle = gzip.decompress(importlib.resources.files("flashraid.report").joinpath("vega.js.gz").read_bytes()).decode()
    return "(function () {\n" + bundle.replace("</script", r"<\/script") + "\n})();"


def _letter(place: int) -> str:
    """a to z, then aa, ab and so on."""
    return (_letter(place // 26 - 1) if place >= 26 else "") + chr(ord("a") + place % 26)


def _json(value: object) -> str:
    """JSON that may stand in a script element."""
    from markupsafe import Markup

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", r"\u003c").replace("\u2028", r"\u2028"))


def _chart(figure: Figure) -> dict[str, Any]:
    """What the script draws: a Vega-Lite specification, and for each panel a title and the data by column."""
    import polars

    from ..figures import vega
    from ..figures.style import drawn, values

    rows = drawn(figure, figure.table())
    logs = [axis.column for axis in (figure.x, figure.y) if axis.scale == "log"]
    rows = rows.with_columns(figure.table().select(logs))  # their zeros are left out of the drawing, not of the data
    if figure.stated is not None:
        rows = rows.with_columns((polars.col("source") == "paper").alias(vega.STATED))
    rules = vega.rule_rows(figure)
    titles = values(figure, figure.facet) if figure.facet else [""]
    return {
        "mark": figure.mark,
        "series": figure.series,
        "values": list(map(str, values(figure, figure.series))) if figure.series else [],
        "columns": figure.table().columns,
        "logs": logs,
        "extent": _extent(figure),
        "spec": _specification(figure),
        "panels": [
            {
                "title": str(title),
                "data": _columnar(rows.filter(rows[figure.facet] == title) if figure.facet else rows),
                "rules": [rule for rule in rules if not figure.facet or rule[figure.facet] == title],
            }
            for title in titles
        ],
    }


def _specification(figure: Figure) -> dict[str, Any]:
    """The specification of each panel, whose data are called `frame`."""
    from altair.utils import schemapi

    from ..figures import vega

    with schemapi.debug_mode(False):  # validation takes most of the time, and the tests do it
        spec = vega.chart(_typical_panel(figure)).to_dict(validate=False)
    for key in ("config", "$schema", "title", "usermeta", "datasets"):
        spec.pop(key, None)
    spec["data"] = {"name": "frame"}
    if figure.facet:
        spec["height"] = PANEL_HEIGHT
        for layer in spec["layer"]:
            for channel, domain in (("x", _extent(figure)), ("y", _domain(figure))):
                axis = layer["encoding"].get(channel)
                if domain is not None and "field" in (axis or {}):
                    axis["scale"] = {**axis.get("scale", {}), "domain": domain, "nice": channel == "y"}
    return spec  # type: ignore[no-any-return]


def _typical_panel(figure: Figure) -> Figure:
    """The first panel, with a row of each series that it lacks."""
    import polars

    if not figure.facet:
        return figure
    first = figure.frame.filter(polars.col(figure.facet) == figure.frame[figure.facet][0])
    if figure.series:
        others = figure.frame.filter(~polars.col(figure.series).is_in(first[figure.series].unique().implode()))
        first = polars.concat([first, others.unique(figure.series, keep="first", maintain_order=True)])
    return replace(figure, frame=first, facet="")


def _extent(figure: Figure) -> list[float] | None:
    """The least and the greatest x, where the x axis can be zoomed."""
    values = figure.table()[figure.x.column]
    is_zoomed = figure.x.scale == "linear" and figure.mark in ("line", "steps", "points") and values.n_unique() > 1
    return [values.min(), values.max()] if is_zoomed else None  # type: ignore[list-item]


def _domain(figure: Figure) -> list[float] | None:
    """What the y axes of all panels show, so that they can be compared."""
    import polars

    if figure.y.scale == "category":
        return None
    rows, y = figure.frame, polars.col(figure.y.column)
    if figure.mark == "stack":
        rows = rows.group_by(figure.facet, figure.x.column).agg(y.sum())
    frames = [rows.select(y)] + ([] if figure.stated is None else [figure.stated.select(y)])
    values = polars.concat(frames, how="vertical_relaxed").to_series().drop_nulls()
    if figure.y.scale == "log":
        values = values.filter(values > 0)
    if values.is_empty():
        return None
    return [values.min() if figure.y.scale == "log" else min(0, values.min()), values.max()]  # type: ignore[list-item, type-var]


def _columnar(frame: "polars.DataFrame") -> dict[str, Any]:
    """Each column as its values, and one of texts as the texts and where each value is among them."""
    columns: dict[str, Any] = {}
    for column in frame.iter_columns():
        values = column.to_list()
        if not column.dtype.is_numeric():
            texts = list(dict.fromkeys(values))
            places = {text: place for place, text in enumerate(texts)}
            columns[column.name] = {"texts": texts, "places": [places[value] for value in values]}
        else:
            columns[column.name] = [_short(value) for value in values]
    return columns


def _short(value: Any) -> Any:
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _table(figure: Figure) -> dict[str, Any]:
    """The first rows of the data that a chart shows, as texts, and which columns are numbers."""
    frame: polars.DataFrame = figure.table()
    return {
        "columns": frame.columns,
        "numeric": [kind.is_numeric() for kind in frame.dtypes],
        "rows": [[_shown(value) for value in row] for row in frame.head(MOST_ROWS).rows()],
        "count": frame.height,
    }


def _shown(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.{DIGITS_SHOWN}g}" if isinstance(value, float) else str(value)
