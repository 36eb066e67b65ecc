"""Sizes in bytes as people write them."""

import re
from decimal import Decimal

from ._native import InputError

UNITS = {"": 1, "B": 1}
UNITS |= {f"{letter}iB": 1024**power for power, letter in enumerate("KMGT", 1)}
UNITS |= {f"{letter}B": 1000**power for power, letter in enumerate("kMGT", 1)}


def parse_bytes(name: str, text: str) -> int:
    """The bytes that `16GiB`, `1.5 TB` or `4096` stand for; `name` names the option in the error."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([A-Za-z]*)", text)
    size = Decimal(found[1]) * UNITS[found[2]] if found and found[2] in UNITS else None
    if size is None or size != int(size):
        units = ", ".join(unit for unit in UNITS if unit)
        raise InputError(f"{name} {text}: allowed is a whole number of bytes, also with a unit as in 16GiB ({units})")
    return int(size)


def format_bytes(size: float) -> str:
    """The size in the largest binary unit that leaves at least 1."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
