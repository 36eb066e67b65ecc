"""What the summary says of results that are made up, and figures of which can be worked out by hand."""

import random
import re
from fractions import Fraction

import pytest

from flashraid import summary
from flashraid.intervals import mean_and_half_width, quantile
from flashraid.quantities import COUNT, SIZE, TIME, YEARS, difference
from flashraid.result import Result

READ, WRITE, WA = "latency_ns.read.p99_9", "latency_ns.write.p99_9", "write_amplification"


def schemes(path, values):
    return [{"scheme": f"s{at}", path: value} for at, value in enumerate(values)]


def line_of(comparison, path):
    found = [line for section in summary.table(comparison) for line in section.lines if line.path == path]
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.parametrize(
    ("value", "first", "text"),
    [
        (88, 100, "-12 %"),
        (310, 100, "3.1x"),
        (200, 100, "2.0x"),
        (199, 100, "+99 %"),
        (101, 100, "+1 %"),
        (100.4, 100, "0 %"),
        (100, 100, ""),
        (0, 100, "-100 %"),
        (0.2, 100, "-99.80 %"),
        (5, 0, ""),
        (123_456, 1, "123,456x"),
    ],
)
def test_differences(value, first, text):
    assert difference(value, first) == text


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (TIME, 145_227_800, "145 ms"),
        (TIME, 999, "999 ns"),
        (TIME, 1_500, "1.50 us"),
        (TIME, 0, "0 ns"),
        (TIME, 3.6e9 * 90, "5.40 min"),
        (TIME, 3.6e12 * 30, "30.0 h"),
        (SIZE, 1 << 15, "32.0 KiB"),
        (SIZE, 4096 << 40, "4,096 TiB"),
        (YEARS, 2 / 365, "2.00 days"),
        (YEARS, 7.25, "7.25 years"),
        (COUNT, 12_345, "12,345"),
    ],
)
def test_units(kind, value, text):
    assert kind.text(value) == text


def test_a_row_has_one_unit(compared):
    line = line_of(compared(*schemes(READ, [950_000, 1_234_567, 145_227_800])), READ)
    assert (line.unit, [cell.text for cell in line.cells]) == ("ms", ["0.950", "1.23", "145"])
    assert line.head == "read latency p99.9 (ms)"


def worked_out(values, better):
    """Differences and best ones by another way than the package's: exact fractions, and each compared with each."""
    exact = [Fraction(value) for value in values]
    sign = 1 if better == "low" else -1
    best = [all(sign * (each - other) <= 0 for other in exact) for each in exact]
    champion = exact[best.index(True)]
    best = [100 * abs(each - champion) <= champion for each in exact]
    return [None if all(best) else each for each in best]


def test_differences_and_best_marks_follow_from_the_figures(compared):
    dice = random.Random(5)
    for path, better in ((READ, "low"), ("capacity.user_bytes", "high"), (WA, "low")):
        for _ in range(20):
            values = [dice.choice([1000, 1005, 1011, 2500, 900, 40]) for _ in range(dice.randint(2, 5))]
            line = line_of(compared(*schemes(path, values)), path)
            assert [cell.is_best or None for cell in line.cells] == [
                each or None for each in worked_out(values, better)
            ], values
            assert line.cells[0].relative == ""
            for value, cell in zip(values[1:], line.cells[1:], strict=True):
                assert (cell.relative == "") == (value == values[0])
                assert cell.relative.endswith("x") == (value >= 2 * values[0])
                assert cell.relative.startswith("-") == (100 * value <= 99.5 * values[0])


def test_rows_without_a_better_direction_mark_none(compared):
    for path in ("workload.offered_load", "bandwidth.requests_per_second", "flash_ops.reads.pre_read"):
        line = line_of(compared(*schemes(path, [0.1, 0.2])), path)
        assert (line.better, [cell.is_best for cell in line.cells]) == (None, [False, False])


def test_an_overloaded_device_is_marked_and_never_the_best(compared):
    slow, fast, third = {"scheme": "slow", READ: 10**6}, {"scheme": "fast", READ: 10**3}, {"scheme": "x", READ: 10**7}
    fast |= {"workload.busiest_load": 1.05, "workload.overloaded": True}
    comparison = compared(slow, fast, third)
    line = line_of(comparison, READ)
    assert [cell.mark for cell in line.cells] == ["*", "!", " "]
    assert line.cells[1].note == "overloaded: latency grows with the length of the trace"
    said = summary.conclusion(comparison)
    assert said[0] == "Fastest read tail (p99.9) at this load: slow with 1.00 ms; next is x with 10.0 ms (10.0x)."
    assert f"Read latencies that are not compared: fast ({line.cells[1].note})." in said
    assert f"! fast: {line.cells[1].note}" in summary.notes(comparison)
    in_loop = {"config.run.queue_depth": 8, "workload.overloaded": False}
    closed = compared(*(each | in_loop for each in (slow, fast)))
    assert [cell.mark for cell in line_of(closed, READ).cells] == [" ", "*"]
    assert not [text for text in summary.conclusion(compared(slow, fast)) if text.startswith("Fastest read")]


FIGURES = {
    "capacity.user_bytes": (3 << 30, "user capacity (GiB)", "3.00"),
    "capacity.redundancy_share": (0.25, "redundancy overhead (%)", "25.0"),
    "capacity.raw_per_user_byte": (1.375, "flash bytes per user byte", "1.375"),
    "capacity.table_bytes": (5 << 20, "DRAM of mapping tables (MiB)", "5.00"),
    "capacity.nvram_bytes": (6 << 10, "NVRAM (KiB)", "6.00"),
    "capacity.effective_over_provisioning": (0.07, "effective over-provisioning (%)", "7.0"),
    "capacity.usable_over_provisioning": (0.05, "spare that GC can use (%)", "5.0"),
    "workload.offered_load": (0.11, "offered load", "0.11"),
    "bandwidth.requests_per_second": (112.0, "throughput (requests/s)", "112"),
    "bandwidth.read_bytes_per_second": (113e6, "read (MB/s)", "113.0"),
    "bandwidth.write_bytes_per_second": (114e6, "written (MB/s)", "114.0"),
    "latency_ns.read.mean": (21e3, "read latency mean (us)", "21.0"),
    "latency_ns.read.p50": (22e3, "read latency p50 (us)", "22.0"),
    "latency_ns.read.p99": (23e6, "read latency p99 (ms)", "23.0"),
    "latency_ns.read.p99_9": (24e6, "read latency p99.9 (ms)", "24.0"),
    "latency_ns.write.mean": (31e3, "write latency mean (us)", "31.0"),
    "latency_ns.write.p50": (32e3, "write latency p50 (us)", "32.0"),
    "latency_ns.write.p99": (33e6, "write latency p99 (ms)", "33.0"),
    "latency_ns.write.p99_9": (34e6, "write latency p99.9 (ms)", "34.0"),
    "pages_per_host_page": (1.41, "programs per host page", "1.410"),
    "write_amplification": (1.42, "write amplification", "1.420"),
    "write_amplification_by.host": (1.43, "of which host", "1.430"),
    "write_amplification_by.redundancy": (1.44, "of which redundancy", "1.440"),
    "write_amplification_by.gc": (1.45, "of which gc", "1.450"),
    "write_amplification_by.rebuild": (1.46, "apart from it: rebuild", "1.460"),
    "collection.collections": (51, "GC runs", "51"),
    "flash_ops.reads.pre_read": (52, "pre-reads", "52"),
    "flash_ops.reads.commit": (53, "commit reads", "53"),
    "flash_ops.programs.parity": (54, "parity programs", "54"),
    "flash_ops.programs.commit": (55, "commit programs", "55"),
    "flash_ops.programs.gc": (56, "GC programs", "56"),
    "flash_ops.erases.total": (57, "erases", "57"),
    "wear.erase_mean": (0.58, "mean erases of a block", "0.58"),
    "lifetime.programs_peak_to_mean": (1.59, "busiest member, to the mean", "1.59"),
    "requests.failed.no_space": (61, "failed for lack of space", "61"),
    "requests.failed.lost": (62, "failed for lost data", "62"),
    "requests.failed.refused": (65, "refused", "65"),
    "requests.unfinished": (63, "unfinished", "63"),
    "losses.host_pages": (64, "host pages lost", "64"),
}


def test_latencies_around_rebuilds_are_shown_by_kind(compared, base):
    kinds = {
        kind: base["latency_ns"]["all"] | {"count": 3, "p99": 5e6} for kind in ("all", "read", "write", "trim", "flush")
    }
    comparison = compared({"latency_around_rebuilds_ns": dict.fromkeys(("before", "during", "after"), kinds)})
    (section,) = (each for each in summary.table(comparison) if each.title == "around rebuilds and replacements")
    assert [line.head for line in section.lines] == [
        f"{kind} latency p99 {phase} them (ms)" for kind in ("read", "write") for phase in ("before", "during", "after")
    ]
    assert {line.cells[0].text for line in section.lines} == {"5.00"}


def test_each_row_shows_the_figure_that_it_names(compared):
    comparison = compared({path: value for path, (value, _, _) in FIGURES.items()})
    shown = {line.head: line.cells[0].text for section in summary.table(comparison) for line in section.lines}
    assert {head: shown.get(head) for _, head, _ in FIGURES.values()} == {
        head: text for _, head, text in FIGURES.values()
    }


def test_rows_of_a_rebuild_are_of_the_first_one(compared, base):
    def event(took, **latencies):
        return {"latency_ns": base["latency_ns"]["all"] | latencies | {"count": 3}} | dict.fromkeys(
            ("window_of_vulnerability_ns", "duration_ns"), took
        )

    events = [event(4e9, mean=5e6, p99_9=6e6, max=7e6), event(1, mean=1, p99_9=1, max=1)]
    for at in events:
        at["failed"] = [{"fault": "chip:0.0", "at_ns": 1}]
    comparison = compared({"rebuild": events, "replacements": events})
    for name, title in (("rebuild", "window of vulnerability"), ("replacement", "time of replacement")):
        (section,) = (each for each in summary.table(comparison) if each.title == name)
        assert [(line.head, line.cells[0].text) for line in section.lines] == [
            (f"{title} (s)", "4.00"),
            (f"mean during the {name} (ms)", "5.00"),
            (f"p99.9 during the {name} (ms)", "6.00"),
            (f"max during the {name} (ms)", "7.00"),
        ]


@pytest.mark.parametrize(
    "path", ["requests.failed.no_space", "requests.failed.lost", "requests.failed.refused", "requests.unfinished"]
)
def test_requests_without_success_in_any_run_are_counted(compared, path):
    comparison = compared({"scheme": "a"}, {"scheme": "a"}, {"scheme": "b"}, {"scheme": "b", path: 7}, seeds=2)
    notes = [cell.note for cell in line_of(comparison, READ).cells]
    assert notes == ["", "requests without success, which it leaves out: 7"]


def test_requests_that_failed_are_not_fast(compared):
    comparison = compared({"scheme": "whole"}, {"scheme": "lossy", "requests.failed.lost": 7, READ: 1})
    assert "requests without success, which it leaves out: 7" in line_of(comparison, READ).cells[1].note
    assert not line_of(comparison, READ).cells[1].is_best
    partial = compared({"scheme": "whole"}, {"scheme": "short", "partial": True, READ: 1})
    assert line_of(partial, READ).cells[1].note == "interrupted"
    assert summary.candidates(partial)[1].name == "short (partial)"


def test_conclusion_of_three_schemes(compared):
    none = {"channel": False, "chip": False, "text": "nothing"}
    bare = {"scheme": "bare", READ: 500_000, WRITE: 10**6, WA: 1.0, "survives": none, "collection.collections": 3}
    mirror = {"scheme": "mirror", READ: 600_000, WRITE: 2 * 10**6, WA: 2.0, "capacity.user_bytes": 28 << 30}
    mirror |= {"capacity.redundancy_share": 0.45, "collection.collections": 3}
    mirror["capacity.effective_over_provisioning"] = 0.07
    parity = {"scheme": "parity", READ: 603_000, WRITE: 5 * 10**6, WA: 1.5, "capacity.user_bytes": 42 << 30}
    parity |= {"capacity.nvram_bytes": 32 << 10, "collection.collections": 0, "capacity.redundancy_share": 0.2}
    for each in (bare, parity):
        each["capacity.effective_over_provisioning"] = 0.28
    parity["window"] = {"mean_pages": 2.0, "peak_pages": 33, "exposed_ns": 1_200_000_000, "pages": 0}
    parity["survives"] = {"channel": True, "chip": True, "but": "some", "text": "any one channel, but for some"}
    rates = [{"scheme": "x", "queue_depth": 32, "requests": 900, "requests_per_second": rate} for rate in (9, 800, 900)]
    comparison = compared(bare, mirror, parity, capacity=rates)
    assert summary.conclusion(comparison) == [
        "Fastest read tail (p99.9) at this load: no difference, mirror and parity are equal within 1 %; without "
        "redundancy, bare with 500 us.",
        "Fastest write tail (p99.9) at this load: mirror with 2.00 ms; next is parity with 5.00 ms (2.5x); without "
        "redundancy, bare with 1.00 ms.",
        "Least write amplification at this load: parity with 1.500; next is mirror with 2.000 (+33 %); without "
        "redundancy, bare with 1.000; spare at the end 28.0 % (bare, parity), 7.0 % (mirror).",
        "Highest capacity in a closed loop: mirror with 800 requests/s; next is bare with 9 requests/s (-99 %).",
        "Capacities that are not compared: parity (in a closed loop redundancy may not be written until the end, as "
        "the device is never idle).",
        "No GC ran under parity: write amplification and latencies are those of a device with free blocks.",
        "Price of mirror: 28.0 GiB of user capacity, 45.0 % of the flash for redundancy, no NVRAM.",
        "Price of parity: 42.0 GiB of user capacity, 20.0 % of the flash for redundancy, 32.0 KiB NVRAM.",
        "Survived at any time is the loss of nothing (bare); of any one channel (mirror); of any one channel, but for "
        "some (parity).",
        "Exposure window of parity: 1.20 s in all, with at most 33 host pages that one failure would have lost.",
    ]
    assert summary.conclusion(compared(bare)) == []


def test_capacities_are_ranked_once_all_are_measured(compared):
    rates = [
        {"scheme": "x", "queue_depth": 32, "requests": 900, "requests_per_second": rate} for rate in (900, 800, 700)
    ]
    window = {"mean_pages": 2.0, "peak_pages": 33, "exposed_ns": 1_200_000_000, "pages": 0}
    of = [{"scheme": "a"}, {"scheme": "b"}, {"scheme": "c", "window": window}]

    def said(comparison):
        return [text for text in summary.conclusion(comparison) if text.startswith(("Highest capacity", "Price"))]

    whole = compared(*of, capacity=rates)
    assert [cell.mark for cell in line_of(whole, "requests_per_second").cells] == ["*", " ", "!"]
    assert len(said(whole)) == 2
    for known in (1, 2):
        part = compared(*of, capacity=rates[:known], partial=True)
        line = line_of(part, "requests_per_second")
        assert [cell.mark for cell in line.cells] == [" ", " ", " "]
        missing = "b and c" if known == 1 else "c"
        assert line.note.endswith(f"; interrupted before that of {missing} was measured")
        assert said(part) == []


def test_a_part_of_a_run_is_neither_best_nor_compared(compared):
    erases = "flash_ops.erases.total"
    collected = {"collection.collections": 4, erases: 9, "capacity.user_bytes": 1 << 30}
    begun = {"partial": True, "collection.collections": 0, erases: 0, WA: 0.5, "capacity.user_bytes": 2 << 30}
    comparison = compared(
        {"scheme": "a", **collected}, {"scheme": "b", **collected, erases: 20}, {"scheme": "begun", **begun}
    )
    cells = line_of(comparison, erases).cells
    assert [cell.mark for cell in cells] == ["*", " ", "!"]
    assert (cells[2].relative, cells[2].note) == ("", "interrupted")
    assert not any(line.cells[2].is_best for section in summary.table(comparison) for line in section.lines)
    # It would still be the price: the others get no mark that it alone deserves.
    assert [cell.is_best for cell in line_of(comparison, "capacity.user_bytes").cells] == [False] * 3
    said = " ".join(summary.conclusion(comparison))
    assert "No GC ran" not in said
    assert "amplification at this load: begun" not in said
    # Nor is anything compared with it, but for what follows from the configuration.
    first = compared({"scheme": "begun", **begun, erases: 3}, {"scheme": "b", **collected})
    relative = {path: line_of(first, path).cells[1].relative for path in (erases, WA, "capacity.user_bytes")}
    assert relative == {erases: "", WA: "", "capacity.user_bytes": "-50 %"}


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"workload.sha256": "0" * 64}, "traces"),
        ({"workload.sha256": None, "workload.name": "other"}, "traces"),
        ({"device": "other"}, "devices"),
        ({"config.run.queue_depth": 8}, "queue depths"),
        ({"workload.requests": 7}, "numbers of requests"),
    ],
)
def test_results_of_different_runs_are_not_ranked(compared, change, what):
    fast, slow = {"scheme": "fast", READ: 10**3, WA: 1.0}, {"scheme": "slow", READ: 10**6, WA: 2.0, **change}
    comparison = compared(fast, slow)
    cells = [cell for section in summary.table(comparison) for line in section.lines for cell in line.cells]
    assert not [cell for cell in cells if cell.is_best or cell.relative]
    assert summary.conclusion(comparison) == [
        f"The results are of different {what}: figures differ for more reasons than the scheme, and are not ranked."
    ]
    alike = {key: value for key, value in slow.items() if key not in change}
    assert line_of(compared(fast, alike), WA).cells[0].is_best


def test_results_of_one_workload_are_ranked_whatever_ended_the_run(compared):
    worn = {"config.run.until": "worn:1"}
    part = {"scheme": "part", "partial": True, "workload.requests": 5}
    comparison = compared({"scheme": "a", **worn}, {"scheme": "b", "workload.requests": 7, WA: 9.0, **worn}, part)
    assert line_of(comparison, WA).cells[0].is_best
    # Each seed of a profile has its own requests.
    seeds = [
        {"scheme": name, "workload.sha256": str(seed), WA: at}
        for at, name in ((1.0, "a"), (2.0, "b"))
        for seed in (1, 2)
    ]
    assert line_of(compared(*seeds, seeds=2), WA).cells[0].is_best


def test_a_warning_is_said_once(compared):
    comparison = compared({"scheme": "a"}, {"scheme": "b"}, {"scheme": "c"}, {"scheme": "c"})
    load = "offered load is 2.33: the device cannot keep up"
    texts = [
        ["fit = wrap: had no effect", "x"],
        ["fit = wrap: had no effect", load],
        ["fit = wrap: had no effect", load],
        ["x"],
    ]
    for result, warned in zip(comparison.results, texts, strict=True):
        result.warnings = warned
    assert comparison.warnings == [f"b, c: {load}", "all schemes: fit = wrap: had no effect", "a, c: x"]
    single = compared({"scheme": "a"})
    single.results[0].warnings = ["x"]
    assert single.warnings == ["a: x"]


@pytest.mark.parametrize(("first", "again", "status"), [(0, 3, 3), (3, 1, 1), (3, 130, 130), (130, 3, 130), (1, 0, 1)])
def test_what_a_repeat_alone_ends_with_is_said(compared, first, again, status):
    comparison = compared({"scheme": "a"}, repeats=0)
    (result,) = comparison.results
    other, same = (Result(result.json, None, [text], number, {}) for text, number in (("x", again), ("y", first)))
    comparison.repeats = [[result, same, other]]
    result.status = first
    assert (comparison.status, comparison.warnings) == (status, ["a: x"])


def test_conclusion_tells_of_rebuilds(compared, base):
    part = {"failed": [{"fault": "chip:0.0", "at_ns": 1}], "window_of_vulnerability_ns": None}
    part["latency_ns"] = base["latency_ns"]["all"]
    said = summary.conclusion(
        compared(
            {"scheme": "a", "rebuild": [part]}, {"scheme": "b", "rebuild": [part | {"window_of_vulnerability_ns": 4e9}]}
        )
    )
    assert said[-2:] == [
        "a did not regain full redundancy after the failure of chip:0.0.",
        "b was without full redundancy for 4.00 s after the failure of chip:0.0.",
    ]


def test_lifetime(compared):
    of = {"pe_cycles": None, "years": None, "full_drive_writes": None}
    of |= {"years_per_1000_cycles": 3.5, "full_drive_writes_per_1000_cycles": 480.0, "programs_peak_to_mean": 1.05}
    unlimited = compared({"scheme": "a", "lifetime": of}, {"scheme": "b", "lifetime": of})
    assert line_of(unlimited, "lifetime.years") is None
    line = line_of(unlimited, "lifetime.years_per_1000_cycles")
    assert (line.head, line.cells[0].text) == ("lifetime per 1,000 P/E cycles (years)", "3.50")
    assert "if this load goes on" in line.note
    assert any(text.endswith(line.note) for text in summary.notes(unlimited))
    known = of | {"pe_cycles": 3000, "years": 10.5, "full_drive_writes": 1440.0}
    limited = compared({"scheme": "a", "lifetime": known}, {"scheme": "b", "lifetime": known | {"years": 20.0}})
    assert line_of(limited, "lifetime.years_per_1000_cycles") is None
    assert [cell.text + cell.mark for cell in line_of(limited, "lifetime.years").cells] == ["10.5 ", "20.0*"]


def lives(scheme, years, peak=1.0, **changes):
    of = {"pe_cycles": None, "years": None, "full_drive_writes": None, "years_per_1000_cycles": years}
    of |= {"full_drive_writes_per_1000_cycles": 480.0, "programs_peak_to_mean": peak}
    return {"scheme": scheme, "lifetime": of, **changes}


YEARS_LEFT = "lifetime.years_per_1000_cycles"


def test_lifetimes_at_different_loads_are_not_compared(compared):
    slow = {"workload.busiest_load": 3.0, "workload.overloaded": True}
    line = line_of(compared(lives("a", 2.0), lives("b", 9.0, **slow), lives("c", 3.0)), YEARS_LEFT)
    assert [cell.mark for cell in line.cells] == [" ", "!", "*"]
    assert line.cells[1].note.startswith("lifetime at another load than that of the trace: overloaded")
    for change in ({"requests.failed.lost": 7}, {"requests.unfinished": 7}, {"partial": True}):
        cell = line_of(compared(lives("a", 2.0), lives("b", 9.0, **change)), YEARS_LEFT).cells[1]
        assert (cell.mark, cell.is_best) == ("!", False)
    # In a closed loop each scheme has a load of its own.
    line = line_of(
        compared(*(lives(name, at, **{"config.run.queue_depth": 8}) for at, name in enumerate("abc", 1))), YEARS_LEFT
    )
    assert [cell.mark for cell in line.cells] == ["!"] * 3
    assert "the load that the scheme itself allows" in line.cells[0].note


def test_a_lifetime_is_that_of_the_busiest_member(compared):
    def marks(*each):
        return [cell.mark for cell in line_of(compared(*each), YEARS_LEFT).cells]

    dedicated = lives("dedicated", 5.0, peak=1.4)
    comparison = compared(dedicated, lives("rotating", 5.0, peak=1.05), lives("less", 4.0))
    assert [cell.mark for cell in line_of(comparison, YEARS_LEFT).cells] == ["!", "*", " "]
    assert (
        "! dedicated: its busiest member wears out 1.40 times faster than the mean, which the lifetime describes"
        in summary.notes(comparison)
    )
    # 9 / 1.4 is more than 5: nothing that is shorter is the best.
    assert marks(lives("dedicated", 9.0, peak=1.4), lives("rotating", 5.0), lives("less", 4.0)) == ["!", " ", " "]
    assert marks(lives("a", 5.0, peak=1.09), lives("b", 4.0)) == ["*", " "]
    # Of several seeds the mean counts, as of the lifetime itself: 1.2 and 1.075.
    seeds = [lives("a", 5.0), lives("a", 5.0, peak=1.4), lives("b", 5.0), lives("b", 5.0, peak=1.15)]
    notes = [cell.note.partition(" than")[0] for cell in line_of(compared(*seeds, seeds=2), YEARS_LEFT).cells]
    assert notes == ["its busiest member wears out 1.20 times faster", ""]


def test_drive_writes_of_unlike_capacities_are_no_merit(compared):
    for key in ("full_drive_writes_per_1000_cycles", "full_drive_writes"):
        line = line_of(
            compared({"scheme": "a", f"lifetime.{key}": 900.0}, {"scheme": "b", f"lifetime.{key}": 1200.0}),
            f"lifetime.{key}",
        )
        assert (line.better, [cell.mark for cell in line.cells]) == (None, [" ", " "])
        assert "of the user capacity of the scheme itself" in line.note


@pytest.mark.parametrize("path", ["capacity.effective_over_provisioning", "capacity.usable_over_provisioning"])
def test_space_that_gc_cannot_use_is_said(compared, path):
    line = line_of(
        compared({"scheme": "a", path: 0.5}, {"scheme": "b", path: 0.7, "config.device.mirror_chips": 1}), path
    )
    assert [cell.mark for cell in line.cells] == [" ", "!"]
    assert "mirror chips" in line.cells[1].note


def test_the_load_that_marks_a_scheme_is_shown(compared):
    path = "workload.busiest_load"
    assert line_of(compared({"scheme": "a", path: 0.5}, {"scheme": "b", path: 0.8}), path) is None
    over = {"scheme": "b", path: 1.05, "workload.overloaded": True}
    line = line_of(compared({"scheme": "a", path: 0.5}, over), path)
    assert [cell.text for cell in line.cells] == ["0.50", "1.05"]
    closed = {"scheme": "b", path: 1.05, "config.run.queue_depth": 4, "workload.overloaded": False}
    assert line_of(compared({"scheme": "a", path: 0.5}, closed), path) is None


@pytest.mark.parametrize(
    ("path", "values", "text"),
    [
        # Half widths of three values: 2.484 standard deviations.
        (READ, [429_770, 429_787, 429_804], "430"),  # 42 ns: less than a digit of the figure
        (READ, [429_000, 430_000, 431_000], "430 ±2"),
        (READ, [4_290, 4_300, 4_310], "4.30 ±0.02"),
        (READ, [4_290_000, 5_300_000, 6_310_000], "5.3 ±2.5"),
        (WA, [1.2, 1.5, 1.8], "1.50 ±0.75"),
        (WA, [1.4996, 1.5, 1.5004], "1.500 ±0.001"),
        ("flash_ops.erases.total", [10_000, 20_000, 30_000], "20,000 ±24,841"),
    ],
)
def test_no_more_digits_than_are_known(compared, path, values, text):
    runs = [{"scheme": "a", path: value, "seed": seed} for seed, value in enumerate(values, 1)]
    assert line_of(compared(*runs, seeds=3), path).cells[0].text == text


def test_the_conclusion_does_not_contradict_the_table(compared):
    """Not told apart from the best is not the same as not told apart from each other."""

    def said(*each):
        runs = [{"scheme": name, READ: v} for name, values in zip("abc", each, strict=False) for v in values]
        comparison = compared(*runs, seeds=3)
        return summary.conclusion(comparison)[0], line_of(comparison, READ)

    # From a to c it is always 0.3 ms, while b varies.
    sentence, line = said([1.2e6, 1.8e6, 1.5e6], [1.0e6, 0.4e6, 3.0e6], [1.5e6, 2.1e6, 1.8e6])
    assert line.cells[2].relative == "+20 %"
    assert sentence == (
        "Fastest read tail (p99.9) at this load: b with 1.5 ±3.4 ms; a with 1.50 ±0.75 ms and c with 1.80 ±0.75 ms are "
        "not told apart from it by these seeds."
    )
    assert "no difference, a and b are not told apart by these seeds" in said([1e6, 2e6, 3e6], [2e6, 1e6, 3.5e6])[0]
    # Told apart, but too near to matter.
    assert "no difference, a and b are equal within 1 %" in said([1e6, 1e6, 1e6], [1.008e6, 1.008e6, 1.008e6])[0]


def test_quantiles_of_student_are_those_of_tables():
    printed = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 9: 2.262, 10: 2.228, 30: 2.042, 120: 1.980}
    for degrees, value in printed.items():
        assert quantile(degrees) == pytest.approx(value, abs=0.0005)
    assert quantile(10**4) == pytest.approx(1.96, abs=0.0005)


def test_intervals_are_those_worked_out_by_hand():
    assert mean_and_half_width([7.0]) == (7.0, 0.0)
    assert mean_and_half_width([0.3, 0.1 + 0.2])[1] == 0
    # Standard deviation 1, of 3 values: 4.303 / sqrt(3).
    assert mean_and_half_width([1.0, 2.0, 3.0]) == (2.0, pytest.approx(2.484, abs=0.001))
    # Sum of squares 20 of 5 values: 2.776 x sqrt(20 / 4 / 5).
    assert mean_and_half_width([8.0, 9.0, 9.0, 11.0, 13.0]) == (
        10.0,
        pytest.approx(2.776 * (16 / 20) ** 0.5, abs=0.001),
    )


def test_seeds(compared):
    def runs(scheme, values):
        return [{"scheme": scheme, READ: value, "seed": seed} for seed, value in enumerate(values, 1)]

    # Of b, the differences from a are 40, 20 and 0 us: 20 ±50. Of c they are 20, 20 and 20.1 us, while both intervals
    # are those of a, and overlap.
    first, near, above = (
        [1_000_000, 1_010_000, 1_020_000],
        [1_040_000, 1_030_000, 1_020_000],
        [1.02e6, 1.03e6, 1.0401e6],
    )
    far = [5e6, 5e6, 5e6]
    comparison = compared(*runs("a", first), *runs("b", near), *runs("c", above), *runs("d", far), seeds=3)
    line = line_of(comparison, READ)
    # 10 us of standard deviation: 24.84 us. The mean has as many digits as its interval.
    assert [cell.text for cell in line.cells] == ["1.01 ±0.02", "1.03 ±0.02", "1.03 ±0.02", "5.00"]
    assert line.cells[0].half_width == pytest.approx(24_841, abs=5)
    assert [cell.relative for cell in line.cells] == ["", "", "+2 %", "5.0x"]
    assert [cell.is_best for cell in line.cells] == [True, True, False, False]
    assert (
        "a with 1.01 ±0.02 ms and b with 1.03 ±0.02 ms (not told apart by these seeds); next is c with"
        in (summary.conclusion(comparison)[0])
    )
    assert any("means of 3 seeds" in text for text in summary.notes(comparison))
    still = {"config.run.jitter_ns": 0}
    same = compared(*(of | still for of in [*runs("a", [5, 5]), *runs("b", [6, 6])]), seeds=2)
    said = "No figure depends on the seed: the runs of 2 seeds are equal. All seeds replay the same trace: only"
    assert summary.notes(same)[-1].startswith(said)
    # Interrupted in the second scheme: one pair tells nothing.
    partial = line_of(compared(*runs("a", first), *runs("b", [9e6]), seeds=3), READ)
    assert [cell.relative for cell in partial.cells] == ["", ""]
    assert [
        len(each.results) for each in summary.candidates(compared(*runs("a", [5, 5]), *runs("b", [6]), seeds=2))
    ] == [
        2,
        1,
    ]


def test_figures_are_of_the_first_seed(compared):
    shares = [("a", 1.5), ("a", 2.0), ("b", 3.0), ("b", 4.0)]
    comparison = compared(*({"scheme": name, "write_amplification_by.host": share} for name, share in shares), seeds=2)
    (frame,) = (each.frame for each in comparison.figures() if each.name == "write-amplification")
    assert frame.filter(part="host").select("scheme", "ratio").rows() == [("a", 1.5), ("b", 3.0)]


def test_the_next_best_is_none_of_the_best(compared):
    """Values of c scatter so much that it may be as good as a, while b, with a better mean, is not."""
    runs = [("a", (10, 10, 10)), ("b", (12, 12, 12.001)), ("c", (5, 20, 14))]
    of_seeds = [{"scheme": name, READ: value * 1e6} for name, values in runs for value in values]
    comparison = compared(*of_seeds, seeds=3)
    assert [cell.is_best for cell in line_of(comparison, READ).cells] == [True, False, True]
    said = summary.conclusion(comparison)[0]
    assert re.search(r": a with 10.0 ms and c with .* \(not told apart by these seeds\); next is b with 12.0 ms", said)
