"""A drive out of the sheet that its maker prints: constants fitted to figures, by closed forms (docs/datasheet.md)."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from math import ceil, floor
from typing import Any, NamedTuple

from . import _native, documents
from ._native import InputError
from .datasheets import default_scheme, figure_names
from .files import scratch_folder
from .keys import said_at
from .profile_text import toml
from .settings import Path, known_name, utf8_path
from .sizes import parse_bytes, parse_time

# What a sheet does not say is as in this preset.
LIKE = "nvme-tlc-8t"
READ, WRITE, IOPS = "sequential_read_mb_s", "sequential_write_mb_s", "random_read_qd256_fresh_iops"
LONE = {"read": "random_read_qd1_fresh", "write": "random_write_qd1_fresh"}
# Dies and buses carry so much more than what is behind them, as requests are not spread evenly over them.
BUS_MARGIN, DIE_MARGIN = 1.25, 1.3
LEAST_READ_NS, LEAST_PROGRAM_NS = 5_000, 100_000
CHANNELS, MOST_CHIPS = 8, 64
STAGING_BYTES = 2 * 1024 * 1024  # of each die
FREE_BLOCKS = 6  # of a plane, at which GC starts
LEAST_SPARE = 0.01
# Settings with which the fit computes, of those that may be known: whole numbers, those that divide from 1 on.
DIVIDED_BY = (
    "channels",
    "chips_per_channel",
    "dies_per_chip",
    "planes_per_die",
    "blocks_per_plane",
    "pages_per_block",
    "page_bytes",
    "program_pages",
    "program_ns",
)
ADDED = (
    "read_ns",
    "bus_ps_per_byte",
    "active_dies",
    "command_ns",
    "host_read_ps_per_byte",
    "host_write_ps_per_byte",
)
UNITS = {"ns": parse_time, "bytes": parse_bytes}
MOST_WHOLE_BYTES, MOST_BYTES = 1.2e12, 640e9  # of flash that is simulated as a whole, and of a slice
UNIT_BYTES = 4096


class Stated(NamedTuple):
    """A sheet, as its file has it."""

    path: str
    name: str
    user_bytes: int
    raw_bytes: int | None
    source: str
    figures: Mapping[str, float]
    known: Mapping[str, Any]  # settings of the device


class Constant(NamedTuple):
    """A value of a setting, and where it comes from."""

    value: Any
    why: str


def fit_device(sheet: Path) -> str:
    """A device file for the drive of which `sheet`, a TOML file, has what its maker prints: its text.

    Each constant says what it was fitted to, or that it was given, or that it is assumed. `datasheet` of the device
    measures how well that went. docs/datasheet.md has the form of the file and the closed forms. Raises InputError.
    """
    path = utf8_path(sheet, "sheet")
    if path is None:
        raise InputError("sheet = None: allowed is a TOML file")
    stated = _stated(path)
    fit = _Fit(stated)
    tables = {"device": fit.constants(), "host": {"device_queue_depth": fit.queue_depth()}}
    text = "".join(f"{line}\n" for line in _lines(stated, tables, fit.fitted))
    _check(stated, text)
    return text


# ---- the file ----


def _stated(path: str) -> Stated:
    """What the file says."""
    tables = documents.read_toml(path)
    for key in tables:
        known_name(f"{path}: key", key, ("name", "user_bytes", "raw_bytes", "sheet", "device"))
    if "user_bytes" not in tables:
        raise InputError(f"{path}: user_bytes is missing: allowed is the capacity of the drive, as in 3.84TB")
    sheet, known = (_table(path, tables, name) for name in ("sheet", "device"))
    figures = _figures(path, sheet)
    sizes = {key: _bytes(path, tables, key) for key in ("user_bytes", "raw_bytes") if key in tables}
    name = tables.get("name", os.path.splitext(os.path.basename(path))[0])
    if not isinstance(name, str) or not name:
        raise InputError(f"{path}: name = {toml(name)}: allowed is a text")
    return Stated(
        path, name, sizes["user_bytes"], sizes.get("raw_bytes"), _source(path, sheet), figures, _known(path, known)
    )


def _known(path: str, device: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of the device, as the fit computes with it; what else may be wrong with it, the engine finds."""
    settings = {each["key"]: each for each in json.loads(_native.settings()) if each["table"] == "device"}
    del settings["name"]
    known = {}
    for key, value in device.items():
        setting = settings[known_name(f"{path}: device", key, settings)]
        what = f"{said_at(path, key)}: {key} ="
        if isinstance(value, str) and setting["unit"] in UNITS:
            value = UNITS[setting["unit"]](what, value)
        least = 1 if key in DIVIDED_BY else 0
        if key in (*DIVIDED_BY, *ADDED) and (isinstance(value, bool) or not isinstance(value, int) or value < least):
            raise InputError(f"{what} {toml(value)}: allowed is {setting['allowed']}")
        known[str(key)] = value
    return known


def _table(path: str, tables: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = tables.get(name, {})
    if not isinstance(table, Mapping):
        raise InputError(f"{path}: {name} = {toml(table)}: allowed is a table, [{name}]")
    return table


def _bytes(path: str, tables: Mapping[str, Any], name: str) -> int:
    value = tables[name]
    key = next(key for key in tables if key == name)
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise InputError(f"{said_at(path, key)}: {name} = {toml(value)}: allowed is a size, as in 3.84TB")
    return parse_bytes(f"{said_at(path, key)}: {name} =", str(value))


def _source(path: str, sheet: Mapping[str, Any]) -> str:
    source = sheet.get("source")
    if not isinstance(source, str) or not source.strip():
        raise InputError(f'{path}: the table sheet needs source = "...": where it was published')
    return source


def _figures(path: str, sheet: Mapping[str, Any]) -> dict[str, float]:
    """The figures that the sheet states."""
    names, figures = list(figure_names()), {}
    for key, value in sheet.items():
        if key == "source":
            continue
        known_name(f"{path}: sheet", key, names)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
            raise InputError(f"{said_at(path, key)}: {key} = {toml(value)}: allowed is a number above 0")
        figures[str(key)] = value
    return figures


def _check(stated: Stated, text: str) -> None:
    """Refuses a sheet of which no drive comes that can be simulated."""
    scheme = default_scheme()
    with scratch_folder() as folder:
        file = os.path.join(folder, "fitted.toml")
        with open(file, "w", encoding="utf-8", newline="") as out:
            out.write(text)
        try:
            capacity = json.loads(_native.device(file, scheme))["schemes"][scheme]
            refused = capacity.get("refused")
        except InputError as error:
            refused = re.sub(rf"^{re.escape(file)}(:\d+:\d+)?: ", "", str(error))
    if refused:
        raise InputError(f"{stated.path}: the drive that comes of it cannot be simulated: {refused}")


def _lines(stated: Stated, tables: Mapping[str, Mapping[str, Constant]], fitted: list[str]) -> Iterator[str]:
    """The device file."""
    yield f"# Fitted to a data sheet: {stated.source}. What that does not say is as in the preset {LIKE}."
    yield "# `flashraid datasheet` with this file measures how close it comes."
    width = max(len(f"{key} = {toml(constant.value)}") for key, constant in tables["device"].items())
    for table, constants in tables.items():
        yield f"[{table}]"
        for key, constant in constants.items():
            line = f"{key} = {toml(constant.value)}"
            yield f"{line:{width}} # {constant.why}"
        yield ""
    yield "[sheet]"
    yield f"source = {toml(stated.source)}"
    yield f"fitted = {toml(fitted)}"
    for name, value in stated.figures.items():
        yield f"{name} = {toml(value)}"


# ---- the fit ----


class _Fit:
    """Constants, each of which may rest on those before it."""

    def __init__(self, stated: Stated) -> None:
        self.stated = stated
        like = json.loads(_native.device(LIKE, default_scheme()))
        self.like: dict[str, Any] = like["device"]
        self.commands: int = like["device_queue_depth"] * self.like["slice"]
        self.fitted: list[str] = []
        self.found: dict[str, Constant] = {}

    def constants(self) -> dict[str, Constant]:
        """All of them, in the order of the preset's file."""
        self._shape()
        self._flash()
        self._controller()
        own = documents.toml(_native.device_file(LIKE), LIKE)["device"]
        order = [*own, *(key for key in self.stated.known if key not in own)]
        constants = {"name": Constant(self.stated.name, "yours")}
        return constants | {str(key): self._of(key) for key in order if key != "name"}

    def queue_depth(self) -> Constant:
        """The requests that the simulated slice takes at a time."""
        slices = self._value("slice")
        share = "" if slices == 1 else f"; {self.commands:,} of the drive"
        return Constant(max(1, self.commands // slices), f"assumed: as {LIKE}{share}")

    def _of(self, key: str) -> Constant:
        """The constant of a setting: what is known of the drive, what was found, or that of the preset."""
        if key in self.stated.known:
            return Constant(self.stated.known[key], "given")
        return self.found.get(key, Constant(self.like[key], f"assumed: as {LIKE}"))

    def _value(self, key: str) -> Any:
        return self._of(key).value

    def _set(self, key: str, value: Any, why: str) -> None:
        self.found[key] = Constant(value, why)

    def _figure(self, name: str, *keys: str) -> float | None:
        """A figure to which these settings are fitted, unless all of them are known."""
        if all(key in self.stated.known for key in keys):
            return None
        if name not in self.stated.figures:
            path = self.stated.path
            raise InputError(
                f"{path}: sheet: {name} is missing: allowed without it is {' and '.join(keys)} in [device]"
            )
        self.fitted.append(name)
        return self.stated.figures[name]

    def _shape(self) -> None:
        """Dies of the size of the preset's, on as many channels as drives of this capacity have."""
        stated = self.stated
        block_bytes = self._value("pages_per_block") * self._value("page_bytes") * self._value("planes_per_die")
        of_like = 1 / (1 - self.like["over_provisioning"])
        raw_bytes = stated.raw_bytes or stated.user_bytes * of_like
        dies = max(1, round(raw_bytes / (self._value("blocks_per_plane") * block_bytes)))
        channels = CHANNELS
        while dies > channels * MOST_CHIPS:
            channels *= 2
        self._set("channels", min(channels, dies), "assumed: usual for so many dies")
        per_channel = max(1, round(dies / self._value("channels") / self._value("dies_per_chip")))
        self._set("chips_per_channel", per_channel, f"by the flash, in dies as those of {LIKE}")
        blocks = round(raw_bytes / (self._dies() * block_bytes))
        whose = "raw_bytes" if stated.raw_bytes else f"the flash of {LIKE} for as much of the user's"
        self._set("blocks_per_plane", blocks, f"by {whose}")
        raw_bytes = self._dies() * self._value("blocks_per_plane") * block_bytes
        spare = floor((1 - stated.user_bytes / raw_bytes) * 10_000) / 10_000
        if spare < LEAST_SPARE:
            raise InputError(
                f"{stated.path}: user_bytes = {stated.user_bytes:,}: allowed is at most {1 - LEAST_SPARE:.0%} of the "
                f"{raw_bytes:,} bytes of flash"
            )
        self._set("over_provisioning", spare, f"{stated.user_bytes:,} of {raw_bytes:,} bytes are the user's")
        least = ceil(FREE_BLOCKS / self._value("blocks_per_plane") * 10_000) / 10_000
        self._set("gc_threshold", least, f"assumed: {FREE_BLOCKS} blocks")
        self._set("staging_bytes", self._dies() * STAGING_BYTES, "assumed: 2 MiB of each die")
        slices = self._slice(raw_bytes)
        why = "the whole drive" if slices == 1 else f"slices of at most {MOST_BYTES / 1e9:g} GB"
        self._set("slice", slices, f"{why} is simulated" if slices == 1 else why)

    def _dies(self) -> int:
        channels, chips, dies = (self._value(key) for key in ("channels", "chips_per_channel", "dies_per_chip"))
        return int(channels * chips * dies)

    def _slice(self, raw_bytes: int) -> int:
        """Of how many slices one is simulated: each has whole channels, or whole dies of one."""
        if raw_bytes <= MOST_WHOLE_BYTES:
            return 1
        return next(
            slices
            for slices in range(1, self._dies() + 1)
            if self._dies() % slices == 0 and (raw_bytes / slices <= MOST_BYTES or slices == self._dies())
        )

    def _transfer_ns(self, size_bytes: int) -> int:
        return ceil(size_bytes * int(self._value("bus_ps_per_byte")) / 1000)

    def _flash(self) -> None:
        """Buses that carry what the link does, and dies that read and program as fast as the sheet says."""
        dies = self._dies()
        figures = [self.stated.figures.get(name, 0) for name in (READ, WRITE)]
        most = floor(self._value("channels") * 1e6 / (BUS_MARGIN * max(*figures, 1)))
        if most < self.like["bus_ps_per_byte"]:
            self._set("bus_ps_per_byte", most, f"all channels carry {BUS_MARGIN:g} times the sequential rates")
        reads = self.stated.figures.get(IOPS, 1)
        read_ns = floor(dies * 1e9 / (DIE_MARGIN * reads)) - self._transfer_ns(UNIT_BYTES)
        if read_ns < self.like["read_ns"]:
            self._refuse_below(LEAST_READ_NS, read_ns, "read_ns", IOPS)
            self._set("read_ns", read_ns, f"all dies read {DIE_MARGIN:g} times the random reads")
        self._programs(dies)

    def _programs(self, dies: int) -> None:
        """So many dies program at a time that they write what the sheet says, in a time that makes it exact."""
        rate = self._figure(WRITE, "active_dies", "program_ns")
        if rate is None:
            return
        size_bytes = self._value("program_pages") * self._value("page_bytes")
        transfer_ns = self._transfer_ns(size_bytes)
        as_like = size_bytes / (self._value("program_ns") + transfer_ns) * 1e3
        active = min(max(1, round(rate / as_like)), dies)
        why = f"fitted to {WRITE}"
        self._set("active_dies", 0 if active == dies else active, why)
        active = self._value("active_dies") or dies
        program_ns = round(active * size_bytes * 1e3 / rate) - transfer_ns
        self._refuse_below(LEAST_PROGRAM_NS, program_ns, "program_ns", WRITE)
        self._set("program_ns", program_ns, why)

    def _refuse_below(self, least: int, value: int, key: str, figure: str) -> None:
        if value < least and key not in self.stated.known:
            stated = f"{self.stated.path}: sheet: {figure} = {self.stated.figures[figure]:g}"
            raise InputError(
                f"{stated}: {self._dies()} dies would need {key} = {value}, allowed is {least} or more: more dies "
                "(channels, chips_per_channel in [device]) need less"
            )

    def _controller(self) -> None:
        """Rates of the link and of the controller; latencies are what is left of the times of lone requests."""
        link = self._figure(READ, "host_read_ps_per_byte", "host_write_ps_per_byte")
        if link is not None:
            self._set("host_read_ps_per_byte", round(1e6 / link), f"fitted to {READ}")
            fastest = max(link, self.stated.figures.get(WRITE, link))
            self._set("host_write_ps_per_byte", round(1e6 / fastest), "as fast as sequential requests, either way")
        reads = self._figure(IOPS, "command_ns")
        if reads is not None:
            self._set("command_ns", round(1e9 / reads), f"fitted to {IOPS}")
        data_ns = {kind: ceil(UNIT_BYTES * int(self._value(f"host_{kind}_ps_per_byte")) / 1000) for kind in LONE}
        # The memory takes in a write in no time of its own.
        others_ns = {"read": self._value("read_ns") + self._transfer_ns(UNIT_BYTES), "write": 0}
        for kind, line in LONE.items():
            self._latency(kind, line, self._value("command_ns") + data_ns[kind] + others_ns[kind])

    def _latency(self, kind: str, line: str, others_ns: int) -> None:
        key, stated = f"{kind}_latency_ns", self.stated.figures
        names = [name for name in (f"{line}_mean_ns", f"{line}_p50_ns", f"{line}_iops") if name in stated]
        if key in self.stated.known or not names:
            return
        lone_ns = 1e9 / stated[names[0]] if names[0].endswith("_iops") else stated[names[0]]
        if lone_ns < others_ns:
            raise InputError(
                f"{self.stated.path}: sheet: {names[0]} = {stated[names[0]]:g}: allowed are {others_ns:,} ns or more "
                "for a request, what command, flash, bus and link take: [device] may have shorter times of these"
            )
        self.fitted.append(names[0])
        self._set(key, round(lone_ns - others_ns), f"fitted to {names[0]}")
