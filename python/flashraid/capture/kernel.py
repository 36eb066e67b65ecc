"""The kernel side of a capture: a loop device, a file system on it, and a tracefs instance that records the device.

Each is a context that undoes itself.
"""

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .._native import InputError
from ..causes import cause

TOOLS = ("losetup", "mkfs.ext4", "mount", "umount")  # util-linux and e2fsprogs
EVENTS = ("block_rq_issue", "block_rq_complete")
LOSSES = ("overrun", "commit overrun", "dropped events")
BUFFER_KIB = 32 * 1024  # of each processor: some 400,000 events
# A command's last processes may still be ending; after an interrupt they are given less time.
UNMOUNT_SECONDS, HURRIED_SECONDS = 10.0, 1.0


def check_machine() -> None:
    """Refuses a machine that cannot capture, and names what is missing."""
    if os.geteuid() != 0:
        raise InputError("trace capture creates a device and mounts it: run it as root")
    if not os.path.exists("/dev/loop-control"):
        raise InputError("no /dev/loop-control: the kernel has no loop devices (CONFIG_BLK_DEV_LOOP)")
    if not os.path.isdir("/sys/kernel/tracing"):
        raise InputError("no /sys/kernel/tracing: the kernel has no tracefs (CONFIG_BLK_DEV_IO_TRACE)")
    for tool in TOOLS:
        _find(tool)


def _find(tool: str) -> str:
    found = shutil.which(tool, path=os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin")))
    if found is None:
        package = "e2fsprogs" if tool == "mkfs.ext4" else "util-linux"
        raise InputError(f"{tool} is missing: install the package {package}")
    return found


def _run(tool: str, *arguments: str | Path) -> str:
    """Runs a tool shielded from Ctrl-C, so that no step is left half done."""
    line = [_find(tool), *map(str, arguments)]
    done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, process_group=0)
    if done.returncode != 0:
        why = (done.stderr.strip() or done.stdout.strip() or f"status {done.returncode}").splitlines()[-1]
        raise InputError(f"{tool}: {why.removeprefix(tool + ': ')}")
    return done.stdout.strip()


def _make_sparse(image: Path, size_bytes: int) -> None:
    try:
        with open(image, "xb") as file:
            file.truncate(size_bytes)
    except OSError as error:
        raise InputError(f"{image.parent}: no space for a device of {size_bytes} bytes: {cause(error)}") from None


@contextmanager
def loop_device(image: Path, size_bytes: int) -> Iterator[Path]:
    """A block device of that size over a new sparse file; direct I/O keeps the file out of the page cache."""
    try:
        _make_sparse(image, size_bytes)
        device = Path(_run("losetup", "--find", "--show", "--direct-io=on", image))
        try:
            if Path("/sys/block", device.name, "loop", "dio").read_text().strip() != "1":
                raise InputError(f"{image.parent}: no direct I/O on its file system; allowed is a directory on a disk")
            yield device
        finally:
            _run("losetup", "--detach", device)
    finally:
        image.unlink(missing_ok=True)


def make_file_system(device: Path) -> None:
    """ext4 that is complete immediately: without these options the kernel would initialize it during the workload."""
    _run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", device)


class Mount:
    """The mounted file system; `left` tells whether processes still used it at the end."""

    def __init__(self, device: Path, folder: Path, is_hurried: Callable[[], bool]) -> None:
        self._device, self._folder, self._is_hurried = device, folder, is_hurried
        self.left = False

    def __enter__(self) -> "Mount":
        self._folder.mkdir(mode=0o755)
        try:
            _run("mount", "-o", "discard,noatime", self._device, self._folder)
        except InputError:
            self._folder.rmdir()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        end = time.monotonic() + (HURRIED_SECONDS if self._is_hurried() else UNMOUNT_SECONDS)
        while not self._unmount():
            if time.monotonic() > end:
                self.left = True
                os.sync()
                _run("umount", "--lazy", self._folder)  # mount and device go when the last process does
                break
            time.sleep(0.1)
        self._folder.rmdir()

    def _unmount(self) -> bool:
        try:
            _run("umount", self._folder)
        except InputError:
            return False
        return True


@contextmanager
def tracefs() -> Iterator[Path]:
    """The mount point of tracefs, which is mounted temporarily if necessary."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    if there := [fields[1] for fields in mounts if fields[2] == "tracefs"]:
        yield Path(there[0])
        return
    folder = Path("/sys/kernel/tracing")
    _run("mount", "-t", "tracefs", "tracefs", folder)
    try:
        yield folder
    finally:
        subprocess.run([_find("umount"), folder], stderr=subprocess.DEVNULL)  # stays if somebody else uses it by now


class Recorder:
    """Appends the events of one block device to a text file while entered; `lost` counts lost events."""

    def __init__(self, tracing: Path, device: Path, text: Path) -> None:
        self._instance = tracing / "instances" / f"flashraid-{os.getpid()}"
        self._device, self._text = os.stat(device).st_rdev, text
        self._thread = threading.Thread(target=self._drain)
        self._ending = threading.Event()
        self._error: OSError | None = None
        self.lost = 0

    def __enter__(self) -> "Recorder":
        self._instance.mkdir()
        try:
            if not (self._instance / "events" / "block").is_dir():
                raise InputError("the kernel has no block tracepoints (CONFIG_BLK_DEV_IO_TRACE)")
            self._set("trace_clock", "mono")
            self._set("buffer_size_kb", str(BUFFER_KIB))
            for event in EVENTS:
                number = os.major(self._device) << 20 | os.minor(self._device)  # the kernel's own dev_t
                self._set(f"events/block/{event}/filter", f"dev == {number}")
                self._set(f"events/block/{event}/enable", "1")
            self._pipe = os.open(self._instance / "trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
        except BaseException:
            self._instance.rmdir()
            raise
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        for event in EVENTS:
            self._set(f"events/block/{event}/enable", "0")
        self._ending.set()
        self._thread.join()
        os.close(self._pipe)
        for stats in self._instance.glob("per_cpu/cpu*/stats"):
            pairs = (line.split(": ") for line in stats.read_text().splitlines())
            self.lost += sum(int(value) for name, value in pairs if name in LOSSES)
        self._instance.rmdir()
        if self._error is not None and error == (None, None, None):
            raise InputError(f"{self._text}: {cause(self._error)}")

    def _set(self, name: str, value: str) -> None:
        try:
            (self._instance / name).write_text(value)
        except OSError as error:
            raise InputError(f"{self._instance / name}: the kernel refuses {value!r}: {cause(error)}") from None

    def _drain(self) -> None:
        try:
            with open(self._text, "xb") as text:
                while True:
                    is_last = self._ending.is_set()  # asked before the pipe is: nothing comes after that
                    self._copy(text.fileno())
                    if is_last:
                        return
                    self._ending.wait(0.02)
        except OSError as error:
            self._error = error

    def _copy(self, target: int) -> None:
        """Copies the present content of the pipe."""
        while True:
            try:
                events = os.read(self._pipe, 1 << 16)
            except BlockingIOError:
                return
            while events:
                events = events[os.write(target, events) :]
