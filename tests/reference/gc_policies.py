"""Write amplification of GC policies under random single-page overwrites: a fixed point for d-choices, plain models.

FIFO and greedy have closed forms in `greedy_wa`. The models here say no more than the rules: which block is the next
victim is found by looking at all of them, as the engine never does.

Sources:
- B. Van Houdt, "A mean field model for a class of garbage collection algorithms in flash-based solid state drives",
  SIGMETRICS 2013 (d-choices).
- X.-Y. Hu et al., "Write amplification analysis in flash-based solid state drives", SYSTOR 2009 (windowed greedy).
- M. Rosenblum, J. K. Ousterhout, "The design and implementation of a log-structured file system", ACM Transactions on
  Computer Systems 10(1), 1992 (cost-benefit).

Utilisation u = valid pages / pages of all blocks that take part, as in `greedy_wa`.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np


def d_choices(utilisation: float, pages_per_block: int, draws: int, draws_full: bool = False) -> float:
    """Programs per host write if a victim is the block with the fewest valid pages of `draws` that are drawn.

    Let f_j be the share of the blocks with j valid pages, and one unit of time one collection for each block. A
    collection moves V = E[valid pages of the victim] pages and leaves space for h = N - V, which the host writes; one
    block becomes full. A host write hits a block at level j with probability j / (u N B), so that blocks leave level j
    at the rate f_j h j / (u N), and as victims at the rate q_j: the probability that the fewest of the draws is j. With
    F_j the share of the drawn blocks at level j or above, q_j = F_j^d - F_{j + 1}^d. Blocks that are full of valid
    pages are not drawn, as they yield nothing; with `draws_full` they are, as in the paper.

    The shares follow these rates until they change no more.
    """
    pages = pages_per_block
    level = np.arange(pages + 1)
    share = np.zeros(pages + 1)
    share[pages], share[0] = utilisation, 1 - utilisation
    moved = 0.0
    for _ in range(100_000):
        drawn = share if draws_full else np.append(share[:-1], 0.0)
        above = np.append(np.cumsum(drawn[::-1])[::-1], 0.0) / drawn.sum()
        victims = above[:-1] ** draws - above[1:] ** draws
        former, moved = moved, float(victims @ level)
        decay = share * (pages - moved) * level / (utilisation * pages)
        change = np.append(decay[1:], 1.0) - decay - victims
        # Far enough below the time in which a level empties.
        share += 0.25 / ((pages - moved) / utilisation + draws / drawn.sum()) * change
        if np.abs(change).max() < 1e-10 and abs(moved - former) < 1e-12:
            return pages / (pages - moved)
    raise ArithmeticError(f"no fixed point of {draws} draws at utilisation {utilisation}")


@dataclass
class Blocks:
    """What a rule may look at: by block."""

    pages: int
    valid: np.ndarray
    closed: np.ndarray  # whether it is full, and no victim yet
    order: np.ndarray  # how many had been closed before it
    closed_at: np.ndarray  # host writes before it was closed
    writes: int = 0
    count: int = 0
    draws: random.Random = field(default_factory=lambda: random.Random(1))

    def candidates(self) -> np.ndarray:
        """Closed blocks with garbage."""
        return np.flatnonzero(self.closed & (self.valid < self.pages))

    def send_to_end(self, block: int) -> None:
        """The block counts as closed now."""
        self.order[block] = self.count
        self.count += 1


Rule = Callable[[Blocks], int]


def windowed(window: int) -> Rule:
    """The fewest valid pages among the oldest blocks; full ones go to the end, as if they had been copied."""

    def choose(blocks: Blocks) -> int:
        while True:
            closed = np.flatnonzero(blocks.closed)
            oldest = closed[np.argsort(blocks.order[closed])][:window]
            for block in oldest[blocks.valid[oldest] == blocks.pages]:
                blocks.send_to_end(int(block))
            oldest = oldest[blocks.valid[oldest] < blocks.pages]
            if len(oldest):
                return int(oldest[blocks.valid[oldest].argmin()])

    return choose


def drawn(draws: int) -> Rule:
    """The fewest valid pages among some that are drawn."""

    def choose(blocks: Blocks) -> int:
        candidates = blocks.candidates()
        chosen = [int(candidates[blocks.draws.randrange(len(candidates))]) for _ in range(draws)]
        return min(chosen, key=lambda block: (blocks.valid[block], blocks.order[block]))

    return choose


def cost_benefit(blocks: Blocks) -> int:
    """The largest (1 - v) / v x age."""
    candidates = blocks.candidates()
    valid = blocks.valid[candidates]
    age = blocks.writes - blocks.closed_at[candidates]
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.where(valid == 0, np.inf, (blocks.pages - valid) / valid * age)
    best = candidates[score == score.max()]
    return int(best[blocks.order[best].argmin()])


def simulate(
    rule: Rule,
    utilisation: float,
    blocks: int,
    pages_per_block: int,
    rounds: int = 3,
    hot: tuple[float, float] = (1, 1),
) -> float:
    """Programs per host write of one plane, measured over `rounds` overwrites of the logical space after as many that
    are not counted.

    Host writes and moves have an open block each; one block is in reserve for moves, so that `blocks` - 3 take part.
    The share `hot[0]` of the pages gets the share `hot[1]` of the writes.
    """
    pages = int(utilisation * (blocks - 3) * pages_per_block)
    location = np.full(pages, -1)
    content = np.full(blocks * pages_per_block, -1)
    state = Blocks(
        pages_per_block,
        np.zeros(blocks, dtype=np.int64),
        np.zeros(blocks, dtype=bool),
        np.zeros(blocks, dtype=np.int64),
        np.zeros(blocks, dtype=np.int64),
    )
    free = list(range(blocks - 1, -1, -1))
    open_block = [-1, -1]  # of the host, of moves
    used = [pages_per_block, pages_per_block]
    rng = random.Random(2)

    def program(stream: int, page: int) -> None:
        if used[stream] == pages_per_block:
            open_block[stream], used[stream] = free.pop(), 0
        block = open_block[stream]
        place = block * pages_per_block + used[stream]
        used[stream] += 1
        location[page], content[place] = place, page
        state.valid[block] += 1
        if used[stream] == pages_per_block:
            state.closed[block] = True
            state.closed_at[block] = state.writes
            state.send_to_end(block)

    def collect() -> int:
        victim = rule(state)
        state.closed[victim] = False
        moved = 0
        for place in range(victim * pages_per_block, (victim + 1) * pages_per_block):
            page = content[place]
            if page >= 0 and location[page] == place:
                program(1, page)
                moved += 1
            content[place] = -1
        state.valid[victim] = 0
        free.append(victim)
        return moved

    moved = 0
    hot_pages = max(1, int(hot[0] * pages))
    for write in range((1 + 2 * rounds) * pages):
        if write == (1 + rounds) * pages:
            moved = 0
        if write < pages:
            page = write
        elif rng.random() < hot[1]:
            page = int(rng.random() * hot_pages)
        else:
            page = hot_pages + int(rng.random() * (pages - hot_pages))
        if location[page] >= 0:
            state.valid[location[page] // pages_per_block] -= 1
            location[page] = -1
        while used[0] == pages_per_block and len(free) < 2:
            moved += collect()
        state.writes += 1
        program(0, page)
    return 1 + moved / (rounds * pages)
