"""Small HTML tables, as which objects show themselves in notebooks."""

from collections.abc import Sequence
from html import escape


def html_table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], below: str = "") -> str:
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
