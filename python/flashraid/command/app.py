"""The command and its groups: which commands there are, and where each is."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import rich_click as click

from .. import __version__, _native
from ..interrupts import Interrupts
from . import shells

# Panels stand in the order of what they hold; those that rich-click has by itself come last, and hold --help.
HELP = {
    "arguments_panel_title": "Other arguments",
    "options_panel_title": "Help",
    "padding_helptext_first_line": (0, 0, 1, 0),
    "text_paragraph_linebreaks": "\n\n",
}


class Commands(click.RichGroup):
    """A group of commands, each in a module that is imported when somebody asks for the command."""

    def __init__(self, *arguments: Any, modules: Mapping[str, str], **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.modules = modules

    def list_commands(self, _context: click.Context) -> list[str]:
        """All names, in the order of the help."""
        return list(self.modules)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        """The command of this name."""
        if name not in self.modules:
            return None
        # An exception during imports could be taken for a module's own, or be ignored.
        with Interrupts() as interrupts:
            command: click.Command = getattr(import_module(f".{self.modules[name]}", __package__), name)
        if interrupts.came:
            raise KeyboardInterrupt
        return command

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant, its name, and its arguments."""
        name = arguments[0]
        # While a shell completes a word, the message would stand in the prompt.
        if name not in self.modules and not name.startswith("-") and not context.resilient_parsing:
            near = _native.meant(name, list(self.modules))
            hint = f"; the nearest is {near[0]}" if near else ""
            raise click.UsageError(f"no such command {name}{hint}: {', '.join(self.modules)}")
        return super().resolve_command(context, arguments)


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"rich_help_config": HELP},
    modules={
        "run": "replay",
        "compare": "compare",
        "sweep": "sweep",
        "advise": "advise",
        "report": "report",
        "datasheet": "datasheet",
        "devices": "listing",
        "schemes": "listing",
        "explain": "explain",
        "init": "init",
        "trace": "app",
        "torture": "torture",
        "calibrate": "calibrate",
        "reproduce": "reproduce",
    },
)
@click.option("--version", is_flag=True, panel="Options", help="Show the version and exit.")
@shells.show_completion
@shells.install_completion
@click.pass_context
def flashraid(context: click.Context, version: bool) -> int:
    """Simulate redundancy (RAID) inside flash storage.

    Exit status: 0 done; 1 verification found a violation, and nothing else; 2 bad usage, configuration or input; 3
    requests failed for lack of space or were left unfinished, or the drive could not be saved; 70 a defect of
    flashraid; 130 interrupted (Ctrl-C, SIGTERM or SIGHUP). Requests that failed because injected faults lost their
    data do not change the status; a warning reports them.
    """
    if context.invoked_subcommand is not None:
        return 0
    print(f"flashraid {__version__}" if version else context.get_help())
    return 0 if version else 2


@click.group(
    cls=Commands,
    modules={
        "info": "trace",
        "convert": "trace",
        "anonymise": "trace",
        "synth": "synthetic",
        "profiles": "synthetic",
        "fit": "synthetic",
        "windows": "windows",
        "capture": "capture",
    },
)
def trace() -> None:
    """Inspect, convert, anonymise, capture, search and synthesize traces."""
