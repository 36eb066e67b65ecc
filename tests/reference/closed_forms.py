"""Times and bandwidths that follow from geometry and data-sheet times alone (timing model of SPEC 0.4)."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Flash:
    """A device; the defaults are `ssd1` (SPEC 1.3)."""

    channels: int = 4
    units_per_channel: int = 4  # what can program at the same time: chips if these are serial, else dies
    dies_per_unit: int = 2  # 1 if dies are the units
    planes_per_die: int = 2
    page_bytes: int = 4096
    command_ns: int = 175  # 7 cycles of 25 ns
    transfer_ns: int = 102_400  # a page, 25 ns a byte
    read_ns: int = 20_000
    program_ns: int = 200_000


def unloaded_read_ns(flash: Flash) -> int:
    """One page on an idle device: command, array read, data out, one after the other."""
    return flash.command_ns + flash.read_ns + flash.transfer_ns


def unloaded_write_ns(flash: Flash, program_end: bool) -> int:
    """One page on an idle device: command and data in; then the array's program if completion waits for it."""
    return flash.command_ns + flash.transfer_ns + (flash.program_ns if program_end else 0)


def program_bytes_per_second(flash: Flash) -> float:
    """Most that programs alone can reach when every unit always has one waiting, spread evenly over the units.

    Bus: a channel takes one page every command + transfer. Array: a unit is taken up by the transfer of its page as
    well as by the program, so it takes one page every command + transfer + program, and a channel has
    `units_per_channel` of them. The smaller bound is reached: either the bus never finds all units busy, or each unit
    finds the bus free in time (round robin leaves units - 1 other transfers in one cycle, which then fit into the
    program time).
    """
    bus_ns = flash.command_ns + flash.transfer_ns
    pages_per_ns = min(1 / bus_ns, flash.units_per_channel / (bus_ns + flash.program_ns))
    return flash.channels * pages_per_ns * flash.page_bytes * 1e9
