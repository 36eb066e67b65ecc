"""The user's command: running it, interrupting it, and keeping its files out of the page cache."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType

from .._native import InputError
from ..causes import cause

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE_SECONDS = 2.0  # for a command to end by itself, after an interrupt
STEP_SECONDS = 0.2


class Interrupts:
    """Defers Ctrl-C and similar signals, so that every step started is undone; `check` then raises."""

    def __enter__(self) -> "Interrupts":
        self.noted = False
        heeded = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]  # nohup stays nohup
        self._former = {number: signal.signal(number, self._note) for number in heeded}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.noted = True

    def check(self) -> None:
        """Raises `KeyboardInterrupt` if one came."""
        if self.noted:
            raise KeyboardInterrupt


def run_command(command: Sequence[str], folder: Path, interrupts: Interrupts, each_second: Callable[[], None]) -> int:
    """Runs a command in a folder and returns its status (minus the signal that ended it).

    On a terminal it shares our process group: Ctrl-C reaches all of it, and it may ask questions. Elsewhere it gets
    a group of its own, so that what it has started can be ended with it.
    """
    has_group = not sys.stdin.isatty()
    environment = os.environ | {"CAPTURE_DIR": str(folder)}
    try:
        process = subprocess.Popen(command, cwd=folder, env=environment, process_group=0 if has_group else None)
    except OSError as error:
        raise InputError(f"{command[0]}: {cause(error)}") from None
    steps = 0
    while not interrupts.noted:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(STEP_SECONDS)
        steps += 1
        if steps % round(1 / STEP_SECONDS) == 0:
            each_second()
    send = os.killpg if has_group else os.kill
    with suppress(ProcessLookupError):
        send(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)
        send(process.pid, signal.SIGKILL)
    return process.wait()


def evict(folder: Path) -> None:
    """Drops the clean cached pages of every file under a directory and starts writeback of the dirty ones."""
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            with suppress(OSError):  # a file may be gone by now
                if os.path.islink(path) or not os.path.isfile(path):
                    continue
                descriptor = os.open(path, os.O_RDONLY | os.O_NOATIME)
                try:
                    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
                finally:
                    os.close(descriptor)
