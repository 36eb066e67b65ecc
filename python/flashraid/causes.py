"""Why something failed, in one line that is never empty."""

import errno
import os
import re

# What Python's own errors mean whose text is empty, the most special first.
MEANINGS: tuple[tuple[type[BaseException], str], ...] = (
    (TimeoutError, "no answer in time"),
    (ConnectionError, "the connection was closed"),
    (EOFError, "it ends too early"),
    (MemoryError, "not enough memory"),
    (RecursionError, "nested too deeply"),
    (KeyboardInterrupt, "interrupted"),
)


def cause(error: BaseException) -> str:
    """Why: the words of the system or of the error; else those of what led to it, or what such an error means."""
    number = error.errno if isinstance(error, OSError) else None
    if number is not None and number in errno.errorcode:
        return os.strerror(number)
    text = next((line.strip() for line in str(error).splitlines() if line.strip(" .:")), "")
    if text and text != "None":
        return text
    if led_to := error.__cause__ or (None if error.__suppress_context__ else error.__context__):
        return cause(led_to)
    meaning = next((words for kind, words in MEANINGS if isinstance(error, kind)), "")
    return meaning or re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(error).__name__).lower()
