"""Where files are kept that can be made again, and by what they are told apart: the engine's build, and contents."""

import hashlib
import os
import sys
from functools import cache
from pathlib import Path

from . import _native

VARIABLE = "FLASHRAID_CACHE"


def folder() -> Path:
    """Where results are kept: the value of FLASHRAID_CACHE, else the platform's place for what can be made again."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "flashraid"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "flashraid" / "Cache"
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else home / ".cache") / "flashraid"


@cache
def build() -> str:
    """The identity of the engine: its version, and the hash of the file that it is."""
    return f"{_native.__version__}-{content(str(_native.__file__))[:16]}"


def content(path: str) -> str:
    """The SHA-256 of a file."""
    stat = os.stat(path)
    return _content(path, stat.st_size, stat.st_mtime_ns)


@cache
def _content(path: str, size: int, modified_ns: int) -> str:
    """The same, read once for each state of the file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
