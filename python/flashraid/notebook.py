"""How results show themselves in notebooks: small HTML tables."""

from . import summary
from .compared import Compared, Results
from .html_table import html_table
from .measured import Measured


def of_result(result: Measured) -> str:
    """The figures that a decision needs."""
    return of_comparison(Compared([result]))


def of_comparison(comparison: Results) -> str:
    """The table of `flashraid compare`, and its conclusion."""
    names = [candidate.name for candidate in summary.candidates(comparison)]
    lines = [line for section in summary.table(comparison) for line in section.lines]
    rows = [[line.head, *map(_cell, line.cells)] for line in lines]
    first = comparison.results[0]
    caption = f"{first.workload.name or 'Simulation'} on {first.device}, {first.workload.requests:,} requests"
    below = [text for text in summary.notes(comparison) if text.startswith("~")] + summary.conclusion(comparison)
    return html_table(caption, ["", *names], rows, " ".join(below))


def _cell(cell: summary.Cell) -> str:
    relative = f"({cell.relative})" if cell.relative else ""
    return " ".join(filter(None, (cell.text, relative, cell.mark.strip())))
