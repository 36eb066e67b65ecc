"""`fit = compact`: extents of addresses in the order of their first requests, against a model that is a dict."""

import itertools
import json
import random

import pytest
from conftest import PAGE, PROVE, ROOT, SAMPLE, some_of, write_device, write_trace, writes

import flashraid as fr

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

EXTENT = 1 << 20
LONG = 128 << 20  # discards from this length on are cut to what is touched
TRACES = ROOT.parent / "shared" / "traces"


class Model:
    """docs/traces.md, word by word."""

    def __init__(self):
        self.places = {}
        self.moved = self.split = self.split_into = self.cut = self.cut_into = 0

    def pieces(self, op, offset, size, device=0):
        """Offset and size of each piece."""
        if op in ("F", "flush"):
            return [(0, 0)]
        is_long = op not in ("R", "W", "read", "write") and size >= LONG
        first, last = offset // EXTENT, (offset + size - 1) // EXTENT
        if is_long:
            extents = sorted(each for of, each in self.places if of == device and first <= each <= last)
        else:
            extents = range(first, last + 1)
        found = []
        for extent in extents:
            place = self.places.setdefault((device, extent), len(self.places))
            start, end = max(offset, extent * EXTENT), min(offset + size, (extent + 1) * EXTENT)
            found.append((place * EXTENT + start % EXTENT, end - start, start))
        joined = []
        for at, length, start in found:
            if joined and sum(joined[-1][:2]) == at and joined[-1][2] + joined[-1][1] == start:
                joined[-1][1] += length
            else:
                joined.append([at, length, start])
        self.moved += sum(at != start for at, _, start in joined)
        self.cut += is_long
        self.cut_into += len(joined) * is_long
        self.split += len(joined) > 1 and not is_long
        self.split_into += len(joined) * (len(joined) > 1 and not is_long)
        return [(at, length) for at, length, _ in joined]

    def counts(self):
        return {
            "extent_bytes": EXTENT,
            "extents": len(self.places),
            **{key: getattr(self, key) for key in ("moved", "split", "split_into", "cut", "cut_into")},
        }


def sparse_rows(seed, count=600):
    """Requests all over 2^60 bytes: runs, neighbors, requests over several extents, discards of all lengths."""
    rng = random.Random(seed)
    bases = [rng.randrange(1 << 40) * EXTENT + rng.randrange(EXTENT) // 512 * 512 for _ in range(12)]
    rows = []
    for number in range(count):
        offset = rng.choice(bases) + rng.randrange(4 * EXTENT // 512) * 512
        size = rng.choice([512, PAGE, PAGE * 3, 64 << 10, EXTENT, 2 * EXTENT + 512])
        op = rng.choices("RWDZF", [5, 8, 1, 1, 1])[0]
        if op in "DZ" and rng.random() < 0.5:
            offset, size = rng.choice([(0, 1 << 61), (offset, LONG), (1 << 50, LONG * 3)])
        rows.append((number * 3000, op, *((0, 0) if op == "F" else (offset, size))))
    return rows


@pytest.fixture
def large(tmp_path):
    return write_device(tmp_path, blocks_per_plane=2048, chips_per_channel=2)


@pytest.mark.parametrize(
    ("seed", "scheme"),
    [
        (seed, scheme)
        for seed in range(3)
        for at, scheme in enumerate(["raid0", "raid5", "cr5m"])
        if PROVE or at == seed
    ],
)
def test_results_are_those_of_the_trace_that_a_dict_makes(tmp_path, large, seed, scheme):
    """Everything but the name of the trace: times, counts of every kind, contents."""
    rows, model, moved = sparse_rows(seed), Model(), []
    for ts, op, offset, size in rows:
        moved += [(ts, op, *piece) for piece in model.pieces(op, offset, size)]
    assert model.split > 5
    assert model.cut > 5
    same = {"device": large, "scheme": scheme, "fill": 0.5, "verify": True, "engine": False, "seed": seed}
    found = fr.run(write_trace(tmp_path, rows), **same, fit="compact").to_dict()
    wanted = fr.run(write_trace(tmp_path, moved, "moved.csv"), **same).to_dict()
    assert found["workload"].pop("compacted") == model.counts()
    assert wanted["workload"].pop("compacted") is None
    assert found["config"]["run"].pop("fit") == "compact"
    wanted["config"]["run"].pop("fit")
    for result in (found, wanted):
        for key in ("name", "sha256", "unaligned"):
            result["workload"].pop(key)
    assert found == wanted
    assert found["verify"]["mismatches"] == found["verify"]["pages_lost"] == 0


def test_faults_and_warm_up_count_the_requests_of_the_trace(tmp_path, large):
    """A request that is split is one; host pages of faults are those of the device, that is, after the move."""
    two = [(0, "W", 9 * EXTENT, PAGE), (1000, "W", 3 * EXTENT, PAGE)]
    both = [(2000 + number, "W", 9 * EXTENT - PAGE, 2 * PAGE) for number in range(10)]  # extent 8 comes third
    rows = [*two, *both, (9000, "R", 3 * EXTENT, PAGE)]
    trace = write_trace(tmp_path, rows)
    fail = ["page:lpn=0@request:12", "page:lpn=256@100%"]
    same = {"device": large, "scheme": "raid5", "fit": "compact"}
    result = fr.run(trace, **same, warmup="4", fail=fail, verify=True)
    assert [fault.request for fault in result.faults] == [12, 13]
    assert result.workload.compacted.split == 10
    assert result.workload.warmup_requests == 2 + 2 * 2
    assert result.workload.requests == 2 * 8 + 1
    assert result.requests.completed == 17
    assert (result.verify.mismatches, result.verify.pages_lost) == (0, 0)


def test_never_written_pages_and_fill(tmp_path, large):
    """The fill covers what is touched first; prefill places what it does not."""
    rows = [(number * 1000, "R", (1 << 50) + number * EXTENT, PAGE) for number in range(8)]
    trace = write_trace(tmp_path, rows)
    same = {"device": large, "scheme": "raid5", "fit": "compact"}
    assert fr.run(trace, **same).requests.unmapped_reads == 8
    assert fr.run(trace, **same, fill_bytes=4 * EXTENT).requests.unmapped_reads == 4
    assert fr.run(trace, **same, unwritten="prefill").requests.unmapped_reads == 0
    assert fr.run(trace, **same, precondition="random:1").requests.unmapped_reads == 0


def test_what_does_not_fit_is_told_with_both_sizes(tmp_path, device, command):
    space = fr.Simulation(device=device, scheme="raid5").space_bytes
    places = space // EXTENT
    rows = [(number, "W", number * 5 * EXTENT, PAGE) for number in range(places + 7)]
    trace = write_trace(tmp_path, [*rows, (9999, "R", 0, PAGE)])
    done = command("run", trace, "--device", device, "--scheme", "raid5", "--fit", "compact", "--quiet", status=2)
    assert done.stderr == (
        f"error: {trace}: the trace touches {(places + 7) * EXTENT} bytes in {places + 7} extents of {EXTENT} bytes, "
        f"and the logical space has {space} bytes, {places} extents: use a larger device, --device-filter, --limit, "
        f"or --on-error skip from request {places + 1} on\n"
    )
    result = fr.run(trace, device=device, scheme="raid5", fit="compact", on_error="skip")
    assert (result.workload.left_out, result.requests.completed) == (7, places + 1)
    assert result.workload.compacted.extents == places


def test_devices_need_not_be_laid_side_by_side(tmp_path, large, command):
    """The result of a pipe is that of the file."""
    rows = [f"{number * 1000} {number % 3} {number * 40000} 16 {number % 2}" for number in range(300)]
    trace = tmp_path / "three.ssdsim"
    trace.write_text("\n".join(rows) + "\n")
    same = {"device": large, "scheme": "raid5", "fit": "compact", "engine": False}
    result = fr.run(trace, **same)
    model = Model()
    for number in range(300):
        model.pieces("W", number * 40000 * 512, 16 * 512, number % 3)
    assert result.workload.compacted.to_dict() == model.counts()
    assert result.workload.devices == 3
    arguments = ["--device", large, "--scheme", "raid5", "--format", "ssdsim", "--json", "-", "--no-engine"]
    piped = command("run", "-", *arguments, "--fit", "compact", input=trace.read_text())
    found, wanted = json.loads(piped.stdout), result.to_dict()
    assert found["workload"].pop("name") == "-"
    wanted["workload"].pop("name")
    found["config"]["run"].pop("format")
    wanted["config"]["run"].pop("format")
    assert found == wanted
    one = fr.run(trace, **same, device_filter="1")
    assert one.workload.requests == 100
    assert one.workload.compacted.extents < result.workload.compacted.extents


def test_a_comparison_and_a_setting(tmp_path, large):
    rows = [(number * 1000, "W", number << 45, PAGE) for number in range(20)]
    found = fr.compare(write_trace(tmp_path, rows), device=large, schemes="raid0,raid5", fit="compact")
    assert [result.workload.compacted.extents for result in found.results] == [20, 20]
    again = tmp_path / "again.json"
    again.write_text(found.results[1].json)
    assert fr.run(tmp_path / "trace.csv", config=again).workload.compacted.extents == 20


def test_a_trace_that_fits_keeps_its_figures_within_extents():
    """A sample that needs no compacting: as many requests, sequential runs and updates, on other extents."""
    same = {"device": "ssd1", "scheme": "raid0", "limit": 5000}
    plain, compact = fr.run(SAMPLE, **same), fr.run(SAMPLE, **same, fit="compact")
    added = compact.workload.compacted.split_into - compact.workload.compacted.split
    assert compact.requests.completed == plain.requests.completed + added
    for key in ("reads", "programs"):
        assert compact.flash_ops[key].host == pytest.approx(plain.flash_ops[key].host, abs=2 * added)


BEYOND = (
    "fiu-cheetah-9998.blkparse",
    "fiu-homes-1000.blkparse",
    "linux-webserver-2.load",
    "msps-dtrs-300s.ssdsim-us.trace",
    "pcmark-56088.disksim-ms.trace",
    "systor17-lun0-999.csv",
    "tencent-cbs-50000.csv",
    "tpcc-6999.mqsim-ns.trace",
    "ycsb-rocksdb-10000.blkparse",
)


@pytest.mark.skipif(not TRACES.exists(), reason="no traces beside the repository (shared/)")
@pytest.mark.parametrize("name", some_of(BEYOND, 0, 3))
def test_real_traces_that_are_too_large_for_the_device(name):
    """Each is refused as it is, and runs whole when it is compacted, with the counts of the model."""
    trace = next(TRACES.glob(f"{name}.*"))
    reading = {"format": "blkparse"} if name.startswith("ycsb") else {}
    same = {"device": "ssd1", "scheme": "raid5", **reading}
    with pytest.raises(fr.InputError, match="ends at byte"):
        fr.run(trace, **same)
    result = fr.run(trace, **same, fit="compact", unwritten="prefill", queue_depth=8)
    model, frame = Model(), fr.read_trace(trace, **reading)
    pieces = [
        len(model.pieces(op, offset, size, device))
        for op, offset, size, device in zip(
            frame["op"], frame["offset_bytes"], frame["size_bytes"], frame["device"], strict=True
        )
    ]
    assert result.workload.compacted.to_dict() == model.counts()
    assert (result.status, result.requests.completed) == (0, sum(pieces))


def test_the_model_itself():
    model = Model()
    steps = [("W", 900 * EXTENT + 512, PAGE), ("R", 5 * EXTENT + 7, 1), ("R", 901 * EXTENT - 1, 2)]
    found = list(itertools.chain.from_iterable(model.pieces(*step) for step in steps))
    assert found == [(512, PAGE), (EXTENT + 7, 1), (EXTENT - 1, 1), (2 * EXTENT, 1)]
    assert model.pieces("W", 5 * EXTENT, 3 * EXTENT) == [(EXTENT, EXTENT), (3 * EXTENT, 2 * EXTENT)]


def test_sequential_runs_stay_sequential(tmp_path, device):
    """Extents that a run touches one after the other are neighbors: nothing is split."""
    rows = [(number, "W", (1 << 55) + number * 12288, 12288) for number in range(250)]
    result = fr.run(write_trace(tmp_path, rows), device=device, scheme="raid0", fit="compact")
    compacted = result.workload.compacted
    assert (compacted.extents, compacted.split, result.requests.completed) == (3, 0, 250)
    again = fr.run(write_trace(tmp_path, writes(10)), device=device, scheme="raid0", fit="compact")
    assert (again.workload.compacted.moved, again.workload.compacted.extents) == (0, 1)
