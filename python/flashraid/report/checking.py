"""Whether a file holds what a report reads: results by their schema, and series by the counts of their results."""

import functools
import importlib.resources
import json
import re
from collections.abc import Mapping
from typing import Any

from .._native import InputError, __version__
from ..candidate import value_at
from ..measured import Measured
from ..series import Series

# What the report reads of a result. Other keys may be missing, as in results of earlier versions of flashraid.
NEEDED = (
    *("version", "device", "scheme", "seed", "partial", "config", "workload", "capacity", "requests", "latency_ns"),
    *("flash_ops", "write_amplification_by", "parity_updates", "members", "wear", "faults", "rebuild", "survives"),
)
# Keys further inside that may be missing for the same reason; in results of an older version any may, as that did not
# have all. All settings but these may be missing.
LATER = ("distribution", "histogram")
SETTINGS = {"config.device": ["name"], "config.scheme": ["name"], "config.host": [], "config.run": ["queue_depth"]}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
WORDS = {"object": "an object", "array": "a list", "string": "a text", "boolean": "true or false", "null": "null"}
WORDS |= {"integer": "a whole number", "number": "a number"}

# Columns of a series, and the keys of a result that add up to their sums.
CAUSES = {
    "host": ("host", "update_read"),
    "redundancy": ("pre_read", "parity", "mirror", "commit"),
    "gc": ("gc", "wear"),
}
COUNTS = {f"{kind}_requests": (f"latency_ns.{kind}.count",) for kind in ("read", "write", "trim", "flush")} | {
    f"flash_{action}_{column}": tuple(f"flash_ops.{action}.{cause}" for cause in causes)
    for action in ("reads", "programs")
    for column, causes in CAUSES.items()
}
BYTES = {f"bytes_{done}": (f"workload.bytes_{done}",) for done in ("read", "written")}


@functools.cache
def _schema() -> dict[str, Any]:
    """The JSON Schema of results."""
    text = importlib.resources.files("flashraid").joinpath("result.schema.json").read_text(encoding="utf-8")
    return json.loads(text)  # type: ignore[no-any-return]


def schema_version() -> int:
    """The version of the result format that is read."""
    return _schema()["properties"]["schema"]["const"]  # type: ignore[no-any-return]


def check_result(result: Any, path: str) -> None:
    """Refuses what is no result, and names the file and the key that is missing or of another type."""
    allowed = "allowed is the JSON of run or compare"
    missing = [key for key in NEEDED if not isinstance(result, dict) or key not in result]
    if missing:
        raise InputError(f"{path}: holds no result of flashraid, as it has no {missing[0]}: {allowed}")
    if fault := _fault(result, _schema(), "", version_number(result["version"])):
        raise InputError(f"{path}: {fault}")


def version_number(version: object) -> tuple[int, ...]:
    """A version as numbers, which are compared; of what is no version, one that is older than any."""
    found = re.match(r"\d+(\.\d+)*", version) if isinstance(version, str) else None
    return tuple(int(number) for number in found[0].split(".")) if found else ()


def check_series(result: Measured, path: str) -> None:
    """Refuses a series that is not of this result: its columns add up to counts of the result."""
    frame = Series(path).to_frame()
    for column in frame.iter_columns():
        if not column.dtype.is_numeric():
            raise InputError(f"--series: {path}: column {column.name} holds no numbers: allowed is a series of a run")
    for name, keys in _sums(result).items():
        if name not in frame.columns:
            raise InputError(f"--series: {path}: no column {name}: allowed is a series of a run")
        counted, expected = int(frame[name].sum()), sum(value_at(result, key) for key in keys)
        if counted != expected:
            raise InputError(
                f"--series: {path}: its {name} are {counted:,} in all, and the result under {result.scheme} has "
                f"{expected:,}: allowed is the series of the same run"
            )


def _sums(result: Measured) -> dict[str, tuple[str, ...]]:
    # A request that fails, or that an interruption cuts off, has bytes in the workload and none in the series.
    failed = result.requests.failed.to_dict().values()
    is_whole = not result.partial and not any(failed)
    return COUNTS | (BYTES if is_whole else {})


def _fault(value: Any, form: Mapping[str, Any], at: str, version: tuple[int, ...]) -> str:
    """What is wrong with a value of the JSON, and where; nothing if it has the types and keys of its schema.

    Of a result of another `version`, those keys that it has.
    """
    if "$ref" in form:
        return _fault(value, _schema()["$defs"][form["$ref"].rpartition("/")[2]], at, version)
    kinds = form.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) for kind in kinds):
        shown = json.dumps(value)
        shown = shown if len(shown) <= 40 else f"{shown[:37]}..."
        return f"{at} = {shown}: allowed is {' or '.join(WORDS[kind] for kind in kinds)}"
    faults = [_fault(value, choice, at, version) for choice in form.get("anyOf") or form.get("oneOf") or []]
    if faults and "" not in faults:
        return faults[0]
    inner: list[tuple[str, Any, Mapping[str, Any]]] = []
    if isinstance(value, dict):
        known, others = form.get("properties", {}), form.get("additionalProperties")
        for key in form.get("required", []) if at else []:
            may_lack = key in LATER or version < version_number(__version__)
            if key not in value and not may_lack and (at not in SETTINGS or key in SETTINGS[at]):
                return f"{at} has no {key}: allowed is a complete result of run or compare"
        for key, each in value.items():
            if isinstance(of := known.get(key, others), dict):
                inner.append((f"{at}.{key}".lstrip("."), each, of))
    elif isinstance(value, list) and isinstance(form.get("items"), dict):
        inner = [(f"{at}[{place}]", each, form["items"]) for place, each in enumerate(value)]
    return next(filter(None, (_fault(each, of, name, version) for name, each, of in inner)), "")


def _is(value: Any, kind: str) -> bool:
    if kind in ("integer", "number"):
        return isinstance(value, int if kind == "integer" else int | float) and not isinstance(value, bool)
    return isinstance(value, TYPES[kind])
