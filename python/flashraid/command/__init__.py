"""The command `flashraid`: data to standard output, progress and messages to standard error."""

import os
import re
import signal
import sys

from ..interrupts import Interrupts


def main() -> None:
    """Runs the command and exits with its status."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            signal.signal(number, signal.default_int_handler)  # ends the command as Ctrl-C does, leaving nothing behind
    try:
        sys.exit(run(sys.argv[1:]))
    except BrokenPipeError:
        # A reader that has seen enough (`| head`) is no error: once all is tidied up, it ends this command as others.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)


# Messages of the option validator about numbers, reworded like all other messages.
ALLOWED = (
    ("Input should be a valid integer.*", "allowed is a whole number"),
    ("Input should be a valid number.*", "allowed is a number"),
    (r"Input should be greater than or equal to (\S+)", r"allowed is \1 or more"),
    (r"Input should be less than or equal to (\S+)", r"allowed is at most \1"),
)


def run(arguments: list[str]) -> int:
    """Runs the command with these arguments and returns the exit status."""
    try:
        return _run(arguments)
    except KeyboardInterrupt:  # before or after the command's own work
        return _interrupted()


def _run(arguments: list[str]) -> int:
    # An exception during imports could be taken for a module's own, or be ignored.
    with Interrupts() as interrupts:
        import typer

        from .. import DefectError, FlashraidError
        from .app import app

    if interrupts.came:
        raise KeyboardInterrupt
    try:
        status = app(_with_json_targets(arguments), prog_name="flashraid", standalone_mode=False)
        sys.stdout.flush()  # a full disk must not pass for success
        return status or 0
    except typer.TyperException as error:
        return _fail(_usage(error), 2)
    except typer.Abort:
        return _interrupted()
    except FlashraidError as error:
        return _fail(str(error), 1 if isinstance(error, DefectError) else 2)
    except OverflowError as error:
        return _fail(f"a number is out of range: {error}", 2)
    except SystemExit as error:
        raise error.__context__ or error from None  # typer makes an exit of a closed pipe
    except BrokenPipeError:
        raise
    except OSError as error:
        return _fail(f"{error.filename or 'output'}: {error.strerror}", 2)


def _with_json_targets(arguments: list[str]) -> list[str]:
    """`--json` without a file means standard output; what follows `--` is not ours."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    ours, others = arguments[:end], arguments[end:]
    following = [*ours[1:], "--"] if ours else []
    return [
        "--json=-" if argument == "--json" and after != "-" and after.startswith("-") else argument
        for argument, after in zip(ours, following, strict=True)
    ] + others


def _usage(error: Exception) -> str:
    """One line, with the nearest name for a misspelt option."""
    if near := getattr(error, "possibilities", None):
        return f"no such option {getattr(error, 'option_name', '')}; the nearest is {near[0]}"
    text = " ".join(error.format_message().split())  # type: ignore[attr-defined]
    for validator, ours in ALLOWED:
        text = re.sub(validator, ours, text)
    return text.rstrip(".")[:1].lower() + text.rstrip(".")[1:]


def _interrupted() -> int:
    print("interrupted", file=sys.stderr)
    return 130


def _fail(text: str, status: int) -> int:
    print(f"error: {text}", file=sys.stderr)
    return status
