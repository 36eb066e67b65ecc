"""What the commands that replay a trace have in common."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ..files import NewFile
from ..outputs import Outputs, check_report
from .layout import say
from .progress import Progress

EPILOG = "docs/result.md explains each key of the JSON, docs/glossary.md the terms."


def json_target_of(json_target: str | None, outputs: Outputs) -> str | None:
    """The target of the JSON; output in fio's format goes to standard output by default."""
    return "-" if outputs.fio and json_target is None else json_target


def option_of(name: str) -> str:
    """The option that an argument of the library is."""
    return f"--{name.replace('_', '-')}"


@contextmanager
def report_file(path: str | None) -> Iterator[NewFile | None]:
    """The file of a report, checked at once and written when there are results; None if there is to be none."""
    if path is None:
        yield None
        return
    check_report(path, "--report")
    file = NewFile(path, "--report")
    try:
        yield file
        print(f"report: {file.path}", file=sys.stderr)
    finally:
        file.discard()


def warn(texts: list[str]) -> None:
    """Prints warnings."""
    for text in texts:
        say(f"warning: {text}")


def status_of(status: int, progress: Progress, is_partial: bool) -> int:
    """The exit status; a violation outweighs an interruption."""
    if not progress.interrupted or status == 1:
        return status
    print(f"interrupted: the results are {'partial' if is_partial else 'complete'}", file=sys.stderr)
    return 130
