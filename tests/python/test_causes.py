"""Why something failed is said in words, whatever an error says of itself."""

import errno
import os

import pytest

from flashraid.causes import cause


class OfLibraryError(Exception):
    """An error of a library, without words of its own."""


def raised(error, led_to, *, hidden=False):
    """The error as it is raised because of another one, which may be hidden."""
    try:
        try:
            raise led_to
        except Exception as first:
            raise error from (None if hidden else first)
    except type(error) as found:
        return found


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("too large"), "too large"),
        (ValueError("\n  \n too large \nas the second line says"), "too large"),
        # The system's words, not Python's, which have the number and the file too.
        (OSError(errno.ENOSPC, "Errno 28", "a.csv"), os.strerror(errno.ENOSPC)),
        (PermissionError(errno.EACCES, ""), os.strerror(errno.EACCES)),
        # What has no number of the system's has its own words.
        (OSError("the archive is cut"), "the archive is cut"),
        (OSError(99_999, "a library's number"), "[Errno 99999] a library's number"),
        # Texts that say nothing.
        (TimeoutError(), "no answer in time"),
        (TimeoutError(None), "no answer in time"),
        (TimeoutError(" . : "), "no answer in time"),
        (ConnectionResetError(), "the connection was closed"),
        (EOFError(), "it ends too early"),
        (MemoryError(), "not enough memory"),
        (RecursionError(), "nested too deeply"),
        (KeyboardInterrupt(), "interrupted"),
        (OfLibraryError(), "of library error"),
        # What led to it, if it says nothing itself; unless that is hidden.
        (raised(OfLibraryError(), ValueError("the header is damaged")), "the header is damaged"),
        (raised(OfLibraryError(), OSError(errno.EIO, "")), os.strerror(errno.EIO)),
        (raised(OfLibraryError("itself"), ValueError("the header is damaged")), "itself"),
        (raised(OfLibraryError(), ValueError("the header is damaged"), hidden=True), "of library error"),
    ],
)
def test_every_error_has_a_cause(error, text):
    assert cause(error) == text


def test_what_was_being_handled_counts_too():
    error = OfLibraryError()
    error.__context__ = ValueError("the first")
    assert cause(error) == "the first"
