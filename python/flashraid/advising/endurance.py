"""What a candidate must endure: drive writes a day, over so many years."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._native import InputError
from ..intervals import mean_and_half_width
from .objectives import DWPD, OPEN, WRITES_A_DAY, Objective, Value
from .search import Must

YEARS_OF_WARRANTY = 5.0
DAYS_OF_A_YEAR = 365


def check_endurance(label: Callable[[str], str], min_dwpd: float | None, years: float | None) -> None:
    """Refuses what are no drive writes a day, and no years, or years without them."""
    for name, value, least in (("min_dwpd", min_dwpd, "from"), ("years", years, "above")):
        if value is None:
            continue
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 <= value < float("inf") or (value == 0 and least == "above"):
            raise InputError(f"{label(name)} {value}: allowed is a number {least} 0")
    if years is not None and min_dwpd is None:
        raise InputError(f"{label('years')} {years}: allowed with {label('min_dwpd')}, of which it says how long")


def must_endure(
    label: Callable[[str], str], min_dwpd: float, years: float | None, pe_limit: float, *, is_varied: bool
) -> Must:
    """The least of it, on a device whose blocks endure `pe_limit` erases; with `is_varied` candidates have others."""
    if not pe_limit and not is_varied:
        raise InputError(f"{label('min_dwpd')}: the device has no limit of erases: allowed with pe_limit above 0")
    span = YEARS_OF_WARRANTY if years is None else years
    return Must(
        f"{label('min_dwpd')} {min_dwpd:g} over {span:g} years",
        OPEN,
        DWPD.column,
        least=min_dwpd,
        kind=WRITES_A_DAY,
        is_measured=True,
        thousandths="config.device.pe_limit",
        otherwise=pe_limit,
        days=DAYS_OF_A_YEAR * span,
    )


def beside(musts: Sequence[Must]) -> list[Objective]:
    """What is shown beside the objectives: the drive writes a day, if so many were asked for."""
    return [DWPD for must in musts if must.kind is WRITES_A_DAY]


def endured(objective: Objective, musts: Sequence[Must], rows: Sequence[Mapping[str, Any]]) -> Value | None:
    """The drive writes a day of a candidate over its seeds; None of any other objective."""
    if objective is not DWPD:
        return None
    must = next(each for each in musts if each.kind is WRITES_A_DAY)
    found = [must.figure(row) for row in rows]
    known = tuple(value for value in found if value is not None)
    return Value(*mean_and_half_width(known), known) if known and len(known) == len(found) else Value(None)
