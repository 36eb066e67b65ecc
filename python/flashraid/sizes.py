"""Sizes and times as people write them."""

import re
from decimal import Decimal

from ._native import InputError

UNITS = {"": 1, "B": 1}
UNITS |= {f"{letter}iB": 1024**power for power, letter in enumerate("KMGT", 1)}
UNITS |= {f"{letter}B": 1000**power for power, letter in enumerate("kMGT", 1)}

TIMES = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}


def parse_bytes(name: str, text: str) -> int:
    """The bytes that `16GiB`, `1.5 TB` or `4096` stand for; `name` names the option in the error."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([A-Za-z]*)", text)
    size = Decimal(found[1]) * UNITS[found[2]] if found and found[2] in UNITS else None
    if size is None or size != int(size):
        units = ", ".join(unit for unit in UNITS if unit)
        raise InputError(f"{name} {text}: allowed is a whole number of bytes, also with a unit as in 16GiB ({units})")
    return int(size)


def parse_time(name: str, text: str) -> int:
    """The nanoseconds that `1.5s` or `200 ms` stand for; `name` names the option in the error."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([a-z]+)", text)
    time_ns = Decimal(found[1]) * TIMES[found[2]] if found and found[2] in TIMES else None
    if time_ns is None or time_ns != int(time_ns):
        raise InputError(f"{name} {text}: allowed is a time of whole nanoseconds with a unit ({', '.join(TIMES)})")
    return int(time_ns)


def format_bytes(size: float) -> str:
    """The size in the largest binary unit that leaves at least 1."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
