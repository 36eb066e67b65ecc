"""The tables of a data sheet as texts, for the terminal, pages and notebooks."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..quantities import COUNT, HUNDREDTHS, MB_PER_SECOND, THOUSANDTHS, TIME, Kind, number
from ..sizes import format_bytes
from .measurements import DEEP, KIB, Latency, Measurement

Values = Mapping[str, float | None]

NONE = "-"
DEFINITION = (
    "Drive writes a day = P/E cycles x raw bytes / (write amplification x user bytes x 5 x 365), with the write "
    f"amplification of steady random writes of 4 KiB at depth {DEEP}. Fresh is a drive that was written once, in order "
    "(filled; for reads), or never (erased; for writes); steady is one that was filled and then overwritten at random "
    "until GC was steady."
)


def facts(capacity: Mapping[str, int], endurance: Mapping[str, Any]) -> list[list[str]]:
    """Capacity and endurance."""
    raw, user = (format_bytes(capacity[key]) for key in ("raw_bytes", "user_bytes"))
    amplification, writes = endurance["write_amplification"], endurance["drive_writes_per_day"]
    rows = [
        ["capacity, raw", raw],
        ["capacity, user", user],
        ["write amplification, steady", NONE if amplification is None else THOUSANDTHS.text(amplification)],
    ]
    years = f"{endurance['years']:g} years"
    if endurance["pe_cycles"] is None:
        return [*rows, [f"endurance, {years}", "- (needs P/E cycles: pe_limit of the device, or --pe-cycles)"]]
    text = NONE if writes is None else f"{number(writes, 2)} drive writes a day"
    return [*rows, [f"endurance, {years}", f"{text}, with {endurance['pe_cycles']:,} P/E cycles"]]


def table(lines: Sequence[tuple[Measurement, int]], values: Values) -> tuple[list[str], list[list[str]]]:
    """What was measured: heads, and a row for each line."""
    heads = ["", "MB/s", "IOPS", *(each.value.replace("_", ".") for each in Latency), "requests", "drive"]
    return heads, [_row(of, requests, values) for of, requests in lines]


def _row(of: Measurement, requests: int, values: Values) -> list[str]:
    kind, _, rest = of.title.partition(",")
    name = f"{kind} {of.size_bytes // KIB} KiB,{rest}"
    if of.is_sequential:
        rate = [_text(values[f"{of.name}_mb_s"], MB_PER_SECOND.decimals), NONE]
        latencies = [NONE] * len(Latency)
    else:
        iops = values[f"{of.name}_iops"]
        rate = [NONE if iops is None else _text(iops * of.size_bytes / 1e6, MB_PER_SECOND.decimals), _text(iops, 0)]
        times = (values[f"{of.name}_{each.value}_ns"] for each in Latency)
        latencies = [NONE if time is None else TIME.text(time) for time in times]
    return [name, *rate, *latencies, f"{requests:,}", of.state.value]


def _text(value: float | None, decimals: int | None) -> str:
    return NONE if value is None else number(value, decimals)


def beside(
    sheet: Mapping[str, Any] | None, values: Values, deviations: Mapping[str, float]
) -> tuple[list[str], list[list[str]]]:
    """The figures beside those that the maker states: heads, and a row for each of his."""
    heads = ["figure", "simulated", "stated", "deviation", ""]
    if sheet is None:
        return heads, []
    rows = []
    for name in sorted(sheet["figures"], key=list(values).index):
        found, stated = values[name], sheet["figures"][name]
        deviation = f"{deviations[name]:+.1%}" if name in deviations else NONE
        kind = kind_of(name)
        simulated = NONE if found is None else kind.text(found)
        rows.append([name, simulated, kind.text(stated), deviation, "fitted" if name in sheet["fitted"] else ""])
    return heads, rows


def kind_of(name: str) -> Kind:
    """How a figure is written."""
    if name.endswith("_ns"):
        return TIME
    if name.endswith("_mb_s"):
        return Kind((("MB/s", 1),), 1)
    return COUNT if name.endswith("_iops") else HUNDREDTHS
