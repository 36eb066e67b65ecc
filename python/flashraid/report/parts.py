"""What a report consists of. `page.py` draws it; nothing here knows of HTML."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..figures import Figure


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

    @classmethod
    def of_texts(
        cls, caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], are_figures: bool = True
    ) -> "Table":
        """A table of texts, in one group."""
        return cls(caption, head, [Group("", [[Cell(text) for text in row] for row in rows])], are_figures)

    @property
    def notes(self) -> list[str]:
        """The notes of its cells, which stand below it; a cell has the number of its note."""
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
