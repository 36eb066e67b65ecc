"""The reference models themselves, on the papers' worked examples, hand-counted cases and known limits."""

import hashlib
import math
import os
import random

import numpy as np
import pytest

from reference import closed_forms, gc_policies, greedy_wa, host_model, nand_model, queueing
from reference.mirror_counts import MirrorCounts
from reference.parity_counts import Counts as DelayedCounts
from reference.parity_counts import ParityCounts
from reference.parity_counts import Request as ParityRequest
from reference.raid_counts import Counts, RaidCounts, Request

PAGE = 4096
PROVE = os.environ.get("FLASHRAID_PROVE") == "1"


def pages(op, first, count=1):
    return Request(op, first * PAGE, count * PAGE)


def filled(width, stripes=2, rule="fewest"):
    model = RaidCounts(width, PAGE, rule)
    model.fill(stripes * width)
    return model


# RAID counts: the papers' worked examples.


def test_cr5m_section_3_1_example_counted_for_raid5():
    """CR5M paper, section 3.1 and Figure 3; SPEC 1.11, limit 0: R1 (D3, D4), then R2 (D5) on 3+1."""
    counts = filled(3).run([pages("write", 3, 2), pages("write", 5)])
    assert counts == Counts(host_programs=3, parity_programs=2, pre_reads=3, rcw=2)


@pytest.mark.parametrize("width", range(2, 10))
def test_single_strip_writes_over_one_stripe(width):
    """SPEC 1.11, last line: N writes cost 2N programs, N of them parity, and N x min(2, N - 1) pre-reads."""
    counts = filled(width).run(pages("write", strip) for strip in range(width))
    assert counts.host_programs == counts.parity_programs == width
    assert counts.pre_reads == width * min(2, width - 1)
    assert (counts.rmw, counts.rcw) == ((width, 0) if width > 3 else (0, width))  # 3+1 ties: 2 against 2


def test_cr5m_figure_2():
    """D1 to D3 of five: RMW reads four strips, RCW two, and RCW is taken."""
    assert filled(5).run([pages("write", 0, 3)]) == Counts(host_programs=3, parity_programs=1, pre_reads=2, rcw=1)
    assert filled(5, rule="rmw").run([pages("write", 0, 3)]).pre_reads == 4


def test_adaptive_figure_1():
    """D0 of five on 5+1: RMW reads D0 and the parity, RCW the four others; RMW has fewer."""
    assert filled(5).run([pages("write", 0)]) == Counts(host_programs=1, parity_programs=1, pre_reads=2, rmw=1)
    assert filled(5, rule="rcw").run([pages("write", 0)]).pre_reads == 4


def test_sirf1_figure_3_and_table_2():
    """SIRF-1 paper: pages 7 to 11 make ten write operations; read back, they alternate from mirror 0 on."""
    model = MirrorCounts(2, PAGE)
    counts = model.run([pages("write", 7, 5)])
    assert (counts.host_programs, counts.mirror_programs, counts.update_reads) == (5, 5, 0)
    assert model.run([pages("read", 7, 5)]).group_reads == [3, 2]


def test_copies_share_the_read_before_a_write():
    part = Request("write", 7 * PAGE + 512, 512)
    counts = MirrorCounts(3, PAGE).run([part, part, pages("trim", 7), part, pages("read", 8)])
    assert (counts.host_programs, counts.mirror_programs, counts.update_reads, counts.unmapped_reads) == (3, 6, 1, 1)


# RAID counts: counted by hand.


def test_full_stripes_need_no_pre_read_and_parts_are_apart():
    """Pages 2 to 9 on 3+1: the last strip of stripe 0 (tie: RCW, 2 reads), stripes 1 and 2 in full, page 9 alone."""
    counts = filled(3, stripes=4).run([pages("write", 2, 8)])
    assert counts == Counts(host_programs=8, parity_programs=4, pre_reads=4, full_stripe=2, rcw=2)


@pytest.mark.parametrize(
    ("width", "strips", "method"),
    [(3, 1, "rcw"), (4, 1, "rmw"), (4, 2, "rcw"), (5, 2, "rcw"), (6, 2, "rmw"), (7, 3, "rcw"), (8, 3, "rmw")],
)
def test_method_by_fewer_pre_reads_and_a_tie_to_rcw(width, strips, method):
    counts = filled(width).run([pages("write", 0, strips)])
    assert (counts.rmw, counts.rcw) == ((1, 0) if method == "rmw" else (0, 1))
    assert counts.pre_reads == min(strips + 1, width - strips)


@pytest.mark.parametrize("rule", ["rmw", "rcw"])
def test_forced_method_leaves_full_stripes_alone(rule):
    assert filled(4, rule=rule).run([pages("write", 0, 4)]) == Counts(host_programs=4, parity_programs=1, full_stripe=1)


def test_what_was_never_written_is_not_read():
    """7+1, nothing written. Strip 0: RMW without any read. Strip 1: RMW reads the parity only. Strip 0 again: both."""
    model = RaidCounts(7, PAGE)
    assert model.run([pages("write", 0)]) == Counts(host_programs=1, parity_programs=1, rmw=1)
    assert model.run([pages("write", 1)]).pre_reads == 1
    assert model.run([pages("write", 0)]).pre_reads == 3
    # Strips 2 to 6 by RCW (nominally 2 reads against 6): strips 0 and 1 are written.
    assert model.run([pages("write", 2, 5)]).pre_reads == 5


def test_rcw_reads_written_strips_only():
    """3+1, strips 0 and 1 written in turn: tie, RCW; the second reads strip 0, strip 2 was never written."""
    assert RaidCounts(3, PAGE).run([pages("write", 0), pages("write", 1)]) == Counts(
        host_programs=2, parity_programs=2, pre_reads=1, rcw=2
    )


def test_part_of_a_page():
    """A written page written in part is read once: a pre-read under RMW, else an update read. Not if unwritten."""
    part = Request("write", 512, 1024)
    assert filled(7).run([part]) == Counts(host_programs=1, parity_programs=1, pre_reads=2, rmw=1)
    assert filled(3).run([part]) == Counts(host_programs=1, parity_programs=1, pre_reads=2, update_reads=1, rcw=1)
    assert RaidCounts(3, PAGE).run([part]) == Counts(host_programs=1, parity_programs=1, rcw=1)
    # RMW forced on 3+1, unwritten strip of a written stripe: parity only.
    model = RaidCounts(3, PAGE, "rmw")
    assert model.run([pages("write", 1), part]) == Counts(host_programs=2, parity_programs=2, pre_reads=1, rmw=2)


def test_full_stripe_with_partial_ends_reads_them():
    """All strips are named, so no pre-read, but the first and the last keep some of their old content."""
    ends = Request("write", 1024, 3 * PAGE - 2048)
    full = Counts(host_programs=3, parity_programs=1, full_stripe=1)
    assert RaidCounts(3, PAGE).run([ends]) == full
    full.update_reads = 2
    assert filled(3).run([ends]) == full


def test_partial_ends_in_two_stripes():
    """3+1, from the middle of page 2 to the middle of page 3: two updates of one strip each, both partial."""
    counts = filled(3).run([Request("write", 2 * PAGE + 2048, PAGE)])
    assert counts == Counts(host_programs=2, parity_programs=2, pre_reads=4, update_reads=2, rcw=2)


def test_trim_of_part_of_a_stripe_updates_the_parity():
    """7+1 in full: strip 0 by RMW (2 reads), 1 and 2 by RMW (3), then 3 to 5, which tie: RCW reads strip 6 (1)."""
    model = filled(7, stripes=1)
    assert model.run([pages("trim", 0)]) == Counts(parity_programs=1, pre_reads=2, rmw=1)
    assert model.run([pages("trim", 0, 3)]) == Counts(parity_programs=2, pre_reads=5, rmw=2)  # 0 is gone: U = {1, 2}
    assert model.run([pages("trim", 0, 6)]) == Counts(parity_programs=3, pre_reads=6, rmw=2, rcw=1)


def test_trim_of_all_that_is_left_costs_nothing():
    """Also when it is a single strip; the parity page goes with it, so a later RMW write finds no parity to read."""
    model = filled(7, stripes=1)
    model.run([pages("trim", 0, 6)])
    before = Counts(**vars(model.counts))
    assert model.run([pages("trim", 6), pages("trim", 0, 7)]) == before
    before.host_programs, before.parity_programs, before.rmw = 1, before.parity_programs + 1, before.rmw + 1
    assert model.run([pages("write", 0)]) == before


def test_trim_over_stripes_and_of_nothing():
    """3+1: page 2, stripe 1 whole, page 6; then the same again; then beyond what was ever written."""
    model = filled(3, stripes=3)
    counts = model.run([pages("trim", 2, 5)])
    assert counts == Counts(parity_programs=2, pre_reads=4, rcw=2)
    assert model.run([pages("trim", 2, 5), pages("trim", 100, 50)]) == Counts(parity_programs=2, pre_reads=4, rcw=2)
    assert model.run([pages("read", 0, 9)]) == Counts(
        host_reads=4, unmapped_reads=5, parity_programs=2, pre_reads=4, rcw=2
    )


def test_trim_leaves_parts_of_pages():
    model = filled(3)
    assert model.run([Request("trim", 512, PAGE), Request("trim", 0, PAGE - 1)]) == Counts()  # no whole page in either
    assert model.run([Request("trim", 512, 2 * PAGE)]) == Counts(parity_programs=1, pre_reads=2, rcw=1)  # page 1


def test_write_zeroes_writes_the_parts_and_trims_the_rest():
    """3+1, from the middle of page 0 to the middle of page 4.

    Head page 0: RCW, 2 pre-reads, 1 update read. Pages 1 and 2: RCW trim, reads page 0. Page 3: RCW trim, reads 4 and
    5. Tail page 4: RCW, reads page 5 only, and page 4 as update read.
    """
    counts = filled(3).run([Request("write_zeroes", 2048, 4 * PAGE)])
    assert counts == Counts(host_programs=2, parity_programs=4, pre_reads=6, update_reads=2, rcw=4)
    inside = filled(3).run([Request("write_zeroes", 512, 512)])
    assert inside == Counts(host_programs=1, parity_programs=1, pre_reads=2, update_reads=1, rcw=1)
    whole = filled(3).run([pages("write_zeroes", 0, 3)])
    assert whole == Counts()
    across = filled(3).run([Request("write_zeroes", 2048, PAGE)])  # two parts, no whole page: one sub-page write each
    assert across.host_programs == across.update_reads == across.rcw == 2


def test_reads_count_pages_touched():
    model = RaidCounts(3, PAGE)
    model.run([pages("write", 1, 2)])
    counts = model.run([Request("read", 100, 3 * PAGE)])  # pages 0 to 3
    assert (counts.host_reads, counts.unmapped_reads) == (2, 2)


@pytest.mark.parametrize("rule", ["fewest", "rmw", "rcw"])
def test_random_lists_keep_the_books(rule):
    """Every parity program belongs to one update; a forced method is the only one; programs equal pages written."""
    rng = random.Random(7)
    for width in range(2, 10):
        model = RaidCounts(width, 512, rule)
        written = 0
        for _ in range(300):
            op = rng.choice(["read", "write", "write", "trim"])
            request = Request(op, rng.randrange(40 * 512), rng.randrange(1, 12 * 512))
            model.run([request])
            if op == "write":
                written += (request.offset_bytes + request.size_bytes - 1) // 512 - request.offset_bytes // 512 + 1
        counts = model.counts
        assert counts.parity_programs == counts.full_stripe + counts.rmw + counts.rcw
        assert counts.host_programs == written
        assert rule == "fewest" or 0 in (counts.rmw, counts.rcw)


# Write amplification of greedy collection.


@pytest.mark.parametrize(("utilisation", "expected"), [(0.7, 1.84), (0.8, 2.61), (0.9, 4.85)])
def test_greedy_mean_field_at_the_utilisations_of_the_validation(utilisation, expected):
    assert greedy_wa.mean_field(utilisation, 64) == pytest.approx(expected, rel=0.01)


def test_greedy_mean_field_limits():
    # Blocks of one page: a victim is an empty block, if any page is free. Nothing is ever moved.
    assert greedy_wa.mean_field(0.99, 1) == 1
    # Blocks of two pages, by hand. Levels 2 and 1 fill u (1 + 2) / 2 x 2/2 of the blocks: up to u = 2/3 some are empty.
    assert greedy_wa.mean_field(0.66, 2) == 1
    # Above: 2u (1/2 + q) = 1 + q, so q = (1 - u) / (2u - 1); the host writes 1 + q = u / (2u - 1) pages a collection.
    assert greedy_wa.mean_field(0.8, 2) == pytest.approx(2 * (2 * 0.8 - 1) / 0.8)
    # Nearly empty drive: emptied blocks are always there. The exact border is u = 1 / (1 + 1/2 + ... + 1/64).
    assert greedy_wa.mean_field(0.01, 64) == greedy_wa.mean_field(0.2107, 64) == 1 < greedy_wa.mean_field(0.2109, 64)
    # Large blocks: all blocks decay alike, greedy takes the oldest, so it is FIFO.
    assert greedy_wa.mean_field(0.9, 1_000_000) == pytest.approx(greedy_wa.fifo(0.9), rel=1e-5)
    # Between: greedy is better than FIFO, which is better than a random victim, 1 / (1 - u).
    assert greedy_wa.mean_field(0.9, 64) < 0.95 * greedy_wa.fifo(0.9) < 0.95 / (1 - 0.9)


def test_greedy_simulation_agrees_with_the_mean_field():
    assert greedy_wa.simulate(0.7, separate_streams=False) == pytest.approx(greedy_wa.mean_field(0.7, 64), rel=0.01)


@pytest.mark.parametrize("separate_streams", [False, True])
@pytest.mark.parametrize("utilisation", [0.7, 0.8, 0.9])
def test_greedy_simulation_agrees_with_the_mean_field_for_both_kinds_of_streams(utilisation, separate_streams):
    """Under uniform overwrites moved pages are as young as new ones, so one stream or two makes no difference."""
    blocks = 4096 if PROVE else 64
    measured = [greedy_wa.simulate(utilisation, separate_streams, blocks, seed=seed) for seed in (1, 2)]
    if not PROVE:  # too few blocks for a figure: that it runs
        assert min(measured) > 1
        return
    assert measured == pytest.approx([greedy_wa.mean_field(utilisation, 64)] * 2, rel=0.01)


# Write amplification of other policies.


@pytest.mark.parametrize(("draws", "expected"), [(1, 1 / (1 - 0.877)), (2, 5.33), (4, 4.17), (10, 3.66)])
def test_d_choices_has_the_published_fixed_points(draws, expected):
    assert gc_policies.d_choices(0.877, 16, draws, draws_full=True) == pytest.approx(expected, rel=1e-3)


def test_d_choices_limits():
    # Many draws are greedy, which never takes a full block. Fewer are worse, and full ones worse still.
    assert gc_policies.d_choices(0.877, 16, 1000) == pytest.approx(greedy_wa.mean_field(0.877, 16), rel=1e-3)
    found = [gc_policies.d_choices(0.877, 16, draws) for draws in (1, 2, 4, 10)]
    assert found == sorted(found, reverse=True)
    assert all(own < gc_policies.d_choices(0.877, 16, d, True) for own, d in zip(found, (1, 2, 4, 10), strict=True))
    # Blocks of two pages, one draw, by hand. A share x of the victims is empty, so that h = 1 + x. Level 2 loses as
    # much as it gains: f_2 h / u = 1. Level 0 gains f_1 h / (2u) = x. A victim has one page with probability
    # 1 - x = f_1 / (1 - f_2), so (1 - x) (1 + x - u) = 2ux: x = 1 - u.
    assert gc_policies.d_choices(0.8, 2, 1) == pytest.approx(2 / (2 - 0.8), rel=1e-6)


@pytest.mark.parametrize(
    ("rule", "pages", "expected"),
    [
        (gc_policies.windowed(1), 64, greedy_wa.fifo(0.8)),
        (gc_policies.windowed(1 << 16), 16, greedy_wa.mean_field(0.8, 16)),
        (gc_policies.drawn(2), 16, gc_policies.d_choices(0.8, 16, 2)),
    ],
    ids=["fifo", "greedy", "d:2"],
)
def test_models_of_policies_agree_with_closed_forms(rule, pages, expected):
    blocks, rounds, tolerance = (1024, 3, 0.02) if PROVE else (96, 1, 0.1)
    assert gc_policies.simulate(rule, 0.8, blocks, pages, rounds) == pytest.approx(expected, rel=tolerance)


def test_cost_benefit_pays_where_some_pages_are_hot():
    """It leaves blocks of hot pages alone until most of their pages are garbage."""
    blocks, pages = (1024, 32) if PROVE else (96, 16)
    greedy, aged = (
        gc_policies.simulate(rule, 0.8, blocks, pages, rounds=2, hot=(0.1, 0.9))
        for rule in (gc_policies.windowed(1 << 16), gc_policies.cost_benefit)
    )
    assert aged < 0.95 * greedy


# Queueing and closed forms.


def lindley_waiting(load, requests, seed):
    """Mean waiting time of an M/D/1 queue with service time 1, by Lindley's recursion."""
    steps = 1 - np.random.default_rng(seed).exponential(1 / load, requests)
    walk = np.concatenate(([0.0], np.cumsum(steps)))
    return float(np.mean(walk - np.minimum.accumulate(walk)))


def test_student_quantile():
    """The density of Student's t with 19 degrees of freedom has 95 % of its mass within the tabled quantile."""
    t = np.linspace(-queueing.T_975_19, queueing.T_975_19, 20_001)
    norm = math.gamma(10) / (math.sqrt(19 * math.pi) * math.gamma(9.5))
    density = norm * (1 + t * t / 19) ** -10
    assert float(np.sum((density[1:] + density[:-1]) / 2) * (t[1] - t[0])) == pytest.approx(0.95, abs=1e-6)


def test_confidence_interval():
    assert queueing.mean_and_half_width([3.0] * 20) == (3.0, 0.0)
    mean, half_width = queueing.mean_and_half_width([1.0, 3.0] * 10)  # variance 20/19
    assert (mean, half_width) == pytest.approx((2.0, queueing.T_975_19 / math.sqrt(19)))
    with pytest.raises(ValueError, match="19 runs given, 20 needed"):
        queueing.mean_and_half_width([1.0] * 19)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.9])
def test_md1_waiting_time(load):
    mean, half_width = queueing.mean_and_half_width([lindley_waiting(load, 400_000, seed) for seed in range(20)])
    expected = queueing.md1_waiting_ns(load, 1.0)
    assert half_width < 0.01 * queueing.md1_response_ns(load, 1.0)
    assert abs(mean - expected) <= half_width


def test_md1_limits():
    service_ns = closed_forms.unloaded_read_ns(closed_forms.Flash())
    assert queueing.md1_response_ns(0, service_ns) == 122_575
    assert queueing.md1_waiting_ns(0.5, 2.0) == 1.0  # half of M/M/1's
    with pytest.raises(ValueError, match="load 1 is not in"):
        queueing.md1_waiting_ns(1, service_ns)


def test_reads_on_one_die_are_an_md1_queue():
    """Each response of the NAND model is Lindley's, with a service time of 122,575 ns: nothing overlaps."""
    rng = random.Random(3)
    arrival, free, expected, requests = 0, 0, [], []
    for _ in range(2000):
        arrival += int(rng.expovariate(0.9 / 122_575))
        free = max(arrival, free) + 122_575
        requests.append(nand_model.Request(arrival, True, rng.randrange(1000), 1))
        expected.append(free - arrival)
    reads, _ = nand_model.responses_ns(requests, closed_forms.Flash(channels=1, units_per_channel=1))
    assert reads == expected


def test_unloaded_times():
    flash = closed_forms.Flash()
    assert closed_forms.unloaded_read_ns(flash) == 122_575
    assert closed_forms.unloaded_write_ns(flash, program_end=False) == 102_575
    assert closed_forms.unloaded_write_ns(flash, program_end=True) == 302_575
    requests = [nand_model.Request(0, True, 5, 1), nand_model.Request(10**9, False, 5, 1)]
    assert nand_model.responses_ns(requests, flash) == ([122_575], [302_575])


@pytest.mark.parametrize("units", [1, 2, 3, 4, 8])
def test_program_bandwidth_at_saturation(units):
    """The NAND model reaches the bound: bound by the array up to two units a channel, by the bus from three on."""
    flash = closed_forms.Flash(channels=2, units_per_channel=units)
    count = 2 * units * 500
    requests = [nand_model.Request(0, False, page, 1) for page in range(count)]
    _, writes = nand_model.responses_ns(requests, flash)
    bytes_per_second = count * flash.page_bytes / (max(writes) / 1e9)
    assert bytes_per_second == pytest.approx(closed_forms.program_bytes_per_second(flash), rel=0.01)


# Requests on one channel of four chips, by page (two a chip, then the next chip), and their response times in ns
# under the engine's and under SSDsim's rules: a bus transfer of a write takes 102,575, all of it 302,575.
RULES = {
    "the chip after the last one, or the first": (
        [(0, False, 4), (1, False, 6), (2, False, 0)],
        ([], [102_575, 205_149, 307_723]),
        ([], [102_575, 307_724, 205_148]),
    ),
    "the oldest of a chip, or die 0 first": (
        [(0, False, 0), (1, False, 8), (2, False, 1)],
        ([], [102_575, 405_149, 707_723]),
        ([], [102_575, 707_724, 405_148]),
    ),
    "a read in the instant in which the bus becomes free": (
        [(0, False, 0), (1, False, 2), (102_575, True, 4)],
        ([225_150], [102_575, 205_149]),
        ([205_150], [102_575, 205_324]),
    ),
    "a page written again, and another one on its die": (
        [(0, False, 0), (1, False, 0), (2, False, 1)],
        ([], [102_575, 707_724, 405_148]),
        ([], [102_575, 405_149, 707_723]),
    ),
    "a page read again": ([(0, True, 0), (1_000, True, 0)], ([122_575, 244_150], []), ([122_575, 1_000], [])),
}


@pytest.mark.parametrize("case", RULES)
def test_nand_model_rules(case):
    arrivals, engine, ssdsim = RULES[case]
    requests = [nand_model.Request(*arrival, pages=1) for arrival in arrivals]
    for rules, expected in ((nand_model.ENGINE, engine), (nand_model.SSDSIM, ssdsim)):
        found = nand_model.responses_ns(requests, closed_forms.Flash(channels=1), program_end=False, rules=rules)
        assert found == expected


def test_host_side_example():
    """docs/spec/modern.md, 8.8: a lone write and a lone read, and a second read behind the first one."""
    side = host_model.HostSide(10_000, 20_000, 1_110, 460, 21_500, 4_000)

    def flash(requests):
        return nand_model.completions(requests, closed_forms.Flash())

    write, read = nand_model.Request(0, False, 0, 1), nand_model.Request(0, True, 0, 1)
    assert host_model.responses_ns([write], side, flash) == ([], [349_105])
    assert host_model.responses_ns([read], side, flash) == ([227_565], [])
    # On another channel: 1,570 ns later at flash, and 81,920 ns later over the link.
    other = nand_model.Request(0, True, 1, 1)
    assert host_model.responses_ns([read, other], side, flash) == ([227_565, 227_565 + 81_920], [])


# The NAND model against a published simulator's figures on the same workloads.


def line_hash(requests):
    """Start of the SHA-256 of the workload's trace lines: time, device, sector, sectors, 1 for a read."""
    lines = hashlib.sha256()
    for request in requests:
        sector, sectors = request.first_page * 8, request.pages * 8
        lines.update(f"{request.arrival_ns} 0 {sector} {sectors} {int(request.is_read)}\n".encode())
    return lines.hexdigest()[:12]


def mean_us(times_ns):
    return sum(times_ns) / len(times_ns) / 1000


REQUESTS = 1_000_000 if PROVE else 2_000  # too few for a figure: that the long proof runs


def test_nand_model_on_random_writes():
    """SSDsim 2.1, static allocation channel first, chip-serial, no advanced commands: 130.381 us, without tPROG."""
    requests = list(nand_model.random_writes(REQUESTS))
    assert not PROVE or line_hash(requests) == "51ffadd97b62"
    for rules in (nand_model.ENGINE, nand_model.SSDSIM):
        _, writes = nand_model.responses_ns(requests, closed_forms.Flash(), program_end=False, rules=rules)
        assert not PROVE or mean_us(writes) == pytest.approx(130.381, rel=0.0005)


def test_nand_model_on_mixed_requests():
    """SSDsim as above with a long request queue: reads 215.531 us, writes 212.165 us.

    tests/validation requires these figures of the model with SSDsim's rules.
    """
    requests = list(nand_model.random_mix(REQUESTS))
    assert not PROVE or line_hash(requests) == "50206cfac57c"
    reads, writes = nand_model.responses_ns(requests, closed_forms.Flash(), program_end=False)
    if not PROVE:
        assert len(reads) + len(writes) == REQUESTS
        return
    assert len(reads) == 699_654
    assert mean_us(reads) == pytest.approx(215.531, rel=0.01)
    assert mean_us(writes) == pytest.approx(212.165, rel=0.01)


# Delayed parities: without a buffer no-PC is RAID-5; the paper's examples; the cost formulas.


@pytest.mark.parametrize("width", range(2, 10))
def test_without_a_buffer_no_pc_is_raid5(width):
    rng = random.Random(width)
    ops = ["write"] * 12 + ["read", "trim", "trim", "write_zeroes"]
    for number in range(10):
        requests = []
        for _ in range(300):
            unit = rng.choice([PAGE, PAGE, 512])
            requests.append((rng.choice(ops), rng.randrange(300 * PAGE // unit) * unit, rng.randrange(1, 28) * unit))
        plain, delayed = RaidCounts(width, PAGE), ParityCounts("no-pc", width, PAGE, 0)
        for model in (plain, delayed):
            model.fill(number % 2 * 200)
        counts = vars(plain.run(Request(*each) for each in requests))
        same = ("host_programs", "pre_reads", "update_reads", "parity_programs")
        found = vars(delayed.run(ParityRequest(*each) for each in requests))
        assert {key: found[key] for key in same} == {key: counts[key] for key in same}


def flushes(scheme, width, groups, **options):
    """Counts of updates of these strips of stripe 0, then of one strip of stripe 1, with a cache of one entry."""
    model = ParityCounts(scheme, width, PAGE, 0, 1, **options)
    model.fill(2 * width)
    for first, count in [*groups, (width, 1)]:
        counts = model.run([ParityRequest("write", first * PAGE, count * PAGE)])
    return counts


def test_ppc_figures_6_and_7():
    """D1, D2, D1 again: one read. A commit of D1 to D3 reads D0, one of D1 its old version and the old parity."""
    assert flushes("ppc", 4, [(1, 1), (2, 1), (1, 1)]).pre_reads == 1
    assert flushes("ppc", 4, [(1, 3)]).commit_reads == 1
    assert flushes("ppc", 4, [(1, 1)]).commit_reads == 2
    whole = flushes("ppc", 4, [(0, 4)])
    assert whole == DelayedCounts(misses=2, host_programs=5, commits=1)
    assert flushes("fpc", 4, [(0, 1), (1, 1)]).pre_reads == flushes("no-pc", 4, [(0, 1), (1, 1)]).pre_reads == 6


@pytest.mark.parametrize("width", range(4, 9))
def test_ppc_commits_read_at_most_half_a_stripe(width):
    """PPC paper, section 4.3."""
    reads = [flushes("ppc", width, [(0, count)]).commit_reads for count in range(1, width + 1)]
    half = math.ceil(width / 2)
    assert reads == [width - count if count >= half else count + 1 for count in range(1, width + 1)]
    assert max(reads) == half
