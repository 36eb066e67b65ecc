"""Changes of settings as text: `KEY=VALUE`, where a key may begin with `profile.` or with whose runs it is for."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from .. import _native, documents
from .._native import InputError
from ..profile_text import toml
from ..settings import check_texts, known_name, text_of
from .papers import Overlay, Paper, names_run

PROFILE = "profile"


def texts(change: Overlay) -> Iterator[str]:
    """A change, each setting as `--set` takes it."""
    for key, value in change.items():
        if key == PROFILE:
            streams = value.get("streams", {}).items()
            members = {f"streams.{number}.{name}": each for number, stream in streams for name, each in stream.items()}
            members |= {name: each for name, each in value.items() if name != "streams"}
            yield from (f"profile.{name}={toml(each)}" for name, each in members.items())
        elif isinstance(value, dict):
            yield from (f"{key}.{each}" for each in texts(value))
        else:
            yield f"{key}={value if isinstance(value, str) else toml(value)}"


def parsed(assignments: Sequence[str], names: Collection[str]) -> Overlay:
    """The change that `texts` wrote; `names` are those of configurations, workloads and points.

    Raises InputError if the key begins with a name that is none of them and no table of settings.
    """
    by_length = sorted(filter(None, names), key=len, reverse=True)
    tables = list(dict.fromkeys(each["table"] for each in json.loads(_native.settings())))
    change: dict[str, Any] = {}
    for text in assignments:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise InputError(f"--set {text}: allowed is KEY=VALUE")
        at, allowed = change, [*sorted(by_length), PROFILE, *tables]
        for name in (each for each in by_length if key.startswith(f"{each}.")):
            at, key = at.setdefault(name, {}), key.removeprefix(f"{name}.")
            allowed = [PROFILE, *tables]
            break
        is_of_profile = key.startswith(f"{PROFILE}.")
        if "." in key and not is_of_profile:
            # Names may have dots themselves, keys have none.
            first = key.partition(f".{PROFILE}.")[0] if f".{PROFILE}." in key else key.rpartition(".")[0]
            known_name(f"--set {text}:", first, allowed)
        *path, last = key.split(".") if is_of_profile else [key]
        for part in path:
            at = at.setdefault(part, {})
        at[last] = _value(value)
    return change


def checked(change: object, paper: Paper) -> Overlay:
    """A change as a program gives it: settings, those of a profile, and for one configuration, workload or point.

    Raises InputError if it is built in another way; what a setting's value may be, the engine knows.
    """
    found: dict[str, Any] = {}
    for key, value in _members("change", change).items():
        said = f"change[{key!r}]"
        if key == PROFILE:
            found[key] = _of_profile(said, value)
        elif key in names_run(paper):
            members = _members(said, value).items()
            found[key] = {
                name: _of_profile(f"{said}[{name!r}]", each) if name == PROFILE else _setting(f"{said}[{name!r}]", each)
                for name, each in members
            }
        else:
            found[key] = _setting(said, value)
    return found


def _of_profile(said: str, value: object) -> dict[str, Any]:
    profile = _members(said, value)
    if "streams" in profile:
        streams = _members(f"{said}['streams']", profile["streams"])
        profile["streams"] = {key: _members(f"{said}['streams'][{key!r}]", each) for key, each in streams.items()}
    return profile


def _members(said: str, value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InputError(f"{said} = {value!r}: allowed is a mapping of keys to values")
    return dict(value)


def _setting(said: str, value: object) -> str:
    if value is None or isinstance(value, Mapping):
        raise InputError(f"{said} = {value!r}: allowed is the value of a setting")
    text = text_of(value)
    check_texts(**{said: text})
    return text


def _value(text: str) -> Any:
    try:
        return documents.toml(f"value = {text}", "--set")["value"]
    except InputError:
        return text
