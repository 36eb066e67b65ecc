"""Sizes and times as people write them."""

import operator
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from ._native import InputError

UNITS = {"": 1, "B": 1}
UNITS |= {f"{letter}iB": 1024**power for power, letter in enumerate("KMGTPE", 1)}
UNITS |= {f"{letter}B": 1000**power for power, letter in enumerate("kMGTPE", 1)}

TIMES = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}

LARGEST = 2**64 - 1  # of the engine's numbers
LATEST_NS = 2**63 - 1  # of its times


def check_numbers(**values: object) -> None:
    """Refuses values that are not unsigned 64-bit numbers; the error names the value."""
    for name, value in values.items():
        if not _is_number(value):
            raise InputError(f"{name} = {value!r}: allowed is a whole number from 0 to {LARGEST}")


def check_range(name: str, value: object, least: int, most: int) -> None:
    """Refuses a value that is not a whole number in this range; the error names the value."""
    if not (_is_number(value) and least <= operator.index(value) <= most):  # type: ignore[arg-type]
        raise InputError(f"{name} {value!r}: allowed is a whole number from {least} to {most}")


def check_columns(**columns: Sequence[object]) -> None:
    """The same for every entry of lists or arrays."""
    for name, column in columns.items():
        is_list = isinstance(column, Sequence) and not isinstance(column, str | bytes)
        if not (is_list or hasattr(column, "__array__")):
            raise InputError(f"{name} = {column!r}: allowed is a list or an array of whole numbers")
        for index, value in enumerate(column):
            if not _is_number(value):
                check_numbers(**{f"{name}[{index}]": value})


def _is_number(value: object) -> bool:
    if type(value) is int:
        return 0 <= value <= LARGEST
    try:
        return not isinstance(value, bool) and 0 <= operator.index(value) <= LARGEST  # type: ignore[arg-type]
    except TypeError:
        return False


def unit_bytes_of(device: Mapping[str, Any]) -> int:
    """The bytes of a mapping unit of a complete device: of a page, unless several share one."""
    unit: int = device["mapping_unit_bytes"] or device["page_bytes"]
    return unit


def word_of_units(device: Mapping[str, Any]) -> str:
    """What mapping units of a device are called where they are counted."""
    return "pages" if unit_bytes_of(device) == device["page_bytes"] else "mapping units"


def filled_pages(fill: float, space_pages: int) -> int:
    """How many pages a fill of so large a share has, as the engine counts them."""
    return int(Decimal(str(fill)) * space_pages)


def parse_bytes(name: str, text: str) -> int:
    """The number of bytes in `16GiB`, `1.5 TB` or `4096`; errors call the option `name`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([A-Za-z]*)", text)
    size = Decimal(found[1]) * UNITS[found[2]] if found and found[2] in UNITS else None
    if size is None or size != int(size) or size > LARGEST:
        units = ", ".join(unit for unit in UNITS if unit)
        allowed = f"a whole number of bytes, also with a unit as in 16GiB ({units}), below 2^64 (16 EiB)"
        raise InputError(f"{name} {text}: allowed is {allowed}")
    return int(size)


def parse_time(name: str, text: str) -> int:
    """The number of nanoseconds in `1.5s` or `200 ms`; errors call the option `name`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([a-z]+)", text)
    time_ns = Decimal(found[1]) * TIMES[found[2]] if found and found[2] in TIMES else None
    if time_ns is None or time_ns != int(time_ns) or time_ns > LATEST_NS:
        allowed = (
            f"a time up to {LATEST_NS // 10**9}s (292 years), in whole nanoseconds with a unit ({', '.join(TIMES)})"
        )
        raise InputError(f"{name} {text}: allowed is {allowed}")
    return int(time_ns)


def parse_share(name: str, given: float | str) -> float:
    """The share in `0.7`, `70%` or 0.7; errors call the option `name`."""
    found = re.fullmatch(r"(\d*\.?\d+)(%?)", given) if isinstance(given, str) else None
    share = given if isinstance(given, int | float) and not isinstance(given, bool) else -1.0
    if found:
        share = float(found[1]) / (100 if found[2] else 1)
    if not 0 <= share <= 1:
        raise InputError(f"{name} {given}: allowed is a share from 0 to 1, or from 0% to 100%")
    return share


def format_bytes(size: float) -> str:
    """The size in the largest binary unit that leaves at least 1."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
