"""The command that makes a report of results, and the reports of `run` and `compare`. Returns its exit status."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import rich_click as click

from .._native import InputError
from ..comparison import Comparison
from ..files import NewFile, refuse_same
from ..outputs import Outputs
from ..settings import Pairs, Path
from .options import argument, option, quiet
from .outputs import LABELS

if TYPE_CHECKING:
    from ..figures import Figure


def say_report(file: NewFile) -> None:
    """Says where a report is."""
    print(f"report: {file.path}", file=sys.stderr)


def say_figures(figures: "Sequence[Figure]", folder: Path) -> None:
    """Says where figures are."""
    print(f"figures: {len(figures)} as SVG, PNG and CSV in {os.fspath(folder)}", file=sys.stderr)


class Drawings:
    """The report and the figures that a command makes: checked at once, written when there are results."""

    def __init__(self, outputs: Outputs, inputs: Mapping[str, Path | None], title: str | None = None) -> None:
        self._outputs = outputs
        self._inputs = inputs
        self._title = title
        if outputs.figures is not None and not _can_be_made(outputs.figures):
            raise InputError(f"--figures: {os.fspath(outputs.figures)}: no folder can be written there")
        self._file = None if outputs.report is None else NewFile(outputs.report, "--report")

    def write(self, comparison: Comparison, quiet: bool) -> None:
        """Writes them, and says where they are."""
        if not self._outputs.are_drawn:
            return
        if not quiet:
            print("drawing figures ...", file=sys.stderr)
        try:
            self._draw(comparison, quiet)
        except KeyboardInterrupt:
            print("figures and report: not complete, and not written", file=sys.stderr)
            raise

    def _draw(self, comparison: Comparison, quiet: bool) -> None:
        from .. import report

        figures = report.figures(comparison)
        if self._outputs.figures is not None:
            self._write_figures(figures, self._outputs.figures, quiet)
        if self._file is not None:
            title, parts = self._title or report.title_of(comparison), report.parts(comparison, figures)
            report.write(title, parts, self._file)
            if not quiet:
                say_report(self._file)

    def _write_figures(self, drawn: "Sequence[Figure]", folder: Path, quiet: bool) -> None:
        from ..figures import files

        names = [f"{figure.name}.{ending}" for figure in drawn for ending in ("svg", "png", "csv")]
        refuse_same(self._inputs, {f"--figures: {name}": os.path.join(folder, name) for name in names})
        files.write(list(drawn), folder, "--figures")
        if not quiet:
            say_figures(drawn, folder)

    def discard(self) -> None:
        """Removes what is incomplete."""
        if self._file is not None:
            self._file.discard()


def _can_be_made(folder: Path) -> bool:
    """Whether the folder can be written, or made in the nearest one that exists."""
    path = os.path.realpath(folder)
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return os.path.isdir(path) and os.access(path, os.W_OK | os.X_OK)


@contextmanager
def drawings(
    outputs: Outputs,
    trace: str,
    device: str | None,
    scheme: str | None,
    config: str | None,
    settings: Pairs,
    seeds: int = 1,
) -> Iterator[tuple[Drawings, Outputs]]:
    """The drawings of a run or comparison, and its outputs with the series that they need.

    With several seeds there are no files of one run, and so no charts over time.
    """
    inputs = {"the trace": trace, "--device": device, "--config": config}
    with ExitStack() as undo:
        drawn = Drawings(outputs, {name: path for name, path in inputs.items() if path and os.path.exists(path)})
        undo.callback(drawn.discard)
        if outputs.are_drawn and seeds == 1:
            from ..report.recording import recorded

            outputs = undo.enter_context(recorded(outputs, trace, device, scheme, config, settings))
        yield drawn, outputs


@click.command()
@argument("results", metavar="RESULT.json...", nargs=-1, required=True, help="JSON of run or compare.")
@option("-o", "--output", metavar="FILE.html", required=True, help="The report.")
@option(
    "--series",
    metavar="FILE",
    multiple=True,
    help="Series of the results, for charts over time: one for each, in their order, or that of a comparison.",
)
@option("--figures", metavar="DIR", help="Write the figures as SVG and PNG, with their data as CSV, too.")
@option("--title", metavar="TEXT", help="Title of the report.")
@quiet
def report(
    results: tuple[str, ...],
    output: str,
    series: tuple[str, ...],
    figures: str | None,
    title: str | None,
    quiet: bool,
) -> int:
    """Make a report of results: one HTML file with tables and charts that needs no network.

    Example: flashraid report raid5.json cr5m.json -o report.html
    """
    from ..report import reading

    outputs = Outputs({}, {**LABELS, "report": "-o"}, report=output, figures=figures)
    outputs.check()
    comparison = reading.read(results)
    found = reading.add_series(comparison, series)
    inputs = {f"result {path}": path for path in results} | {f"--series {path}": path for path in found}
    refuse_same(inputs, {"-o": output})
    drawn = Drawings(outputs, inputs, title)
    try:
        drawn.write(comparison, quiet)
    finally:
        drawn.discard()
    return 0
