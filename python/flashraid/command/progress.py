"""Progress on standard error (a bar for each scheme on a terminal, else an occasional line), and Ctrl-C."""

import math
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from typing import Any, NamedTuple

from ..interrupts import Interrupts
from ..sizes import filled_pages

LINE_SECONDS = 10.0
# The engine tells after so many rounds at the earliest that GC is steady, and overwrites so many times the logical
# space at most under `steady` (docs/configuration.md).
FEWEST_ROUNDS = 5
STEADY_SPACES = 20.0

Configuration = Mapping[str, Any]


class Rounds(NamedTuple):
    """What a precondition overwrites: rounds of so many pages, until GC is steady or it has overwritten the most."""

    pages: int
    most_pages: int

    @classmethod
    def of(cls, detail: Configuration) -> "Rounds":
        """Those of a complete configuration, as the engine has them."""
        run, page_bytes = detail["config"]["run"], detail["config"]["device"]["page_bytes"]
        space = detail["space_bytes"] // page_bytes
        filled = run["fill_bytes"] // page_bytes or filled_pages(run["fill"], space) or space
        kind, _, spaces = run["precondition"].partition(":")
        most = float(spaces) if kind == "random" else STEADY_SPACES
        return cls(max(1, filled // 4), math.ceil(most * space))

    def text(self, count: int, seconds: float) -> str:
        """How far it is after so many pages, and so many seconds."""
        done, most = count // self.pages, math.ceil(self.most_pages / self.pages)
        fewest = min(FEWEST_ROUNDS, most)
        least = min(max(fewest, done + 1) * self.pages, self.most_pages)
        left = f", at least {duration(seconds * (least - count) / count)} left" if count and least > count else ""
        rounds = f"{fewest} to {most}" if fewest < most else f"{most}"
        of_round = f"{count - done * self.pages:,} of {self.pages:,} pages"
        return f"precondition: {of_round} of round {done + 1} (of {rounds}) overwritten{left}"


class Progress:
    """The callback of long runs, which also stops them: Ctrl-C is only recorded, so that partial results are kept."""

    def __init__(self, *, quiet: bool) -> None:
        self._interrupts = Interrupts()
        self._exit = ExitStack()
        self._bar = None
        self._quiet = quiet
        self._last_line = time.monotonic()
        self._scheme = ""
        self._configured: Callable[[], Configuration] | None = None
        self._rounds: Rounds | None = None
        self._begun = 0.0
        if not quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

            texts = (TextColumn("{task.description:<8}"), TextColumn("{task.fields[what]}"))
            columns = (texts[0], BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), texts[1])
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)

    def __enter__(self) -> "Progress":
        self._exit.enter_context(self._interrupts)
        if self._bar:
            self._bar.start()
            self._exit.callback(self.hide)
        return self

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C or an equivalent signal was received."""
        return self._interrupts.came

    def hide(self) -> None:
        """Removes the bar."""
        if self._bar:
            with suppress(OSError):  # a terminal that is gone must not take the results with it
                self._bar.stop()

    def __exit__(self, *error: object) -> None:
        self._exit.close()

    def begin(self, scheme: str, configured: Callable[[], Configuration] | None = None) -> bool:
        """Announces the run of a scheme; the previous one is complete. Returns whether to start it.

        `configured` gives its complete configuration, if it may have a precondition.
        """
        self._scheme, self._configured, self._rounds = scheme, configured, None
        if self._bar:
            for task in self._bar.tasks:
                self._bar.update(task.id, total=1, completed=1)
            self._task = self._bar.add_task(scheme, total=None, what="filling")
        return not self.interrupted

    def __call__(self, stage: str, count: int, share: float | None, text: str = "") -> bool:
        """Shows the progress of the run, in the words of `text` if there is one. Returns whether to continue."""
        if self.interrupted:
            return False
        if stage == "preconditioning" and self._configured:
            text, share = self._preconditioning(count)
        what = {"preconditioning": f"{count:,} pages overwritten", "verifying": "verifying", "fitting": f"{count:,}"}
        what |= {
            "ageing": f"{count:,} SSDs worn out",
            "kills": f"{count:,} crash points",
        }
        text = text or what.get(stage, f"{count:,} requests")
        if self._bar:
            self._bar.update(self._task, total=None if share is None else 1, completed=share or 0, what=text)
        elif not self._quiet and time.monotonic() - self._last_line > LINE_SECONDS:
            self._last_line = time.monotonic()
            of = {"ageing": " of the ageing", "reproducing": ""}.get(stage, " of the trace")
            part = "" if share is None or stage == "preconditioning" else f"{share:.0%}{of}, "
            print(f"{self._scheme}: {part}{text}", file=sys.stderr)
        return not self.interrupted

    def _preconditioning(self, count: int) -> tuple[str, float]:
        """How far the precondition is, and the share of its round."""
        if self._rounds is None and self._configured:
            self._rounds, self._begun = Rounds.of(self._configured()), time.monotonic()
        assert self._rounds
        share = count % self._rounds.pages / self._rounds.pages
        return self._rounds.text(count, time.monotonic() - self._begun), share


def duration(seconds: float) -> str:
    """A time as people say it: 40 s, 12 min, 1 h 5 min."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
