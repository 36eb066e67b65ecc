"""Load of a trace on a device, and what is likely to mislead in the settings, shown before the run."""

import json
from typing import Any

from .. import _native, machine
from ..settings import Pairs, configuration
from ..sizes import format_bytes
from .layout import say


def show(
    trace: str, device: str | None, scheme: str | None, config: str | None, settings: Pairs, *, is_named: bool = False
) -> list[str]:
    """Prints a line of figures, and a line for each warning, to standard error, behind the name of the scheme if there
    are others, which may need more memory. Returns the warnings.
    """
    warnings = []
    if not is_named:
        warnings += machine.shortage(configuration(device, scheme, config, settings)["memory_bytes"])
    text = _native.sanity(trace, device, scheme, config, settings)
    if text is not None:  # else a pipe, which the run itself will read
        found = json.loads(text)
        say(f"trace: {_figures(found)}")
        warnings += found["warnings"]
    warnings = [f"{scheme}: {text}" if is_named else text for text in warnings]
    for warning in warnings:
        say(f"warning: {warning}")
    return warnings


def _rate(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"


def _figures(found: dict[str, Any]) -> str:
    count = f"{found['requests']:,} requests" if found["is_all"] else f"first {found['requests']:,} requests"
    rate = found["requests_per_second"]
    parts = [
        f"{found['format']}, times in {found['time_unit']}",
        f"{count} in {found['span_ns'] / 1e9:,.3f} s" + (f" ({_rate(rate)}/s)" if rate else ""),
    ]
    if found["mean_bytes"]:
        parts.append(f"mean {format_bytes(found['mean_bytes'])}, {found['write_share']:.0%} writes")
    if found["devices"] > 1:
        parts.append(f"{found['devices']:,} devices")
    parts.append(f"footprint {format_bytes(found['footprint_bytes'])}")
    address, space = format_bytes(found["max_address_bytes"]), format_bytes(found["space_bytes"])
    parts.append(f"highest address {address} of {space}")
    if found["expected_load"] is not None:
        parts.append(f"expected offered load {found['expected_load']:.2g} without redundancy and GC")
    return "; ".join(parts)
