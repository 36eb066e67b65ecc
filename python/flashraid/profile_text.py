"""The text of a profile, and the same with some of its keys changed."""

import json
import os
from collections.abc import Mapping
from typing import Any

from . import _native, documents
from ._native import InputError
from .files import STANDARD_INPUT

PREFIX = "profile:"  # of a trace that is a shipped profile
LARGEST_SEED = 2**63 - 1  # the largest number that TOML has


def text_of(trace: str) -> str:
    """The text of `profile:NAME`, or of a TOML file."""
    if trace.startswith(PREFIX):
        return _native.profile(trace.removeprefix(PREFIX))
    return documents.text_of(trace)


def changed(trace: str, change: Mapping[str, Any]) -> str:
    """The text of a profile with other values of some keys; keys of a stream stand in `streams`, by its number."""
    profile = _parsed(trace)
    for number, members in change.get("streams", {}).items():
        if not (number.isdecimal() and int(number) < len(profile["streams"])):
            raise InputError(f"profile.streams.{number}: allowed is 0 to {len(profile['streams']) - 1}")
        profile["streams"][int(number)] |= members
    profile |= {key: value for key, value in change.items() if key != "streams"}
    return "".join(f"{key} = {toml(value)}\n" for key, value in profile.items())


def repetition(trace: str, number: int, folder: str) -> str:
    """Writes a profile with its seed increased by `number`, as NAME-seedN.toml into a folder. Returns the path.

    A file that is there already stays as it is: it has the same text, and runs may be reading it.
    """
    seed = seed_of(trace) + number
    name = os.path.basename(STANDARD_INPUT if trace == "-" else trace.removeprefix(PREFIX))
    path = os.path.join(folder, f"{name.removesuffix('.toml')}-seed{seed}.toml")
    text = with_seed(trace, seed)
    if not os.path.exists(path):
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
    return path


def is_profile(trace: str) -> bool:
    """Whether a trace is a profile, by its name."""
    return trace.startswith(PREFIX) or trace.endswith(".toml")


def seed_of(trace: str) -> int:
    """The seed of a profile."""
    seed: int = _parsed(trace).get("seed", 0)
    return seed


def with_writes_weighing(trace: str, factor: float) -> dict[str, dict[str, Any]]:
    """What to change of the streams of a profile, by number, so that writes weigh so many times more."""
    changes = {}
    for number, stream in enumerate(_parsed(trace)["streams"]):
        before = stream.get("ops", {"write": 1})
        ops = {op: _weight(weight * (factor if op == "write" else 1)) for op, weight in before.items()}
        scale = sum(ops.values()) / sum(before.values())
        changes[str(number)] = {"ops": ops, "weight": _weight(stream.get("weight", 1) * scale)}
    return changes


def _weight(value: float) -> float:
    """The nearest weight that a profile may have: it has at most nine decimals."""
    return round(value, 9)


def with_seed(trace: str, seed: int) -> str:
    """The text of a profile with another seed."""
    if not 0 <= seed <= LARGEST_SEED:
        raise InputError(f"{trace}: seed = {seed}: allowed is a whole number from 0 to {LARGEST_SEED}")
    return changed(trace, {"seed": seed})


def _parsed(trace: str) -> dict[str, Any]:
    return documents.toml(text_of(trace), trace)


def toml(value: Any) -> str:
    """A value in TOML; texts and numbers are written as in JSON."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(each)}" for key, each in value.items()) + " }"
    return f"[{', '.join(map(toml, value))}]" if isinstance(value, list) else json.dumps(value, ensure_ascii=False)
