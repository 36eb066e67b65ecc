"""The engine in Rust; conversions only. Settings are pairs of key (or table.key) and value as text."""

from collections.abc import Callable, Sequence
from pathlib import Path

__version__: str

class FlashraidError(Exception): ...
class InputError(FlashraidError): ...
class DefectError(FlashraidError): ...
class PanicException(BaseException): ...

def keep_panics() -> None: ...
def last_panic() -> str | None: ...
def meant(given: str, known: Sequence[str]) -> list[str]: ...
def called(given: str) -> str | None: ...
def toml(file: str, text: str) -> str: ...
def run(
    trace: str | Path,
    device: str | None,
    scheme: str | None,
    config: str | Path | None,
    settings: Sequence[tuple[str, str]],
    outputs: Sequence[tuple[str, str]],
    with_cost: bool,
    progress: Callable[[str, int, float | None], object] | None,
    prepared: Prepared | None = None,
) -> tuple[str, str | None, list[str], int]: ...

class Prepared:
    def __init__(
        self,
        device: str | None,
        scheme: str | None,
        config: str | Path | None,
        settings: Sequence[tuple[str, str]],
        progress: Callable[[str, int, float | None], object] | None,
    ) -> None: ...
    @property
    def is_complete(self) -> bool: ...

def preparation(
    device: str | None, scheme: str | None, config: str | Path | None, settings: Sequence[tuple[str, str]]
) -> str | None: ...
def torture(
    scheme: str,
    device: str | None,
    seed: int,
    kills: int,
    kill: int | None,
    rebuild: str,
    second: bool,
    settings: Sequence[tuple[str, str]],
    progress: Callable[[str, int], object] | None,
) -> tuple[str, int]: ...
def configuration(
    device: str | None, scheme: str | None, config: str | Path | None, settings: Sequence[tuple[str, str]]
) -> str: ...
def configuration_of_result(result: str) -> str: ...
def same_value(key: str, one: str, other: str) -> bool: ...
def sanity(
    trace: str | Path,
    device: str | None,
    scheme: str | None,
    config: str | Path | None,
    settings: Sequence[tuple[str, str]],
) -> str | None: ...
def trace_info(
    trace: str | Path,
    reading: Sequence[tuple[str, str]],
    page_bytes: int,
    capacity_bytes: int | None,
    progress: Callable[[str, int, float | None], object] | None,
) -> str: ...
def read_with(trace: str | Path) -> list[Path]: ...
def convert(
    trace: str | Path,
    reading: Sequence[tuple[str, str]],
    output: str | Path,
    format: str | None,
    time_ns: tuple[int, int],
    address_bytes: tuple[int, int],
    skip: int,
    limit: int,
    rebase_time: bool,
    rebase_address: bool,
    progress: Callable[[str, int, float | None], object] | None,
    pieces: tuple[int, int] | None = None,
) -> str: ...
def anonymise(
    trace: str | Path,
    reading: Sequence[tuple[str, str]],
    output: str | Path,
    format: str | None,
    seed: int,
    progress: Callable[[str, int, float | None], object] | None,
) -> str: ...
def synth(
    output: str | Path,
    format: str,
    requests: int,
    space_bytes: int,
    page_bytes: int,
    read_share: float,
    min_pages: int,
    max_pages: int,
    interval_ns: int,
    arrivals: str,
    seed: int,
    progress: Callable[[str, int, float | None], object] | None,
) -> int: ...
def synth_profile(
    output: str | Path,
    format: str,
    profile: str,
    requests: int | None,
    seed: int | None,
    space_bytes: int | None,
    progress: Callable[[str, int, float | None], object] | None,
) -> int: ...
def fit(
    trace: str | Path,
    reading: Sequence[tuple[str, str]],
    page_bytes: int,
    progress: Callable[[str, int, float | None], object] | None,
) -> tuple[str, str]: ...
def profiles() -> str: ...
def profile(name: str) -> str: ...
def check_profile(text: str, name: str) -> None: ...
def devices() -> str: ...
def device(name: str, scheme: str | None) -> str: ...
def device_file(name: str) -> str: ...
def schemes(name: str | None) -> str: ...
def settings() -> str: ...

class TraceRowReader:
    def __new__(cls, trace: str | Path, reading: Sequence[tuple[str, str]]) -> TraceRowReader: ...
    def read(self, rows: int) -> bytes: ...

class Simulation:
    def __new__(
        cls,
        device: str | None,
        scheme: str | None,
        config: str | Path | None,
        settings: Sequence[tuple[str, str]],
    ) -> Simulation: ...
    def submit(self, op: str, offset_bytes: int, size_bytes: int, arrival_ns: int | None, stream: int) -> int: ...
    def submit_many(
        self,
        op: Sequence[str],
        offset_bytes: Sequence[int],
        size_bytes: Sequence[int],
        arrival_ns: Sequence[int],
        stream: Sequence[int] | None,
    ) -> list[int]: ...
    def fail(self, fault: str) -> None: ...
    def replace_device(self, device: int) -> None: ...
    def advance_until(self, time_ns: int) -> None: ...
    def next_event_time(self) -> int | None: ...
    @property
    def now_ns(self) -> int: ...
    @property
    def outstanding(self) -> int: ...
    @property
    def space_bytes(self) -> int: ...
    def take_completed(self) -> list[tuple[int, str, int, int, bool]]: ...
    def finish(self) -> None: ...
    def verify(self) -> str | None: ...
    def save_drive(self, path: str | Path) -> None: ...
    def clone(self) -> Simulation: ...
    def result(self) -> str: ...
