"""Progress on standard error (a bar for each run on a terminal, else an occasional line), and Ctrl-C."""

import math
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from ..interrupts import Interrupts
from ..sizes import filled_pages, unit_bytes_of, word_of_units
from .layout import say

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

LINE_SECONDS = 10.0
# The engine tells after so many rounds at the earliest that GC is steady, and overwrites so many times the logical
# space at most under `steady` (docs/configuration.md).
FEWEST_ROUNDS = 5
STEADY_SPACES = 20.0

Configuration = Mapping[str, Any]


class Rounds(NamedTuple):
    """What a precondition overwrites: rounds of so many mapping units, until GC is steady or all are done."""

    units: int
    most_units: int
    name: str = "pages"

    @classmethod
    def of(cls, detail: Configuration) -> "Rounds":
        """Those of a complete configuration, as the engine has them."""
        run, unit_bytes = detail["config"]["run"], unit_bytes_of(detail["config"]["device"])
        space = detail["space_bytes"] // unit_bytes
        filled = run["fill_bytes"] // unit_bytes or filled_pages(run["fill"], space) or space
        kind, _, spaces = run["precondition"].partition(":")
        most = float(spaces) if kind == "random" else STEADY_SPACES
        return cls(max(1, filled // 4), math.ceil(most * space), word_of_units(detail["config"]["device"]))

    def text(self, count: int, seconds: float) -> str:
        """How far it is after so many units, and so many seconds."""
        done, most = count // self.units, math.ceil(self.most_units / self.units)
        fewest = min(FEWEST_ROUNDS, most)
        least = min(max(fewest, done + 1) * self.units, self.most_units)
        left = f", at least {duration(seconds * (least - count) / count)} left" if count and least > count else ""
        rounds = f"{fewest} to {most}" if fewest < most else f"{most}"
        of_round = f"{count - done * self.units:,} of {self.units:,} {self.name}"
        return f"precondition: {of_round} of round {done + 1} (of {rounds}) overwritten{left}"


class Progress:
    """What long work tells, run by run, and what stops it: Ctrl-C is only recorded, so that results are kept."""

    def __init__(self, *, quiet: bool, runs: int = 1) -> None:
        """`runs` says how many there will be, some of them perhaps at the same time."""
        self._interrupts = Interrupts()
        self._exit = ExitStack()
        self.quiet, self.runs, self.ended = quiet, runs, 0
        self.lock = Lock()
        self.bar: Bar | None = None
        if not quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

            texts = (TextColumn("{task.description:<8}"), TextColumn("{task.fields[what]}"))
            columns = (texts[0], BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), texts[1])
            self.bar = Progress(*columns, console=Console(stderr=True), transient=True)

    def __enter__(self) -> "Progress":
        self._exit.enter_context(self._interrupts)
        if self.bar:
            self.bar.start()
            self._exit.callback(self.hide)
            if self.runs > 1:
                self.whole = self.bar.add_task("all", total=self.runs, what="")
        return self

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C or an equivalent signal was received."""
        return self._interrupts.came

    def hide(self) -> None:
        """Removes the bars."""
        if self.bar:
            with suppress(OSError):  # a terminal that is gone must not take the results with it
                self.bar.stop()

    def __exit__(self, *error: object) -> None:
        self._exit.close()

    def say(self, text: str) -> None:
        """A line above the bars."""
        if self.bar:
            self.bar.console.print(text, highlight=False)
        elif not self.quiet:
            say(text)

    def begin(self, name: str, configured: Callable[[], Configuration] | None = None) -> "Run":
        """Announces a run. `configured` gives its complete configuration, if it may have a precondition."""
        return Run(self, name, configured)


class Run:
    """The callback of one run."""

    def __init__(self, progress: Progress, name: str, configured: Callable[[], Configuration] | None) -> None:
        self._progress, self._name, self._configured = progress, name, configured
        self._rounds: Rounds | None = None
        self._begun = self._last_line = time.monotonic()
        if progress.bar:
            self._task = progress.bar.add_task(name, total=None, what="filling")

    def __call__(self, stage: str, count: int, share: float | None, text: str = "") -> bool:
        """Shows the progress of the run, in the words of `text` if there is one. Returns whether to continue."""
        progress = self._progress
        if progress.interrupted:
            return False
        if stage == "preconditioning" and self._configured:
            text, share = self._preconditioning(self._configured, count)
        what = {
            "preconditioning": f"{count:,} pages overwritten",
            "verifying": "verifying",
            "fitting": f"{count:,}",
            "ageing": f"{count:,} SSDs worn out",
            "kills": f"{count:,} crash points",
        }
        text = text or what.get(stage, f"{count:,} requests")
        if progress.bar:
            progress.bar.update(self._task, total=None if share is None else 1, completed=share or 0, what=text)
        elif not progress.quiet and time.monotonic() - self._last_line > LINE_SECONDS:
            self._last_line = time.monotonic()
            of = {"ageing": " of the ageing", "reproducing": "", "runs": ""}.get(stage, " of the trace")
            part = "" if share is None or stage == "preconditioning" else f"{share:.0%}{of}, "
            say(f"{self._name}: {part}{text}")
        return not progress.interrupted

    def end(self) -> None:
        """The run has ended."""
        progress = self._progress
        with progress.lock:
            progress.ended += 1
            if progress.bar and progress.runs > 1:
                progress.bar.update(self._task, visible=False)
                what = f"{progress.ended:,} of {progress.runs:,} runs"
                progress.bar.update(progress.whole, completed=progress.ended, what=what)

    def _preconditioning(self, configured: Callable[[], Configuration], count: int) -> tuple[str, float]:
        """How far the precondition is, and the share of its round."""
        if self._rounds is None:
            self._rounds, self._begun = Rounds.of(configured()), time.monotonic()
        share = count % self._rounds.units / self._rounds.units
        return self._rounds.text(count, time.monotonic() - self._begun), share


def duration(seconds: float) -> str:
    """A time as people say it: 40 s, 12 min, 1 h 5 min."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
