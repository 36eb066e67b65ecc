"""Drives that were made smaller than the preset whose name they have: they wear out and are rebuilt the earlier."""

from math import isclose

from .record import Record


def scale_of(share: float | None, device: str) -> str:
    """How a drive with this share of the flash of the preset was made smaller; nothing of one of full size."""
    if share is None:
        return ""
    parts = round(1 / share)
    is_part = share < 0.1 or (share < 0.5 and isclose(parts * share, 1, rel_tol=0.01))
    part = f"1/{parts:,}" if is_part else f"{share:.0%}"
    return f"scaled down: {part} of the flash of {device}"


def of_scaled(result: Record) -> str:
    """What a lifetime or a time of a rebuild is of, if the drive of a result was made smaller; else nothing."""
    if "share_of_preset" not in result["capacity"]:  # of older versions
        return ""
    return scale_of(result["capacity"]["share_of_preset"], result["device"])


def with_scale(text: str, result: Record) -> str:
    """A text about such a time, marked if the drive was made smaller."""
    said = of_scaled(result)
    return f"{text} ({said})" if said else text
