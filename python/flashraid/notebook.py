"""How results show themselves in notebooks: small HTML tables."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import summary
    from .comparison import Comparison
    from .result import Result
    from .series import Series


def table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], below: str = "") -> str:
    """An HTML table whose first column names the rows, and a line below it."""
    heads = "".join(f"<th>{escape(text)}</th>" for text in head)
    body = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        + "".join(f"<td>{escape(text)}</td>" for text in cells)
        + "</tr>"
        for name, *cells in rows
    )
    note = f"<p>{escape(below)}</p>" if below else ""
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{note}"
    )


def of_result(result: "Result") -> str:
    """The figures that a decision needs."""
    from .comparison import Comparison

    return of_comparison(Comparison([result]))


def of_comparison(comparison: "Comparison") -> str:
    """The table of `flashraid compare`, and its conclusion."""
    from . import summary

    names = [candidate.name for candidate in summary.candidates(comparison)]
    lines = [line for section in summary.table(comparison) for line in section.lines]
    rows = [[line.head, *map(_cell, line.cells)] for line in lines]
    first = comparison.results[0]
    caption = f"{first.workload.name or 'Simulation'} on {first.device}, {first.workload.requests:,} requests"
    below = [text for text in summary.notes(comparison) if text.startswith("~")] + summary.conclusion(comparison)
    return table(caption, ["", *names], rows, " ".join(below))


def _cell(cell: "summary.Cell") -> str:
    relative = f"({cell.relative})" if cell.relative else ""
    return " ".join(filter(None, (cell.text, relative, cell.mark.strip())))


def of_series(series: "Series") -> str:
    """How long the series is, and what it shows."""
    frame = series.to_frame()
    end_ns = (frame["start_ns"] + frame["length_ns"]).max()
    counts = [name for name in frame.columns if name.endswith("_requests") and name != "outstanding_requests"]
    rows = [
        ["intervals", f"{len(frame):,}"],
        ["simulated time", f"{_seconds(frame['start_ns'].min())} to {_seconds(end_ns)} s"],
        *([name.replace("_", " "), f"{frame[name].sum():,}"] for name in counts if frame[name].sum()),
    ]
    return table(
        f"Series of {series.name}", ["", ""], rows, "Figures: " + ", ".join(each.name for each in series.figures())
    )


def _seconds(ns: Any) -> str:
    return f"{(ns or 0) / 1e9:,.3f}"
