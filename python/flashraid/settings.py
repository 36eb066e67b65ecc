"""Settings on their way to the engine: pairs of key and text. What a key means and allows is known there alone."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _native
from ._native import InputError

Pairs = list[tuple[str, str]]
Path = str | os.PathLike[str]


def pairs(settings: Mapping[str, object]) -> Pairs:
    """Keyword arguments as key and text; None stands for a setting not given."""
    found = {key: _text(value) for key, value in settings.items() if value is not None}
    check_texts(**found)
    return list(found.items())


def path_text(path: Path, name: str) -> str:
    """A path as text; `name` says in errors whose path it is."""
    try:
        text = os.fspath(path)
    except TypeError:
        text = None
    if not isinstance(text, str):
        raise InputError(f"{name} = {path!r}: allowed is a path as text or as pathlib.Path")
    if "\0" in text:
        raise InputError(f"{name} = {text!r}: allowed is a name without NUL")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise InputError(f"{name} = {text!r}: allowed is a name that the file system can have") from None
    return text


def utf8_path(path: Path | None, name: str) -> str | None:
    """The same of a path that crosses to the engine as text."""
    text = None if path is None else path_text(path, name)
    if text is not None and not _is_utf8(text):
        raise InputError(f"{name} = {text!r}: allowed is a name in UTF-8")
    return text


def _is_utf8(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def given(**values: object) -> dict[str, Any]:
    """Arguments that were given; None stands for those that were not."""
    return {name: value for name, value in values.items() if value is not None}


def check_texts(**values: object) -> None:
    """Refuses what is no text that the engine can take; each is named in the error."""
    for name, value in values.items():
        if not (isinstance(value, str) and _is_utf8(value)):
            raise InputError(f"{name} = {value!r}: allowed is a text in UTF-8")


def texts(name: str, values: object) -> list[str]:
    """Several texts, each named in errors by its number; one text is not several."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InputError(f"{name} = {values!r}: allowed is a list of texts")
    found = list(values)
    check_texts(**{f"{name}[{index}]": value for index, value in enumerate(found)})
    return found


def check_flags(**values: object) -> None:
    """Refuses what is neither true nor false."""
    for name, value in values.items():
        if not isinstance(value, bool):
            raise InputError(f"{name} = {value!r}: allowed is True or False")


def check_progress(progress: object) -> None:
    """Refuses what cannot be told how far the work is."""
    if progress is not None and not callable(progress):
        raise InputError(f"progress = {progress!r}: allowed is a function, or None")


def device_and_config(device: Path | None, config: Path | None) -> tuple[str | None, str | None]:
    """The names of a device (preset or file) and of a configuration file, as the engine takes them."""
    return utf8_path(device, "device"), None if config is None else path_text(config, "config")


def list_text(values: Iterable[object]) -> str:
    """A list as the engine takes it."""
    return ",".join(str(value) for value in values)


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return list_text(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def configuration(device: str | None, scheme: str, config: str | None, settings: Pairs) -> dict[str, Any]:
    """The complete configuration and the space it gives: `config`, `user_bytes`, `space_bytes`."""
    return json.loads(_native.configuration(device, scheme, config, settings))  # type: ignore[no-any-return]


def for_each(device: str | None, schemes: Sequence[str], config: str | None, settings: Pairs) -> list[Pairs]:
    """Settings under which several schemes can be compared, one list for each.

    All get one logical space (the one asked for, or else the smallest of their capacities) with the same bytes filled.
    A parameter goes to the schemes that have it, and is refused if none has.
    """
    if not schemes:
        raise InputError("no schemes: give at least one")
    for scheme in schemes:
        if schemes.count(scheme) > 1:
            raise InputError(f"scheme {scheme} is named twice: allowed is once")
    if any(key == "scheme.name" for key, _ in settings):
        raise InputError("scheme.name: a comparison has a list of schemes, and no such setting")
    own_of = [_of(scheme, schemes, settings) for scheme in schemes]
    found = [configuration(device, scheme, config, own) for scheme, own in zip(schemes, own_of, strict=True)]
    run, page_bytes = found[0]["config"]["run"], found[0]["config"]["device"]["page_bytes"]
    space_bytes = run["space_bytes"] or min(each["user_bytes"] for each in found)
    fill_bytes = run["fill_bytes"] or int(run["fill"] * (space_bytes // page_bytes)) * page_bytes
    common = [("space_bytes", str(space_bytes)), ("fill", "0"), ("fill_bytes", str(fill_bytes))]
    for scheme, own in zip(schemes, own_of, strict=True):
        configuration(device, scheme, config, own + common)  # refuses before the first run, not before the last
    return [own + common for own in own_of]


def _of(scheme: str, schemes: Sequence[str], settings: Pairs) -> Pairs:
    """The settings but for parameters that other schemes of the comparison have and this one has not."""
    names = {name: {parameter["name"] for parameter in _scheme(name)["parameters"]} for name in schemes}
    others = set().union(*names.values()) - names[scheme]
    return [(key, value) for key, value in settings if key.removeprefix("scheme.") not in others]


def _scheme(name: str) -> dict[str, Any]:
    return json.loads(_native.schemes(name))[0]  # type: ignore[no-any-return]
