"""Ctrl-C and signals like it: recorded while there are results to keep, and within seconds the end of a command."""

import os
import shutil
import signal
import sys
import threading
import time
from contextlib import ExitStack, suppress

# SIGTERM and SIGHUP end the command as Ctrl-C does; a library leaves them to its program.
NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# So long a command that was interrupted may take to keep what it has, and to tidy up.
LAST_SECONDS = 4.0
STATUS = 130
# Held by what must not be ended half done, and ends by itself.
undoing = threading.Lock()
# Files and folders that a command leaves behind if it is ended by force.
left_behind: set[str] = set()


class Interrupts:
    """While entered, signals that would raise KeyboardInterrupt are only recorded, so that no results are lost.

    Signals that are ignored, or that the program handles in its own way, stay so.
    """

    def __init__(self) -> None:
        self.came = False
        self._undo = ExitStack()

    def __enter__(self) -> "Interrupts":
        if threading.current_thread() is threading.main_thread():  # others get no signals
            for number in NUMBERS:
                if signal.getsignal(number) is signal.default_int_handler:
                    signal.signal(number, self._note)
                    self._undo.callback(signal.signal, number, signal.default_int_handler)
        return self

    def _note(self, number: int, frame: object) -> None:
        self.came = True

    def __exit__(self, *error: object) -> None:
        self._undo.close()


class LastWords:
    """What is said of the interrupt that ends a command, once: by the command, or by who ends it by force.

    A command that keeps what it finishes as it goes says so here before an interrupt comes.
    """

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Those of a command that has kept nothing yet."""
        self.text = "interrupted"

    def take(self) -> str:
        """The words as a line, or nothing if they were said. The caller holds `undoing` until it has said them."""
        text, self.text = self.text, ""
        return text and f"{text}\n"

    def say(self) -> None:
        """Says them on standard error."""
        with undoing:
            sys.stderr.write(self.take())


last_words = LastWords()


def end_in_time() -> None:
    """From now on a signal ends this process within seconds, whatever it waits for: an answer of another machine, a
    disk, a thread that does not look up.

    The system writes the number of a signal to a pipe as soon as it comes, whatever the interpreter is busy with.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_end_after_signal, args=(reading,), name="flashraid-end", daemon=True).start()


def _end_after_signal(reading: int) -> None:
    while os.read(reading, 1)[0] not in NUMBERS:
        pass
    time.sleep(LAST_SECONDS)
    with undoing:
        for path in list(left_behind):
            if os.path.isdir(path):
                shutil.rmtree(path, ignore_errors=True)
            with suppress(OSError):
                os.unlink(path)
        with suppress(OSError):
            # A bar of progress hides the cursor.
            os.write(2, (b"\r\x1b[?25h\x1b[K" if os.isatty(2) else b"") + last_words.take().encode())
        os._exit(STATUS)
