"""The traces that a paper used, where a user has them: found by name, checked against the paper's table."""

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from .._native import InputError
from ..trace import trace_info
from .papers import Original, Overlay, Paper

# Tables are rounded, and papers count a KB as 1,000 or 1,024 bytes.
TOLERANCE = 0.05
# A trace that differs in these is another one; in the other figures papers differ about one and the same trace.
DECISIVE = ("requests", "write_share")


def with_originals(paper: Paper, folder: str) -> tuple[Paper, list[str]]:
    """The paper with the traces in `folder` in place of the profiles that stand for them, and what is to be said of it.

    Variants and changes of explanations that alter a profile which is replaced are left out. Raises InputError if none
    of the traces is there, if two files could be the same one, or if one is not what the paper's table says.
    """
    if not os.path.isdir(folder):
        raise InputError(f"traces {folder}: no such directory")
    found: dict[str, Overlay] = {}
    notes = []
    for workload, original in paper.originals.items():
        path = _find(folder, original)
        if path is not None:
            notes.append(f"{workload} is {path}")
            notes += _differences(path, workload, original)
            found[workload] = {"trace": os.path.abspath(path)}
    if not found:
        known = ", ".join(original.files[0] for original in paper.originals.values())
        raise InputError(
            f"traces {folder}: it has none of the traces of {paper.name}: "
            + (f"allowed are {known}, with any ending" if known else "the paper's workloads are synthetic")
        )
    workloads = dict(paper.workloads) | found
    experiments = {
        name: replace(each, workloads={own: workloads[own] for own in each.workloads})
        for name, each in paper.experiments.items()
    }
    reasons = [
        replace(reason, changes=[each for each in reason.changes if not _alters_profile(each, found)])
        for reason in paper.explanations
    ]
    variants = [each for each in paper.variants if not _alters_profile(each.change, found)]
    changed = replace(paper, workloads=workloads, experiments=experiments, explanations=reasons, variants=variants)
    return changed, notes


def _find(folder: str, original: Original) -> Path | None:
    names = [each.lower() for each in original.files]
    found = sorted(each for each in Path(folder).iterdir() if each.name.partition(".")[0].lower() in names)
    if len(found) > 1:
        raise InputError(f"traces: {found[0]} and {found[1].name} could both be {original.files[0]}: allowed is one")
    return found[0] if found else None


def _differences(path: Path, workload: str, original: Original) -> Iterator[str]:
    """In what the trace differs from the paper's table."""
    info = trace_info(path)
    for key, published in original.table.items():
        ours = getattr(info, key)
        if abs(ours - published) > TOLERANCE * abs(published):
            text = f"{key} is {ours:,.6g}; the paper has {published:,.6g}"
            if key in DECISIVE:
                raise InputError(f"traces: {path}: not the trace of {workload}: {text}")
            yield f"{workload}: {text}"


def _alters_profile(change: Overlay | str, workloads: Collection[str]) -> bool:
    if isinstance(change, str):
        return False
    own = [change[each] for each in workloads if isinstance(change.get(each), Mapping)]
    return any("profile" in each for each in (change, *own))
