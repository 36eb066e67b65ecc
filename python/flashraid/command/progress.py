"""Progress on standard error (a bar for each scheme on a terminal, else an occasional line), and Ctrl-C."""

import sys
import time
from contextlib import ExitStack, suppress

from ..interrupts import Interrupts

LINE_SECONDS = 10.0


class Progress:
    """The callback of long runs, which also stops them: Ctrl-C is only recorded, so that partial results are kept."""

    def __init__(self, *, quiet: bool) -> None:
        self._interrupts = Interrupts()
        self._exit = ExitStack()
        self._bar = None
        self._quiet = quiet
        self._last_line = time.monotonic()
        self._scheme = ""
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

    def begin(self, scheme: str) -> bool:
        """Announces the run of a scheme; the previous one is complete. Returns whether to start it."""
        self._scheme = scheme
        if self._bar:
            for task in self._bar.tasks:
                self._bar.update(task.id, total=1, completed=1)
            self._task = self._bar.add_task(scheme, total=None, what="filling")
        return not self.interrupted

    def __call__(self, stage: str, count: int, share: float | None, text: str = "") -> bool:
        """Shows the progress of the run, in the words of `text` if there is one. Returns whether to continue."""
        if self.interrupted:
            return False
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
            part = "" if share is None else f"{share:.0%}{of}, "
            print(f"{self._scheme}: {part}{text}", file=sys.stderr)
        return not self.interrupted


def duration(seconds: float) -> str:
    """A time as people say it: 40 s, 12 min, 1 h 5 min."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
