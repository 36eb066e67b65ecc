"""Tables on standard output, except those of results. Times in microseconds, sizes in binary units."""

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..quantities import number
from ..record import OpenRecord
from ..sheets.cells import kind_of
from ..sizes import format_bytes, word_of_units
from . import reader, results
from .layout import print_tables as _print
from .layout import table_of as _table

if TYPE_CHECKING:
    from rich.table import Table

    from ..calibration import Calibration
    from ..reproduce.papers import Paper

GAPS = ("p1", "p10", "p25", "p50", "p75", "p90", "p99", "p100")  # of more, which would make a row too long


def show_torture(report: dict[str, Any], seconds: float) -> None:
    """The tests of each scheme, and the states found at its crash points."""
    schemes = report["schemes"]
    tried = _table(
        "", ["scheme", "crash points", "requests", "faults", "rebuilt", "pages checked", "pairs of states", "met"]
    )
    for found in schemes:
        row = [
            found["kills"],
            found["requests"],
            sum(found["faults"].values()),
            found["rebuilt"],
            found["pages_checked"],
            len(found["pairs"]),
            sum(count > 0 for count in found["pairs"].values()),
        ]
        tried.add_row(found["scheme"], *(f"{count:,}" for count in row))
    states = _table("", ["crash points with", *(found["scheme"] for found in schemes)])
    for state in dict.fromkeys(state for found in schemes for state in found["states"]):
        shares = (found["states"].get(state, None) for found in schemes)
        kills = (max(found["kills"], 1) for found in schemes)
        states.add_row(
            state, *("-" if count is None else f"{count / of:.1%}" for count, of in zip(shares, kills, strict=True))
        )
    _print(tried, states)
    for found in schemes:
        if (pages := found.get("pages_lost_in_window")) is not None:
            print(f"{found['scheme']}: first failures took {pages:,} pages, all of them in its declared window")
    kills_done = sum(found["kills"] for found in schemes)
    print(f"{kills_done:,} crash points in {seconds:.1f} s: {kills_done / max(seconds, 1e-9) * 60:,.0f} per minute")


def show_trace_info(info: dict[str, Any]) -> None:
    """Statistics of a trace."""
    of = OpenRecord(info)
    table = _table(f"{of.name}, {reader.counted(of.requests, 'requests')}", ["", ""])
    kinds = ("reads", "writes", "trims", "write_zeroes", "flushes")
    table.add_row(
        "requests by kind", ", ".join(reader.counted(of[kind], kind.replace("_", " ")) for kind in kinds if of[kind])
    )
    table.add_row("write share of transfers", _percent(of.write_share))
    table.add_row("bytes read, written", f"{format_bytes(of.bytes_read)}, {format_bytes(of.bytes_written)}")
    sizes = (of.mean_bytes, of.mean_read_bytes, of.mean_write_bytes)
    table.add_row(
        "mean size: all, read, write", ", ".join("-" if size is None else format_bytes(size) for size in sizes)
    )
    table.add_row("duration", f"{of.duration_ns / 1e9:,.3f} s")
    rate = of.requests_per_second
    table.add_row("requests/s", "-" if rate is None else number(rate, 1))
    gaps = (of.interarrival_mean_ns, of.interarrival_p50_ns, of.interarrival_p99_ns)
    table.add_row("inter-arrival mean, p50, p99", _gaps(*gaps))
    table.add_row(
        "footprint",
        f"{format_bytes(of.footprint_bytes)} ({reader.counted(of.pages_touched, 'pages')} of {of.page_bytes:,} bytes)",
    )
    table.add_row("pages read, written", f"{of.pages_read:,}, {of.pages_written:,}")
    updates = (of.update_share, of.update_request_share)
    table.add_row("updates: pages, requests", ", ".join(_percent(share) for share in updates))
    for sets in of.working_set:
        row = f"{format_bytes(sets.mean_bytes)}, {format_bytes(sets.max_bytes)}"
        table.add_row(f"working set of {sets.window_ns // 10**9} s: mean, max", row)
    table.add_row("pages used for the first time", _percent(of.cold_share))
    table.add_row("reuse distance in pages", _quantiles(of.reuse_distance_pages, "{:,}".format))
    table.add_row("inter-arrival in us", _quantiles(of.interarrival_ns, _us, GAPS))
    cv, peak = of.burstiness.interarrival_cv, of.burstiness.peak_to_mean_1s
    table.add_row("burstiness: CV, peak to mean of 1 s", f"{_number(cv, 2)}, {_number(peak, 2)}")
    bursts = of.burstiness.bursts
    table.add_row(f"bursts (gaps below {bursts.gap_ns // 10**6} ms)", f"{bursts.count:,}")
    quantiles = _quantiles(bursts.quantiles_requests, "{:,}".format)
    row = f"mean {_number(bursts.mean_requests, 1)}, {quantiles}, largest {_number(bursts.max_requests, 0)}"
    table.add_row("requests per burst", row)
    table.add_row("mean gap in bursts, between bursts", _gaps(bursts.mean_gap_ns, bursts.mean_pause_ns))
    for kind, sizes in (("read", of.read_sizes), ("write", of.write_sizes)):
        if sizes is not None:
            table.add_row(f"{kind} sizes", _quantiles(sizes.quantiles_bytes, format_bytes))
            top = ", ".join(f"{format_bytes(each.bytes)} {_percent(each.share)}" for each in sizes.top[:4])
            table.add_row(f"{kind} sizes most frequent", top)
    table.add_row("highest address", format_bytes(of.max_address_bytes))
    table.add_row("sequential transfers", _percent(of.sequential_share))
    for kind, runs in (("reads", of.sequential_reads), ("writes", of.sequential_writes)):
        if runs is not None:
            row = f"{_percent(runs.share)}, in runs of {runs.mean_run_requests:,.2f}"
            table.add_row(f"sequential {kind}", row)
    if of.skew is not None:
        shares = (of.skew.top_1_percent, of.skew.top_10_percent, of.skew.top_20_percent)
        row = ", ".join(_percent(share) for share in shares)
        table.add_row("accesses to the top 1, 10, 20 % of pages", f"{row} (Gini {of.skew.gini:.3f})")
    table.add_row("unaligned transfers", _percent(of.unaligned_share))
    if of.capacity_bytes is not None:
        table.add_row(f"beyond {format_bytes(of.capacity_bytes)}", reader.counted(of.beyond_capacity, "requests"))
    for cells in reader.rows(of):
        table.add_row(*cells)
    table.add_row("SHA-256", of.sha256)
    table.columns[1].justify = "left"
    _print(table)


def show_profiles(profiles: list[dict[str, Any]]) -> None:
    """The shipped profiles."""
    _show_described("profiles", profiles)


def show_fit(fitted: dict[str, Any]) -> None:
    """A trace and its twin, figure by figure."""
    of = OpenRecord(fitted)
    title = f"{of.name} and its twin, a model of {of.profile_numbers:,} numbers: "
    title += f"{of.beyond} of {len(of.figures)} figures beyond 5 %" if of.beyond else "every figure within 5 %"
    table = _table(title, ["", "original", "twin", "difference", ""])
    for each in of.figures:
        difference = "-" if each.difference is None else f"{each.difference:+.1%}"
        values = (_figure(each.original), _figure(each.twin))
        table.add_row(each.figure, *values, difference, "" if each.is_within else "beyond")
    _print(table)


def show_papers(papers: "list[Paper]") -> None:
    """The papers, each with its experiments."""
    from ..reproduce.papers import needs_original

    for paper in papers:
        table = _table(f"{paper.name}: {paper.title}", ["experiment", "in the paper", "title", "claims"])
        for column in table.columns[1:3]:
            column.justify = "left"
        for name, experiment in paper.experiments.items():
            claims = sum(claim.experiment == name for claim in paper.claims)
            needs_folder = all(map(needs_original, experiment.workloads.values()))
            title = f"{experiment.title} (needs --traces)" if needs_folder else experiment.title
            table.add_row(f"{paper.name}.{name}", experiment.where, title, str(claims))
        _print(table)


def show_calibration(found: "Calibration") -> None:
    """The thresholds, as settings of `run`."""
    table = _table(f"bpu, a stand-in for BPU, calibrated in {found.runs} runs", ["", "total I/O time", "less by"])
    gain = 1 - found.total_ns / found.default_total_ns if found.default_total_ns else 0.0
    table.add_row("default thresholds", f"{found.default_total_ns / 1e9:,.3f} s", "")
    table.add_row("calibrated", f"{found.total_ns / 1e9:,.3f} s", f"{gain:.2%}")
    _print(table)
    print("  ".join(f"--set {name}={value}" for name, value in found.thresholds.items()))


def show_devices(devices: list[dict[str, Any]]) -> None:
    """The presets."""
    _show_described("device presets", devices)


def show_device(data: dict[str, Any]) -> None:
    """One device: its geometry, and its capacity under each scheme."""
    facts = _table(data["name"] + (f": {data['about']}" if data["about"] else ""), ["", ""])
    facts.columns[1].justify = "left"
    slices = data["device"]["slice"]
    part = "" if slices == 1 else f", of one of {slices} slices"
    pages, units = data["raw_bytes"] // data["device"]["page_bytes"], word_of_units(data["device"])
    facts.add_row("raw capacity", f"{format_bytes(data['raw_bytes'])} ({pages:,} physical pages{part})")
    facts.add_row("forward map", format_bytes(data["table_bytes"]))
    if data["buffer_bytes"]:
        facts.add_row("data buffer", format_bytes(data["buffer_bytes"]))
    if data["nvram_buffer_bytes"]:
        facts.add_row("write buffer in NVRAM", format_bytes(data["nvram_buffer_bytes"]))
    facts.add_row(
        "members", f"{data['members']} of {data['planes_per_member']} planes and {data['pages_per_member']:,} {units}"
    )
    for key, value in (data.get("array", {}) | data["device"]).items():
        facts.add_row(key, json.dumps(value).strip('"'))
    if "device_queue_depth" in data:
        facts.add_row("device_queue_depth", f"{data['device_queue_depth']:,}")
    ssds = _table("SSDs", ["SSD", "role", "raw capacity", "age", "erases so far", "of at most"])
    for of in data.get("ssds", []):
        role = "spare" if of["is_spare"] else f"member {of['number']}"
        most = "no limit" if of["endurance"] is None else f"{of['endurance']:,}"
        raw = format_bytes(of["raw_bytes"])
        ssds.add_row(str(of["number"]), role, raw, _percent(of["age"]), f"{of['erases']:,}", most)
    sheet = _sheet(data.get("sheet"))
    columns = ["scheme", "user capacity", "user pages", "redundancy", "of raw", "raw/user", "spare", "for GC"]
    columns += ["mapping tables", "NVRAM", "survives the loss of"]
    table = _table("overhead of each scheme, spare when it is full, and the failures that it survives", columns)
    table.columns[-1].justify = "left"
    surprises = _table("warnings", ["scheme", "warning"])
    surprises.columns[1].justify = "left"
    refused = _table("not possible on this device", ["scheme", "reason"])
    refused.columns[1].justify = "left"
    for name, of in data["schemes"].items():
        if "refused" in of:
            refused.add_row(name, of["refused"])
        else:
            redundancy, share = format_bytes(of["redundancy_bytes"]), f"{of['redundancy_share']:.1%}"
            ratio, tables = f"{of['raw_per_user_byte']:.3f}", format_bytes(of["table_bytes"])
            spare = (_percent(of["effective_over_provisioning"]), _percent(of["usable_over_provisioning"]))
            row = (format_bytes(of["user_bytes"]), f"{of['user_pages']:,}", redundancy, share, ratio, *spare, tables)
            table.add_row(name, *row, results.sizes_by_name(OpenRecord(of["nvram"])), of["survives"]["text"])
            for text in of["warnings"]:
                surprises.add_row(name, text)
    _print(facts, *(each for each in (ssds, sheet, table, refused, surprises) if each.row_count))


def _sheet(sheet: dict[str, Any] | None) -> "Table":
    """What the maker states; an empty table if he states nothing."""
    table = _table("" if sheet is None else f"the maker's sheet: {sheet['source']}", ["figure", "stated", ""])
    for name, value in ({} if sheet is None else sheet["figures"]).items():
        table.add_row(name, kind_of(name).text(value), "fitted" if sheet and name in sheet["fitted"] else "")
    return table


def show_schemes(schemes: list[dict[str, Any]]) -> None:
    """Each scheme with its parameters."""
    for scheme in schemes:
        table = _table(f"{scheme['name']}: {scheme['title']}", ["", ""])
        table.columns[1].justify = "left"
        table.columns[1].no_wrap = False
        table.add_row("idea", scheme["about"])
        table.add_row("survives the loss of", scheme["survives"])
        if scheme["window"]:
            table.add_row("exposure window", scheme["window"])
        table.add_row("members", scheme["members"])
        if scheme["nvram"]:
            table.add_row("in NVRAM", ", ".join(scheme["nvram"]))
        for of in scheme["parameters"]:
            allowed = "|".join(of["choices"]) or of["allowed"]
            table.add_row(f"--set {of['name']}=", f"{allowed} (default {of['default']}): {of['about']}")
        _print(table)


def _show_described(title: str, items: list[dict[str, Any]]) -> None:
    table = _table(title, ["name", "description"])
    table.columns[1].justify = "left"
    for item in items:
        table.add_row(item["name"], item["about"])
    _print(table)


def _quantiles(of: OpenRecord | None, text: Callable[[float], str], names: Sequence[str] | None = None) -> str:
    return "-" if of is None else ", ".join(f"{name} {text(of[name])}" for name in names or of)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) or value >= 1000 else f"{value:.4g}"


def _us(time_ns: float) -> str:
    return f"{time_ns / 1000:,.1f}"


def _gaps(*gaps_ns: float | None) -> str:
    return ", ".join("-" if gap_ns is None else f"{_us(gap_ns)} us" for gap_ns in gaps_ns)


def _number(value: float | None, decimals: int) -> str:
    return "-" if value is None else f"{value:,.{decimals}f}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
