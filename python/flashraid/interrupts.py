"""Ctrl-C while there are results to keep."""

import signal
import threading
from contextlib import ExitStack

# SIGTERM and SIGHUP end the command as Ctrl-C does; a library leaves them to its program.
NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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
