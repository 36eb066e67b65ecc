"""Errors that nobody foresaw: defects of flashraid, told in two lines, with what is needed to find them in a file."""

import platform
import shlex
import sys
import tempfile
import traceback

from .. import _native

# `EX_SOFTWARE` of sysexits.h.
STATUS = 70


def tell(error: BaseException) -> int:
    """Prints what happened and how to report it, and returns the exit status."""
    is_ours = isinstance(error, _native.DefectError | _native.PanicException)
    text = " ".join(str(error).split())
    kind = "" if is_ours else f"{type(error).__name__}{': ' if text else ''}"
    kept = _kept(error)
    print(f"error: a defect of flashraid: {kind}{text}", file=sys.stderr)
    print(f"please report it, with {'the lines above' if kept is None else kept}", file=sys.stderr)
    return STATUS


def _kept(error: BaseException) -> str | None:
    """The file with everything; None if none can be written, and all is printed instead."""
    trace = "".join(traceback.format_exception(error))
    head = f"flashraid {_native.__version__}, Python {platform.python_version()}, {platform.platform()}"
    text = f"{head}\n{shlex.join(sys.argv)}\n\n{trace}{_native.last_panic() or ''}"
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="flashraid-defect-", suffix=".txt", delete=False, encoding="utf-8", errors="backslashreplace"
        ) as file:
            file.write(text)
        return file.name
    except OSError:
        print(text, file=sys.stderr)
        return None
