"""Counts of the data buffer that no timing can change, beside the reference model; devices with a buffer; `--drain`."""

import json
import random

import pytest
from conftest import PAGE, PROVE, ROOT, write_device

import flashraid as fr
from reference.buffer_counts import BufferCounts, Counts

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


@pytest.mark.parametrize("partial_writes", ["read", "read_if_needed", "read_if_used"])
@pytest.mark.parametrize("scheme", ["raid0", "raid1", "sirf1", "raid5"])
@pytest.mark.parametrize("pages", [1, 7, 64])
def test_random_requests(tmp_path, scheme, pages, partial_writes):
    device = write_device(tmp_path, **SMALL, buffer_bytes=pages * PAGE + 100)
    collected = 0
    for number in range(100 if PROVE else 4):
        rng = random.Random(f"{scheme} {pages} {number}")
        fill_pages = rng.choice([0, 300])
        sim = fr.Simulation(
            device=device, scheme=scheme, fill_bytes=fill_pages * PAGE, verify=True, partial_writes=partial_writes
        )
        requests = random_requests(rng, sim.space_bytes, 500)
        gap_ns = rng.choice([0, 20_000, 3_000_000])
        sim.submit_many(*zip(*requests, strict=True), [i * gap_ns for i in range(len(requests))])
        sim.finish()
        result = sim.result()
        assert (sim.verify().mismatches, sim.verify().pages_lost) == (0, 0)
        # The fill writes whole stripes.
        width = {"raid0": 4, "raid1": 2, "sirf1": 2, "raid5": 3}[scheme]
        assert fill_pages % width == 0
        model = BufferCounts(pages, PAGE, fill_pages, partial_writes=partial_writes)
        expected = vars(model.run(requests))
        found = counted(result)
        if scheme == "raid5":  # the pre-read of an RMW serves as the update read too
            assert found.pop("update_reads") <= expected.pop("update_reads")
        assert found == expected, number
        assert result.flash_ops.programs.host == result.buffer.evictions
        collected += result.flash_ops.erases.gc
    assert collected > 0 or scheme == "raid0"  # whose space is larger


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
