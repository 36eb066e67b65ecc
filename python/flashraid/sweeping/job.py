"""One run of a sweep: all that a process anywhere needs to do it, and how it does."""

import hashlib
import json
import os
import socket
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from .. import _native
from .._native import DefectError, InputError
from ..causes import cause
from ..files import scratch_folder
from ..kept import content, folder
from ..profile_text import PREFIX
from ..record import flat
from ..settings import drive_file

DONE, REFUSED, FAILED = "done", "refused", "failed"
# What the exit status of a run that came to its end means for its results.
STATUS = {0: DONE, 1: "violation", 3: "unserved"}
INTERRUPTED = 130
# The columns that every row has, and how those begin that tell where and when it was made.
EVENTS = ("rebuild", "replacements")
# What of the recording is likely to mislead, as a column: its sentences, with SEPARATOR between.
OF_RECORDING, SEPARATOR = "workload.warnings", "; "
HEAD, PROVENANCE = ("run", "status", "reason", "trace"), "provenance."
# The seconds of a run, and those of them that were no preparation of its device.
SECONDS, REPLAY_SECONDS = f"{PROVENANCE}seconds", f"{PROVENANCE}replay_seconds"


def told_once(cells: Iterable[str]) -> list[str]:
    """The cells of OF_RECORDING without those whose sentences another has: a closed loop says nothing of times."""
    sentences = {cell: set(cell.split(SEPARATOR)) for cell in cells if cell}
    return [cell for cell, own in sentences.items() if not any(own < others for others in sentences.values())]


def contents_beside(path: str) -> tuple[tuple[str, str], ...]:
    """The files of a recording that are read with the one that is given, by their names, each with its content."""
    return tuple((other.name, content(str(other))) for other in sorted(_native.read_with(path)))


@dataclass(frozen=True)
class Source:
    """Where requests come from: a profile that comes with flashraid, the text of another, or a file by its content."""

    name: str  # as the plan has it
    text: str = ""  # of a profile that is none of those
    path: str = ""
    sha256: str = ""
    size: int = 0
    others: tuple[tuple[str, str], ...] = ()  # files that are read with it, each with its content (`beside`)
    changes: tuple[tuple[str, str], ...] = ()  # of a profile, as columns of the row: key and value

    @property
    def identity(self) -> str:
        """What tells it from others, wherever it lies: its content and its name, which may decide the format."""
        if self.sha256:
            others = "".join(f" {sha256} {name}" for name, sha256 in self.others)
            return f"{self.sha256} {os.path.basename(self.name)}{others}"
        return hashlib.sha256((self.text or self.name).encode()).hexdigest()

    @property
    def sent(self) -> Path:
        """Where a file lies that was sent to this machine."""
        return folder() / "traces" / self.sha256 / os.path.basename(self.name)

    def found(self, place: str) -> str | None:
        """Where it is here: at its own path, or among what was sent; None if it is not here.

        The text of a profile is written into the folder `place`.
        """
        if self.name.startswith(PREFIX) and not self.text:
            return self.name
        if self.text:
            name = os.path.basename(self.name.removeprefix(PREFIX)).removesuffix(".toml")
            path = os.path.join(place, f"{name}.toml")
            Path(path).write_text(self.text, encoding="utf-8")
            return path
        return next((path for path in (self.path, str(self.sent)) if self.is_at(path)), None)

    def is_at(self, path: str) -> bool:
        """Whether it is there, and has not changed."""
        try:
            is_own = os.stat(path).st_size == self.size and content(path) == self.sha256
            return is_own and contents_beside(path) == self.others
        except OSError:
            return False


@dataclass(frozen=True)
class Job:
    """A run to be done."""

    run: str  # its name: the hash of all that decides its result
    source: Source
    config: str  # the complete configuration, as JSON
    memory_bytes: int  # while it runs
    preparation: str = ""  # the same for jobs that begin with the same device; empty if each makes its own

    @property
    def needed_bytes(self) -> int:
        """The memory that it needs, a prepared device included of which it makes a copy."""
        return 2 * self.memory_bytes if self.preparation else self.memory_bytes


class Absent(Exception):
    """The trace of a job is not on this machine: it has to be sent."""


# Why a job fails if the trace is not even where the plan found it.
NOT_SENT = "a recording of several files is not sent to workers: put it where all of them see it"
GONE = "the trace is gone or has changed since the sweep began"


def _missing_drive(config: str) -> str:
    """The drive that the run is to begin with, if it is not on this machine; else nothing."""
    drive = drive_file([("drive", json.loads(config)["config"]["run"].get("drive", ""))])
    return drive if drive and not os.path.exists(drive) else ""


@dataclass
class _Kept:
    """A prepared device that is kept."""

    lock: Lock = field(default_factory=Lock)  # held while it is prepared
    device: _native.Prepared | None = None
    bytes: int = 0
    users: int = 0


class _Devices:
    """Prepared devices, kept as long as there is memory for them beside the runs under way."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, _Kept] = OrderedDict()  # the one used last comes last
        self._lock = Lock()
        self._needed_bytes = 0  # by runs under way, with the devices that they use

    @contextmanager
    def lent(
        self, job: Job, config: str, go_on: Callable[..., bool], most_bytes: int | None
    ) -> Iterator[_native.Prepared | None]:
        """The device that the job begins with; None if it makes its own."""
        with self._lock:
            self._needed_bytes += job.needed_bytes
            kept = self._kept.setdefault(job.preparation, _Kept()) if job.preparation else _Kept()
            kept.users += 1
            self._make_room(most_bytes)
        try:
            if job.preparation:
                self._prepare(kept, job, config, go_on)
            yield kept.device
        finally:
            with self._lock:
                self._needed_bytes -= job.needed_bytes
                kept.users -= 1
                if self._kept.get(job.preparation) is kept:
                    self._kept.move_to_end(job.preparation)
                    if kept.device is None:
                        del self._kept[job.preparation]

    def drop(self, preparation: str) -> None:
        """Gives up a device that no job will begin with any more."""
        with self._lock:
            self._kept.pop(preparation, None)

    def forget(self) -> bool:
        """Gives up all that nobody uses. Returns whether that is all that there was."""
        with self._lock:
            self._make_room(0)
            return not self._kept

    def _prepare(self, kept: _Kept, job: Job, config: str, go_on: Callable[..., bool]) -> None:
        with kept.lock:
            if kept.device is None:
                device = _native.Prepared(None, None, config, [], go_on)
                if not device.is_complete:
                    raise KeyboardInterrupt
                kept.device, kept.bytes = device, job.memory_bytes

    def _make_room(self, most_bytes: int | None) -> None:
        """Gives up devices that nobody uses."""
        idle = {name: kept for name, kept in self._kept.items() if kept.users == 0}
        idle_bytes = sum(kept.bytes for kept in idle.values())
        for name, kept in idle.items():
            if most_bytes is None or idle_bytes + self._needed_bytes <= most_bytes:
                break
            idle_bytes -= kept.bytes
            del self._kept[name]


_devices = _Devices()


def forget() -> bool:
    """Gives up the prepared devices that this process keeps for further jobs. Returns whether no run uses one."""
    return _devices.forget()


def drop(preparation: str) -> None:
    """Gives up the device that jobs of this preparation began with: all of them have ended."""
    _devices.drop(preparation)


def do(job: Job, go_on: Callable[[], bool] = lambda: True, most_bytes: int | None = None) -> str:
    """Does a run. Returns its row, as a line of JSON; raises Absent, and KeyboardInterrupt if `go_on` said no.

    `most_bytes` is the memory that this process may use for runs and devices that are kept for the next one.
    """
    began = time.perf_counter()

    def watched(*_told: object) -> bool:
        return go_on()

    with scratch_folder() as place:
        trace = job.source.found(place)
        if trace is None:
            raise Absent(job.source.sha256)
        if drive := _missing_drive(job.config):
            row = row_of(job, FAILED, f"{drive}: the drive is not on this machine")
            return line(row, place_of_work(), time.perf_counter() - began)
        config = os.path.join(place, "config.json")
        Path(config).write_text(job.config, encoding="utf-8")
        try:
            with _devices.lent(job, config, watched, most_bytes) as device:
                text, _, warnings, status = _native.run(trace, None, None, config, [], [], True, watched, device)
        except InputError as error:
            row = row_of(job, REFUSED, str(error).replace(f"{place}{os.sep}", ""))
        else:
            if status == INTERRUPTED:
                raise KeyboardInterrupt
            result = json.loads(text)
            replay_seconds = round(result.pop("engine")["wall_seconds"], 6)
            figures = {"warnings": SEPARATOR.join(warnings), **dict(figures_of(result)), REPLAY_SECONDS: replay_seconds}
            row = row_of(job, STATUS[status], "", figures)
    seconds = time.perf_counter() - began
    return line(row, place_of_work(), seconds)


def done_or_failed(job: Job, go_on: Callable[[], bool], most_bytes: int | None) -> str:
    """The same; what nobody foresaw is a row, too, as other runs may do better."""
    try:
        return do(job, go_on, most_bytes)
    except Absent:
        raise
    except DefectError as error:
        return failed(job, f"defect of flashraid: {cause(error)}")
    except Exception as error:
        return failed(job, f"{type(error).__name__}: {cause(error)}")


def failed(job: Job, reason: str) -> str:
    """The row of a job that the machine could not do."""
    return line(row_of(job, FAILED, reason), place_of_work(), 0.0)


def figures_of(result: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The columns of a result: each figure by its path, and of rebuilds and replacements those of the first one."""
    yield from flat(result)
    if "workload" in result:
        yield OF_RECORDING, SEPARATOR.join(result["workload"]["warnings"])
    for event in EVENTS:
        for first in result.get(event, [])[:1]:
            yield from flat(first, f"{event}.0.")


def row_of(job: Job, status: str, reason: str, figures: dict[str, Any] | None = None) -> dict[str, Any]:
    """A row of the results: what can be said of a run that ended in this way."""
    head = dict(zip(HEAD, (job.run, status, reason, job.source.name), strict=True))
    return head | dict(job.source.changes) | (figures or {})


def place_of_work() -> str:
    """This process, as rows name it."""
    return f"{socket.gethostname()}:{os.getpid()}"


def line(row: dict[str, Any], worker: str, seconds: float) -> str:
    """The row with where and when it was made, as a line."""
    provenance = {
        "flashraid": _native.__version__,
        "worker": worker,
        "seconds": round(seconds, 6),
        "ended": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    return json.dumps(row | {PROVENANCE + key: value for key, value in provenance.items()})
