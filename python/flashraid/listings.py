"""The schemes and devices that there are, as records."""

import json
from typing import TypeVar, overload

from . import _native
from .html_table import html_table
from .record import Counts, OpenRecord, Record
from .settings import Path, check_texts, given, utf8_path
from .sheets.cells import kind_of
from .sizes import format_bytes


class Parameter(Record):
    """A parameter of a scheme: a keyword argument of `run`."""

    name: str
    unit: str  # empty if it has none
    choices: list[str]  # allowed words; empty if it takes a number
    allowed: str
    default: str
    about: str
    needs: str | None  # under what it has effect; None if always


class Scheme(Record):
    """A redundancy scheme: its idea, what it asks for and survives, and its parameters."""

    name: str
    title: str
    about: str  # the idea, and the overhead
    protects: str  # the unit of which one may fail: none, chip, channel, member or device
    survives: str
    window: str | None  # when it does not survive that; None if it always does
    members: str  # how many it needs
    nvram: list[str]  # what it keeps in NVRAM
    parameters: list[Parameter]

    def _repr_html_(self) -> str:
        facts = {
            "idea": self.about,
            "survives the loss of": self.survives,
            "exposure window": self.window or "",
            "members": self.members,
            "in NVRAM": ", ".join(self.nvram),
        }
        shown = html_table(f"{self.name}: {self.title}", ["", ""], [fact for fact in facts.items() if fact[1]])
        rows = [(of.name, of.default, of.allowed, of.about) for of in self.parameters]
        parameters = html_table("Parameters", ["", "default", "allowed", "meaning"], rows)
        return shown + (parameters if rows else "")

    def __repr__(self) -> str:
        return f"<Scheme: {self.name}, {self.title}>"


class Preset(Record):
    """A device preset; `devices(NAME)` has the device."""

    name: str
    about: str

    def __repr__(self) -> str:
        return f"<Preset: {self.name}, {self.about}>"


class Capacity(Record):
    """What a scheme makes of a device; if it is not possible there, only `refused` is present, with the reason."""

    refused: str
    user_pages: int
    user_bytes: int
    reserved_bytes: int  # over-provisioning, and parity or copies
    effective_over_provisioning: float | None  # when all of it is written; None with log blocks
    usable_over_provisioning: float | None  # what of that GC can use
    redundancy_bytes: int
    redundancy_share: float
    raw_per_user_byte: float
    table_bytes: int  # mapping tables in DRAM
    tables: Counts
    nvram_bytes: int
    nvram: Counts
    survives: OpenRecord
    warnings: list[str]


class Ssd(Record):
    """An SSD of an array before it is used."""

    number: int
    is_spare: bool
    raw_bytes: int
    age: float | None  # share of its erases that it has spent; None without a limit
    erases: int
    endurance: int | None


class Sheet(Record):
    """What the maker of a device states."""

    source: str  # where it was published
    fitted: list[str]  # the figures to which numbers of the device were fitted
    figures: OpenRecord  # called as those of `datasheet`


class Device(Record):
    """A device, what follows from its numbers, and what each scheme makes of it."""

    name: str
    about: str | None
    page_bytes: int
    physical_pages: int
    raw_bytes: int
    spare_bytes: int
    members: int
    units_per_channel: int
    planes_per_member: int
    pages_per_member: int
    logical_pages: int
    table_bytes: int
    buffer_bytes: int
    nvram_buffer_bytes: int
    schemes: dict[str, Capacity]  # by name
    device: OpenRecord  # every setting of the device
    array: OpenRecord  # of an array
    ssds: list[Ssd]  # of an array, spare ones included
    sheet: Sheet  # if its file has that

    def _repr_html_(self) -> str:
        slices = self.device["slice"]
        part = "" if slices == 1 else f", of one of {slices} slices"
        pages = f"{self.physical_pages:,} pages of {self.page_bytes:,} B{part}"
        facts = [
            ("raw capacity", f"{format_bytes(self.raw_bytes)}: {pages}"),
            ("members", f"{self.members} of {self.planes_per_member} planes"),
        ]
        rows = []
        for name in self.schemes:
            of = self.schemes[name]
            if "refused" in of:
                rows.append((name, "", "", "", "", of.refused))
            else:
                usable = of.usable_over_provisioning
                spare = "-" if usable is None else f"{of.effective_over_provisioning:.1%}, {usable:.1%} for GC"
                sizes = (format_bytes(of.user_bytes), f"{of.redundancy_share:.1%}", spare, format_bytes(of.nvram_bytes))
                rows.append((name, *sizes, of.survives.text))
        head = ["scheme", "user capacity", "redundancy", "spare when full", "NVRAM", "survives the loss of"]
        caption = f"{self.name}: {self.about}" if self.about else self.name
        shown = html_table(caption, ["", ""], facts) + html_table("Under each scheme", head, rows)
        if "sheet" not in self:
            return shown
        stated = [
            (name, kind_of(name).text(value), "fitted" if name in self.sheet.fitted else "")
            for name, value in self.sheet.figures.to_dict().items()
        ]
        return shown + html_table(f"Stated by its maker: {self.sheet.source}", ["figure", "stated", ""], stated)

    def __repr__(self) -> str:
        return f"<Device: {self.name}, {format_bytes(self.raw_bytes)} of flash>"


Listed = TypeVar("Listed", Scheme, Preset)


class Listing(list[Listed]):
    """A list of records that notebooks show as a table."""

    def _repr_html_(self) -> str:
        return html_table("", ["name", "description"], [(each.name, each.about) for each in self])


@overload
def schemes() -> Listing[Scheme]: ...
@overload
def schemes(name: str) -> Scheme: ...
def schemes(name: str | None = None) -> Listing[Scheme] | Scheme:
    """Every redundancy scheme, or the one called `name`.

    Raises InputError with the nearest name if there is no such scheme.
    """
    check_texts(**given(name=name))
    found = [Scheme(each) for each in json.loads(_native.schemes(name))]
    return Listing(found) if name is None else found[0]


@overload
def devices() -> Listing[Preset]: ...
@overload
def devices(name: Path, *, scheme: str | None = None) -> Device: ...
def devices(name: Path | None = None, *, scheme: str | None = None) -> Listing[Preset] | Device:
    """Every device preset, or the device `name` (a preset, or a TOML file).

    A device has its derived sizes and its capacity under `scheme`, by default under every scheme; `schemes` of it gives
    the reason for those that are not possible there. Raises InputError with the nearest name if there is no such device
    or scheme.
    """
    device = utf8_path(name, "name")
    check_texts(**given(scheme=scheme))
    if device is None:
        if scheme is not None:
            raise _native.InputError("scheme: allowed only with the name of a device")
        return Listing([Preset(each) for each in json.loads(_native.devices())])
    return Device(json.loads(_native.device(device, scheme)))
