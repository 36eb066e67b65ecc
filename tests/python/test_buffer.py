"""Counts of the data buffer that no timing can change, beside the reference model; devices with a buffer; `--drain`."""

import json
import random

import pytest
from conftest import PAGE, PROVE, ROOT, write_device

import flashraid as fr
from reference.buffer_counts import BufferCounts, Counts, Rules

SHARED = ROOT.parent / "shared" / "traces"
SAMPLES = [ROOT / "samples" / f"{name}-transactions.csv.gz" for name in ("pgbench", "postmark", "sqlite")]
SAMPLES += SHARED.glob("fin1-first10000.reencoded*")
SMALL = {"blocks_per_plane": 32, "pages_per_block": 16, "over_provisioning": 0.15}


def counted(result):
    """What the reference model counts too."""
    buffer, reads = result.buffer.to_dict(), result.flash_ops.reads
    assert buffer["hits"] == buffer["read_hits"] + buffer["write_hits"]
    assert buffer["misses"] == buffer["read_misses"] + buffer["write_misses"]
    counts = {key: buffer[key] for key in vars(Counts()) if key in buffer}
    return counts | {"update_reads": reads.update_read}


def random_requests(rng, space_bytes, count):
    requests = []
    for _ in range(count):
        op = rng.choice(["write"] * 10 + ["read"] * 6 + ["trim"] * 2 + ["write_zeroes", "flush"])
        unit = rng.choice([PAGE, 512, 100])
        reach = min(space_bytes, rng.choice([40, 400, 10**9]) * PAGE)
        size = min(rng.randrange(1, 9 * PAGE // unit) * unit, reach)
        offset = rng.randrange(0, (reach - size) // unit + 1) * unit
        requests.append((op, 0, 0) if op == "flush" else (op, offset, size))
    return requests


# Data pages of a stripe of each scheme on the four members of `write_device`.
WIDTH = {"raid0": 4, "raid1": 2, "sirf1": 2, "raid5": 3}
# Buffers as settings, but for their size, and what of the rules of the model they are.
DRAM = {"key": "buffer_bytes"}
NVRAM = {"key": "nvram_buffer_bytes"}
KINDS = {
    "dram-page": (DRAM | {"destage_unit": "page"}, {"width": 1}),
    "dram-stripe": (DRAM | {"destage_unit": "stripe"}, {}),
    "nvram": (NVRAM, {"is_durable": True}),
    "nvram-largest": (NVRAM | {"nvram_victim": "largest_group"}, {"is_durable": True, "largest": True}),
}


def buffer_of(kind, scheme, pages, marks=None, page_ns=0):
    """The settings of a buffer, and the rules of the model. It destages by itself with marks."""
    settings, rules = KINDS[kind]
    settings = dict(settings) | {"destage": "when_full"}
    settings[settings.pop("key")] = pages * PAGE + 100
    if marks:
        high, low = marks
        settings |= {"destage": "low_water", "destage_high_water": high, "destage_low_water": low}
        settings["destage_bytes_per_second"] = PAGE * 10**9 // page_ns
    return settings, Rules(**{"width": WIDTH[scheme]} | rules, marks=marks, page_ns=page_ns)


def check_random(tmp_path, scheme, kind, pages, partial_writes, seed, marks=None):
    """One list of random requests. Returns the erases of GC, and what was destaged."""
    rng = random.Random(seed)
    page_ns = rng.choice([50_000, 400_000, 10_000_000])
    settings, rules = buffer_of(kind, scheme, pages, marks, page_ns)
    fill_pages = rng.choice([0, 300])
    assert fill_pages % WIDTH[scheme] == 0  # the fill writes whole stripes
    sim = fr.Simulation(
        device=write_device(tmp_path, **SMALL),
        scheme=scheme,
        fill_bytes=fill_pages * PAGE,
        verify=True,
        partial_writes=partial_writes,
        **settings,
    )
    requests = random_requests(rng, sim.space_bytes, 500)
    gap_ns = rng.choice([0, 20_000, 400_000, 3_000_000])
    arrivals_ns = [i * gap_ns for i in range(len(requests))]
    sim.submit_many(*zip(*requests, strict=True), arrivals_ns)
    sim.finish()
    result = sim.result()
    assert (sim.verify().mismatches, sim.verify().pages_lost) == (0, 0)
    model = BufferCounts(pages, PAGE, fill_pages, partial_writes=partial_writes, rules=rules)
    expected = vars(model.run(requests, arrivals_ns))
    found = counted(result)
    if scheme == "raid5":  # the pre-read of an RMW serves as the update read too
        assert found.pop("update_reads") <= expected.pop("update_reads")
    assert found == expected, seed
    assert result.flash_ops.programs.host == result.buffer.pages_written_out
    return result.flash_ops.erases.gc, result.buffer.destages


@pytest.mark.parametrize("partial_writes", ["read", "read_if_needed", "read_if_used"])
@pytest.mark.parametrize("scheme", ["raid0", "raid1", "sirf1", "raid5"])
@pytest.mark.parametrize("pages", [1, 7, 64])
def test_random_requests(tmp_path, scheme, pages, partial_writes):
    collected = 0
    for number in range(100 if PROVE else 4):
        seed = f"{scheme} {pages} {number}"
        collected += check_random(tmp_path, scheme, "dram-page", pages, partial_writes, seed)[0]
    assert collected > 0 or scheme == "raid0"  # whose space is larger


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scheme", ["raid0", "raid1", "raid5"])
def test_random_requests_behind_a_buffer_that_destages_by_itself(tmp_path, scheme, kind):
    """What leaves by itself, and when, follows from the arrivals alone: at any speed of flash."""
    destages = 0
    for number in range(50 if PROVE else 5):
        rng = random.Random(f"{scheme} {kind} {number}")
        pages, partial_writes = rng.choice([1, 2, 7, 64]), rng.choice(["read", "read", "read_if_needed"])
        marks = rng.choice([(0.5, 0.25), (0.8, 0.0), (1.0, 0.9), (0.01, 0.0), None])
        seed = f"{scheme} {kind} {number} of {pages}"
        destages += check_random(tmp_path, scheme, kind, pages, partial_writes, seed, marks)[1]
    assert destages > 100


@pytest.mark.parametrize("kind", ["dram-stripe", "nvram", "nvram-largest"])
@pytest.mark.parametrize("marks", [None, (0.5, 0.25)])
def test_stripes_leave_as_one_write(tmp_path, kind, marks):
    """Of each group its parity is updated once, by the method that its pages ask for."""
    rng = random.Random(f"{kind} {marks}")
    page_ns = 400_000
    settings, rules = buffer_of(kind, "raid5", 40, marks, page_ns)
    sim = fr.Simulation(device=write_device(tmp_path, **SMALL), scheme="raid5", verify=True, **settings)
    # Neither parts of pages, whose reads are others, nor discards, which update parity too.
    requests = [
        ("flush", 0, 0) if rng.random() < 0.05 else ("write", rng.randrange(200) * PAGE, rng.randrange(1, 4) * PAGE)
        for _ in range(600)
    ]
    arrivals_ns = [number * 300_000 for number in range(len(requests))]
    sim.submit_many(*zip(*requests, strict=True), arrivals_ns)
    sim.finish()
    model = BufferCounts(40, PAGE, rules=rules)
    model.run(requests, arrivals_ns)
    updates, expected = sim.result().parity_updates.to_dict(), vars(model.methods)
    assert {method: updates[method] for method in expected} == expected
    assert min(expected["full_stripe"], expected["rcw"]) > 20
    assert sim.verify().mismatches == 0


def test_closed_loops_are_counted_by_their_arrivals(tmp_path):
    """When a request of a closed loop arrives depends on flash; what leaves by then follows from that alone."""
    trace, log = tmp_path / "trace.csv", tmp_path / "log.csv"
    rng = random.Random(5)
    requests = [(rng.choice(["write", "write", "read"]), rng.randrange(300) * PAGE, PAGE) for _ in range(2000)]
    lines = "".join(f"0,{op[0].upper()},{offset},{size},,\n" for op, offset, size in requests)
    trace.write_text(f"ts_us,op,offset,size,flags,latency_us\n{lines}")
    settings, rules = buffer_of("dram-stripe", "raid5", 64, (0.5, 0.25), 400_000)
    result = fr.run(
        trace, device=write_device(tmp_path, **SMALL), scheme="raid5", queue_depth=4, latency_log=log, **settings
    )
    arrivals_ns = result.frame("latency_log").sort("request")
    expected = vars(BufferCounts(64, PAGE, rules=rules).run(requests, arrivals_ns["arrival_ns"].to_list()))
    found = counted(result)
    assert found.pop("update_reads") <= expected.pop("update_reads")
    assert found == expected
    assert found["destages"] > 100


@pytest.mark.parametrize("trace", SAMPLES, ids=lambda path: path.name.split(".")[0])
@pytest.mark.parametrize("unwritten", ["zero", "prefill"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_real_traces(trace, unwritten):
    """To the unit, at any speed, with one copy or two; more pages than in one, so that there are hits and evictions."""
    limit = 5_000 if PROVE else 2_500
    rows = fr.read_trace(trace, limit=limit)
    device = rows["device"].value_counts(sort=True)["device"][0]
    rows = fr.read_trace(trace, limit=limit, device_filter=device)
    requests = list(rows.select("op", "offset_bytes", "size_bytes").iter_rows())
    ops = {op for op, _, _ in requests}
    # A page that a discard still takes away cannot be prefilled meanwhile: what is read of it then depends on timing.
    if unwritten == "prefill" and ops & {"trim", "write_zeroes"}:
        pytest.skip("with discards")
    for pages, partial_writes in ((16, "read"), (64, "read"), (16, "read_if_needed"), (16, "read_if_used")):
        model = BufferCounts(pages, prefill=unwritten == "prefill", partial_writes=partial_writes)
        expected = vars(model.run(requests))
        assert expected["evictions"] > 0
        assert expected["write_hits"] > 0 or "flush" in ops  # which leaves nothing to hit
        for scheme, speed in (("raid0", 1), ("sirf1", 0.2), ("sirf1", 50)):
            result = fr.run(
                trace, device="sirf-2c128", scheme=scheme, limit=limit, device_filter=device, speed=speed,
                buffer_bytes=pages * PAGE, unwritten=unwritten, partial_writes=partial_writes,
            )  # fmt: skip
            assert counted(result) == expected, (scheme, speed, pages, partial_writes)


def test_devices_show_their_buffer(command):
    done = command("devices", "sirf-2c128", "--json", "-")
    assert json.loads(done.stdout)["buffer_bytes"] == 64 << 20
    assert "64.0 MiB" in command("devices", "sirf-2c128").stdout
    shown = json.loads(command("devices", "ppc-4p1", "--json", "-").stdout)
    assert (shown["buffer_bytes"], shown["nvram_buffer_bytes"]) == (0, 32 << 10)
    assert "write buffer in NVRAM" in command("devices", "ppc-4p1").stdout


def test_drain_is_an_option(command):
    line = [
        "run",
        str(SAMPLES[0]),
        "--device",
        "sirf-1c64",
        "--scheme",
        "raid0",
        "--limit",
        "2000",
        "--quiet",
        "--json",
        "-",
    ]
    kept, drained = (json.loads(command(*line, *more).stdout) for more in ([], ["--drain"]))
    assert "drain" not in kept
    assert drained["drain"]["pages"] == kept["buffer"]["pages_buffered"] > 0
    assert kept["flash_ops"] == drained["flash_ops"]
    assert drained["drain"]["flash_ops"]["programs"]["host"] == drained["drain"]["pages"]
