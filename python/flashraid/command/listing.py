"""The commands that list what there is. Each returns its exit status."""

import json
from collections.abc import Callable
from typing import Any

import rich_click as click

from .. import _native
from . import tables
from .completion import complete_devices, complete_schemes
from .options import argument, flag, json_target, option
from .output import Target


@click.command()
@argument("name", metavar="NAME", required=False, help="A preset, or a TOML file.", complete=complete_devices)
@option("--scheme", metavar="NAME", help="Show only the capacity of this scheme.", complete=complete_schemes)
@flag("--toml", help="Print the file of a preset, with its comments: a device to start from.")
@option("--fit", metavar="SHEET.toml", help="Print a device file for the drive that has this data sheet.")
@json_target
def devices(name: str | None, scheme: str | None, toml: bool, fit: str | None, json_target: str | None) -> int:
    """List the device presets, or show the derived geometry and capacities of one device.

    Example: flashraid devices ssd1 --toml > mine.toml; then --device mine.toml gives the same results as --device ssd1.
    With --fit, constants are fitted to the figures of a sheet (docs/datasheet.md).
    """
    if fit is not None:
        if name is not None or scheme is not None or toml or json_target is not None:
            raise _native.InputError("--fit: allowed is devices --fit SHEET.toml, without other arguments")
        from ..fitting import fit_device

        print(fit_device(fit), end="")
        return 0
    for given, is_given in (("--scheme", scheme is not None), ("--toml", toml)):
        if name is None and is_given:
            raise _native.InputError(f"{given} needs a device: allowed is devices NAME {given}")
    if toml and (scheme is not None or json_target is not None):
        raise _native.InputError("--toml: allowed is devices NAME --toml, without other options")
    if toml and name is not None:
        print(_native.device_file(name), end="")
    elif name is None:
        _show(_native.devices(), json_target, tables.show_devices)
    else:
        _show(_native.device(name, scheme), json_target, tables.show_device)
    return 0


@click.command()
@argument("name", metavar="NAME", required=False, help="Show only this scheme.", complete=complete_schemes)
@json_target
def schemes(name: str | None, json_target: str | None) -> int:
    """List the redundancy schemes: idea, parameters, and the failures that each survives.

    Example: flashraid schemes raid5
    """
    _show(_native.schemes(name), json_target, tables.show_schemes)
    return 0


def _show(text: str, json_target: str | None, table: Callable[[Any], None]) -> None:
    with Target(json_target) as target:
        target.write(text + "\n")
    if json_target != "-":
        table(json.loads(text))
