"""The command `flashraid`: data to standard output, progress and messages to standard error."""

import os
import signal
import sys
from typing import TYPE_CHECKING

from .. import interrupts
from .._native import PanicException, keep_panics
from ..causes import cause

if TYPE_CHECKING:
    from click.exceptions import ClickException


def main() -> None:
    """Runs the command and exits with its status."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            signal.signal(number, signal.default_int_handler)  # ends the command as Ctrl-C does, leaving nothing behind
    interrupts.end_in_time()
    try:
        sys.exit(run(sys.argv[1:]))
    except BrokenPipeError:
        # A reader that has seen enough (`| head`) is no error: once all is tidied up, it ends this command as others.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)


def run(arguments: list[str]) -> int:
    """Runs the command with these arguments and returns the exit status."""
    keep_panics()
    interrupts.last_words.begin()
    try:
        return _run(arguments)
    except KeyboardInterrupt:  # before or after the command's own work
        interrupts.last_words.say()
        return interrupts.STATUS
    except BrokenPipeError:
        raise
    except (Exception, PanicException) as error:
        from . import unforeseen

        return unforeseen.tell(error)


def _run(arguments: list[str]) -> int:
    # An exception during imports could be taken for a module's own, or be ignored.
    with interrupts.Interrupts() as until_now:
        from click.exceptions import ClickException, Exit, NoArgsIsHelpError

        from .._native import InputError
        from . import shells
        from .app import flashraid as app

    if until_now.came:
        raise KeyboardInterrupt
    try:
        if instruction := os.environ.get(shells.VARIABLE):
            return shells.complete(instruction, app)
        with app.make_context(shells.COMMAND, _with_json_targets(arguments)) as context:
            status: int = app.invoke(context)
        sys.stdout.flush()  # a full disk must not pass for success
        return status
    except Exit as ended:
        sys.stdout.flush()
        return ended.exit_code
    except NoArgsIsHelpError as error:
        print(error.ctx.get_help() if error.ctx else "")
        return 2
    except ClickException as error:
        return _fail(_usage(error), 2)
    except InputError as error:
        return _fail(str(error), 2)
    except SystemExit as error:
        raise error.__context__ or error from None  # rich makes an exit of a closed pipe
    except OverflowError as error:
        return _fail(f"a number is out of range: {error}", 2)
    except BrokenPipeError:
        raise
    except OSError as error:
        # Without a number it is no error of the system's, and so of no file.
        where = f"{error.filename or 'output'}: " if error.filename or error.errno else ""
        return _fail(f"{where}{cause(error)}", 2)
    except MemoryError:
        return _fail("there is not enough memory", 2)


def _with_json_targets(arguments: list[str]) -> list[str]:
    """`--json` without a file means standard output; what follows `--` is not ours."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    ours, others = arguments[:end], arguments[end:]
    following = [*ours[1:], "--"] if ours else []
    return [
        "--json=-" if argument == "--json" and after != "-" and after.startswith("-") else argument
        for argument, after in zip(ours, following, strict=True)
    ] + others


def _usage(error: "ClickException") -> str:
    """One line, with the nearest name for a misspelt option."""
    if near := getattr(error, "possibilities", None):
        return f"no such option {getattr(error, 'option_name', '')}; the nearest is {near[0]}"
    text = " ".join(error.format_message().split())
    return text.rstrip(".")[:1].lower() + text.rstrip(".")[1:]


def _fail(text: str, status: int) -> int:
    from .layout import say

    say(f"error: {text}")
    return status
