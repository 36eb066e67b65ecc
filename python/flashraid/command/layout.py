"""Layout of tables and sentences: on a terminal nothing is wider than it is, and a file has room for any width."""

import os
import re
import shlex
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.table import Table

# Narrower terminals show what matters most of a comparison.
NARROW = 100
LEAST_PROSE = 24  # columns of a text that is wrapped in its cell


def table_of(title: str, columns: list[str]) -> "Table":
    """An empty table; the first column is aligned left, the others right."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE_HEAD, show_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index else "left", no_wrap=True)
    table.show_header = any(columns)
    return table


def tight(table: "Table") -> "Table":
    """The table with one blank between its columns."""
    table.padding = (0, 0, 0, 0)
    return table


def width_of_terminal(file: TextIO | None = None) -> int | None:
    """The columns of the terminal that a file is, by default standard output; None for one that has room for any.

    The variable COLUMNS sets them, for other files too.
    """
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    from rich.console import Console

    console = Console(file=file or sys.stdout)
    return console.width if console.is_terminal else None


def filled(text: str, width: int | None, indent: str = "") -> str:
    """The text in lines of whole words, the further ones indented."""
    if width is None:
        return text
    return textwrap.fill(
        text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    )


def print_text(*lines: str) -> None:
    """Prints sentences, each on lines of its own, and an empty line behind them. A terminal gets whole words."""
    if lines:
        width = width_of_terminal()
        for line in lines:
            print(filled(line, width))
        print()


def print_command(text: str) -> None:
    """Prints a command that a shell can read, however many lines it takes; an option stays with its value."""
    parts: list[str] = []
    for word in map(shlex.quote, shlex.split(text)):
        if parts and re.fullmatch(r"--[\w-]+", parts[-1]) and not word.startswith("--"):
            parts[-1] += f" {word}"
        else:
            parts.append(word)
    width = width_of_terminal()
    lines = [f"  {parts[0]}"]
    for part in parts[1:]:
        if width is not None and len(f"{lines[-1]} {part} \\") > width:
            lines.append(f"      {part}")
        else:
            lines[-1] += f" {part}"
    print(" \\\n".join(lines))


def say(text: str) -> None:
    """Prints a message on standard error. A terminal gets whole words."""
    print(filled(text, width_of_terminal(sys.stderr), "  "), file=sys.stderr)


def print_tables(*tables: "Table", keys: int = 1) -> None:
    """Prints tables, each in one piece if there is room: else texts are wrapped in their cells, and columns that have
    no room follow in further pieces, each with the first columns, so many of which say what a row is about.
    """
    from rich.console import Console

    width = width_of_terminal()
    for table in tables:
        title, table.title = table.title, None  # on a line of its own, which may be wider than the table
        pieces = [table] if width is None else _pieces(table, width, keys)
        for at, piece in enumerate(pieces):
            console = Console(file=sys.stdout, highlight=False, markup=False, width=width or sum(_widths(piece)))
            if title and not at:
                console.print(filled(str(title), width), style="bold", soft_wrap=True)
            with console.capture() as captured:
                console.print(piece)
            # A file gets no trailing blanks; on a terminal they may carry colors.
            lines = captured.get().splitlines()
            print(*(line if console.is_terminal else line.rstrip() for line in lines), "", sep="\n")


def _widths(table: "Table") -> list[int]:
    """The width of each column, with its padding and the blank behind it."""
    from rich.cells import cell_len
    from rich.text import Text

    def of(cell: object) -> int:
        text = cell.plain if isinstance(cell, Text) else str(cell)
        return max((cell_len(line) for line in text.splitlines()), default=0)

    padding = table.padding[1] + table.padding[3] + 1
    return [
        max(map(of, [*([column.header] if table.show_header else []), *column.cells]), default=0) + padding
        for column in table.columns
    ]


def _pieces(table: "Table", width: int, keys: int) -> "list[Table]":
    """The table in pieces that have room."""
    widths = _widths(table)
    if sum(widths) <= width + 1:
        return [table]
    prose = [at for at, column in enumerate(table.columns) if at >= keys and column.justify == "left"]
    long = [at for at in range(keys) if widths[at] > width // 2]  # as the path of a trace
    for at in [*prose, *long]:
        table.columns[at].no_wrap, table.columns[at].overflow = False, "fold"
        widths[at] = min(widths[at], LEAST_PROSE if at in prose else width // 2)
    if sum(widths) <= width + 1:
        return [table]
    blocks = blocks_of(widths, width, keys)
    return [_piece(table, block) for block in blocks]


def blocks_of(widths: Sequence[int], width: int, keys: int = 1) -> list[list[int]]:
    """The columns of each piece: as many as have room beside the keys, but at least one.

    The keys are in each piece if any other column has room beside them, else the first alone.
    """
    has_room = sum(widths[:keys]) + max(widths[keys:], default=0) <= width + 1
    repeated = list(range(keys)) if has_room else [0]
    blocks: list[list[int]] = [repeated[:]]
    for at in range(len(repeated), len(widths)):
        if len(blocks[-1]) > len(repeated) and sum(widths[each] for each in [*blocks[-1], at]) > width + 1:
            blocks.append(repeated[:])
        blocks[-1].append(at)
    return blocks


def _piece(table: "Table", columns: Sequence[int]) -> "Table":
    piece = table_of("", [])
    piece.padding = table.padding
    piece.show_header = table.show_header
    for at in columns:
        of = table.columns[at]
        piece.add_column(of.header, justify=of.justify, no_wrap=of.no_wrap, overflow=of.overflow)
    cells = [list(table.columns[at].cells) for at in columns]
    for row, texts in zip(table.rows, zip(*cells, strict=True), strict=True):
        piece.add_row(*texts, end_section=row.end_section)
    return piece
