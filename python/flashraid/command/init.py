"""`flashraid init`: a configuration file to start from, with every setting that the engine knows."""

import json
import os
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import rich_click as click

from .. import _native
from .._native import InputError
from ..files import refuse_same
from ..settings import configuration, entry_of, text_of
from .completion import complete_devices, complete_schemes
from .options import argument, flag, option
from .output import Target

WIDTH = 118


@click.command()
@argument("file", metavar="FILE|-", default="flashraid.toml", help="TOML file to write; - is standard output.")
@option(
    "--device",
    metavar="NAME|FILE",
    help="Device whose settings the file has: a preset, or a TOML file.",
    complete=complete_devices,
)
@option(
    "--scheme",
    metavar="NAME",
    help="Redundancy scheme that the file names, with its parameters.",
    complete=complete_schemes,
)
@flag("--force", help="Replace the file if it exists.")
def init(file: str, device: str | None, scheme: str | None, force: bool) -> int:
    """Write a commented configuration for --config, with every setting, its unit, default and allowed values.

    Settings at their default are commented out. Those of --device and --scheme that differ from it are active: with
    both, `flashraid run TRACE --config FILE` gives the same result as with these options instead of the file.

    Example: flashraid init my.toml --device ssd1 --scheme raid5
    """
    if file != "-" and os.path.lexists(file) and not force:
        raise InputError(f"{file} exists: allowed is another name, or --force to replace it")
    refuse_same({"--device": device} if device and os.path.exists(device) else {}, {"FILE": file})
    with Target(file, "FILE") as target:
        target.write(text(file, device, scheme))
    if file != "-":
        print(f"written: {file}; use it with flashraid {_line(file, device, scheme)}", file=sys.stderr)
    return 0


def text(file: str, device: str | None, scheme: str | None) -> str:
    """The text of the configuration file."""
    values = _values(device, scheme)
    lines = [
        "# Configuration of flashraid: every setting. Use it with",
        "#",
        f"#     flashraid {_line(file, device, scheme)}",
        "#",
        "# Settings that are commented out (#key = value) are at their default. Options of the command, and --set",
        "# KEY=VALUE, replace what the file says. Sizes, shares and times may have units, as text:",
        '# "16KiB", "50%", "20us".',
    ]
    settings = json.loads(_native.settings())
    for table in dict.fromkeys(setting["table"] for setting in settings):
        lines += ["", f"[{table}]"]
        for setting in settings:
            if setting["table"] == table:
                lines += ["", *_setting(setting, values.get(table, {}))]
        if table == "scheme":
            lines += _parameters(scheme)
    return "\n".join(lines) + "\n"


def _values(device: str | None, scheme: str | None) -> dict[str, dict[str, Any]]:
    """The settings of the device under the scheme, by table."""
    if device is not None and scheme is not None:
        return configuration(device, scheme, None, [])["config"]  # type: ignore[no-any-return]
    if scheme is not None:
        return {"scheme": {"name": entry_of(scheme)["name"]}}
    if device is None:
        return {}
    one = json.loads(_native.schemes(None))[0]["name"]  # the device is the same under each, and all would take longer
    detail = json.loads(_native.device(device, one))
    values = {table: detail[table] for table in ("device", "array") if table in detail}
    depth = detail.get("device_queue_depth")
    return values if depth is None else values | {"host": {"device_queue_depth": depth}}


def _line(file: str, device: str | None, scheme: str | None) -> str:
    """The arguments of the command that uses the file."""
    parts = ["run TRACE --config", "FILE" if file == "-" else file]
    parts += [] if device else ["--device NAME"]
    parts += [] if scheme else ["--scheme NAME"]
    return " ".join(parts)


def _setting(setting: dict[str, Any], values: dict[str, Any]) -> Iterator[str]:
    """The comment of a setting, and its line."""
    key, default = setting["key"], setting["default"]
    yield from _comment(setting)
    if key in values and not _is_default(setting, values[key]):
        yield f"{key} = {json.dumps(values[key], ensure_ascii=False)}"
    elif default is None:
        yield f"#{key} ="
    else:
        yield f"#{key} = {_toml(default, setting['allowed'])}"


def _parameters(scheme: str | None) -> Iterator[str]:
    """The parameters of the scheme."""
    if scheme is None:
        yield from ("", "# Parameters of the scheme: `flashraid schemes NAME` lists them.")
        return
    for parameter in entry_of(scheme)["parameters"]:
        yield ""
        yield from _comment(parameter | {"words": []})
        yield f"#{parameter['name']} = {_toml(parameter['default'], parameter['allowed'])}"


def _comment(of: dict[str, Any]) -> Iterator[str]:
    needs = f" Has effect with {of['needs']}." if of["needs"] else ""
    unit = f"Unit: {of['unit']}. " if of["unit"] else ""
    default = "Required." if of["default"] is None else f"Default: {of['default'] or 'none'}."
    yield from _wrapped(of["about"] + needs)
    yield from _wrapped(f"{unit}{default} Allowed: {of['allowed']}.")
    for word in of["words"]:
        yield from _wrapped(f"{word['name']}: {word['about']}", "#   ")


def _wrapped(sentences: str, start: str = "# ") -> list[str]:
    more = start if start == "# " else start + "  "
    return textwrap.wrap(
        sentences, WIDTH, initial_indent=start, subsequent_indent=more, break_long_words=False, break_on_hyphens=False
    )


def _is_default(setting: dict[str, Any], value: Any) -> bool:
    default = setting["default"]
    return default is not None and _native.same_value(f"{setting['table']}.{setting['key']}", default, text_of(value))


def _toml(default: str, allowed: str) -> str:
    """A default of the schema, which is text, as a value of TOML; `allowed` tells whether it is a list."""
    if default in ("true", "false") or default.replace(".", "", 1).isdigit():
        return default
    return "[]" if not default and "comma-separated list" in allowed else json.dumps(default)
