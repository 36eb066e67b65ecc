"""The placement of parity under hot swapping beside the reference model, to the last program and parity."""

import random

import pytest
from conftest import PAGE, PROVE

import flashraid as fr
from reference.hotswap_shares import HotswapShares

SSDS = 5
WIDTH = SSDS - 1
# So many pages that nothing is ever collected, and a host that comes again before any SSD counts as idle.
DEVICE = {"device": "array-5x", "blocks_per_plane": 96, "over_provisioning": 0.8, "gc_threshold": 0, "pe_limit": 10_000}
GAP_NS, IDLE_NS = 5_000_000, 60_000_000_000
SHARES = ["80,5,5,5,5", "50,20,15,10,5", "40,10,10,40,0", "20,20,20,20,20", "100,0,0,0,0"]
BALANCED = ["by_need", "by_need", "data_device", "parity_to_new"]
SEEDS = 40 if PROVE else 1


class Array:
    """The engine and the model, which get the same."""

    def __init__(self, shares, balanced, written_share, rng):
        ages = "0.5,0.4,0.3,0.2,0.1"
        settings = DEVICE | {"parity_shares": shares, "balanced": balanced, "idle_ns": IDLE_NS, "ages": ages}
        space_pages = fr.Simulation(scheme="hotswap", **settings).space_bytes // PAGE
        self.stripes = int(space_pages // WIDTH * written_share)
        fill_pages = rng.choice([0, self.stripes // 2, self.stripes]) * WIDTH
        self.engine = fr.Simulation(scheme="hotswap", **settings, fill_bytes=fill_pages * PAGE, verify=True)
        self.model = HotswapShares(list(range(SSDS)), [int(share) * 1000 for share in shares.split(",")], balanced)
        self.model.fill(fill_pages)
        self.rng = rng

    def submit(self, op, page, pages):
        self.engine.submit(op, page * PAGE, pages * PAGE, self.engine.now_ns + GAP_NS)
        getattr(self.model, op)(page, pages)

    def write_all(self):
        """Writes what is written, in an order of its own."""
        for stripe in self.rng.sample(range(self.stripes), self.stripes):
            self.submit("write", stripe * WIDTH, WIDTH)
        self.engine.advance_until(self.engine.now_ns + GAP_NS)

    def update(self, count):
        for _ in range(count):
            page = self.rng.randrange(self.stripes * WIDTH)
            pages = min(self.rng.choice([1, 1, 1, 2, 3, 6]), self.stripes * WIDTH - page)
            self.submit("trim" if self.rng.random() < 0.1 else "write", page, pages)
        self.engine.advance_until(self.engine.now_ns + GAP_NS)

    def replace(self, old):
        self.engine.replace_device(old)
        self.model.replace(old, old + SSDS)

    def idle(self):
        self.engine.advance_until(self.engine.now_ns + 2 * IDLE_NS)
        self.model.idle()

    def programs(self):
        """Of host, parity and migration, by SSD."""
        ssds = self.engine.result().to_dict()["devices"]
        causes = ("host", "parity", "migration")
        found = {(cause, ssd["number"]): ssd["flash_ops"]["programs"][cause] for ssd in ssds for cause in causes}
        return {key: count for key, count in found.items() if count}

    def parities(self):
        """Parities of each SSD over what is written: where an update of each stripe programs one."""
        other = self.engine.clone()
        before = [ssd.flash_ops.programs.parity for ssd in other.result().devices]
        for stripe in self.model.stripes:
            other.submit("write", stripe * WIDTH * PAGE, PAGE, other.now_ns + GAP_NS)
        other.finish()
        after = [ssd.flash_ops.programs.parity for ssd in other.result().devices]
        return [after[ssd] - before[ssd] for ssd in range(2 * SSDS)]

    def check(self):
        assert self.programs() == {key: count for key, count in self.model.programs.items() if count}
        assert self.engine.verify().mismatches == 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("written_share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("shares", SHARES)
def test_five_replacements(shares, written_share):
    for seed in range(SEEDS):
        rng = random.Random(f"{shares} {written_share} {seed}")
        array = Array(shares, rng.choice(BALANCED), written_share, rng)
        array.write_all()
        for old in range(SSDS):
            array.update(20)
            array.replace(old)
            array.update(rng.choice([0, 50, 200]))
            array.check()
            array.idle()
            array.check()
            moved = array.engine.result().replacements[old]
            assert moved.outcome == "replaced"
            assert {key: getattr(moved, key) for key in vars(array.model.moved)} == vars(array.model.moved)
            assert array.parities() == [array.model.parities[ssd] for ssd in range(2 * SSDS)]
        assert array.engine.result().flash_ops.erases.total == 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("written_share", [0.1, 0.5, 0.9])
def test_shares_are_the_limits(written_share):
    """After each of five replacements of an array that is partly written.

    An SSD that is below its limit by a part of a parity may get one more, and the eldest has so many fewer.
    """
    array = Array("80,5,5,5,5", "by_need", written_share, random.Random(7))
    array.write_all()
    for old in range(SSDS):
        array.replace(old)
        array.update(100)
        array.idle()
        shares = [parities / array.stripes for parities in array.parities()[old + 1 : old + 1 + SSDS]]
        assert shares == pytest.approx([0.8, 0.05, 0.05, 0.05, 0.05], abs=WIDTH / array.stripes)
    assert array.parities() == [array.model.parities[ssd] for ssd in range(2 * SSDS)]
