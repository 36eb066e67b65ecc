"""Layout of tables."""

import sys
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


def table_of(title: str, columns: list[str]) -> "Table":
    """An empty table; the first column is aligned left, the others right."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE_HEAD, show_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index else "left", no_wrap=True)
    table.show_header = any(columns)
    return table


def width_of_terminal() -> int | None:
    """The columns of the terminal that standard output is; None for a file, which has room for any."""
    from rich.console import Console

    console = Console(file=sys.stdout)
    return console.width if console.is_terminal else None


def print_text(*lines: str) -> None:
    """Prints sentences, each on lines of its own, and an empty line behind them. A terminal gets whole words."""
    if lines:
        for line in lines:
            print(line if (width := width_of_terminal()) is None else textwrap.fill(line, width))
        print()


def print_tables(*tables: "Table", width: int | None = None) -> None:
    """Prints at the terminal's width, or wider if needed: lines are wrapped by the terminal, never cut off."""
    from rich.console import Console
    from rich.measure import measure_renderables

    console = Console(file=sys.stdout, highlight=False, markup=False)
    if width is None:
        unlimited = Console(width=10_000)
        width = max(
            console.width, *(measure_renderables(unlimited, unlimited.options, [table]).maximum for table in tables)
        )
    console = Console(file=sys.stdout, highlight=False, markup=False, width=width)
    for table in tables:
        title, table.title = table.title, None  # on a line of its own, which may be wider than the table
        if title:
            console.print(title, style="bold", soft_wrap=True)
        with console.capture() as captured:
            console.print(table)
        # A file gets no trailing blanks; on a terminal they may carry colors.
        lines = captured.get().splitlines()
        print(*(line if console.is_terminal else line.rstrip() for line in lines), "", sep="\n")
