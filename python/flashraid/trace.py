"""Statistics, requests, conversion, anonymisation and synthesis of traces."""

import json
from typing import TYPE_CHECKING, SupportsFloat, Unpack

from . import _native
from ._native import InputError
from .files import NewFile, refuse_same
from .record import OpenRecord
from .setting_types import Settings
from .settings import (
    Path,
    Progress,
    check_flags,
    check_progress,
    check_texts,
    device_and_config,
    given,
    pairs,
    path_text,
    utf8_path,
)
from .sizes import LARGEST, check_numbers

if TYPE_CHECKING:
    import polars as pl

END = LARGEST  # beyond every time and address
ROWS_AT_A_TIME = 1 << 18


def trace_info(
    trace: Path,
    *,
    page_bytes: int = 4096,
    capacity_bytes: int | None = None,
    progress: Progress | None = None,
    **reading: object,
) -> OpenRecord:
    """Statistics of a trace: requests, footprint in pages of `page_bytes`, inter-arrival times, and how it was read.

    `trace` is a file, plain or compressed, a TOML profile, or `profile:NAME`. With `capacity_bytes`, requests that end
    beyond it are counted. `reading` sets how the trace is read: `format`, `time_unit`, `device_filter`, `on_error`,
    `op`, `action`, `object_bytes`, `sector_bytes`, `columns`, `separator`, `limit`. `progress` is that of `run`; if it
    returns False, KeyboardInterrupt is raised.
    """
    check_numbers(page_bytes=page_bytes, **given(capacity_bytes=capacity_bytes))
    check_progress(progress)
    text = _native.trace_info(path_text(trace, "trace"), pairs(reading), page_bytes, capacity_bytes, progress)
    return OpenRecord(json.loads(text))


def sanity(
    trace: Path,
    *,
    device: Path | None = None,
    scheme: str | None = None,
    config: Path | None = None,
    **settings: Unpack[Settings],
) -> OpenRecord | None:
    """Load of the start of a trace on a device: rate, span, footprint, mean size, highest address, load.

    `warnings` lists likely mistakes, such as times in the wrong unit. The arguments are those of `run`, which gives the
    same warnings. None if the trace can be read only once (a pipe).
    """
    device, config = device_and_config(device, config)
    check_texts(**given(scheme=scheme))
    text = _native.sanity(path_text(trace, "trace"), device, scheme, config, pairs(settings))
    return None if text is None else OpenRecord(json.loads(text))


def read_trace(trace: Path, **reading: object) -> "pl.DataFrame":
    """The requests of a trace as a frame: `arrival_ns`, `op`, `offset_bytes`, `size_bytes`, `device`, `stream`.

    Offsets are in the address space of the device, and `device` is its name in the trace; `stream` is the write
    stream that the request names, 0 for none. `trace` and `reading` are
    those of `trace_info`; no more than `limit` requests are read, and a row takes about 50 bytes.
    """
    import polars as pl

    number, ops = pl.UInt64(), pl.Enum(["read", "write", "trim", "write_zeroes", "flush"])
    columns = {"arrival_ns": number, "op": ops, "offset_bytes": number, "size_bytes": number, "device": pl.String()}
    columns |= {"stream": pl.UInt16()}
    as_text = columns | {"op": pl.String()}
    reader = _native.TraceRowReader(path_text(trace, "trace"), pairs(reading))
    frames = [pl.DataFrame(schema=columns)]
    while rows := reader.read(ROWS_AT_A_TIME):
        frames.append(pl.read_csv(rows, has_header=False, schema=as_text).cast({"op": ops}))
    return pl.concat(frames)


def convert(
    trace: Path,
    output: Path,
    *,
    to: str | None = None,
    from_ns: int = 0,
    to_ns: int = END,
    from_bytes: int = 0,
    to_bytes: int = END,
    skip: int = 0,
    limit: int = 0,
    rebase_time: bool = False,
    rebase_address: bool = False,
    progress: Progress | None = None,
    **reading: object,
) -> OpenRecord:
    """Writes `trace`, or part of it, to `output` in the format `to`, by default the one that the output's name implies.

    It selects requests that arrive at or after `from_ns` and before `to_ns` and lie entirely between `from_bytes` and
    `to_bytes` (a flush always does), skips the first `skip` of them, and takes at most `limit` (0 for all). With
    `rebase_time`, the first request taken arrives at 0; with `rebase_address`, `from_bytes` becomes address 0.
    `reading` is that of `trace_info`. Returns counts of requests taken and left out; raises KeyboardInterrupt if
    `progress` returns False, and then writes nothing.
    """
    check_numbers(from_ns=from_ns, to_ns=to_ns, from_bytes=from_bytes, to_bytes=to_bytes, skip=skip, limit=limit)
    check_flags(rebase_time=rebase_time, rebase_address=rebase_address)
    check_texts(**given(to=to))
    check_progress(progress)
    part = ((from_ns, to_ns), (from_bytes, to_bytes), skip, limit, rebase_time, rebase_address)
    text = _native.convert(path_text(trace, "trace"), pairs(reading), path_text(output, "output"), to, *part, progress)
    return OpenRecord(json.loads(text))


def anonymise(
    trace: Path,
    output: Path,
    *,
    seed: int,
    to: str | None = None,
    progress: Progress | None = None,
    **reading: object,
) -> OpenRecord:
    """Writes a trace without identifying data: times begin at 0, devices are numbered, addresses are permuted.

    docs/traces.md describes what is preserved, and what that can reveal. `seed` decides the permutation: whoever knows
    it can undo that. The other arguments are those of `convert`.
    """
    check_numbers(seed=seed)
    check_texts(**given(to=to))
    check_progress(progress)
    text = _native.anonymise(path_text(trace, "trace"), pairs(reading), path_text(output, "output"), to, seed, progress)
    return OpenRecord(json.loads(text))


def synth(
    output: Path,
    *,
    profile: Path | None = None,
    requests: int | None = None,
    space_bytes: int | None = None,
    interval_ns: int | None = None,
    format: str = "flashraid",
    page_bytes: int = 4096,
    read_share: float = 0.0,
    min_pages: int = 1,
    max_pages: int = 1,
    arrivals: str = "fixed",
    seed: int | None = None,
    progress: Progress | None = None,
) -> int:
    """Writes a synthetic trace to `output` in `format`, and returns the number of its requests.

    Equal arguments give equal files. `profile` is a shipped profile (`profiles()`) or a TOML file; its number of
    requests, space and seed apply unless `requests`, `space_bytes` or `seed` are given. Without a profile, requests are
    uniformly random over `space_bytes`, a share of `read_share` are reads, and `seed` is 1: addresses and sizes are
    whole pages of `page_bytes`, every size from `min_pages` to `max_pages` is equally likely, and requests arrive every
    `interval_ns` (`arrivals="fixed"`) or with exponential gaps of that mean (`"poisson"`). The file is compressed if
    its name ends in .gz, .zst or .xz; `-` is standard output. `progress` is that of `trace_info`.
    """
    path = path_text(output, "output")
    check_texts(format=format, arrivals=arrivals)
    check_progress(progress)
    numbers = {"requests": requests, "space_bytes": space_bytes, "interval_ns": interval_ns, "seed": seed}
    check_numbers(**given(**numbers))
    check_numbers(page_bytes=page_bytes, min_pages=min_pages, max_pages=max_pages)
    if isinstance(read_share, bool) or not isinstance(read_share, SupportsFloat):
        raise InputError(f"read_share = {read_share!r}: allowed is a number from 0 to 1")
    if profile is not None:
        uniform = (page_bytes, read_share, min_pages, max_pages, arrivals, interval_ns)
        if uniform != (4096, 0.0, 1, 1, "fixed", None):
            raise InputError("profile: allowed with it are only requests, seed and space_bytes")
        name = utf8_path(profile, "profile") or ""
        return _native.synth_profile(path, format, name, requests, seed, space_bytes, progress)
    if missing := [name for name, value in numbers.items() if value is None and name != "seed"]:
        raise InputError(f"{', '.join(missing)}: needed without a profile")
    laws = (requests or 0, space_bytes or 0, page_bytes, read_share, min_pages, max_pages, interval_ns or 0)
    return _native.synth(path, format, *laws, arrivals, 1 if seed is None else seed, progress)


def profiles() -> dict[str, str]:
    """The shipped profiles: descriptions by name."""
    return {profile["name"]: profile["about"] for profile in json.loads(_native.profiles())}


def fit(
    trace: Path, output: Path, *, page_bytes: int = 4096, progress: Progress | None = None, **reading: object
) -> OpenRecord:
    """Fits a profile to `trace` and writes it to `output`, a TOML file. Returns the figures of the trace and its twin.

    `figures` holds each figure with `original`, `twin`, `difference` (of the original) and `is_within` (5 %); `beyond`
    counts the others. `page_bytes`, `progress` and `reading` are those of `trace_info`. The requests are held in
    memory.
    """
    check_numbers(page_bytes=page_bytes)
    check_progress(progress)
    path_text(trace, "trace")
    path_text(output, "output")
    refuse_same({"trace": trace}, {"output": output})
    file = NewFile(output, "output")
    try:
        text, comparison = _native.fit(path_text(trace, "trace"), pairs(reading), page_bytes, progress)
        file.write(text)
    finally:
        file.discard()
    return OpenRecord(json.loads(comparison))
