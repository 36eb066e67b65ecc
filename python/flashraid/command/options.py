"""The options that `run` and `compare` share. Their help texts come from the engine's schema."""

import inspect
import json
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from .. import _native
from .._native import InputError
from ..settings import Pairs, Said, list_text, refuse_contradictions
from . import completion

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
    ("--limit", "limit", "N", WORKLOAD),
]
OPTIONS: list[Option] = [
    *READING,
    ("--speed", "speed", "X", WORKLOAD),
    ("--queue-depth", "queue_depth", "N", WORKLOAD),
    ("--fit", "fit", "compact|wrap|error", WORKLOAD),
    ("--warmup", "warmup", "N|TIME", WORKLOAD),
    ("--until", "until", "end|worn:N", WORKLOAD),
    ("--space", "space_bytes", "SIZE", DEVICE),
    ("--fill", "fill", "SHARE", DEVICE),
    ("--fill-bytes", "fill_bytes", "SIZE", DEVICE),
    ("--precondition", "precondition", "none|steady|random:X", DEVICE),
    ("--drain", "drain", None, DEVICE),
    ("--fail", "fail", FAULT, FAILURES),
    ("--replace", "replace", REPLACEMENT, FAILURES),
    ("--rebuild", "rebuild", "auto|none|ORDER", FAILURES),
    ("--verify", "verify", None, CHECKS),
    ("--verify-every", "verify_every", "N", CHECKS),
    ("--seed", "seed", "N", CHECKS),
]

Trace = Annotated[
    str,
    typer.Argument(
        help="Trace file, plain or compressed (gzip, zstd, xz); - for standard input; a TOML profile; or profile:NAME.",
        autocompletion=completion.complete_traces,
    ),
]
Output = Annotated[
    str,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Trace file to write, compressed if named .gz, .zst or .xz; - is standard output.",
    ),
]
DeviceName = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="NAME|FILE",
        help="Device: a preset, or a TOML file.",
        autocompletion=completion.complete_devices,
    ),
]
SchemeName = Annotated[
    str | None,
    typer.Option("--scheme", metavar="NAME", help="Redundancy scheme.", autocompletion=completion.complete_schemes),
]
Config = Annotated[
    str | None,
    typer.Option("--config", metavar="FILE", help="Settings: a TOML file, or the JSON of a result to repeat its run."),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Any setting of docs/configuration.md. May be repeated.",
        autocompletion=completion.complete_settings,
    ),
]
Steady = Annotated[
    bool,
    typer.Option(
        "--steady",
        help="After the fill, overwrite random pages until GC reaches steady state (--precondition steady).",
        rich_help_panel=DEVICE,
    ),
]
Json = Annotated[
    str | None, typer.Option("--json", metavar="[FILE|-]", help="Write the result as JSON; - is standard output.")
]
Seeds = Annotated[
    int,
    typer.Option(
        "--seeds",
        metavar="N",
        help="Run with N seeds, of a profile too: tables show means with 95 % intervals, the JSON all results.",
        rich_help_panel=CHECKS,
    ),
]
NoEngine = Annotated[bool, typer.Option("--no-engine", help="Omit run time and memory of the simulator from the JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print no progress and no warnings.")]


def with_settings(command: Callable[..., int]) -> Callable[..., int]:
    """Gives a command the shared options; it receives their values and those of `--set` as its parameter `settings`."""
    return _with(command, "settings", OPTIONS, has_set=True)


def with_reading(command: Callable[..., int]) -> Callable[..., int]:
    """Gives a command the options for reading a trace; it receives their values as its parameter `reading`."""
    return _with(command, "reading", READING, has_set=False)


def _with(command: Callable[..., int], name: str, options: list[Option], has_set: bool) -> Callable[..., int]:
    signature = inspect.signature(command)
    own = [parameter for parameter in signature.parameters.values() if parameter.name != name]
    options = [option for option in options if option[1] not in signature.parameters]  # a command's own come first
    shared = [_parameter(*option) for option in options]
    if has_set:
        shared = [
            inspect.Parameter("steady", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Steady),
            inspect.Parameter("set_values", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Set),
            *shared,
        ]

    @wraps(command)
    def wrapper(**values: Any) -> int:
        _one_word(values)
        named = _given({key: values.pop(key) for _, key, _, _ in options}, options)
        more = assignments(values.pop("set_values", None))
        scheme = values.get("scheme")
        own: list[Said] = [] if scheme is None else [("scheme.name", scheme, f"--scheme {scheme}")]
        refuse_contradictions(own + named, [(key, value, f"--set {key}={value}") for key, value in more])
        values[name] = [(key, value) for key, value, _ in named] + more
        return command(**values)

    keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
    wrapper.__signature__ = signature.replace(parameters=[*keyword, *shared])  # type: ignore[attr-defined]
    return wrapper


def _parameter(option: str, key: str, metavar: str | None, panel: str) -> inspect.Parameter:
    completes = None if metavar is None else completion.complete_option(key)
    about = typer.Option(option, metavar=metavar, help=ABOUT[key], rich_help_panel=panel, autocompletion=completes)
    kind: Any = bool if metavar is None else list[str] | None if metavar in REPEATED else str | None
    default = False if metavar is None else None
    annotation = Annotated[kind, about]
    return inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _one_word(values: dict[str, Any]) -> None:
    """`--steady` stands for `--precondition steady`."""
    if values.pop("steady", False):
        other = values["precondition"]
        if other not in (None, "steady"):
            raise InputError(f"--steady and --precondition {other} contradict each other: give one of them")
        values["precondition"] = "steady"


def _given(values: dict[str, Any], options: list[Option]) -> list[Said]:
    settings = []
    for option, key, _, _ in options:
        value = values[key]
        if value is True:
            settings.append((key, "true", option))
        elif isinstance(value, list):
            settings.append((key, list_text(value), " ".join(f"{option} {each}" for each in value)))
        elif value is not None and value is not False:
            settings.append((key, value, f"{option} {value}"))
    return settings


def assignments(texts: list[str] | None) -> Pairs:
    """The keys and values of `--set`."""
    settings = []
    for text in texts or []:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise InputError(f"--set {text}: allowed is KEY=VALUE")
        settings.append((key, value))
    return settings
