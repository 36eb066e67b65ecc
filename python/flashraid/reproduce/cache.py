"""Results of runs kept between calls, so that an interrupted reproduction goes on and a repeated one ends at once.

One file for each run, in a folder for each build of the engine: `BUILD/RUN`. A run's name is the hash of all that the
engine is told; the folder's that of the engine. Files, and no database: each appears complete under its name or not at
all, two processes at once need no lock (which a home directory on a network may not have), and damage costs one run.

The whole result is kept and not what was measured of it, so that another metric, or a corrected one, needs no new run.
"""

import hashlib
import json
import os
import shutil
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from .. import _native
from ..causes import cause
from ..files import NewFile
from ..kept import VARIABLE, build, content, folder

# Builds whose results stay: those used last. Others' are removed, so that the cache does not grow with every build.
BUILDS = 3


class Cost(NamedTuple):
    """What a run took."""

    seconds: float  # of a core
    requests: int


class Entry(NamedTuple):
    """A run that was done: what it took, and its result."""

    cost: Cost
    text: str  # JSON


def key(trace: str, profile: str, device: str, scheme: str, settings: Sequence[tuple[str, str]]) -> str:
    """The name of a run, by all that the engine is told; of files it is their content that counts, not their place.

    What comes with the engine by name, profiles and devices, is covered by the identity of the engine.
    """
    of_trace = profile or (content(trace) if os.path.isfile(trace) else trace)
    of_device = content(device) if os.path.isfile(device) else device
    told = json.dumps([of_trace, of_device, scheme, sorted(settings)])
    return hashlib.sha256(told.encode()).hexdigest()


class Cache:
    """The results of one build of the engine, and what runs took under others."""

    def __init__(self) -> None:
        self._root = folder() / "reproduce"
        self._own = self._root / build()
        self.problem = ""  # why nothing is kept
        try:
            self._own.mkdir(parents=True, exist_ok=True)
            os.utime(self._own)  # its last use
        except OSError as error:
            self._fail(error)
        self._others = self._tidied()

    def get(self, name: str) -> Entry | None:
        """What is kept of a run; None if there is nothing, or if it is damaged: then the run is done again."""
        try:
            head, _, rest = (self._own / name).read_bytes().partition(b"\n")
            return Entry(_cost(head), zlib.decompress(rest).decode())
        except (OSError, ValueError, zlib.error):
            return None

    def put(self, name: str, entry: Entry) -> None:
        """Keeps a run. Where that is impossible, `problem` says why, and the work goes on."""
        head = f"{entry.cost.seconds:.4f} {entry.cost.requests}\n".encode()
        try:
            file = NewFile(self._own / name, VARIABLE)
            try:
                file.write(head + zlib.compress(entry.text.encode()))
            finally:
                file.discard()
        except (OSError, _native.InputError) as error:
            self._fail(error)

    def cost(self, name: str) -> Cost | None:
        """What the same run took, under this build or the one used last before."""
        for place in (self._own, *self._others):
            with suppress(OSError, ValueError), (place / name).open("rb") as file:
                return _cost(file.readline())
        return None

    def _fail(self, error: Exception) -> None:
        self.problem = f"{self._root}: {cause(error)}"

    def _tidied(self) -> list[Path]:
        """The other builds' folders, the one used last first, after those of builds long unused are removed."""
        try:
            others = [each for each in self._root.iterdir() if each.is_dir() and each != self._own]
            others.sort(key=lambda each: each.stat().st_mtime, reverse=True)
        except OSError:  # there is none, or another process just removed one
            return []
        for each in others[BUILDS - 1 :]:
            shutil.rmtree(each, ignore_errors=True)
        return others[: BUILDS - 1]


def _cost(line: bytes) -> Cost:
    seconds, requests = line.split()
    return Cost(float(seconds), int(requests))
