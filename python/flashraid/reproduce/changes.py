"""Changes of settings as text: `KEY=VALUE`, where a key may begin with `profile.` or with whose runs it is for."""

import json
import tomllib
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from .._native import InputError
from .papers import Overlay


def texts(change: Overlay) -> Iterator[str]:
    """A change, each setting as `--set` takes it."""
    for key, value in change.items():
        if key == "profile":
            streams = value.get("streams", {}).items()
            members = {f"streams.{number}.{name}": each for number, stream in streams for name, each in stream.items()}
            members |= {name: each for name, each in value.items() if name != "streams"}
            yield from (f"profile.{name}={toml(each)}" for name, each in members.items())
        elif isinstance(value, dict):
            yield from (f"{key}.{each}" for each in texts(value))
        else:
            yield f"{key}={value if isinstance(value, str) else toml(value)}"


def parsed(assignments: Sequence[str], names: Collection[str]) -> Overlay:
    """The change that `texts` wrote; `names` are those of configurations, workloads and points."""
    change: dict[str, Any] = {}
    for text in assignments:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise InputError(f"--set {text}: allowed is KEY=VALUE")
        at = change
        for name in (each for each in names if key.startswith(f"{each}.")):
            at, key = at.setdefault(name, {}), key.removeprefix(f"{name}.")
            break
        *path, last = key.split(".") if key.startswith("profile.") else [key]
        for part in path:
            at = at.setdefault(part, {})
        at[last] = _value(value)
    return change


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def toml(value: Any) -> str:
    """A value in TOML; texts and numbers are written as in JSON."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(each)}" for key, each in value.items()) + " }"
    return f"[{', '.join(map(toml, value))}]" if isinstance(value, list) else json.dumps(value)
