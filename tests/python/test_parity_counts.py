"""Counts of deferred parities and of the NVRAM write buffer, beside the reference model, without collection."""

import random
from pathlib import Path

import pytest
from conftest import PROVE, ROOT, write_device

import flashraid as fr
from reference.parity_counts import Counts, ParityCounts, Request

PAGE = 2048
SHARED = ROOT.parent / "shared"
SCHEMES = ["no-pc", "fpc", "ppc", "ca-ppc"]
LISTS = 40 if PROVE else 2  # request lists for each scheme and width
OPS = ["write"] * 12 + ["read"] * 3 + ["trim"] * 3 + ["write_zeroes"] * 2 + ["flush"]

# So many pages that nothing is ever collected.
LARGE = {"member": '"chip"', "page_bytes": PAGE, "pages_per_block": 64, "gc_threshold": 0}


def counted(result) -> Counts:
    """What the reference model counts too."""
    reads, programs = result.flash_ops.reads, result.flash_ops.programs
    counts = Counts(
        host_programs=programs.host,
        pre_reads=reads.pre_read,
        update_reads=reads.update_read,
        parity_programs=programs.parity,
        commits=programs.commit,
        commit_reads=reads.commit,
    )
    if "buffer" in result.to_dict():
        for key in ("read_hits", "read_misses", "write_hits", "write_misses", "evictions", "pages_written_out"):
            setattr(counts, key, getattr(result.buffer, key))
    if result.config.scheme.name != "no-pc":
        guard = result.guard
        counts.hits, counts.misses = guard.hits, guard.misses
        assert (guard.commits_replacement, guard.commit_reads_replacement) == (counts.commits, counts.commit_reads)
        assert guard.entries <= guard.most_entries
    assert result.flash_ops.erases.total == 0
    return counts


def parameters(
    scheme,
    evicts_locked,
    entries=16,
    alpha=0,
    spares_recent="none",
    ppc_update="paper",
    update="fewest",
    cached_parity_free=False,
):
    """The scheme's parameters of these, as the model and as flashraid take them."""
    ours, theirs = {}, {}
    if scheme != "no-pc":
        ours["entries"], theirs["parity_cache_bytes"] = entries, entries * PAGE
        theirs["evicts_locked"] = "yes" if evicts_locked else "no"
    if scheme in ("no-pc", "fpc"):
        ours["update"] = theirs["update"] = update
    if scheme == "fpc":
        ours["cached_parity_free"] = cached_parity_free
        if update != "rcw":  # which never reads an old parity
            theirs["fpc_cached_parity_free"] = "yes" if cached_parity_free else "no"
    if scheme in ("ppc", "ca-ppc"):
        ours["ppc_update"] = theirs["ppc_update"] = ppc_update
    if scheme == "ca-ppc":
        ours["alpha"], theirs["alpha"] = alpha, f"{alpha / 1000}"
        ours["spares_recent"] = theirs["spares_recent"] = spares_recent
    return ours, theirs


def buffer_of(pages):
    """The write buffer of the papers, from which nothing leaves that need not."""
    return {"nvram_buffer_bytes": pages * PAGE, "destage": '"when_full"'}


def random_requests(rng, space_bytes, count, one_update_of=0):
    """Requests of up to three stripes or so, one in three not at page borders, most of them over a few hot stripes.

    With `one_update_of` data strips none makes several updates: each lies in one page, a trim in one stripe.
    """
    requests = []
    for _ in range(count):
        op, unit = rng.choice(OPS), rng.choice([PAGE, PAGE, 512])
        reach = min(space_bytes, rng.choice([20, 80, 80, 10**9]) * PAGE)
        within = one_update_of if op == "trim" else min(one_update_of, 1)  # pages; 0 for any
        most = within + 1 if within else rng.choice([2, 4, 24])
        size = min(rng.randrange(1, most) * PAGE, reach) - rng.randrange(0, PAGE, unit)
        offset = rng.randrange(0, (reach - size) // unit + 1) * unit
        if within:
            offset = min(offset, (offset // (within * PAGE) + 1) * within * PAGE - size)
        requests.append(Request(op, 0, 0) if op == "flush" else Request(op, offset, size))
    return requests


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", range(2, 9))
def test_random_requests(tmp_path, width, scheme):
    device = {"channels": width + 1, "blocks_per_plane": 256, **LARGE}
    found_commits = 0
    for number in range(LISTS):
        rng = random.Random(f"{width} {scheme} {number}")
        buffered, victim = rng.choice([0, 1, 7, 16]), rng.choice(["oldest_write", "largest_group"])
        evicts_locked = rng.choice([False, True])
        ours, theirs = parameters(
            scheme,
            evicts_locked,
            rng.choice([1, 2, 5, 16]),
            rng.choice([0, 300, 999, 1000]),
            rng.choice(["half", "none"]),
            rng.choice(["paper", "min"]),
            rng.choice(["fewest", "fewest", "rmw", "rcw"]),
            rng.choice([False, True]),
        )
        if scheme in ("ppc", "ca-ppc"):  # which changes no count
            theirs["early_release"] = rng.choice(["no", "yes"])
        path = write_device(tmp_path, **device, **buffer_of(buffered), nvram_victim=f'"{victim}"')
        space_bytes = 400 * width * PAGE
        fill_pages = rng.choice([0, 200, 400]) * width
        # What is locked is a matter of times, unless requests come one by one, and none makes several updates.
        requests = random_requests(rng, space_bytes, 600, one_update_of=0 if evicts_locked else width)
        gap_ns = rng.choice([0, 20_000, 3_000_000]) if evicts_locked else 1_000_000_000
        ours["partial_writes"] = theirs["partial_writes"] = rng.choice(["read", "read_if_needed", "read_if_used"])
        sim = fr.Simulation(
            device=path, scheme=scheme, space_bytes=space_bytes, fill_bytes=fill_pages * PAGE, verify=True, **theirs
        )
        sim.submit_many(*zip(*requests, strict=True), [i * gap_ns for i in range(len(requests))])
        sim.finish()
        assert (sim.verify().mismatches, sim.verify().pages_lost) == (0, 0)
        model = ParityCounts(scheme, width, PAGE, buffered, victim=victim, **ours)
        model.fill(fill_pages)
        expected = model.run(requests)
        assert counted(sim.result()) == expected, (number, buffered, victim, ours, fill_pages)
        found_commits += expected.commits
    assert (found_commits > 0) == (scheme != "no-pc")


def trace_requests(trace, limit):
    """The first requests of a trace, as the reference model takes them, and where they end."""
    rows = fr.read_trace(trace, limit=limit).select("op", "offset_bytes", "size_bytes")
    requests = [Request(*row) for row in rows.iter_rows()]
    return requests, max(request.offset_bytes + request.size_bytes for request in requests)


SAMPLES: list[str | Path] = sorted((ROOT / "samples").glob("*.csv.gz"))
SAMPLES += [f"profile:ppc-{name}" for name in ("osdb", "financial", "iozone", "postmark")]
if PROVE:  # they reach far, so that what is laid out for them is large
    SAMPLES += [SHARED / "traces" / f"{name}.disksim-ms.trace.xz" for name in ("iozone-100000", "postmark-62257")]
    SAMPLES += [SHARED / "traces-captured" / "pgbench.csv.gz"]


@pytest.mark.parametrize("trace", SAMPLES, ids=lambda trace: str(trace).removeprefix(f"{ROOT.parent}/"))
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_traces(tmp_path, trace, scheme):
    """To the unit, at any speed, from the first page on, under a cache that evicts locked stripes."""
    if isinstance(trace, Path) and not trace.exists():
        pytest.skip("it lies beside the repository")
    requests, end = trace_requests(trace, 2_500 if PROVE else 800)
    for width, buffered, *chosen in [(4, 16), (4, 64, 32, 300, "half", "min", "rmw", True), (7, 16)]:
        ours, theirs = parameters(scheme, True, *chosen)
        space_bytes = -(-end // (width * PAGE)) * width * PAGE
        blocks = max(64, -(-3 * space_bytes // 2 // (width * PAGE * 256)))
        changes = {"channels": width + 1, "pages_per_block": 256, "blocks_per_plane": blocks}
        path = write_device(tmp_path, **{**LARGE, **changes, **buffer_of(buffered)})
        result = fr.run(
            trace, device=path, scheme=scheme, limit=len(requests), space_bytes=space_bytes, engine=False, **theirs
        )
        expected = ParityCounts(scheme, width, PAGE, buffered, **ours).run(requests)
        assert counted(result) == expected
        mean = expected.pages_written_out / expected.evictions
        assert result.buffer.mean_victim_pages == pytest.approx(mean, rel=1e-12)
