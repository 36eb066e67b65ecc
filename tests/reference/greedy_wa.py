"""Write amplification of greedy garbage collection under uniform random single-page overwrites.

`mean_field` solves the finite-block analysis of the greedy rule; `simulate` is a direct Monte Carlo run of it.

Sources:
- P. Desnoyers, "Analytic models of SSD write performance", ACM Transactions on Storage 10(2), 2014 (greedy with
  finite blocks, and FIFO).
- B. Van Houdt, "A mean field model for a class of garbage collection algorithms in flash-based solid state drives",
  SIGMETRICS 2013 (d-choices; greedy is its limit for d -> infinity).
- W. Bux and I. Iliadis, "Performance of greedy garbage collection in flash-based solid-state drives", Performance
  Evaluation 67(11), 2010 (greedy; equals FIFO only for infinite blocks).

Utilisation u = valid pages / pages of all blocks that take part. Blocks open for writing or held in reserve take no
part (a mean-field drive has infinitely many blocks, of which a finite number are open).
"""

import math
import random
from array import array

import numpy as np


def mean_field(utilisation: float, pages_per_block: int) -> float:
    """Programs per host write, for infinitely many blocks.

    Let one unit of time be one collection. It reclaims h = Np - E[valid pages of the victim] pages, which are all that
    the host writes before the next one, and one block becomes full with Np valid pages. A host write hits a given block
    with j valid pages with probability j / (u Np B), where B is the number of blocks. So with f_j the share of the
    blocks at level j, blocks leave level j by overwrites at the rate f_j B h j / (u Np B) = f_j j h / (u Np).

    Every block passes through the levels above the victims', one per unit of time: there f_j = u Np / (j h). Let k be
    the lowest level that holds a share of the blocks, and q in [0, 1] the rate of leaving it by an overwrite: those
    blocks become victims at once, with k - 1 valid pages, and the other victims have k. Then h = Np - k + q and
    f_k = q u Np / (k h), and since the shares sum up to 1:

        u Np (sum_{j = k + 1}^{Np} 1/j + q/k) = Np - k + q

    That the valid pages sum up to u Np per block follows. If no k has a solution victims are empty: amplification 1.
    """
    if not 0 < utilisation < 1:
        raise ValueError(f"utilisation {utilisation} is not between 0 and 1")
    decay = 0.0  # sum of 1/j over the levels above k
    for k in range(pages_per_block, 0, -1):
        gap = pages_per_block - k - utilisation * pages_per_block * decay  # right minus left side, q = 0
        closing = utilisation * pages_per_block / k - 1  # by how much less at q = 1
        if closing >= gap:
            return pages_per_block / (pages_per_block - k + gap / closing)
        decay += 1 / k
    return 1.0


def fifo(utilisation: float) -> float:
    """The same for FIFO (LRU) collection, and for greedy with infinite blocks: 1/A = 1 - exp(-1/(u A)).

    A page survives the 1/A overwrites per page of space between two collections of its block with probability
    exp(-1/(u A)) (Desnoyers 2014, section 4). Solved by iteration on the surviving share.
    """
    survivors = 0.0
    for _ in range(100_000):
        former, survivors = survivors, math.exp(-(1 - survivors) / utilisation)
        if survivors - former < 1e-15:
            break
    return 1 / (1 - survivors)


def simulate(
    utilisation: float,
    separate_streams: bool,
    blocks: int = 4096,
    pages_per_block: int = 64,
    rounds: int = 3,
    seed: int = 1,
) -> float:
    """Programs per host write of one plane of `blocks` blocks, measured over `rounds` overwrites of the logical space.

    One block is in reserve for moves. Host writes and moves share one open block, or have one each
    (`separate_streams`). Starts filled in order, and first overwrites the logical space `rounds` times uncounted.
    """
    open_blocks = 2 if separate_streams else 1
    pages = int(utilisation * (blocks - open_blocks - 1) * pages_per_block)
    not_closed = 1 << 20  # added to the count of a block that is free or open, so that it is no victim
    valid = array("i", [not_closed]) * blocks
    view = np.frombuffer(valid, dtype=np.int32)
    location = array("i", range(pages))
    content = array("i", range(pages)) + array("i", [0]) * (blocks * pages_per_block - pages)
    for page in range(pages):
        valid[page // pages_per_block] += 1
    filled = -(-pages // pages_per_block)
    view[:filled] -= not_closed  # the last one may be partly written: its rest counts as garbage
    free = list(range(filled, blocks))
    host, host_end = 0, 0  # next physical page of the open block, and its end
    move, move_end = 0, 0
    rng = random.Random(seed)
    moved = 0
    for write in range(2 * rounds * pages):
        if write == rounds * pages:
            moved = 0
        logical = int(rng.random() * pages)
        valid[location[logical] // pages_per_block] -= 1
        location[logical] = -1
        while host == host_end:
            if host_end:
                valid[host_end // pages_per_block - 1] -= not_closed
                host = host_end = 0
            if len(free) > 1:
                host = free.pop() * pages_per_block
                host_end = host + pages_per_block
                break
            victim = int(view.argmin())
            valid[victim] += not_closed
            for page in range(victim * pages_per_block, (victim + 1) * pages_per_block):
                owner = content[page]
                if location[owner] != page:
                    continue
                if move == move_end:
                    if move_end:
                        valid[move_end // pages_per_block - 1] -= not_closed
                    move = free.pop() * pages_per_block
                    move_end = move + pages_per_block
                content[move] = owner
                location[owner] = move
                valid[move // pages_per_block] += 1
                valid[victim] -= 1
                move += 1
                moved += 1
            free.append(victim)
            if not separate_streams:  # the host goes on in the block that the moves have opened
                host, host_end, move, move_end = move, move_end, 0, 0
        content[host] = logical
        location[logical] = host
        valid[host // pages_per_block] += 1
        host += 1
    return 1 + moved / (rounds * pages)
