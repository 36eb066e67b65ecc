"""The engine, driven request by request."""

import json
from collections.abc import Sequence
from typing import NamedTuple, Unpack

from . import _native
from ._native import InputError
from .files import NewFile
from .result import Result
from .result_types import Verified
from .setting_types import SimulationSettings
from .settings import Path, check_texts, device_and_config, given, pairs, texts
from .sizes import check_columns, check_numbers, check_range

MOST_STREAM = 2**16 - 1


class Completion(NamedTuple):
    """A completed request: what it was, and when it arrived and was answered, in simulated nanoseconds."""

    id: int
    op: str  # read, write, trim, write_zeroes or flush
    arrival_ns: int
    completed_ns: int
    latency_ns: int  # completed_ns - arrival_ns
    ok: bool  # False if it failed: for lack of space, or as data are lost


class Simulation:
    """A simulated device: submit requests, advance the time, take completions, get the result.

    Calls from several threads are serialized; the GIL is released while the engine works.
    """

    def __init__(
        self,
        *,
        device: Path | None = None,
        scheme: str | None = None,
        config: Path | None = None,
        **settings: Unpack[SimulationSettings],
    ) -> None:
        """Builds the device, and fills and preconditions it as configured, or takes the `drive` that is named.

        The arguments are those of `run` that do not concern a trace.
        """
        device, config = device_and_config(device, config)
        check_texts(**given(scheme=scheme))
        self._native = _native.Simulation(device, scheme, config, pairs(settings, scheme))

    def submit(
        self, op: str, offset_bytes: int, size_bytes: int, arrival_ns: int | None = None, *, stream: int = 0
    ) -> int:
        """Submits a request for `size_bytes` at `offset_bytes` and returns its id, counted from 0.

        `op` is read, write, trim, write_zeroes or flush (offset and size 0). The time first advances to `arrival_ns`;
        by default it does not advance. `stream` is the write stream that the request names (`write_streams`), from 1 to
        65535; 0 for none. Raises InputError if `arrival_ns` is in the past or the bytes are outside the logical space.
        """
        check_texts(op=op)
        check_numbers(offset_bytes=offset_bytes, size_bytes=size_bytes, **given(arrival_ns=arrival_ns))
        check_range("stream", stream, 0, MOST_STREAM)
        return self._native.submit(op, offset_bytes, size_bytes, arrival_ns, stream)

    def submit_many(
        self,
        op: Sequence[str],
        offset_bytes: Sequence[int],
        size_bytes: Sequence[int],
        arrival_ns: Sequence[int],
        stream: Sequence[int] | None = None,
    ) -> list[int]:
        """Submits requests in order, given as columns (lists, arrays or series), and returns their ids.

        The columns are called as those of `read_trace` and of the log of requests; without `stream` no request names a
        write stream. Raises InputError at the first request that is refused; those before it have been submitted.
        """
        check_columns(offset_bytes=offset_bytes, size_bytes=size_bytes, arrival_ns=arrival_ns)
        if stream is not None:
            for index, number in enumerate(stream):
                check_range(f"stream[{index}]", number, 0, MOST_STREAM)
        return self._native.submit_many(texts("op", op), offset_bytes, size_bytes, arrival_ns, stream)

    def advance_until(self, time_ns: int) -> None:
        """Processes every event up to and including `time_ns`, and advances the time to it."""
        check_numbers(time_ns=time_ns)
        self._native.advance_until(time_ns)

    def next_event_time(self) -> int | None:
        """Time of the next event in nanoseconds; None if no event is pending."""
        return self._native.next_event_time()

    @property
    def now_ns(self) -> int:
        """Simulated time in nanoseconds."""
        return self._native.now_ns

    @property
    def outstanding(self) -> int:
        """Number of requests submitted but not completed."""
        return self._native.outstanding

    @property
    def space_bytes(self) -> int:
        """Size of the logical space in bytes."""
        return self._native.space_bytes

    def take_completions(self) -> list[Completion]:
        """The requests completed since the last call, in the order of completion."""
        return [
            Completion(number, op, arrival_ns, completed_ns, completed_ns - arrival_ns, ok)
            for number, op, arrival_ns, completed_ns, ok in self._native.take_completed()
        ]

    def finish(self) -> None:
        """Runs until all submitted requests have completed."""
        self._native.finish()

    def clone(self) -> "Simulation":
        """An independent simulation that goes on from here: what happens to one does not concern the other."""
        clone = Simulation.__new__(Simulation)
        clone._native = self._native.clone()
        return clone

    def save_drive(self, path: Path) -> None:
        """Saves the drive as it would be if it were switched off now, for `drive=path` (docs/drives.md).

        The simulation stays as it is. Raises InputError, and writes nothing, if anything is in flight, or if something
        has failed that the file of a drive does not tell.
        """
        file = NewFile(path, "save_drive")
        try:
            self._native.save_drive(file.temporary)
            file.keep()
        finally:
            file.discard()

    def fail(self, fault: str) -> None:
        """Injects a fault now: `chip:0.1`, `page:lpn=7` and so on, as docs/faults.md lists them.

        Raises InputError if the device has no such part.
        """
        check_texts(fault=fault)
        self._native.fail(fault)

    def fail_member(self, member: int) -> None:
        """Fails a member: a channel or a chip, depending on the device."""
        self._fail("member", member=member)

    def fail_device(self, device: int) -> None:
        """Fails an SSD of an array; a spare SSD takes its place, if there is one."""
        self._fail("device", device=device)

    def replace_device(self, device: int) -> None:
        """Has an SSD of an array replaced by a spare one, in the way of its scheme (docs/arrays.md).

        While another one is being replaced, it waits its turn. Raises InputError if it cannot be replaced: the array
        has no such SSD, it has failed, or no spare SSD is left.
        """
        check_numbers(device=device)
        self._native.replace_device(device)

    def fail_channel(self, channel: int) -> None:
        """Fails a channel with all its chips."""
        self._fail("channel", channel=channel)

    def fail_chip(self, channel: int, chip: int) -> None:
        """Fails a chip; a spare chip of its channel replaces it, if there is one."""
        self._fail("chip", channel=channel, chip=chip)

    def fail_die(self, channel: int, chip: int, die: int) -> None:
        """Fails a die."""
        self._fail("die", channel=channel, chip=chip, die=die)

    def fail_plane(self, channel: int, chip: int, die: int, plane: int) -> None:
        """Fails a plane."""
        self._fail("plane", channel=channel, chip=chip, die=die, plane=plane)

    def fail_block(self, channel: int, chip: int, die: int, plane: int, block: int) -> None:
        """Fails a block, which is then retired."""
        self._fail("block", channel=channel, chip=chip, die=die, plane=plane, block=block)

    def fail_page(self, lpn: int) -> None:
        """Makes the flash page that now holds host page `lpn` unreadable."""
        check_numbers(lpn=lpn)
        self.fail(f"page:lpn={lpn}")

    def _fail(self, part: str, **numbers: int) -> None:
        """Fails a part of the device given by its numbers."""
        check_numbers(**numbers)
        self.fail(f"{part}:{'.'.join(str(number) for number in numbers.values())}")

    def verify(self) -> Verified:
        """Checks all stored pages, and recovery from each failure that the scheme survives; the result counts it.

        Raises InputError unless the simulation was made with `verify=True`.
        """
        found = self._native.verify()
        if found is None:
            raise InputError("verify: allowed only with Simulation(..., verify=True)")
        return Verified(json.loads(found))

    def result(self) -> Result:
        """The result so far; outstanding requests count as unfinished."""
        return Result(self._native.result(), None, [], 0, {})
