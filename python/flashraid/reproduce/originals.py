"""Recordings that are no part of flashraid, where a user has them: found by name, read by their columns, checked.

What they are checked against are the paper's tables. What was measured on them is recorded with their SHA-256.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import exp, log
from pathlib import Path
from statistics import median
from typing import Any

from .. import _native
from .._native import InputError, __version__
from ..causes import cause
from ..kept import content
from ..quantities import rounded
from ..trace import trace_info
from .papers import ORIGINAL, Original, Overlay, Paper

# Tables are rounded, and papers count a KB as 1,000 or 1,024 bytes.
TOLERANCE = 0.05
# A trace that differs in these is another one; in the other figures papers differ about one and the same trace.
DECISIVE = ("requests", "write_share")
# What is recorded of a trace, by key of `trace info --json`.
FIGURES = (
    "requests",
    "write_share",
    "mean_bytes",
    "mean_write_bytes",
    "update_request_share",
    "requests_per_second",
    "duration_ns",
    "interarrival_ns",
)
# Formats whose files have no header and share an ending. Their columns cannot be taken for each other's.
BY_COLUMNS = ("msr", "alibaba", "spc", "tencent")
# The setting by which times are divided besides `speed`: what a paper's table has them shorter by.
TABLE_SPEED = "table_speed"
LONGEST = "p100"
# A table's times are those of a trace at another speed if its quantiles agree on it so well.
ONE_SPEED = 0.1


@dataclass(frozen=True)
class Slower:
    """How many times as long as in a paper's table the times between a trace's arrivals are."""

    times: float
    ratios: Mapping[str, float]  # by quantile; none if the table has a rate alone

    @property
    def is_one_speed(self) -> bool:
        """Whether all quantiles agree on it."""
        return all(abs(each / self.times - 1) <= ONE_SPEED for each in self.ratios.values())

    @property
    def is_other_speed(self) -> bool:
        """Whether the trace and the table differ by a speed."""
        return abs(self.times - 1) > ONE_SPEED or not self.is_one_speed

    def text(self) -> str:
        """What it is, and by which quantiles."""
        text = f"{rounded(self.times, 4)} times those" if self.is_other_speed else "those"
        by = ", ".join(f"{key.removeprefix('p')} %: {rounded(each, 3)}" for key, each in self.ratios.items())
        by += "" if self.is_one_speed else "; they agree on no speed"
        return f"{text} of the paper's table" + (f" ({by})" if by else "")


@dataclass(frozen=True)
class Recording:
    """A trace that was found."""

    path: Path
    place: str  # in the folder of traces
    format: str = "auto"
    figures: Mapping[str, Any] = field(default_factory=dict)  # FIGURES; none of a folder's traces, of which no table is
    speed: float = 1.0

    def overlay(self) -> Overlay:
        """The settings that replay it."""
        overlay: dict[str, Any] = {"trace": os.path.abspath(self.path)}
        overlay |= {} if self.format == "auto" else {"format": self.format}
        return overlay | ({} if self.speed == 1 else {TABLE_SPEED: self.speed})

    def provenance(self) -> dict[str, Any]:
        """What is recorded of it beside the figures that it gave."""
        sha256 = content(str(self.path))
        told = {"file": self.place, "sha256": sha256, "speed": self.speed, "version": __version__}
        return told | ({"figures": self.figures} if self.figures else {})


@dataclass(frozen=True)
class Found:
    """A paper with the traces of a folder."""

    paper: Paper
    notes: list[str]  # what is to be said of the traces
    recordings: Mapping[str, Recording]  # by the name of the original, those of a folder as NAME/01

    def provenance(self) -> dict[str, dict[str, Any]]:
        """Of each trace."""
        return {name: each.provenance() for name, each in self.recordings.items()}


def with_originals(paper: Paper, folder: str, *, at_paper_speed: bool = False, keeps_profiles: bool = False) -> Found:
    """The paper with the traces in `folder`: where it names them as workloads, and in place of the profiles that stand
    for them, unless it `keeps_profiles`.

    Variants and changes of explanations that alter a profile which is replaced are left out. With `at_paper_speed`
    traces are replayed as fast as the paper's tables say. Raises InputError if none of the traces is there, if two
    files could be the same one, or if one is not what the paper's table says.
    """
    if not os.path.isdir(folder):
        raise InputError(
            f"traces {folder}: {'a file, not a directory' if os.path.exists(folder) else 'no such directory'}"
        )
    originals = _used(paper)
    if not originals:
        raise InputError(
            f"traces {folder}: of no use to {paper.name}: none of its workloads is a recording that can be had"
        )
    try:
        os.listdir(folder)
    except OSError as error:
        raise InputError(f"traces {folder}: {cause(error)}") from None
    there = _listed(Path(folder))
    found: dict[str, Recording] = {}
    notes: list[str] = []
    slower: dict[str, Slower] = {}
    for name, original in originals.items():
        if original.members:
            members = _of_folder(Path(folder), there, name, paper)
            notes += [f"{name} is {next(iter(members.values())).path.parent}"] if members else []
            found |= members
        elif path := _find(there, original):
            recording = _read(path, os.path.relpath(path, folder), name, original)
            notes.append(f"{name} is {path}")
            notes += _differences(recording, name, original)
            if (factor := slowness(recording.figures, original)) is not None:
                slower[name] = factor
            found[name] = recording
    near = _near(there, originals, found)
    if not found:
        allowed = ", ".join(each.files[0] for each in originals.values())
        hint = f"; {near[0]}" if near else ""
        raise InputError(
            f"traces {folder}: it has none of the traces of {paper.name}: allowed are {allowed}, with any ending{hint}"
        )
    notes += near
    if at_paper_speed and not slower:
        raise InputError("--paper-speed: no table of the paper says how fast the requests of these traces come")
    for name, factor in slower.items():
        text = f"{name}: times between arrivals are {factor.text()}"
        if at_paper_speed:
            found[name] = replace(found[name], speed=float(f"{factor.times:.4g}"))
            text += "; replayed so much faster" if factor.is_other_speed else ""
        elif factor.is_other_speed:
            text += "; --paper-speed replays it so much faster"
        notes.append(text)
    return Found(_laid_over(paper, found, keeps_profiles), notes, found)


def _laid_over(paper: Paper, found: Mapping[str, Recording], keeps_profiles: bool) -> Paper:
    """The paper whose workloads are the traces that were found."""
    workloads = dict(paper.workloads)
    replaced = []
    for name, recording in found.items():
        original = paper.originals[name.partition("/")[0]]
        overlay = {**original.settings, **recording.overlay()}
        workloads[f"{ORIGINAL}{name}"] = overlay
        if name in workloads and not keeps_profiles:
            workloads[name] = overlay
            replaced.append(name)
    experiments = {
        name: replace(each, workloads={own: workloads[own] for own in each.workloads})
        for name, each in paper.experiments.items()
    }
    reasons = [
        replace(reason, changes=[each for each in reason.changes if not _alters_profile(each, replaced)])
        for reason in paper.explanations
    ]
    variants = [each for each in paper.variants if not _alters_profile(each.change, replaced)]
    return replace(paper, workloads=workloads, experiments=experiments, explanations=reasons, variants=variants)


def _used(paper: Paper) -> dict[str, Original]:
    """The originals that are workloads of the paper's experiments, or stand for one."""
    used = {original_of(name) for each in paper.experiments.values() for name in each.workloads}
    used |= {original_of(name) for each in paper.variants for name in each.workloads}
    return {name: each for name, each in paper.originals.items() if name in used}


def original_of(workload: str) -> str:
    """The original that a workload `original:NAME`, or `original:NAME/01`, is of."""
    return workload.removeprefix(ORIGINAL).partition("/")[0]


# ---- by name


def _listed(folder: Path, depth: int = 2) -> list[Path]:
    """What lies in a folder and so many folders below it, hidden names left out."""
    try:
        found = sorted(each for each in folder.iterdir() if not each.name.startswith("."))
    except OSError:  # of which nothing can be told
        return []
    below = [path for each in found if depth and each.is_dir() for path in _listed(each, depth - 1)]
    return found + below


def _stem(path: Path) -> str:
    return path.name.partition(".")[0].lower()


def _find(there: Sequence[Path], original: Original) -> Path | None:
    names = [each.lower() for each in original.files]
    found = [each for each in there if _stem(each) in names and each.is_file()]
    if len(found) > 1:
        raise InputError(f"traces: {found[0]} and {found[1].name} could both be {original.files[0]}: allowed is one")
    return found[0] if found else None


def _of_folder(folder: Path, there: Sequence[Path], name: str, paper: Paper) -> dict[str, Recording]:
    """The traces of an original that is a folder, numbered in the order of their names; none if it is not there.

    Those of them that the paper has a table of, as originals of their own, are checked against it.
    """
    original = paper.originals[name]
    names = [each.lower() for each in original.files]
    found = [each for each in (folder.absolute(), *there) if _stem(each) in names]
    if not found:
        return {}
    place = found[0]
    if len(found) > 1:
        raise InputError(f"traces: {place} and {found[1]} could both be {name}: allowed is one")
    if not place.is_dir():
        raise InputError(f"traces: {place}: allowed is a folder of {original.members} traces: unpack it")
    traces = [each for each in sorted(place.iterdir()) if each.is_file() and ".csv" in each.name.lower()]
    if len(traces) != original.members:
        # With one less, the numbers of those behind it would be wrong.
        raise InputError(f"traces: {place}: it has {len(traces)} traces (.csv); {name} has {original.members}")
    like = re.compile(re.sub(r"\d+", r"\\d+", re.escape(original.members_like)) + "$", re.IGNORECASE)
    if strange := next((each for each in traces if not like.search(_stem(each))), None):
        raise InputError(f"traces: {strange}: none of {name}: allowed are names as {original.members_like}")
    numbers = [each.removeprefix(ORIGINAL) for each in original.names(name)]
    members = {
        number: Recording(each, os.path.relpath(each, folder), _format(each))
        for number, each in zip(numbers, traces, strict=True)
    }
    for single, of in paper.originals.items():
        files = [each.lower() for each in of.files]
        for member in (each for each in members.values() if of.table and _stem(each.path) in files):
            for _ in _differences(_read(member.path, member.place, single, of), single, of):
                pass  # one that is another trace is refused; the others' are noted where it is used alone
    return members


def _near(there: Sequence[Path], originals: Mapping[str, Original], found: Mapping[str, Recording]) -> list[str]:
    """Of files that are none of the traces, those whose names are nearly one's."""
    keys = {name.partition("/")[0] for name in found}
    names = [name for key, each in originals.items() if key not in keys for name in each.files]
    used = {each.path for each in found.values()}
    meant = {path: _native.meant(_stem(path), names) for path in there if path not in used}
    return [f"{path.name} {_what_is_wrong(path, near[0])}" for path, near in meant.items() if near]


def _what_is_wrong(path: Path, name: str) -> str:
    if path.is_file() or _stem(path).lower() != name.lower():
        return f"is none of them; the nearest is {name}"
    return "is a folder, not a file" if path.is_dir() else "is a link to nothing"


# ---- by columns and figures


def known_format(path: str | Path) -> str:
    """`auto` if header or name of a file tell its format; else the only one whose columns fit the first requests."""
    try:
        trace_info(path, limit=1)
    except InputError:
        fitting = [each for each in BY_COLUMNS if _fits(path, each)]
        if len(fitting) != 1:
            raise
        return fitting[0]
    return "auto"


def _fits(path: str | Path, format: str) -> bool:
    try:
        trace_info(path, limit=1, format=format)
    except InputError:
        return False
    return True


def _read(path: Path, place: str, name: str, original: Original) -> Recording:
    if original.sha256 and (own := content(str(path))) not in original.sha256:
        raise InputError(f"traces: {path}: not {name}: its SHA-256 is {own}, and that of {name} {original.sha256[0]}")
    format = _format(path)
    return Recording(path, place, format, figures_of(str(path), format))


def figures_of(path: str, format: str) -> Mapping[str, Any]:
    """What is recorded of a trace, read once for each content of the file."""
    return _figures_of(content(path), path, format)


@cache
def _figures_of(_sha256: str, path: str, format: str) -> Mapping[str, Any]:
    try:
        info = trace_info(path, format=format).to_dict()
    except InputError as error:
        raise InputError(f"traces: {without_options(str(error))}") from None
    return {key: info[key] for key in FIGURES}


def _format(path: Path) -> str:
    try:
        return known_format(path)
    except InputError as error:
        text = without_options(str(error))
    raise InputError(f"traces: {text.replace('expected --format', 'its first line is no request of')}")


def without_options(text: str) -> str:
    """What is wrong with a trace, without the options of other commands that would help there."""
    for advice in (" (--columns reads other columns)", ", or --on-error skip to read what there is of it"):
        text = text.replace(advice, "")
    return text


def _differences(recording: Recording, name: str, original: Original) -> Iterator[str]:
    """In what the trace differs from the paper's table."""
    for key, published in original.table.items():
        ours = recording.figures[key]
        if abs(ours - published) > TOLERANCE * abs(published):
            text = f"{key} is {ours:,.6g}; the paper has {published:,.6g}"
            if key in DECISIVE:
                raise InputError(f"traces: {recording.path}: not the trace of {name}: {text}")
            yield f"{name}: {text}"


def slowness(figures: Mapping[str, Any], original: Original) -> Slower | None:
    """How many times as long as in the paper's tables the times between arrivals are; None if the tables do not say.

    It is the median over the quantiles but the last, which is that of a single pause.
    """
    quantiles = figures.get("interarrival_ns") or {}
    pairs = {key: (quantiles.get(key, 0), published) for key, published in original.intervals_ns.items()}
    ratios = {key: ours / published for key, (ours, published) in pairs.items() if key != LONGEST and ours > 0}
    if ratios:
        return Slower(exp(median(log(each) for each in ratios.values())), ratios)
    rate, published = figures.get("requests_per_second"), original.table.get("requests_per_second")
    return Slower(published / rate, {}) if rate and published else None


def _alters_profile(change: Overlay | str, workloads: Collection[str]) -> bool:
    if isinstance(change, str):
        return False
    own = [change[each] for each in workloads if isinstance(change.get(each), Mapping)]
    return bool(workloads) and any("profile" in each for each in (change, *own))
