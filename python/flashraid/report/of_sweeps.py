"""The reports of sweeps and of advice."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from ..advising.candidates import Candidate
from ..advising.choice import Ranked
from ..advising.search import Tried
from ..figures import Figure
from ..files import NewFile
from ..outputs import check_report
from ..settings import Path
from ..sweeping import view
from ..sweeping.plan import Plan
from . import page
from .parts import Block, Code, List, Notice, Part, Table, Text

MOST_ROWS = 500  # of a table in the page; the dataset has all


class Swept(Protocol):
    """What the report shows of a sweep."""

    plan: Plan
    partial: bool

    @property
    def axes(self) -> tuple[str, ...]: ...
    @property
    def summary(self) -> str: ...
    def lines(self) -> list[view.Line]: ...
    def reasons(self) -> list[tuple[str, str, int]]: ...
    def figures(self) -> list[Figure]: ...


class Advised(Protocol):
    """What the report shows of an answer of the advisor."""

    tried: list[Tried]
    front: list[Ranked]
    refused: Mapping[str, str]

    @property
    def recommended(self) -> Candidate | None: ...
    @property
    def sentences(self) -> Sequence[str]: ...
    def cells(self) -> tuple[list[str], list[list[str]]]: ...
    def command(self, candidate: Candidate) -> str: ...
    def figures(self) -> list[Figure]: ...


def of_sweep(sweep: Swept, path: Path | NewFile, title: str = "") -> None:
    """Writes the report of a sweep to a file. Raises InputError if that cannot be."""
    if not isinstance(path, NewFile):
        check_report(path, "report")
    axes = view.axes_of(sweep.axes)
    page.write(title or f"Sweep over {', '.join(axes) or 'one point'}", list(_sweep_parts(sweep)), path)


def _sweep_parts(sweep: Swept) -> Iterator[Part]:
    yield Part("", "summary", [Text(f"{sweep.summary}."), *_troubles(sweep)])
    lines = sweep.lines()
    heads, cells = view.cells(lines[:MOST_ROWS])
    axes = view.axes_of(sweep.axes)
    rows = [
        [*("-" if value is None else str(value) for value in line.values), *row]
        for line, row in zip(lines, cells, strict=False)
    ]
    about = "Main figures of each point; with several seeds their mean, and half the width of its 95 % interval"
    notes = view.notes(lines[:MOST_ROWS])
    yield Part("Points", "points", [Table.of_texts(about, [*axes, *heads], rows), *([List(notes)] if notes else [])])
    if figures := sweep.figures():
        yield Part("Charts", "charts", [*figures])
    yield Part("Plan", "plan", [Code(sweep.plan.text)], is_folded=True)


def _troubles(sweep: Swept) -> list[Block]:
    partial = [Notice("The sweep was interrupted: not all runs are done.")] if sweep.partial else []
    return [
        *partial,
        *(Notice(f"{status}: {reason} ({count:,} points)") for status, reason, count in sweep.reasons()),
    ]


def of_advice(advice: Advised, path: Path | NewFile, title: str = "") -> None:
    """Writes the report of an answer to a file. Raises InputError if that cannot be."""
    if not isinstance(path, NewFile):
        check_report(path, "report")
    name = advice.recommended.name if advice.recommended else "nothing"
    page.write(title or f"Advice: {name}", list(_advice_parts(advice)), path)


def _advice_parts(advice: Advised) -> Iterator[Part]:
    yield Part("", "summary", [List(advice.sentences)])
    heads, rows = advice.cells()
    if rows:
        yield Part("The Pareto front", "front", [Table.of_texts("Members of the front, the best first", heads, rows)])
    if figures := advice.figures():
        yield Part("Charts", "charts", [*figures])
    left_out = [[each.candidate.name, each.out] for each in advice.tried if each.out]
    left_out += [[scheme, why] for scheme, why in advice.refused.items()]
    if left_out:
        table = Table.of_texts("Why others are not on the front", ["candidate", "reason"], left_out, are_figures=False)
        yield Part("Left out", "left-out", [table], is_folded=True)
    commands = [advice.command(each.tried.candidate) for each in advice.front]
    if commands:
        yield Part("Origin", "origin", [Text("Each member of the front, run again:"), Code("\n".join(commands))])
