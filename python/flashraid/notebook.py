"""How results show themselves in notebooks: small HTML tables."""

from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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


def of_results(results: "Sequence[Result]") -> str:
    """The main figures of one or several results, side by side."""
    from .figures.of_results import names

    rows = [[name, *(figure(result) for result in results)] for name, figure in _MAIN.items()]
    first = results[0]
    caption = f"{first.workload.name or 'Simulation'} on {first.device}, {first.workload.requests:,} requests"
    return table(caption, ["", *names(results)], rows)


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


def _us(ns: float) -> str:
    return f"{ns / 1000:,.1f}"


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:,.3f}"


_MAIN: "dict[str, Callable[[Result], str]]" = {
    "read latency, mean (us)": lambda of: _us(of.latency.read.mean),
    "read latency, p99 (us)": lambda of: _us(of.latency.read.p99),
    "write latency, mean (us)": lambda of: _us(of.latency.write.mean),
    "write latency, p99 (us)": lambda of: _us(of.latency.write.p99),
    "requests per second": lambda of: _ratio(of.bandwidth.requests_per_second),
    "write amplification": lambda of: _ratio(of.write_amplification),
    "share of flash for redundancy": lambda of: _ratio(of.capacity.redundancy_share),
    "survives": lambda of: of.survives.text,
}
