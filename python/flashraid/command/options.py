"""How options and arguments are declared, and those that several commands share.

Help texts of settings come from the engine's schema.
"""

import inspect
import json
import re
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import rich_click as click
from click.shell_completion import CompletionItem

from .. import _native, machine
from .._native import InputError
from ..settings import Pairs, Said, list_text, refuse_contradictions
from ..sweeping.where import where
from . import completion
from .common import option_of

Command = Callable[..., int]
Declared = Callable[[Command], Command]


class Number(click.ParamType[int | float]):
    """A number in a range."""

    def __init__(self, least: int | None = None, most: int | None = None, kind: type[int] | type[float] = int) -> None:
        self.name = "number"
        self._least, self._most, self._kind = least, most, kind

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> int | float:
        """The number; a message says what is allowed instead."""
        if self._kind is int and not re.fullmatch(r"[+-]?[0-9]+", str(value)):
            self.fail("allowed is a whole number", parameter, context)
        try:
            number = self._kind(value)
        except ValueError:
            self.fail("allowed is a number", parameter, context)
        if self._least is not None and number < self._least:
            self.fail(f"allowed is {self._least} or more", parameter, context)
        if self._most is not None and number > self._most:
            self.fail(f"allowed is at most {self._most}", parameter, context)
        return number


def option(*names: str, help: str, complete: completion.Completer | None = None, **more: Any) -> Declared:
    """An option. The shell completes what `complete` returns, or else file names."""
    shows = more.get("default") is not None and not more.get("is_flag", False)
    more.setdefault("panel", "Options")
    return click.option(*names, help=help, shell_complete=_proposed(complete), show_default=shows, **more)


def flag(*names: str, help: str, **more: Any) -> Declared:
    """An option that takes no value."""
    return option(*names, help=help, is_flag=True, default=False, **more)


def argument(name: str, help: str, complete: completion.Completer | None = None, **more: Any) -> Declared:
    """An argument. The shell completes what `complete` returns, or else file names."""
    return click.argument(name, help=help, panel="Arguments", shell_complete=_proposed(complete), **more)


def _proposed(complete: completion.Completer | None) -> Callable[..., list[CompletionItem]]:
    def propose(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        found = complete(incomplete) if complete else []
        return [CompletionItem(each) for each in found] or [CompletionItem(incomplete, type="file")]

    return propose


ABOUT = {setting["key"]: setting["about"] for setting in json.loads(_native.settings())}

# An option of a setting: option, key, metavar, and heading in the help.
Option = tuple[str, str, str | None, str]
WORKLOAD, DEVICE, CHECKS = "Workload", "State of the device", "Checks and randomness"
FAILURES = "Failures"
# Metavars of the options that may be repeated.
FAULT, REPLACEMENT = "WHAT@WHEN", "device:N@WHEN"
REPEATED = (FAULT, REPLACEMENT)
READING: list[Option] = [
    ("--format", "format", "NAME", WORKLOAD),
    ("--time-unit", "time_unit", "auto|UNIT", WORKLOAD),
    ("--device-filter", "device_filter", "all|NAME,...", WORKLOAD),
    ("--on-error", "on_error", "stop|skip", WORKLOAD),
    ("--op", "op", "read|write|mix:X", WORKLOAD),
    ("--action", "action", "Q|D|C", WORKLOAD),
    ("--object-bytes", "object_bytes", "auto|N", WORKLOAD),
    ("--sector-bytes", "sector_bytes", "auto|N", WORKLOAD),
    ("--columns", "columns", "none|NAME[:UNIT],...", WORKLOAD),
    ("--separator", "separator", "auto|NAME", WORKLOAD),
    ("--limit", "limit", "N", WORKLOAD),
]
OPTIONS: list[Option] = [
    *READING,
    ("--speed", "speed", "X", WORKLOAD),
    ("--jitter", "jitter_ns", "TIME", WORKLOAD),
    ("--queue-depth", "queue_depth", "N", WORKLOAD),
    ("--fit", "fit", "compact|wrap|error", WORKLOAD),
    ("--warmup", "warmup", "N|TIME", WORKLOAD),
    ("--until", "until", "end|worn:N", WORKLOAD),
    ("--drive", "drive", "FILE", DEVICE),
    ("--space", "space_bytes", "SIZE", DEVICE),
    ("--fill", "fill", "SHARE", DEVICE),
    ("--fill-bytes", "fill_bytes", "SIZE", DEVICE),
    ("--precondition", "precondition", "none|steady|direct|random:X", DEVICE),
    ("--drain", "drain", None, DEVICE),
    ("--fail", "fail", FAULT, FAILURES),
    ("--replace", "replace", REPLACEMENT, FAILURES),
    ("--rebuild", "rebuild", "auto|none|ORDER", FAILURES),
    ("--verify", "verify", None, CHECKS),
    ("--verify-every", "verify_every", "N", CHECKS),
    ("--seed", "seed", "N", CHECKS),
]

trace = argument(
    "trace",
    metavar="TRACE",
    help="Trace file, plain or compressed (gzip, zstd, xz); - for standard input; a TOML profile; or profile:NAME.",
    complete=completion.complete_traces,
)
output = option(
    "-o",
    "--output",
    metavar="FILE",
    required=True,
    help="Trace file to write, compressed if named .gz, .zst or .xz; - is standard output.",
)
device = option(
    "--device", metavar="NAME|FILE", help="Device: a preset, or a TOML file.", complete=completion.complete_devices
)
scheme = option("--scheme", metavar="NAME", help="Redundancy scheme.", complete=completion.complete_schemes)
config = option("--config", metavar="FILE", help="Settings: a TOML file, or the JSON of a result to repeat its run.")
set_values = option(
    "--set",
    "set_values",
    metavar="KEY=VALUE",
    multiple=True,
    help="Any setting of docs/configuration.md. May be repeated.",
    complete=completion.complete_settings,
)
steady = flag(
    "--steady",
    help="After the fill, overwrite random pages until GC reaches steady state (--precondition steady).",
    panel=DEVICE,
)
json_target = option(
    "--json", "json_target", metavar="[FILE|-]", help="Write the result as JSON; - is standard output."
)
seeds = option(
    "--seeds",
    metavar="N",
    type=Number(),
    default=1,
    help="Run with N seeds, of a profile too: tables show means with 95 % intervals, the JSON all results.",
    panel=CHECKS,
)
seeds_of_comparison = option(
    "--seeds",
    metavar="N",
    type=Number(),
    help="Run with N seeds, of a profile too: tables show means with 95 % intervals, the JSON all results. By default "
    "a short trace is run once, and five more times with other arrivals or requests, which the JSON has as repeats.",
    panel=CHECKS,
)
jobs = option(
    "--jobs",
    metavar="N",
    type=Number(),
    help="Most runs at the same time; by default one on each core, if there is memory for them. Results are the same.",
)
page_bytes = option("--page-bytes", metavar="SIZE", default="4096", help="Page size for page counts.")
no_engine = flag("--no-engine", help="Omit run time and memory of the simulator from the JSON.")
quiet = flag("--quiet", help="Print no progress and no warnings.")


def with_settings(command: Command) -> Command:
    """Gives a command the shared options; it receives their values and those of `--set` as its parameter `settings`."""
    return _with(command, "settings", OPTIONS, has_set=True)


def with_settings_but(keys: Iterable[str]) -> Callable[[Command], Command]:
    """The same without the options of some keys."""
    left = [each for each in OPTIONS if each[1] not in set(keys)]
    return lambda command: _with(command, "settings", left, has_set=True)


def with_reading(command: Command) -> Command:
    """Gives a command the options for reading a trace; it receives their values as its parameter `reading`."""
    return _with(command, "reading", READING, has_set=False)


def with_place(panel: str = "Options") -> Callable[[Command], Command]:
    """Gives a command the options that say who does runs; it receives that as its parameter `place`."""
    pem = "in PEM, for a scheduler at tls://host:8786."

    def add(command: Command) -> Command:
        @wraps(command)
        def wrapper(**values: Any) -> int:
            said = {name: values.pop(name) for name in ("jobs", "scheduler", "tls_ca", "tls_cert", "tls_key")}
            return command(place=where(**said, label=option_of), **values)

        return declared(
            wrapper,
            option(
                "--jobs",
                metavar="N",
                type=Number(1, machine.MOST_JOBS),
                help="Most runs at the same time; by default one on each core, if there is memory for them. "
                "Results are the same.",
                panel=panel,
            ),
            option(
                "--scheduler",
                metavar="ADDRESS",
                help="A Dask scheduler whose workers do the runs, as tcp://host:8786.",
                panel=panel,
            ),
            option("--tls-ca", metavar="FILE", help=f"Certificate of who signed the others, {pem}", panel=panel),
            option("--tls-cert", metavar="FILE", help=f"Your certificate, {pem}", panel=panel),
            option("--tls-key", metavar="FILE", help=f"The key of your certificate, {pem}", panel=panel),
        )

    return add


def _with(command: Command, name: str, options: list[Option], has_set: bool) -> Command:
    # A command's own options come first.
    options = [each for each in options if each[1] not in inspect.signature(command).parameters]

    @wraps(command)
    def wrapper(**values: Any) -> int:
        _one_word(values)
        named = _given({key: values.pop(key) for _, key, _, _ in options}, options)
        more = assignments(values.pop("set_values", ()))
        scheme = values.get("scheme")
        own: list[Said] = [] if scheme is None else [("scheme.name", scheme, f"--scheme {scheme}")]
        refuse_contradictions(own + named, [(key, value, f"--set {key}={value}") for key, value in more])
        values[name] = [(key, value) for key, value, _ in named] + more
        return command(**values)

    return declared(wrapper, *([steady, set_values] if has_set else []), *(_of_setting(*each) for each in options))


def declared(command: Command, *parameters: Declared) -> Command:
    """The command with these parameters, in this order."""
    for parameter in reversed(parameters):
        command = parameter(command)
    return command


def _of_setting(name: str, key: str, metavar: str | None, panel: str) -> Declared:
    if metavar is None:
        return flag(name, key, help=ABOUT[key], panel=panel)
    complete, is_list = completion.complete_option(key), metavar in REPEATED
    return option(name, key, metavar=metavar, help=ABOUT[key], panel=panel, complete=complete, multiple=is_list)


def _one_word(values: dict[str, Any]) -> None:
    """`--steady` stands for `--precondition steady`."""
    if values.pop("steady", False):
        other = values["precondition"]
        if other not in (None, "steady"):
            raise InputError(f"--steady and --precondition {other} contradict each other: give one of them")
        values["precondition"] = "steady"


def _given(values: dict[str, Any], options: list[Option]) -> list[Said]:
    settings = []
    for name, key, _, _ in options:
        value = values[key]
        if value is True:
            settings.append((key, "true", name))
        elif isinstance(value, tuple) and value:
            settings.append((key, list_text(list(value)), " ".join(f"{name} {each}" for each in value)))
        elif value not in (None, False, ()):
            settings.append((key, value, f"{name} {value}"))
    return settings


def assignments(texts: tuple[str, ...], option: str = "--set", allowed: str = "KEY=VALUE") -> Pairs:
    """The keys and values of an option that takes assignments."""
    settings = []
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise InputError(f"{option} {text}: allowed is {allowed}")
        settings.append((key, value))
    return settings
