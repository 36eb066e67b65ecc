"""Changes of settings as text: `KEY=VALUE`, where a key may begin with `profile.` or with whose runs it is for."""

import json
import tomllib
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from .. import _native
from .._native import InputError
from ..profile_text import toml
from ..settings import known_name
from .papers import Overlay

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


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
