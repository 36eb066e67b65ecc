"""Figures of results: one result, or several side by side. docs/figures.md lists them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..record import Record
from ..result_types import RunResult
from .model import Axis, Figure, Mark

Named = list[tuple[str, RunResult]]

# Quantiles of latency figures without `distribution`: those of rebuilds, and all that older versions wrote.
QUANTILES = {"min": 0.0, "p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999, "p99_99": 0.9999, "max": 1.0}
# Parts of write amplification; the others stand apart from it.
WRITE_AMPLIFICATION = ("host", "redundancy", "gc", "metadata")
# With more series than this, bars have a panel for each of them, and lines over time too.
MOST_SERIES = 6
# With more members than this, each is a point.
MOST_BARS = 16

WORDS = {
    "pre_read": "pre-read",
    "gc": "GC",
    "wear": "wear leveling",
    "rmw": "RMW (read-modify-write)",
    "rcw": "RCW (reconstruct write)",
}

Rows = list[dict[str, Any]]
LATENCY = Axis("latency_us", "latency (us)", "log", is_time=True)
SCHEME = Axis("scheme", "scheme", "category")


def figures(results: Sequence[RunResult]) -> list[Figure]:
    """The figures of these results, without those that would show nothing."""
    named = list(zip(names(results), results, strict=True))
    found = (each for make in _MAKERS for each in make(named))
    return [figure for figure in found if figure is not None]


def names(results: Sequence[RunResult]) -> list[str]:
    """What to call each result: its scheme, and what tells it from others of the scheme."""
    found = [result.scheme for result in results]
    for said in (
        [result.device for result in results],
        [result.workload.name for result in results],
        [f"seed {result.seed}" for result in results],
    ):
        for name in [name for name in set(found) if found.count(name) > 1]:
            same = [at for at, other in enumerate(found) if other == name]
            if len({said[at] for at in same}) > 1:
                for at in same:
                    found[at] = f"{name}, {said[at]}"
    totals = {name: found.count(name) for name in found}
    counts = dict.fromkeys(found, 0)
    for at, name in enumerate(found):
        counts[name] += 1
        found[at] = name if totals[name] == 1 else f"{name} ({counts[name]})"
    return found


def in_words(key: str) -> str:
    """A cause, part or method of the JSON as charts name it."""
    return WORDS.get(key, key.replace("_", " "))


def _latencies(named: Named) -> Iterator[Figure | None]:
    for kind, several in {"read": "reads", "write": "writes", "flush": "flushes"}.items():
        rows = [
            {"scheme": name, "quantile": quantile, "latency_us": latency_ns / 1000}
            for name, result in named
            for quantile, latency_ns in distribution(result.latency_ns[kind])
        ]
        yield _figure(
            f"{kind}-latency",
            f"Latency of {several}",
            f"The share of {several} that took at most so long. Above each mark of the axis is a tenth of those above "
            "the one before; the maximum is at the right edge. Lower is better.",
            "line",
            rows,
            Axis("quantile", f"share of {several}", "tail"),
            LATENCY,
            series="scheme",
        )


def distribution(latencies: Record) -> list[tuple[float, int]]:
    """Quantiles and latencies in nanoseconds; empty without requests."""
    points = latencies.to_dict().get("distribution")
    return [(point["quantile"], point["latency_ns"]) for point in points] if points else main_quantiles(latencies)


def main_quantiles(latencies: Record) -> list[tuple[float, int]]:
    """The same of the quantiles that all latency figures have."""
    return [(quantile, latencies[name]) for name, quantile in QUANTILES.items()] if latencies["count"] else []


def _operations(named: Named) -> Iterator[Figure | None]:
    rows = [
        {
            "scheme": name,
            "action": action,
            "cause": in_words(cause),
            "key": cause,
            "per_request": result.flash_ops[action][cause] / max(1, result.requests.completed),
        }
        for action in ("reads", "programs")
        for cause in named[0][1].flash_ops[action]
        for name, result in named
        if cause != "total"
    ]
    yield _figure(
        "flash-operations",
        "Flash operations by cause",
        "Page reads and page programs for each completed request, by cause. Fewer are better.",
        "stack",
        _used(rows, "cause", "per_request"),
        SCHEME,
        Axis("per_request", "pages per request"),
        series="cause",
        facet="action",
    )


def _write_amplification(named: Named) -> Iterator[Figure | None]:
    parts = dict.fromkeys(part for _, result in named for part in result.write_amplification_by)
    rows = [
        {
            "scheme": name,
            "part": in_words(part) if part in WRITE_AMPLIFICATION else f"{in_words(part)} (apart)",
            "key": part,
            "ratio": result.write_amplification_by[part],
        }
        for part in parts
        for name, result in named
        if part in result.write_amplification_by and result.write_amplification_by[part] is not None
    ]
    yield _figure(
        "write-amplification",
        "Write amplification by part",
        "Bytes programmed for each byte that completed writes wrote. Parts that are called apart are not counted in "
        "write_amplification. Lower is better.",
        "stack",
        _used(rows, "part", "ratio"),
        SCHEME,
        Axis("ratio", "bytes per byte written"),
        series="part",
    )


def _parity_updates(named: Named) -> Iterator[Figure | None]:
    # Commits are part of the deferred updates, and `adjusted` counts updates of other methods again.
    rows = [
        {"scheme": name, "method": in_words(method), "key": method, "updates": result.parity_updates[method]}
        for method in named[0][1].parity_updates
        for name, result in named
        if method not in ("committed", "adjusted")
    ]
    yield _figure(
        "parity-updates",
        "Parity updates by method",
        "Operations that changed the parity of a stripe, or would have changed it if they had not been mirrored or "
        "deferred, by method.",
        "stack",
        _used(rows, "method", "updates"),
        SCHEME,
        Axis("updates", "operations"),
        series="method",
    )


def _members(named: Named) -> Iterator[Figure | None]:
    many = max(len(result.members) for _, result in named) > MOST_BARS
    member = Axis("member", "member", "linear" if many else "category")

    def of_each(column: str, value: Callable[[Record], float | None]) -> Rows:
        return [
            {"scheme": name, "member": at if many else str(at), column: value(each)}
            for name, result in named
            for at, each in enumerate(result.members)
            if value(each) is not None
        ]

    def busy(of: Record) -> float | None:
        return None if of["busy_fraction"] is None else 100 * of["busy_fraction"]

    yield _figure(
        "member-busy",
        "Busy time of members",
        "Share of the averaged time for which the dies of each member were busy. Equal bars are an even load.",
        "points" if many else "bars",
        of_each("busy_percent", busy),
        member,
        Axis("busy_percent", "busy time (%)"),
        series="scheme",
    )
    yield _figure(
        "member-queue",
        "Operations waiting for members",
        "Mean number of page reads and programs that wait for each member, seen when a request completes.",
        "points" if many else "bars",
        of_each("waiting", lambda of: of["mean_blocked"]),
        member,
        Axis("waiting", "waiting operations"),
        series="scheme",
    )


def _erases(named: Named) -> Iterator[Figure | None]:
    rows: Rows = []
    histograms = [(name, result.wear.to_dict().get("histogram", [])) for name, result in named]
    if not any(each["erases_to"] for _, bins in histograms for each in bins):
        return
    for name, bins in histograms:
        if not bins:
            continue
        # Ranges of several results may differ in width, so it is the blocks for each number of erases that are drawn.
        width = bins[0]["erases_to"] - bins[0]["erases_from"] + 1
        rows += [{"scheme": name, "erases": each["erases_from"], "blocks": each["blocks"] / width} for each in bins]
        rows.append({"scheme": name, "erases": bins[-1]["erases_to"] + 1, "blocks": 0.0})
    yield _figure(
        "erases",
        "Erase counts of blocks",
        "Blocks by how often they were erased since the device was new: blocks of a range, over the numbers of erases "
        "in it. A narrow peak is even wear.",
        "steps",
        rows,
        Axis("erases", "erases"),
        Axis("blocks", "blocks per number of erases"),
        series="scheme",
    )


def _parity_cache(named: Named) -> Iterator[Figure | None]:
    guards = [(name, result["guard"]) for name, result in named if "guard" in result]
    parts = {
        "hits": ("updates", "hit"),
        "misses": ("updates", "miss"),
        "commits_replacement": ("commits", "replacement"),
        "commits_gc": ("commits", "GC"),
        "commits_rebuild": ("commits", "rebuild"),
        "commits_idle": ("commits", "idle time"),
    }
    rows = [
        {"scheme": name, "what": what, "kind": kind, "operations": guard[key]}
        for key, (what, kind) in parts.items()
        for name, guard in guards
    ]
    yield _figure(
        "parity-cache",
        "Deferred parities",
        "Updates of stripes whose parity was already deferred (hit) or not (miss), and commits of deferred parities to "
        "flash by their reason.",
        "stack",
        _used(rows, "kind", "operations"),
        SCHEME,
        Axis("operations", "operations"),
        series="kind",
        facet="what",
    )


def _buffer(named: Named) -> Iterator[Figure | None]:
    rows = [
        {"scheme": name, "op": f"{op}s", "outcome": outcome, "pages": result["buffer"][f"{op}_{key}"]}
        for op in ("read", "write")
        for outcome, key in (("hit", "hits"), ("miss", "misses"))
        for name, result in named
        if "buffer" in result
    ]
    yield _figure(
        "buffer",
        "Data buffer",
        "Page reads and page writes that the data buffer served (hit) or not (miss).",
        "stack",
        rows,
        SCHEME,
        Axis("pages", "pages"),
        series="outcome",
        facet="op",
    )


def _rebuilds(named: Named) -> Iterator[Figure | None]:
    rows = []
    for name, result in named:
        felt = [rebuild.latency_ns for rebuild in result.rebuild if rebuild.latency_ns["count"]]
        several = len(felt) > 1
        during = [(f"rebuild {at + 1}" if several else "during the rebuild", each) for at, each in enumerate(felt)]
        for when, latencies in [*during, ("all requests", result.latency_ns.all)] if felt else []:
            rows += [
                {"scheme": name, "when": when, "quantile": quantile, "latency_us": latency_ns / 1000}
                for quantile, latency_ns in main_quantiles(latencies)
            ]
    yield _figure(
        "rebuild-latency",
        "Latency during rebuilds",
        "Latencies of requests that arrived during a rebuild, beside those of all requests of the run.",
        "line",
        rows,
        Axis("quantile", "share of requests", "tail"),
        LATENCY,
        series="when",
        facet="scheme" if len({row["scheme"] for row in rows}) > 1 else "",
    )


def _used(rows: Rows, part: str, value: str) -> Rows:
    """The rows of parts that are not 0 everywhere: those stay in all panels and bars, so that colors agree."""
    used = {row[part] for row in rows if row[value]}
    return [row for row in rows if row[part] in used]


def _figure(
    name: str,
    title: str,
    about: str,
    mark: Mark,
    rows: Rows,
    x: Axis,
    y: Axis,
    series: str = "",
    facet: str = "",
) -> Figure | None:
    """The figure, unless there is nothing to see in it."""
    import polars

    if not any(row[y.column] for row in rows):
        return None
    schemes = len({row["scheme"] for row in rows})
    if series == "scheme" and schemes == 1:
        series = ""
    if series == "scheme" and mark in ("bars", "points") and schemes > MOST_SERIES:
        series, facet = "", "scheme"
    return Figure(name, title, about, mark, polars.DataFrame(rows), x, y, series, facet)


_MAKERS: Iterable[Callable[[Any], Iterator[Figure | None]]] = (
    _latencies,
    _rebuilds,
    _operations,
    _write_amplification,
    _parity_updates,
    _members,
    _erases,
    _parity_cache,
    _buffer,
)
