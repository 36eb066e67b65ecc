"""The page of a data sheet."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from ..figures import Figure
from ..files import NewFile
from ..outputs import check_report
from ..settings import Path
from ..sheets.cells import DEFINITION
from . import page
from .parts import Code, List, Notice, Part, Table, Text


class Sheet(Protocol):
    """What the page shows of a data sheet."""

    @property
    def title(self) -> str: ...
    @property
    def sheet(self) -> dict[str, Any] | None: ...
    @property
    def warnings(self) -> Sequence[str]: ...
    def facts(self) -> list[list[str]]: ...
    def table(self) -> tuple[list[str], list[list[str]]]: ...
    def beside(self) -> tuple[list[str], list[list[str]]]: ...
    def figures(self) -> list[Figure]: ...
    def commands(self) -> list[str]: ...
    def profiles(self) -> list[str]: ...


def of_sheet(sheet: Sheet, path: Path | NewFile, title: str = "") -> None:
    """Writes the page of a data sheet to a file. Raises InputError if that cannot be."""
    if not isinstance(path, NewFile):
        check_report(path, "report")
    page.write(title or sheet.title, list(_parts(sheet)), path)


def _parts(sheet: Sheet) -> Iterator[Part]:
    facts = Table.of_texts("Capacity and endurance", ["", ""], sheet.facts())
    yield Part("", "summary", [facts, Text(DEFINITION), *(Notice(text) for text in sheet.warnings)])
    yield Part("Measured", "measured", [Table.of_texts("Each line is a run of its own", *sheet.table())])
    if sheet.sheet is not None:
        heads, rows = sheet.beside()
        source = f"Stated by: {sheet.sheet['source']}"
        yield Part("Beside the maker's sheet", "beside", [Table.of_texts(source, heads, rows)])
    yield Part("Charts", "charts", [*sheet.figures()])
    repeat = List(["Each profile in a file of the name that its command has repeats a line."])
    profiles = [Code(text) for text in sheet.profiles()]
    yield Part("Origin", "origin", [repeat, Code("\n".join(sheet.commands())), *profiles], is_folded=True)
