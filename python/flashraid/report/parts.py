"""What a report consists of. `page.py` draws it; nothing here knows of HTML."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..figures import Figure

# Columns of figures that fit beside the first one on a sheet of paper.
MOST_COLUMNS = 7


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class List:
    """Sentences, each on its own."""

    texts: Sequence[str]


@dataclass(frozen=True)
class Notice:
    """Something that a reader must not overlook, as a warning."""

    text: str


@dataclass(frozen=True)
class Code:
    """Lines to copy, as a command."""

    text: str


@dataclass(frozen=True)
class Cell:
    """A cell of a table: its text, what stands small below it, whether it is the best of its row, and its note."""

    text: str
    below: str = ""
    is_best: bool = False
    note: str = ""


@dataclass(frozen=True)
class Group:
    """Rows that belong together; `title` may be empty. The first cell of a row names it."""

    title: str
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True)
class Table:
    """A table. `are_figures` aligns all columns but the first at the right."""

    caption: str
    head: Sequence[str]
    groups: Sequence[Group]
    are_figures: bool = True
    has_schemes: bool = False  # in its columns, so that there may be many

    @classmethod
    def of_texts(
        cls, caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], are_figures: bool = True
    ) -> "Table":
        """A table of texts, in one group."""
        return cls(caption, head, [Group("", [[Cell(text) for text in row] for row in rows])], are_figures)

    @property
    def is_wide(self) -> bool:
        """Whether it has more columns than a sheet of paper."""
        return self.has_schemes and len(self.head) > 1 + MOST_COLUMNS

    @property
    def pieces(self) -> "list[Table]":
        """The table in pieces that fit on paper, each with the first column."""
        names = self.head[1:]
        count = -(-len(names) // MOST_COLUMNS)
        size = -(-len(names) // count)
        return [self._piece(range(start, min(start + size, len(names)))) for start in range(0, len(names), size)]

    def _piece(self, places: range) -> "Table":
        def of(row: Sequence[Any]) -> list[Any]:
            return [row[0], *(row[1 + place] for place in places)]

        groups = [Group(group.title, [of(row) for row in group.rows]) for group in self.groups]
        names = of(self.head)
        return replace(self, caption=f"{self.caption} ({names[1]} to {names[-1]})", head=names, groups=groups)

    @property
    def notes(self) -> list[str]:
        """The notes of its cells, which stand below it; a cell has the letter of its note."""
        notes = (cell.note for group in self.groups for row in group.rows for cell in row)
        return list(dict.fromkeys(note for note in notes if note))


Block = Text | List | Notice | Code | Table | Figure


@dataclass(frozen=True)
class Part:
    """A part of the report under a heading; `name` is its anchor. The first part may do without a title."""

    title: str
    name: str
    blocks: list[Block] = field(default_factory=list)
    is_folded: bool = False  # shown when asked for, and in print
