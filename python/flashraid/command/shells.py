"""Completion in shells: the options that show and install its script."""

import os
from pathlib import Path
from types import ModuleType

import rich_click as click

from .._native import InputError

COMMAND, VARIABLE = "flashraid", "_FLASHRAID_COMPLETE"
SHELLS = ("bash", "zsh", "fish")


def _completion() -> ModuleType:
    """How click completes, with our way of doing it in bash."""
    from click import shell_completion

    from . import bash  # noqa: F401 (registers itself)

    return shell_completion


def complete(instruction: str, command: click.Command) -> int:
    """Answers the script of a shell; returns the exit status."""
    status: int = _completion().shell_complete(command, {}, COMMAND, VARIABLE, instruction)
    return status


def _script(shell: str) -> str:
    """What the shell must read."""
    of_shell = _completion().get_completion_class(shell)
    script: str = of_shell(click.Command(COMMAND), {}, COMMAND, VARIABLE).source()
    return script


def _shell(asked: str, option: str) -> str:
    """The shell that was asked for, or that of the user."""
    shell = asked or os.path.basename(os.environ.get("SHELL", ""))
    if shell not in SHELLS:
        raise InputError(f"{option} {shell or '(no shell)'}: allowed is {', '.join(SHELLS)}")
    return shell


def _show(context: click.Context, _parameter: click.Parameter, asked: str | None) -> None:
    if asked is not None:
        print(_script(_shell(asked, "--show-completion")))
        context.exit()


def _install(context: click.Context, _parameter: click.Parameter, asked: str | None) -> None:
    """Writes the script where the shell looks for it, or has the shell's own file read it."""
    if asked is None:
        return
    shell = _shell(asked, "--install-completion")
    home = Path.home()
    is_fish = shell == "fish"
    file = home / ".config/fish/completions/flashraid.fish" if is_fish else home / f".flashraid-complete.{shell}"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(_script(shell))
    print(f"written: {file}; shells that are started from now on complete")
    if not is_fish:
        startup, line = home / f".{shell}rc", f'. "$HOME/{file.name}"\n'
        text = startup.read_text() if startup.exists() else ""
        if line not in text:
            startup.write_text(text + ("" if text.endswith("\n") or not text else "\n") + line)
            print(f"added: {startup}: {line}", end="")
    context.exit()


_OF_A_SHELL = {
    "panel": "Options",
    "metavar": "[bash|zsh|fish]",
    "is_flag": False,
    "flag_value": "",
    "is_eager": True,
    "expose_value": False,
}
show_completion = click.option(
    "--show-completion",
    help="Print the script with which a shell completes words; by default, that of your shell.",
    callback=_show,
    **_OF_A_SHELL,  # type: ignore[arg-type]
)
install_completion = click.option(
    "--install-completion",
    help="Have your shell, or this one, complete words.",
    callback=_install,
    **_OF_A_SHELL,  # type: ignore[arg-type]
)
