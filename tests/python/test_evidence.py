"""What figures are evidence of: few requests, requests that did not reach flash, runs that were not repeated."""

import pytest
from test_summary import READ, WA, WRITE, line_of, schemes

from flashraid import evidence, notebook, summary
from flashraid.evidence import FEWEST, PEAK_TO_MEAN, is_sparse, known_tail

P99, P50, FLUSH = "latency_ns.read.p99", "latency_ns.read.p50", "latency_ns.flush.p99_9"
MEAN = "latency_ns.read.mean"


def said(comparison, of):
    return [text for text in summary.conclusion(comparison) if of in text]


@pytest.mark.parametrize(
    ("name", "fewest"),
    [
        ("mean", 100),
        ("max", 100),
        ("p50", 20),
        ("p90", 100),
        ("p95", 200),
        ("p99", 1000),
        ("p99_9", 10_000),
        ("p99_99", 100_000),
    ],
)
def test_ten_requests_lie_beyond_a_quantile_that_is_known(name, fewest):
    assert FEWEST[name] == fewest
    for count, expected in ((fewest - 1, True), (fewest, False)):
        for path in (f"latency_ns.read.{name}", f"rebuild.0.latency_ns.{name}", name):
            counted = {f"{path.removesuffix(name)}count": count}
            assert is_sparse(counted.get, path) is expected
    assert not is_sparse({"latency_ns.read.count": 1}.get, "latency_ns.read.min")
    if name not in ("mean", "max"):
        assert known_tail([fewest, fewest + 1], ["p99_99", "p99_9", "p99", "p95", "p90", "p50"]) == name
    assert known_tail([], ["p50"]) is None


@pytest.mark.parametrize(("count", "marks"), [(99, ["~", "~"]), (100, ["*", " "])])
def test_of_fewer_than_a_hundred_requests_no_mean_rate_or_ratio_is_the_best(compared, count, marks):
    of = {"workload.requests": count, "latency_ns.read.count": count}
    rate = {"queue_depth": 32, "requests": count, "read_bytes_per_second": 0.0, "write_bytes_per_second": 0.0}
    capacity = [
        {"scheme": name, **rate, "repeats": [rate | {"requests_per_second": of}] * 2, "requests_per_second": of}
        for name, of in (("a", 200.0), ("b", 100.0))
    ]
    comparison = compared(
        *({"scheme": f"s{at}", MEAN: at * 1000, PEAK_TO_MEAN: 1.0 + at, **of} for at in (1, 2)), capacity=capacity
    )
    for path in (MEAN, PEAK_TO_MEAN, "requests_per_second"):
        assert [cell.mark for cell in line_of(comparison, path).cells] == marks, path
    # What a few requests cost in flash is counted.
    assert line_of(comparison, "flash_ops.erases.total").cells[0].mark == " "
    assert bool(said(comparison, "Highest capacity")) == (count == 100)


@pytest.mark.parametrize(
    ("count", "tail"), [(10_000, "tail (p99.9)"), (9_999, "tail (p99)"), (1_000, "tail (p99)"), (999, "median (p50)")]
)
def test_a_sentence_is_about_the_highest_quantile_that_is_known(compared, count, tail):
    few = {"latency_ns.read.count": count}
    comparison = compared(*(each | few for each in schemes(READ, [10**6, 2 * 10**6])))
    comparison = compared(
        {"scheme": "a", READ: 10**6, P99: 10**6, P50: 10**6, **few},
        {"scheme": "b", READ: 2 * 10**6, P99: 2 * 10**6, P50: 2 * 10**6, **few},
    )
    assert said(comparison, "Fastest read") == [
        f"Fastest read {tail} at this load: a with 1.00 ms; next is b with 2.00 ms (2.0x)."
    ]
    marks = [cell.mark for cell in line_of(comparison, READ).cells]
    assert marks == (["*", " "] if count >= 10_000 else ["~", "~"])
    assert any(text.startswith("~ ") for text in summary.notes(comparison)) == (count < 10_000)
    assert ("~" in notebook.of_comparison(comparison)) == (count < 10_000)


def test_of_fewer_than_twenty_requests_no_latency_is_ranked(compared):
    few = {"latency_ns.read.count": 19}
    comparison = compared(*(each | few for each in schemes(READ, [10**6, 2 * 10**6])))
    assert said(comparison, "Fastest read") == []
    assert "Latencies of reads are not ranked: there are 19, and even the median needs 20." in summary.conclusion(
        comparison
    )


def test_the_scheme_with_the_fewest_requests_decides(compared):
    comparison = compared({"scheme": "a"}, {"scheme": "b", "latency_ns.read.count": 5000}, {"scheme": "c"})
    assert said(comparison, "read tail (p99)")
    assert not said(comparison, "read tail (p99.9)")


def test_without_repeats_nothing_that_a_run_measures_has_a_winner(compared):
    each = [{"scheme": "a", READ: 10**6, WA: 1.0}, {"scheme": "b", READ: 2 * 10**6, WA: 2.0}]
    price = [{"capacity.user_bytes": 1 << 30}, {"capacity.user_bytes": 2 << 30}]
    comparison = compared(*(one | more for one, more in zip(each, price, strict=True)), repeats=0)
    assert [cell.is_best for cell in line_of(comparison, READ).cells] == [False, False]
    assert [cell.is_best for cell in line_of(comparison, WA).cells] == [False, False]
    assert [cell.is_best for cell in line_of(comparison, "capacity.user_bytes").cells] == [False, True]
    sentences = summary.conclusion(comparison)
    assert not [text for text in sentences if text.startswith(("Fastest", "Least", "Highest", "Price"))]
    assert (
        "Not ranked, as each scheme ran once: read tail (p99.9), where a with 1.00 ms is followed by b with 2.00 ms "
        "(2.0x)." in sentences
    )
    ask = "does not tell a difference from chance: --seeds 5 --jitter 1us repeats each, and ranks."
    assert f"One run of each scheme {ask}" in sentences
    comparison.why_once = "requests x schemes are more than 200,000"
    assert f"One run of each scheme (requests x schemes are more than 200,000) {ask}" in summary.conclusion(comparison)


def test_equal_runs_of_several_seeds_tell_nothing(compared):
    """A recorded trace without jitter is the same with each seed: no interval, and no evidence."""
    runs = [
        {"scheme": name, READ: at, "config.run.jitter_ns": 0} for name, at in (("a", 1), ("b", 9)) for _ in range(3)
    ]
    still = compared(*runs, seeds=3)
    assert not line_of(still, READ).is_judged
    assert said(still, "Not ranked, as its runs do not differ by chance: read tail (p99.9), where a with")
    assert said(still, "Runs that are equal do not tell a difference from chance: --seeds 5 --jitter 1us repeats each")
    drawn = [of | {"workload.format": "profile"} for of in runs]
    assert line_of(compared(*drawn, seeds=3), READ).is_judged
    aged = [of | {"config.run.precondition": "steady"} for of in runs]
    assert line_of(compared(*aged, seeds=3), READ).is_judged


def test_reads_that_were_never_written_rank_nothing(compared):
    def of(unwritten):
        change = {"requests.unmapped_reads": unwritten, "flash_ops.reads.host": 100 - unwritten}
        return compared(*(each | change for each in schemes(READ, [10**6, 2 * 10**6])))

    assert said(of(10), "Fastest read")
    assert not said(of(11), "Fastest read")
    assert [cell.mark for cell in line_of(of(11), READ).cells] == ["!", "!"]
    why = "all schemes (11 % of the pages read had never been written, and were not read from flash (--fill))"
    assert f"Read latencies that are not compared: {why}." in summary.conclusion(of(11))
    assert said(of(11), "Fastest write") == said(of(10), "Fastest write")


def test_writes_that_a_buffer_answered_rank_nothing(compared):
    buffer = {"buffer": {"kind": "dram"}, "config.device.buffer_ns": 1000}
    fast, same = {"scheme": "a", WRITE: 1000, **buffer}, {"scheme": "b", WRITE: 1001, **buffer}
    comparison = compared(fast, same)
    why = "at least 99.9 % of the writes were answered by the data buffer, not by flash"
    assert {cell.note for cell in line_of(comparison, WRITE).cells} == {why}
    assert not said(comparison, "Fastest write")
    # Under a scheme that empties its buffer too slowly writes wait for flash: that is a difference.
    comparison = compared(fast, same, {"scheme": "c", WRITE: 2000, **buffer})
    first = "Fastest write tail (p99.9) at this load: a with 1.00 us and b with 1.00 us (equal within 1 %); next is c"
    assert said(comparison, first)
    kept = {**buffer, "flash_ops.programs.host": 0}
    comparison = compared(*({"scheme": name, WA: at, **kept} for name, at in (("a", 0.0), ("b", 0.1))))
    assert not said(comparison, "Least write amplification")
    assert said(comparison, "nothing of what was written has left the data buffer")


def test_flushes_are_ranked_like_other_requests(compared):
    counted = {"latency_ns.flush.count": 20_000}
    comparison = compared(*(each | counted for each in schemes(FLUSH, [5 * 10**6, 2 * 10**6])))
    assert [cell.mark for cell in line_of(comparison, FLUSH).cells] == [" ", "*"]
    assert said(comparison, "Fastest flush tail (p99.9) at this load: s1 with 2.00 ms; next is s0 with 5.00 ms (2.5x).")
    assert line_of(compared(*schemes(READ, [1, 2])), FLUSH) is None
    still = compared(*(each | counted for each in schemes(FLUSH, [0, 0])))
    assert line_of(still, FLUSH).cells[0].note == "at least 99.9 % of the flushes had nothing to wait for"


def test_of_the_flushes_that_had_nothing_to_wait_for_a_sentence_says_how_many(compared):
    half = {"latency_ns.flush.count": 20_000, "latency_ns.flush.p50": 0, "latency_ns.flush.mean": 10**5}
    comparison = compared(*(each | half for each in schemes(FLUSH, [5 * 10**6, 2 * 10**6])))
    assert "! all schemes: at least 50 % of the flushes had nothing to wait for" in summary.notes(comparison)
    assert said(comparison, "Fastest flush tail (p99.9)")
    assert not said(comparison, "Flush latencies that are not")
    none = {"latency_ns.flush.mean": 0}
    comparison = compared(*(each | half | none for each in schemes(FLUSH, [0, 0])))
    notes = summary.notes(comparison)
    assert "! all schemes: the flushes had nothing to wait for" in notes
    # Which of them a data buffer answered is said in the same way.
    buffered = {"buffer": {"kind": "dram"}, "config.device.buffer_ns": 1000, "latency_ns.write.p50": 1000}
    comparison = compared(*(each | buffered for each in schemes(WRITE, [5 * 10**6, 2 * 10**6])))
    half = "! all schemes: at least 50 % of the writes were answered by the data buffer, not by flash"
    assert half in summary.notes(comparison)
    assert said(comparison, "Fastest write tail (p99.9)")


@pytest.mark.parametrize(("writes", "programs", "mark"), [(99, 400, "~"), (100, 99, "~"), (100, 100, " ")])
def test_how_unevenly_members_wear_takes_requests_and_programs(compared, writes, programs, mark):
    of = {"workload.requests": writes, "flash_ops.programs.total": programs, "lifetime.years": 4.0}
    comparison = compared({"scheme": "a", PEAK_TO_MEAN: 4.0, **of}, {"scheme": "b", PEAK_TO_MEAN: 1.0, **of})
    assert line_of(comparison, PEAK_TO_MEAN).cells[0].mark == mark
    uneven = "its busiest member wears out 4.00 times faster than the mean, which the lifetime describes"
    assert line_of(comparison, "lifetime.years").cells[0].note == ("" if mark == "~" else uneven)


@pytest.mark.parametrize(("count", "mark"), [(99, "~"), (100, " ")])
def test_a_maximum_of_few_requests_is_marked(compared, count, mark):
    rebuild = {"failed": [{"fault": "chip:0.0", "at_ns": 1}], "window_of_vulnerability_ns": 1, "requests": count}
    rebuild["latency_ns"] = {"count": count, "mean": 5.0, "p99_9": 9, "max": 9}
    comparison = compared(*({"scheme": name, "rebuild": [rebuild]} for name in "ab"))
    cells = [line_of(comparison, f"rebuild.0.latency_ns.{key}").cells[0] for key in ("mean", "max")]
    assert [cell.mark for cell in cells] == [mark, mark]


def test_a_backlog_that_grows_is_an_overload_whatever_the_load_is(compared):
    growth = {"workload.busiest_load": 0.42, "workload.backlog_growth": 4.4, "workload.overloaded": True}
    slow, late, slower = (
        {"scheme": "a", READ: 10**6},
        {"scheme": "b", READ: 1000, **growth},
        {"scheme": "c", READ: 10**7},
    )
    comparison = compared(slow, late, slower)
    assert [cell.mark for cell in line_of(comparison, READ).cells] == ["*", "!", " "]
    assert "overloaded" in line_of(comparison, READ).cells[1].note
    assert line_of(comparison, "workload.backlog_growth").cells[1].text == "4.40"
    assert line_of(compared({"scheme": "a", "workload.backlog_growth": 0.0}), "workload.backlog_growth") is None


def test_the_engine_says_what_an_overload_is_or_an_older_result_has_its_figures():
    for said in (True, False):
        assert evidence.is_overloaded({"workload.overloaded": said, "workload.busiest_load": 9.0}.get) is said
    assert not evidence.is_overloaded({"config.run.queue_depth": 4, "workload.busiest_load": 9.0}.get)
    assert evidence.is_overloaded({"workload.busiest_load": 1.01}.get)
    assert evidence.is_overloaded({"workload.busiest_load": 0.5, "workload.backlog_growth": 0.1}.get)
    assert not evidence.is_overloaded({"workload.busiest_load": 1.0, "workload.backlog_growth": 0.0}.get)


def test_figures_differ_beyond_one_percent_and_beyond_chance():
    assert not evidence.differ([100.0, 100.0], [101.0, 101.0])
    assert evidence.differ([100.0, 100.0], [101.1, 101.1])
    assert not evidence.differ([100.0, 110.0, 90.0], [105.0, 95.0, 112.0])


NO_FLASH = {"flash_ops.reads.total": 0, "flash_ops.programs.total": 0}


# A thousand pages are written, through a data buffer.
WRITTEN = {
    "buffer.kind": "dram",
    "workload.requests": 1000,
    "workload.bytes_written": 4_096_000,
    "config.device.page_bytes": 4096,
    "flash_ops.programs.total": 1000,
    "flash_ops.programs.host": 1000,
}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({}, ""),
        ({"latency_ns.trim.count": 899}, ""),
        ({"latency_ns.trim.count": 900}, "90 % of the requests are discards, which need no flash"),
        ({"flash_ops.programs.host": 101}, ""),
        ({"flash_ops.programs.host": 100}, "90 % of what was asked was served by the data buffer alone"),
        ({"flash_ops.programs.host": 100, "buffer.kind": None}, ""),
    ],
)
def test_a_rate_is_one_of_the_flash_if_a_tenth_of_what_is_asked_needs_it(change, why):
    assert evidence.why_no_flash((WRITTEN | change).get) == why


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({}, ""),
        (NO_FLASH, "no request reached flash"),
        ({"requests.unmapped_reads": 10, "flash_ops.reads.host": 50, "flash_ops.programs.host": 40}, ""),
        (
            {"requests.unmapped_reads": 11, "flash_ops.reads.host": 50, "flash_ops.programs.host": 39},
            "11 % of the pages needed had never been written, and were not read (--fill)",
        ),
    ],
)
def test_a_rate_of_requests_that_need_no_flash_is_no_capacity(compared, change, why):
    rates = [{"scheme": "x", "queue_depth": 32, "requests": 900, "requests_per_second": rate} for rate in (9, 8, 7)]
    comparison = compared({"scheme": "a"} | change, {"scheme": "b"}, {"scheme": "c"}, capacity=rates)
    best = "b with 8 requests/s" if why else "a with 9 requests/s"
    assert said(comparison, "Highest capacity")[0].partition(": ")[2].startswith(best)
    assert said(comparison, "Capacities that are not compared") == (
        [f"Capacities that are not compared: a ({why})."] if why else []
    )
    row = {"flash_ops.reads.total": 1} | change
    assert evidence.why_void(row.get, "bandwidth.requests_per_second") == why


@pytest.mark.parametrize(("deferred", "why"), [(10, ""), (11, "11 parities are deferred and not written yet")])
def test_parities_that_are_not_written_yet_make_no_amplification_low(compared, deferred, why):
    change = {"guard": {"entries": deferred}, "flash_ops.programs.host": 1000}
    comparison = compared({"scheme": "a", WA: 1.0} | change, {"scheme": "b", WA: 2.0}, {"scheme": "c", WA: 3.0})
    best = "b with 2.000" if why else "a with 1.000"
    assert said(comparison, "Least write amplification")[0].partition(": ")[2].startswith(best)
    for path in (WA, "pages_per_host_page"):
        assert line_of(comparison, path).cells[0].note.startswith(why)
        assert bool(line_of(comparison, path).cells[0].note) is bool(why)
