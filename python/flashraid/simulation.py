"""The engine itself, request by request."""

import json
from collections.abc import Sequence
from typing import NamedTuple, Unpack

from . import _native
from ._native import InputError
from .result import Result
from .result_types import Verified
from .setting_types import Settings
from .settings import Path, bare, check_texts, device_and_config, given, pairs, texts
from .sizes import check_columns, check_numbers

# Settings about how a trace is read and replayed, and what is done meanwhile and at its end.
ABOUT_TRACES = {
    "format", "time_unit", "device_filter", "on_error", "op", "action", "object_bytes",
    "limit", "speed", "queue_depth", "fit", "warmup", "verify_every", "drain",
}  # fmt: skip


class Completion(NamedTuple):
    """A completed request."""

    id: int
    completed_ns: int
    ok: bool  # False if it failed: for lack of space, or as data are lost


class Simulation:
    """A simulated device: submit requests, advance the time, take completions, ask for the result.

    Calls from several threads take turns; the interpreter's lock is released while the engine works.
    """

    def __init__(
        self,
        *,
        device: Path | None = None,
        scheme: str | None = None,
        config: Path | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """Builds the device and fills and preconditions it as the settings say. The arguments are those of `run`."""
        device, config = device_and_config(device, config)
        check_texts(**given(scheme=scheme))
        own = pairs(settings, scheme)
        for key, value in own:
            if bare(key) in ABOUT_TRACES:
                raise InputError(f"{key} = {value}: it is about a trace, and a Simulation replays none")
        self._native = _native.Simulation(device, scheme, config, own)

    def submit(self, op: str, offset: int, size: int, at_ns: int | None = None) -> int:
        """Submits a request for `size` bytes at byte `offset` and returns its id, counted from 0.

        `op` is read, write, trim, write_zeroes or flush (offset and size 0). Time moves to `at_ns` first; by default it
        stays. Raises InputError if `at_ns` is past or the bytes are outside the logical space.
        """
        check_texts(op=op)
        check_numbers(offset=offset, size=size, **given(at_ns=at_ns))
        return self._native.submit(op, offset, size, at_ns)

    def submit_many(
        self, ops: Sequence[str], offsets: Sequence[int], sizes: Sequence[int], at_ns: Sequence[int]
    ) -> list[int]:
        """Submits many requests in order, given as four columns (lists or arrays), and returns their ids.

        The first one refused ends it with InputError; those before it are submitted.
        """
        check_columns(offsets=offsets, sizes=sizes, at_ns=at_ns)
        return self._native.submit_many(texts("ops", ops), offsets, sizes, at_ns)

    def advance_until(self, time_ns: int) -> None:
        """Processes every event up to and including `time_ns`, and moves the time there if it is later."""
        check_numbers(time_ns=time_ns)
        self._native.advance_until(time_ns)

    def next_event_time(self) -> int | None:
        """Time of the next event in nanoseconds; None if nothing is under way."""
        return self._native.next_event_time()

    @property
    def now_ns(self) -> int:
        """Simulated time in nanoseconds."""
        return self._native.now_ns

    @property
    def outstanding(self) -> int:
        """Requests submitted and not completed."""
        return self._native.outstanding

    @property
    def space_bytes(self) -> int:
        """Bytes of the logical space."""
        return self._native.space_bytes

    def take_completions(self) -> list[Completion]:
        """The requests completed since the last call, in the order of completion."""
        return [Completion(*completed) for completed in self._native.take_completed()]

    def finish(self) -> None:
        """Runs until everything submitted has ended."""
        self._native.finish()

    def fail(self, fault: str) -> None:
        """Makes something go wrong now: `chip:0.1`, `page:lpn=7` and so on, as docs/faults.md lists them.

        Raises InputError if the device has no such part.
        """
        check_texts(fault=fault)
        self._native.fail(fault)

    def fail_member(self, member: int) -> None:
        """A member is lost: a channel or a chip, as the device has it."""
        self._fail("member", member=member)

    def fail_channel(self, channel: int) -> None:
        """A channel is lost with all its chips."""
        self._fail("channel", channel=channel)

    def fail_chip(self, channel: int, chip: int) -> None:
        """A chip is lost; a spare chip of its channel takes its place, if there is one."""
        self._fail("chip", channel=channel, chip=chip)

    def fail_die(self, channel: int, chip: int, die: int) -> None:
        """A die is lost."""
        self._fail("die", channel=channel, chip=chip, die=die)

    def fail_plane(self, channel: int, chip: int, die: int, plane: int) -> None:
        """A plane is lost."""
        self._fail("plane", channel=channel, chip=chip, die=die, plane=plane)

    def fail_block(self, channel: int, chip: int, die: int, plane: int, block: int) -> None:
        """A block is lost, and used no more."""
        self._fail("block", channel=channel, chip=chip, die=die, plane=plane, block=block)

    def fail_page(self, lpn: int) -> None:
        """The flash page that holds host page `lpn` now can be read no more."""
        check_numbers(lpn=lpn)
        self.fail(f"page:lpn={lpn}")

    def _fail(self, part: str, **numbers: int) -> None:
        """A part of the device by its numbers."""
        check_numbers(**numbers)
        self.fail(f"{part}:{'.'.join(str(number) for number in numbers.values())}")

    def verify(self) -> Verified:
        """Checks everything stored, and tries each failure that the scheme survives; counted in the result too.

        Raises InputError unless the simulation was made with `verify=True`.
        """
        found = self._native.verify()
        if found is None:
            raise InputError("verify: contents are not tracked; allowed is with Simulation(..., verify=True)")
        return Verified(json.loads(found))

    def result(self) -> Result:
        """The result so far; requests still under way count as unfinished."""
        return Result(self._native.result(), None, [], 0)
