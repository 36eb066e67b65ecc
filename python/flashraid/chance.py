"""How often the runs of a comparison are repeated, and what chance changes in them.

A run is deterministic, and yet its figures are one draw: which request waits for which turns on less time than the
clock of a trace resolves (Alameldeen and Wood, "Variability in Architectural Simulations of Multi-threaded Workloads",
HPCA 2003).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from . import _native
from .files import can_be_read_again, must_be_read_again
from .profile_text import LARGEST_SEED, seed_of
from .settings import Pairs, bare

# By so much arrivals of a trace differ from seed to seed: what the clock of most traces leaves open.
JITTER_NS = 1000
# So often each run is repeated unless the user says how often.
REPEATS = 5
# With more requests times schemes nothing is repeated unless the user says so: the repeats would take minutes.
MOST_REPEATED = 200_000


@dataclass(frozen=True)
class Variant:
    """A run of a scheme, as chance has it."""

    number: int = 0
    """How many seeds after the first."""
    seed: int | None = None
    """None for the seed of the settings."""
    jitter_ns: int | None = None
    """By how much arrivals are put off at most; None for what the settings say."""
    is_drawn: bool = False
    """Whether its requests are those of a profile, drawn with a seed of its own."""

    def of(self, settings: Pairs) -> Pairs:
        """The settings of this run."""
        own = {"seed": self.seed, "jitter_ns": self.jitter_ns}
        known = {key: str(value) for key, value in own.items() if value is not None}
        return [(key, value) for key, value in settings if bare(key) not in known] + list(known.items())


@dataclass(frozen=True)
class Chance:
    """The runs of each scheme."""

    asked: tuple[Variant, ...] = (Variant(),)
    """As they were asked for: one for each seed."""
    repeats: tuple[Variant, ...] = ()
    """What a run is repeated with, if nobody said how often."""
    has_first: bool = False
    """Whether the run as it was asked for is the first of the repeats."""
    is_random: bool = False
    """Whether runs with several seeds differ by chance."""
    has_jitter: bool = False
    """Whether they differ in their arrivals."""
    why_once: str = ""
    """Why nothing is repeated although nobody said how often."""

    @property
    def new(self) -> tuple[Variant, ...]:
        """The repeats that have to be run."""
        return self.repeats[1:] if self.has_first else self.repeats

    @property
    def judging(self) -> tuple[Variant, ...]:
        """The runs that tell differences from chance; none if nothing does."""
        found = self.repeats or self.asked
        return found if self.is_random and len(found) > 1 else ()

    @property
    def loops(self) -> tuple[Variant, ...]:
        """Those of them whose closed loop is not that of the run as it was asked for, which has no jitter.

        A larger jitter would slow a closed loop down, which nothing makes up for.
        """
        jitter_ns = JITTER_NS if self.has_jitter else 0
        loops = self.judging if jitter_ns else self.judging[1:]
        return tuple(replace(each, jitter_ns=jitter_ns) for each in loops)


def chance_of(
    trace: str,
    place: tuple[str | None, str, str | None],
    settings: Pairs,
    run: Mapping[str, Any],
    schemes: int,
    seeds: int | None,
) -> Chance:
    """What is run, given the place (device, a scheme, configuration file), the settings, the table `run` of the
    complete configuration, the number of schemes, and how many seeds were asked for, if any.
    """
    if seeds == 1:
        return Chance()
    if seeds is not None:
        must_be_read_again(trace, "the trace is replayed with each seed")
    if not can_be_read_again(trace):
        return Chance(why_once="a pipe can be read only once")
    device, scheme, config = place
    found = json.loads(_native.sanity(trace, device, scheme, config, settings) or "{}")
    is_drawn, has_jitter = found["format"] == "profile", run["jitter_ns"] > 0
    first: int = run["seed"]
    if seeds is not None:
        asked = tuple(Variant(number, first + number, None, is_drawn) for number in range(seeds))
        is_random = is_drawn or has_jitter or run["precondition"] != "none"
        return Chance(asked, is_random=is_random, has_jitter=has_jitter)
    largest = max(first, seed_of(trace) if is_drawn else 0)
    if largest > LARGEST_SEED - REPEATS:
        return Chance(why_once="there are no larger seeds")
    if why := _why_once(
        found, run, schemes, is_still=not is_drawn and any(bare(key) == "jitter_ns" for key, _ in settings)
    ):
        return Chance(why_once=why)
    jitter_ns = None if is_drawn or has_jitter else JITTER_NS
    repeats = tuple(Variant(number, first + number, jitter_ns, is_drawn) for number in range(REPEATS))
    return Chance(
        repeats=repeats, has_first=jitter_ns is None, is_random=True, has_jitter=has_jitter or jitter_ns is not None
    )


def _why_once(found: Mapping[str, Any], run: Mapping[str, Any], schemes: int, *, is_still: bool) -> str:
    """Why nothing is repeated; empty if it is. `is_still` is whether the user said something about arrivals."""
    if is_still and not run["jitter_ns"]:
        return "--jitter 0ns leaves arrivals as they are"
    if run["until"] != "end":
        return "it goes on until SSDs are worn out"
    if run["precondition"] != "none":
        return "each repeat would precondition the device anew"
    if not found["is_all"] or found["requests"] * schemes > MOST_REPEATED:
        return f"requests x schemes are more than {MOST_REPEATED:,}"
    return ""
