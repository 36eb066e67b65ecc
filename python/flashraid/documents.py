"""Files in TOML and JSON, read in one way: messages begin with file, line and column, and deep nesting is refused."""

import json
from collections.abc import Mapping
from typing import Any

from . import _native
from ._native import InputError
from .files import STANDARD_INPUT
from .keys import placed

# Values inside each other that a JSON file may have; the engine's reader of TOML has a limit of its own.
MOST_NESTED = 100
NOT_FINITE = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}


def text_of(path: str) -> str:
    """The text of a file in UTF-8; `-` is standard input."""
    try:
        with open(STANDARD_INPUT if path == "-" else path, encoding="utf-8", newline="") as file:
            return file.read()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: allowed is plain text in UTF-8, and byte {error.start} is none") from None


def read_toml(path: str) -> dict[str, Any]:
    """The tables of a TOML file, with keys that know their places."""
    return toml(text_of(path), path)


def toml(text: str, name: str) -> dict[str, Any]:
    """The same of a text; `name` is what messages call the file."""
    tables: dict[str, Any] = _value(json.loads(_native.toml(name, text)), name)
    return tables


def _value(of: Any, name: str) -> Any:
    if isinstance(of, list):
        return [_value(each, name) for each in of]
    if not isinstance(of, dict):
        return of
    if "real" in of:
        return NOT_FINITE[of["real"]]
    return {placed(key, f"{name}:{line}:{column}"): _value(value, name) for key, line, column, value in of["table"]}


def read_json(path: str) -> Any:
    """The value of a JSON file."""
    return of_json(text_of(path), path)


def of_json(text: str, name: str) -> Any:
    """The same of a text; `name` is what messages call the file."""
    too_deep = InputError(f"{name}: values are nested too deeply: allowed are {MOST_NESTED} inside each other")
    try:
        found = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise InputError(f"{name}:{error.lineno}:{error.colno}: is not JSON: {error.msg}") from None
    except RecursionError:
        raise too_deep from None
    except ValueError as error:
        raise InputError(f"{name}: is not JSON: {error}") from None
    level = [found]
    for _ in range(MOST_NESTED):
        inner = (
            each.values() if isinstance(each, Mapping) else each for each in level if isinstance(each, Mapping | list)
        )
        level = [value for values in inner for value in values]
        if not level:
            return found
    raise too_deep


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")
