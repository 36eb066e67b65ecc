"""What papers say of drives and of single requests, as far as no other test checks it (papers/*/register.toml)."""

import csv

import pytest
from conftest import PAGE, write_device, write_trace

import flashraid as fr
from flashraid.reproduce.metrics import measured


def after(request, **settings):
    """The result of one request at time zero, on a drive whose first MiB is written."""
    simulation = fr.Simulation(fill_bytes=1 << 20, **settings)
    op, size = request
    simulation.submit(op, offset_bytes=0, size_bytes=size, arrival_ns=0)
    simulation.finish()
    return simulation.result()


def test_a_mirrored_write_takes_one_transfer_longer_than_a_plain_one():
    mirrored, plain = (
        after(("write", PAGE), device="ssd1", scheme=scheme).latency_ns.write.max for scheme in ("cr5m", "raid0")
    )
    # Both copies cross one bus: a command, and a page at 25 ns a byte.
    assert mirrored - plain == 175 + PAGE * 25


def test_spare_chips_do_nothing_until_a_chip_fails():
    simulation = fr.Simulation(device="ssd1", scheme="cr5m", fill_bytes=1 << 20)
    for number in range(200):
        simulation.submit("write" if number % 3 else "read", number * PAGE, PAGE, arrival_ns=number * 10_000)
    simulation.finish()
    result = simulation.result()
    # Of each channel three data chips, the mirror chip and the spare one.
    programs = [chip.programs.total for chip in result.dies]
    channels = [programs[5 * channel : 5 * channel + 5] for channel in range(4)]
    assert len(programs) == 4 * 5
    assert all(all(channel[:3]) for channel in channels)
    assert any(channel[3] for channel in channels)
    assert [channel[4] for channel in channels] == [0] * 4
    assert [result.dies[5 * channel + 4].busy_ns.total for channel in range(4)] == [0] * 4


def test_figures_of_chips_are_those_of_channel_0():
    simulation = fr.Simulation(device="ssd1", scheme="cr5m", fill_bytes=1 << 20, mw_limit=1000)
    # Pages 0 and 1 of a stripe are on channels 0 and 1: two mirrored writes of the former, and one of the latter.
    for number, page in enumerate((0, 0, 1)):
        simulation.submit("write", page * PAGE, PAGE, arrival_ns=number * 10**6)
    simulation.finish()
    chips = [f"chip_{chip}_writes" for chip in range(4)]
    figures = measured(simulation.result().to_dict(), (*chips, "mirror_ratio"))
    assert sum(figures[chip] for chip in chips[:3]) == 2
    assert figures[chips[3]] == 2
    # Of three data chips the mean is two thirds of a write.
    assert figures["mirror_ratio"] == 300


def test_mcr_rebuilds_eight_stripes_at_a_time(tmp_path):
    device = write_device(tmp_path, chips_per_channel=3, mirror_chips=1, spare_chips=1)

    def rebuild_ns(window):
        simulation = fr.Simulation(
            device=device, scheme="cr5m", fill_bytes=1 << 20, rebuild="mcr", rebuild_window=window, fail="chip:0.0@0ns"
        )
        simulation.submit("read", offset_bytes=0, size_bytes=PAGE, arrival_ns=1000)
        simulation.finish()
        return simulation.result().rebuild[0].ended_ns

    eight = rebuild_ns(8)
    assert rebuild_ns(0) == eight
    assert rebuild_ns(1) > eight


@pytest.mark.parametrize("device", ["ssd1", "ssd2", "ssd3"])
def test_cr5m_and_cr5_have_the_same_chips(device):
    cr5, cr5m = (after(("read", PAGE), device=device, scheme=scheme) for scheme in ("raid5", "cr5m"))
    assert len(cr5.dies) == len(cr5m.dies)
    assert cr5.capacity.raw_bytes == cr5m.capacity.raw_bytes


def test_rcw_of_one_strip_of_six_reads_the_other_four():
    reads = after(("write", 8192), device="adaptive-5p1", scheme="raid5", update="rcw").flash_ops.reads
    assert (reads.pre_read, reads.total) == (4, 4)


def test_both_mirrors_of_sirf1_collect_at_once(tmp_path):
    rows = [(number * 900, "W", number * 7919 % 500 * PAGE, PAGE) for number in range(4000)]
    trace, log = write_trace(tmp_path, rows), tmp_path / "operations.csv"
    fr.run(trace, device=write_device(tmp_path), scheme="sirf1", operation_log=log, over_provisioning=0.3, fill=1)
    with log.open() as file:
        of_gc = [row for row in csv.DictReader(file) if row["cause"] == "gc"]
    # When each group (channels 0 and 1, channels 2 and 3) has an operation of GC under way.
    first, second = (
        [(int(row["start_ns"]), int(row["end_ns"])) for row in of_gc if int(row["channel"]) // 2 == group]
        for group in (0, 1)
    )
    assert len(first) > 100
    assert len(second) > 100
    at_once = [one for one in first if any(one[0] < ended and started < one[1] for started, ended in second)]
    assert len(at_once) > len(first) / 2


def test_a_request_of_6_kb_is_of_three_pages_of_2_and_one_of_8_kb():
    for device, pages in (("sirf-2c128-2k", 3), ("sirf-2c128-8k", 1)):
        reads = after(("read", 6144), device=device, scheme="sirf1", buffer_bytes_per_gib=0).flash_ops.reads
        assert (reads.host, reads.total) == (pages, pages)
