"""Counts of schemes that no timing can change, beside the reference models, with collection and without."""

import gzip
import random
from itertools import product

import pytest
from conftest import PAGE, PROVE, SAMPLE, some_of, write_device

import flashraid as fr
from reference.cr5m_counts import Cr5mCounts
from reference.mirror_counts import MirrorCounts
from reference.raid_counts import Counts, RaidCounts, Request

WIDTHS = range(2, 10)
RULES = ["fewest", "rmw", "rcw"]
PARTIAL_WRITES = ["read", "read_if_needed", "read_if_used"]
LISTS = 1000 if PROVE else 6  # request lists for each width, shared among schemes and rules
OPS = ["write"] * 12 + ["read"] * 3 + ["trim"] * 3 + ["write_zeroes"] * 2
SECTOR = 512

# 512 pages a member, 15 % of them spare: overwrites are collected all the time. And so many pages that none ever is.
SMALL = {"blocks_per_plane": 32, "pages_per_block": 16, "over_provisioning": 0.15}
LARGE = {"blocks_per_plane": 128, "pages_per_block": 64, "over_provisioning": 0.15, "gc_threshold": 0}


def counted(result):
    """What the reference model counts too."""
    reads, programs, updates = result.flash_ops.reads, result.flash_ops.programs, result.parity_updates
    return {
        "host_programs": programs.host,
        "parity_programs": programs.parity,
        "pre_reads": reads.pre_read,
        "update_reads": reads.update_read,
        "full_stripe": updates.full_stripe,
        "rmw": updates.rmw,
        "rcw": updates.rcw,
    }


def expected(counts: Counts):
    return {key: value for key, value in vars(counts).items() if key not in ("host_reads", "unmapped_reads")}


def simulate(device, scheme, space_bytes, fill_bytes, requests, gap_ns, **parameters):
    sim = fr.Simulation(
        device=device, scheme=scheme, space_bytes=space_bytes, fill_bytes=fill_bytes, verify=True, **parameters
    )
    columns = zip(*requests, strict=True)
    sim.submit_many(*columns, [i * gap_ns for i in range(len(requests))])
    sim.finish()
    result = sim.result()
    assert result.requests.completed == len(requests)
    assert (sim.verify().mismatches, sim.verify().pages_lost) == (0, 0)
    return result


def random_requests(rng, space_bytes, count):
    """Requests of up to three stripes or so, one in three not at page borders, one in three over a few hot stripes."""
    requests = []
    for _ in range(count):
        unit = rng.choice([PAGE, PAGE, SECTOR])
        space = space_bytes if rng.random() < 0.67 else min(space_bytes, 40 * PAGE)
        size = (
            rng.randrange(1, rng.choice([2, 4, 28]) * PAGE // unit) * unit
            if unit < PAGE
            else rng.randrange(1, 28) * unit
        )
        size = min(size, space)
        offset = rng.randrange(0, (space - size) // unit + 1) * unit
        requests.append(Request(rng.choice(OPS), offset, size))
    return requests


# raid6 has no parameter for the rule.
RULES_OF = [(scheme, rule) for scheme in ["raid4", "raid5"] for rule in RULES] + [("raid6", "fewest")]


@pytest.mark.parametrize(("scheme", "rule"), RULES_OF)
@pytest.mark.parametrize("width", WIDTHS)
def test_random_requests(tmp_path, width, scheme, rule):
    parities = 2 if scheme == "raid6" else 1
    small = write_device(tmp_path, channels=width + parities, **SMALL)
    large = write_device(tmp_path, channels=width + parities, **LARGE)
    space_bytes = fr.Simulation(device=small, scheme=scheme).space_bytes
    collected = 0
    for number in range(-(-LISTS // (2 * len(RULES)))):
        rng = random.Random(f"{width} {scheme} {rule} {number}")
        requests = random_requests(rng, space_bytes, 300)
        fill_pages = rng.choice([0, 1, 1] if number else [1]) * space_bytes // PAGE
        partial_writes = PARTIAL_WRITES[(width + number) % 3]
        model = RaidCounts(width, PAGE, rule, partial_writes, parities)
        model.fill(fill_pages)
        model.run(requests)
        gap_ns = rng.choice([1_000, 400_000, 3_000_000])
        arguments = (scheme, space_bytes, fill_pages * PAGE, requests, gap_ns)
        options = {"partial_writes": partial_writes} | ({"update": rule} if parities == 1 else {})
        with_collection, without = (simulate(device, *arguments, **options) for device in (small, large))
        collected += with_collection.flash_ops.erases.gc
        assert without.flash_ops.erases.total == 0
        assert counted(without) == expected(model.counts), number
        assert counted(with_collection) == expected(model.counts), number
    assert collected > 0


MIRRORS = [
    ("raid0", 1, {}),
    ("raid1", 2, {}),
    ("raid10", 2, {}),
    ("sirf1", 1, {"groups": 1}),
    ("sirf1", 2, {}),
    ("sirf1", 2, {"read": "least_busy", "completes": "first_copy"}),
    ("sirf1", 3, {"groups": 3, "completes": "first_copy"}),
]


@pytest.mark.parametrize("partial_writes", PARTIAL_WRITES)
@pytest.mark.parametrize(("scheme", "groups", "parameters"), MIRRORS)
def test_random_requests_to_copies(tmp_path, scheme, groups, parameters, partial_writes):
    small, large = (write_device(tmp_path, channels=2 * groups, **shape) for shape in (SMALL, LARGE))
    space_bytes = fr.Simulation(device=small, scheme=scheme, **parameters).space_bytes
    collected = 0
    for number in range(-(-LISTS // 20)):
        rng = random.Random(f"{scheme} {groups} {number}")
        requests = random_requests(rng, space_bytes, 300)
        fill_pages = rng.choice([0, 1, 1]) * space_bytes // PAGE
        model = MirrorCounts(groups, PAGE, partial_writes)
        model.fill(fill_pages)
        counts = model.run(requests)
        gap_ns = rng.choice([1_000, 400_000, 3_000_000])
        options = {**parameters, "partial_writes": partial_writes}
        for device in (small, large):
            result = simulate(device, scheme, space_bytes, fill_pages * PAGE, requests, gap_ns, **options)
            reads, programs = result.flash_ops.reads, result.flash_ops.programs
            found = (programs.host, programs.mirror, reads.update_read, reads.pre_read, programs.parity)
            assert found == (counts.host_programs, counts.mirror_programs, counts.update_reads, 0, 0), number
            collected += result.flash_ops.erases.gc
    assert collected > 0


@pytest.mark.parametrize("groups", [1, 2, 3, 4])
def test_reads_go_round_the_groups(tmp_path, groups):
    """With every page written nothing but the order of the requests decides which group is read."""
    device = write_device(tmp_path, channels=2 * groups, **LARGE)
    rng = random.Random(groups)
    space_bytes = fr.Simulation(device=device, scheme="sirf1", groups=groups).space_bytes
    requests = [request._replace(op="read") for request in random_requests(rng, space_bytes, 301)]
    model = MirrorCounts(groups, PAGE)
    model.fill(space_bytes // PAGE)
    counts = model.run(requests)
    result = simulate(device, "sirf1", space_bytes, space_bytes, requests, 10_000, groups=groups)
    members = result.to_dict()["members"]
    assert [
        members[2 * group]["reads"] + members[2 * group + 1]["reads"] for group in range(groups)
    ] == counts.group_reads
    assert max(counts.group_reads) - min(counts.group_reads) <= 1


# Without mirrored writes there is nothing to consolidate.
LIMITS = [("0", "last_strip"), *product(("0.7", "1.1", "1000"), ("last_strip", "never"))]


@pytest.mark.parametrize(("limit", "consolidate"), LIMITS)
@pytest.mark.parametrize("width", some_of(WIDTHS, 1, 3))
def test_random_requests_to_idle_mirror_chips(tmp_path, width, limit, consolidate):
    """One part of a request at a time, and nothing to collect: every mirror chip is idle whenever it is asked for."""
    device = write_device(tmp_path, channels=width + 1, **{**LARGE, "blocks_per_plane": 256, "chips_per_channel": 3})
    at = width + LIMITS.index((limit, consolidate))  # so that every limit and every width comes with every rule
    for number, rule in enumerate(RULES) if PROVE else [(at // 3, RULES[at % 3])]:
        rng = random.Random(f"{width} {limit} {consolidate} {rule}")
        partial_writes = PARTIAL_WRITES[(width + number) % 3]
        options = {"mw_limit": limit, "consolidate": consolidate, "update": rule, "partial_writes": partial_writes}
        space_bytes = fr.Simulation(device=device, scheme="cr5m", **options).space_bytes
        requests = random_requests(rng, min(space_bytes, 400 * width * PAGE), 300)
        fill_pages = (width + number) % 2 * (space_bytes // PAGE)
        model = Cr5mCounts(width, 2, round(float(limit) * 1000), PAGE, rule, consolidate, partial_writes)
        model.fill(fill_pages)
        counts = model.run(requests)
        arguments = (space_bytes, fill_pages * PAGE, requests, 100_000_000)
        result = simulate(device, "cr5m", *arguments, serial_subrequests="strict", **options)
        found = counted(result) | {
            "mirrored": result.parity_updates.mirrored,
            "mirror_programs": result.flash_ops.programs.mirror,
        }
        assert found == expected(counts)
        assert (counts.mirrored > 0) == (limit != "0")
        assert result.parity_updates.committed == 0


def sample(limit):
    """The first requests of the bundled trace, as the reference model takes them."""
    ops = {"R": "read", "W": "write", "D": "trim", "Z": "write_zeroes"}
    requests = []
    with gzip.open(SAMPLE, "rt") as lines:
        next(lines)
        for _, line in zip(range(limit), lines, strict=False):
            _, op, offset, size, *_ = line.split(",")
            if op in ops:
                requests.append(Request(ops[op], int(offset), int(size)))
    return requests


@pytest.mark.parametrize(
    ("width", "rule"),
    product(WIDTHS, RULES) if PROVE else [(width, RULES[at]) for at, width in enumerate(WIDTHS[:3])],
)
def test_bundled_trace(tmp_path, width, rule):
    """The trace discards thrice, 150 MB in all, in requests 26,000 to 44,000; one width and rule come that far."""
    limit = 100_000 if PROVE else 45_000 if (width, rule) == (WIDTHS[0], RULES[0]) else 5_000
    pages = 2_400_000_000 // PAGE // width  # for each member; the trace ends below 2.4 GB
    blocks = round(pages / 64 / 0.93)
    changes = {"channels": width + 1, "pages_per_block": 64, "chips_per_channel": 1}
    small = write_device(tmp_path, **changes, blocks_per_plane=blocks, over_provisioning=0.06, gc_threshold=0.05)
    large = write_device(tmp_path, **changes, blocks_per_plane=3 * blocks, over_provisioning=0.06, gc_threshold=0)
    model = RaidCounts(width, PAGE, rule)
    space_bytes = fr.Simulation(device=small, scheme="raid5").space_bytes
    model.fill(space_bytes // PAGE)
    model.run(sample(limit))
    for scheme, device in [("raid4", small), ("raid5", small), ("raid5", large)]:
        result = fr.run(
            SAMPLE, device=device, scheme=scheme, update=rule, limit=limit,
            space_bytes=space_bytes, fill_bytes=space_bytes, speed=0.2,
        )  # fmt: skip
        assert (result.flash_ops.erases.gc > 0) == (device == small)
        assert counted(result) == expected(model.counts)
