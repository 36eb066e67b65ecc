"""Victims of the parity cache under load, when updates are under way, beside the reference model and the log."""

import copy
import heapq
import random
from collections import defaultdict, deque

import pytest
from conftest import PROVE, some_of, write_device, write_trace

import flashraid as fr
from reference.parity_counts import ParityCounts

PAGE, WIDTH, STRIPES = 2048, 4, 96
DEVICE = {"channels": WIDTH + 1, "member": '"chip"', "page_bytes": PAGE, "pages_per_block": 64, "blocks_per_plane": 64}
REPEATS = 5 if PROVE else 1
CACHES = [
    ("fpc", 8, 0, "none", "no"),
    ("fpc", 8, 0, "none", "yes"),
    ("ppc", 8, 0, "none", "no"),
    ("ppc", 8, 0, "none", "yes"),
    ("ppc", 2, 0, "none", "no"),
    ("ppc", 2, 0, "none", "yes"),
    ("ca-ppc", 1, 0, "none", "no"),
    ("ca-ppc", 8, 0, "none", "no"),
    ("ca-ppc", 8, 0, "none", "yes"),
    ("ca-ppc", 8, 0, "half", "no"),
    ("ca-ppc", 8, 300, "none", "no"),
    ("ca-ppc", 8, 300, "half", "yes"),
    ("ca-ppc", 8, 1000, "half", "no"),
]


def updates(rng, count, mean_gap_us):
    """Rows of a trace: writes of one to four pages of one stripe, more of some stripes than of others."""
    rows, now = [], 0.0
    for _ in range(count):
        now += round(rng.expovariate(1 / mean_gap_us), 3)
        first = rng.randrange(WIDTH)
        pages = rng.randrange(1, WIDTH - first + 1)
        stripe = rng.randrange(rng.choice([6, 12, STRIPES]))
        rows.append((f"{now:.3f}", "W", (stripe * WIDTH + first) * PAGE, pages * PAGE))
    return rows


def commits(operations):
    """The commits of a log: of each, by when it was submitted and its stripe, how many reads it has and when it ended.

    Of ends at one time the log has the order: they are pairs of a time and the number of the row.
    """
    found, waves = {}, defaultdict(list)
    by_submission = sorted(
        enumerate(operations), key=lambda row: (row[1]["submitted_ns"], row[1]["action"] == "program")
    )
    for number, row in by_submission:
        if row["cause"] == "commit":
            waves[row["page"]].append(row["submitted_ns"])
            if row["action"] == "program":
                submitted = waves.pop(row["page"])
                found[submitted[0], row["page"]] = (len(submitted) - 1, (row["end_ns"], number))
    assert not waves
    return found


class Replay:
    """Updates of a stripe are under way one after the other, each from when it claims a place in the cache to its end.

    It ends no earlier than the commit of the stripe whose place it gets, and may start no earlier than that ends.
    """

    def __init__(self, model, begins, ends, commits, commit_first):
        self.model, self.begins, self.ends, self.commits = model, begins, ends, commits
        self.commit_first = commit_first
        # Ends: when, the stripe of an update, that of a commit, or both if the update waited for its end.
        self.events = []
        self.held, self.begun, self.committing = set(), set(), set()  # stripes
        self.queues = defaultdict(deque)  # who waits for a stripe
        self.waiting = deque()  # has its stripe, and waits for a place
        self.waited = self.passed_over = self.overlapping = 0

    def arrives(self, now, update):
        self.until(now)
        self.queues[update[1]].append(update)
        self.goes_on(now, update[1])

    def goes_on(self, now, stripe):
        """The next one gets the stripe if nobody has it."""
        if self.queues[stripe] and stripe not in self.held | self.committing:
            self.held.add(stripe)
            self.claims(now, self.queues[stripe].popleft())
            self.ask(now)  # what is spared moves on

    def until(self, now):
        while self.events and self.events[0][0] < (now, 0):
            (ended, _), updated, committed = heapq.heappop(self.events)
            if committed is not None:
                self.committing.remove(committed)
            if updated is not None:
                self.model.ended(updated)
                self.begun.remove(updated)
                self.held.remove(updated)
            self.ask(ended)
            for stripe in (committed, updated):
                if stripe is not None:
                    self.goes_on(ended, stripe)

    def ask(self, now):
        """Those who wait come first."""
        while self.waiting and self.model.has_place():
            self.starts(now, self.waiting.popleft())

    def claims(self, now, update):
        if self.model.has_entry(update[1]) or (not self.waiting and self.model.has_place()):
            self.starts(now, update)
        else:
            self.waiting.append(update)
            self.waited += 1

    def starts(self, now, update):
        request, stripe, strips = update
        idle = copy.deepcopy(self.model) if request < 300 else None
        reads = self.model.counts.commit_reads
        victim = self.model.update(stripe, strips)
        end = self.ends[request]
        if victim is not None:
            if idle is not None:
                for locked in self.begun:
                    idle.ended(locked)
                self.passed_over += idle.update(stripe, strips) != victim
            found, committed = self.commits.pop((now, victim))
            assert found == self.model.counts.commit_reads - reads
            assert self.begins[request] >= (committed[0] if self.commit_first else now)
            self.overlapping += self.begins[request] < committed[0]
            self.committing.add(victim)
            heapq.heappush(self.events, (committed, stripe if end < committed else None, victim))
        if victim is None or committed < end:
            heapq.heappush(self.events, (end, stripe, None))
        self.begun.add(stripe)


@pytest.mark.parametrize(("scheme", "entries", "alpha", "spares_recent", "commit_first"), some_of(CACHES, 0, 3))
@pytest.mark.parametrize("repeat", range(REPEATS))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_victims_under_load(tmp_path, scheme, entries, alpha, spares_recent, commit_first, repeat):
    """Fed with the ends of updates and commits the model names each victim, and when its commit begins."""
    rng = random.Random(f"{scheme} {entries} {alpha} {spares_recent} {repeat}")
    trace = write_trace(tmp_path, updates(rng, 1500, rng.choice([150, 250])))
    names = {"latency_log": tmp_path / "requests.parquet", "operation_log": tmp_path / "operations.parquet"}
    parameters = {"parity_cache_bytes": entries * PAGE, "commit_first": commit_first}
    if scheme == "ca-ppc":
        parameters |= {"alpha": alpha / 1000, "spares_recent": spares_recent}
    result = fr.run(
        trace,
        device=write_device(tmp_path, **DEVICE),
        scheme=scheme,
        space_bytes=STRIPES * WIDTH * PAGE,
        fill=1,
        **parameters,
        **names,
    )
    operations = result.frame("operation_log").rows(named=True)
    assert result.flash_ops.erases.total == 0
    # Rows are in the order of their ends.
    ends = {row["request"]: (row["end_ns"], number) for number, row in enumerate(operations) if row["kind"] == "write"}
    begins = {}
    for row in operations:
        if row["kind"] == "write":
            begins[row["request"]] = min(row["submitted_ns"], begins.get(row["request"], row["submitted_ns"]))

    model = ParityCounts(scheme, WIDTH, PAGE, 0, entries, alpha, spares_recent)
    model.fill(STRIPES * WIDTH)
    replay = Replay(model, begins, ends, commits(operations), commit_first == "yes")
    for row in sorted(result.frame("latency_log").rows(named=True), key=lambda row: row["request"]):
        stripe, strip = divmod(row["offset_bytes"] // PAGE, WIDTH)
        strips = set(range(strip, strip + row["size_bytes"] // PAGE))
        replay.arrives(row["arrival_ns"], (row["request"], stripe, strips))
    replay.until(10**18)
    assert not replay.commits
    assert not replay.waiting
    assert (model.counts.hits, model.counts.misses) == (result.guard.hits, result.guard.misses)
    assert (replay.overlapping == 0) == (commit_first == "yes")
    # The rule matters here: other stripes would leave if nothing were locked, or a small cache is locked as a whole.
    assert (replay.waited if entries <= 2 else replay.passed_over) > 0
