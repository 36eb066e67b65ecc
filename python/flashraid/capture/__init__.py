"""Trace capture: runs a command on its own file system and records the kernel's block tracepoints."""

import gzip
import io
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

from .._native import InputError
from ..interrupts import undoing
from .conversion import Counts, convert
from .kernel import Mount, Recorder, check_machine, loop_device, make_file_system, tracefs
from .workload import Interrupts, evict, run_command

MIN_SIZE_BYTES = 16 << 20
Result = TypeVar("Result")


@dataclass
class Capture:
    """The files and counts of a capture."""

    trace: Path
    text: Path  # the kernel's own words
    status: int  # of the command; minus the signal that ended it
    counts: Counts
    lost: int  # events that the kernel had no room for
    left: bool  # processes of the command still used the mount at the end


def capture(folder: Path, output: Path, command: Sequence[str], *, size_bytes: int, evicting: bool) -> Capture:
    """Runs a command on a new file system in `folder` and writes the requests that reach its device to `output`.

    Raises InputError for bad use or a machine that lacks something, KeyboardInterrupt after an interrupt; nothing is
    left behind but the trace and its text.
    """
    text = _check_output(output)
    command = _check_command(command)
    if size_bytes < MIN_SIZE_BYTES or size_bytes % 4096:
        raise InputError(f"--size {size_bytes}: allowed are multiples of 4096 bytes, at least 16MiB")
    _check_folder(folder)
    check_machine()
    # What has been made is undone step by step, which must not be ended by force.
    with undoing, Interrupts() as interrupts:
        is_new = not folder.exists()
        folder.mkdir(exist_ok=True)
        folder = folder.resolve()
        events = folder / "events.txt"
        try:
            status, lost, left = _record(folder, events, command, size_bytes, evicting, interrupts)
            with open(events, "rb") as source:
                _write(text, lambda target: shutil.copyfileobj(source, target), interrupts)
            with open(events, encoding="utf-8", errors="replace") as source_text:
                lines = _until_interrupted(source_text, interrupts)
                counts = _write(output, lambda target: _convert(lines, target), interrupts)
        except BaseException:
            text.unlink(missing_ok=True)
            raise
        finally:
            events.unlink(missing_ok=True)
            if is_new:
                with suppress(OSError):
                    folder.rmdir()
    return Capture(output, text, status, counts, lost, left)


def _check_output(output: Path) -> Path:
    """Refuses an output that cannot be written; returns the name of the event text."""
    stem, suffix = output.name.removesuffix(".gz").removesuffix(".csv"), ".gz" if output.suffix == ".gz" else ""
    if not stem or output.name != f"{stem}.csv{suffix}":
        raise InputError(f"{output}: allowed is a name that ends in .csv or .csv.gz")
    text = output.with_name(f"{stem}.tracefs.txt{suffix}")
    for path in (output, text):
        if path.exists():
            raise InputError(f"{path}: exists already; allowed is a new name")
    if not os.access(output.parent, os.W_OK):
        raise InputError(f"{output.parent}: no such directory, or it is not writable")
    return text


def _check_command(command: Sequence[str]) -> list[str]:
    """The command with the absolute path of its program, resolved here and not in the mount."""
    program = shutil.which(command[0])
    if program is None:
        raise InputError(f"{command[0]}: no such command")
    return [os.path.abspath(program), *command[1:]]


def _check_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--dir {folder}: not a directory; allowed is an empty or a new directory")
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"--dir {folder}: not empty; allowed is an empty or a new directory")


def _record(
    folder: Path, events: Path, command: Sequence[str], size_bytes: int, evicting: bool, interrupts: Interrupts
) -> tuple[int, int, bool]:
    """Records the events of a command, from making the file system to unmounting it."""
    mount_point = folder / "mnt"
    with (
        loop_device(folder / "disk.img", size_bytes) as device,
        tracefs() as tracing,
        Recorder(tracing, device, events) as recorder,
    ):
        make_file_system(device)
        interrupts.check()
        with Mount(device, mount_point, lambda: interrupts.noted) as mount:
            each_second = (lambda: evict(mount_point)) if evicting else (lambda: None)
            status = run_command(command, mount_point, interrupts, each_second)
        interrupts.check()
    return status, recorder.lost, mount.left


def _until_interrupted(lines: Iterable[str], interrupts: Interrupts) -> Iterator[str]:
    for line in lines:
        interrupts.check()
        yield line


def _convert(lines: Iterable[str], target: BinaryIO) -> Counts:
    output = io.TextIOWrapper(target, encoding="ascii", newline="")
    counts = convert(lines, output)
    output.flush()
    output.detach()  # the file stays open: its owner closes it
    return counts


def _write(path: Path, fill: Callable[[BinaryIO], Result], interrupts: Interrupts) -> Result:
    """Writes a file, compressed if its name says so, that appears complete or not at all."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(part, "xb") as file:
            if path.suffix == ".gz":
                with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                    result = fill(cast(BinaryIO, packed))
            else:
                result = fill(file)
        interrupts.check()
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return result
