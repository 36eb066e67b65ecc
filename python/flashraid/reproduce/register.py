"""The register: each statement that a paper makes, what decides it here, and what that comes to.

`papers/PAPER/register.toml` has one line for each statement. Nothing in it says how a statement fares: that is computed
from the figures that were recorded, by the rules of docs/papers/README.md ("The register").
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any

from .._native import InputError
from ..causes import cause
from ..settings import known_name
from . import printed
from .judgements import MAGNITUDE, is_difference, is_level, is_within, judge
from .originals import Slower, original_of, slowness
from .outcome import Outcome, Reproduction, of_record
from .page import requirement, table_head, table_row
from .papers import FOLDER, Claim, Paper, check, find, names, read_tables, record, workloads_of

REPRODUCED = "reproduced"
SAME_DIRECTION = "same direction"
CAUSE_KNOWN = "not reproduced, cause known"
CAUSE_UNKNOWN = "not reproduced, cause unknown"
UNDECIDED = "undecided"
NEEDS_DIR = "needs DIR"
OUT_OF_REACH = "out of reach"
NOT_TRIED = (NEEDS_DIR, OUT_OF_REACH)
CATEGORIES = (REPRODUCED, SAME_DIRECTION, CAUSE_KNOWN, CAUSE_UNKNOWN, UNDECIDED, *NOT_TRIED)
# Of several claims that decide one statement together the first of these counts.
GRAVEST_FIRST = (CAUSE_UNKNOWN, CAUSE_KNOWN, UNDECIDED, REPRODUCED)

# Why a statement is out of reach.
REASONS = {
    "input": "an input or a setting of the paper's experiments. Ours was made to have it, so that agreement would say "
    "nothing",
    "not-given": "depends on rules or settings that the paper does not give",
    "authors": "about the authors' own program or hardware",
    "not-modeled": "about something that flashraid has no counterpart of",
    "not-run": "could be tried, but no experiment does",
}

# A value counts as reproduced if ours is within so much of it.
TOLERANCE = 0.10

MARKS = "<!-- claims -->\n", "<!-- end of claims -->"

PAGE_HEAD = """\
# Every claim of the papers

Written by `make papers`; do not edit. What decides a claim stands in `register.toml` beside the other files of each
paper in [papers/](../../papers). [README](README.md#the-register) has the rules.

"""


@dataclass(frozen=True)
class Line:
    """One statement as `register.toml` has it. Without a key that says what decides it, the claim of the same id does.

    `where` and `statement` are those of the claim that decides, unless they are given.
    """

    id: str
    where: str = ""
    statement: str = ""
    judged_by: str | Sequence[str] = ""  # claims of claims.toml; of several all must hold
    cell: Sequence[str] = ()  # workload and point, if that claim is a table
    figure: Mapping[str, Any] = field(default_factory=dict)  # a claim of its own: a value, unless it says otherwise
    trace: Mapping[str, str] = field(default_factory=dict)  # a figure of an original itself (printed.py)
    tested_by: str = ""  # "FILE TEST"
    out_of_reach: str = ""  # one of REASONS
    because: str = ""  # a sentence on that
    cause: str = ""  # of a value that is not reproduced: the claim with the same cause


@dataclass(frozen=True)
class Finding:
    """What a statement comes to."""

    line: Line
    where: str
    statement: str
    category: str
    asked: str = ""  # the paper's number, or what the claim asks
    ours: str = ""
    because: str = ""  # reason, cause or test
    reason: str = ""  # of REASONS, if it is out of reach
    is_near: bool = False  # a value within a factor of two


def lines(paper: Paper) -> list[Line]:
    """The register of a paper; raises InputError that says where it is wrong."""
    where = f"papers/{paper.name}/register.toml"
    tables = read_tables(FOLDER / paper.name / "register.toml")
    for name, table in tables.items():
        if not isinstance(table, Mapping):
            raise InputError(f"{where}: {name}: allowed is a table")
    found = [record(Line, {"id": name, **table}, where) for name, table in tables.items()]
    for line in found:
        _check(line, paper, where)
    return found


def _check(line: Line, paper: Paper, where: str) -> None:
    where = f"{where}: {line.id}:"
    ways = [bool(each) for each in (line.judged_by, line.figure, line.trace, line.tested_by, line.out_of_reach)]
    if sum(ways) > 1:
        raise InputError(f"{where} allowed is one of judged_by, figure, trace, tested_by and out_of_reach")
    if line.out_of_reach:
        known_name(f"{where} out_of_reach", line.out_of_reach, REASONS)
    if any(ways[1:]) and not (line.where and line.statement):
        raise InputError(f"{where} where or statement is missing")
    if line.trace:
        printed.check(line.trace, paper, where)
    for claim in claims_of(line, paper, where):
        check(claim, paper.experiments, where)
    if line.cause:
        known_name(f"{where} cause", line.cause, [claim.id for claim in paper.claims])


def claims_of(line: Line, paper: Paper, where: str = "") -> list[Claim]:
    """The claims that decide a statement: of claims.toml, or one made of a cell or of `figure`."""
    if line.tested_by or line.out_of_reach or line.trace:
        return []
    if line.figure:
        own: dict[str, Any] = {
            "id": line.id,
            "where": line.where,
            "statement": line.statement,
            "kind": "value",
            "judge": "near",
        }
        return [record(Claim, own | dict(line.figure), where)]
    known = {claim.id: claim for claim in paper.claims}
    listed = [line.judged_by or line.id] if isinstance(line.judged_by, str) else list(line.judged_by)
    found = [known[known_name(f"{where} judged_by", each, known)] for each in listed]
    if len(found) > 1 and not all(claim.is_judged for claim in found):
        raise InputError(f"{where} judged_by: a value decides alone")
    if (found[0].judge == "cells") != bool(line.cell):
        raise InputError(f"{where} cell: needed with a claim that is a table, and not allowed without")
    return [_of_cell(found[0], line.cell, where)] if line.cell else found


def _of_cell(claim: Claim, cell: Sequence[str], where: str) -> Claim:
    workload, point = cell
    of_workload = claim.value[known_name(f"{where} cell", workload, claim.value)]
    value = of_workload[known_name(f"{where} cell", point, of_workload)]
    statement = f"{claim.statement} ({workload}, {point})"
    return replace(claim, judge="near", value=value, workloads=[workload], points=[point], statement=statement)


def findings(found: Reproduction) -> list[Finding]:
    """What each statement of a paper comes to."""
    outcomes = {each.claim.id: each for each in found.outcomes}
    paper = find(found.paper.name)  # with what is not measured, as no folder of traces was there
    return [_finding(line, paper, found, outcomes) for line in lines(paper)]


def _finding(line: Line, paper: Paper, found: Reproduction, outcomes: Mapping[str, Outcome]) -> Finding:
    claims = claims_of(line, paper)
    first = Finding(line, line.where, line.statement, REPRODUCED)
    if line.tested_by:
        file, _, test = line.tested_by.partition(" ")
        return replace(first, because=f"test [`{test}`](../../{file})")
    if line.out_of_reach:
        because = f"{line.out_of_reach}: {line.because}".removesuffix(": ")
        return replace(first, category=OUT_OF_REACH, because=because, reason=line.out_of_reach)
    if lacking := _lacking(line, claims, paper, found):
        published = (f"`{name}` ({paper.originals[name].source})" for name in lacking)
        text = first.statement or " ".join(claim.statement for claim in claims)
        where = first.where or claims[0].where
        return replace(first, where=where, statement=text, category=NEEDS_DIR, because=", ".join(published))
    if line.trace:
        return _of_trace(first, paper, found)
    decided = [_of_claim(claim, line, found, outcomes) for claim in claims]
    gravest = min(decided, key=lambda each: GRAVEST_FIRST.index(each.category)) if len(decided) > 1 else decided[0]
    return replace(
        gravest,
        where=line.where or claims[0].where,
        statement=line.statement or " ".join(claim.statement for claim in claims),
        asked="; ".join(each.asked for each in decided),
        ours="; ".join(each.ours for each in decided),
    )


def _lacking(line: Line, claims: Sequence[Claim], paper: Paper, found: Reproduction) -> list[str]:
    """The originals on which what decides a statement is not measured."""
    if line.trace:
        name = line.trace["of"]
        return [] if found.originals.get(name, {}).get("figures") else [name]
    lacking = []
    for claim in claims:
        there = found.paper.experiments.get(claim.experiment)
        for workload in workloads_of(claim, paper.experiments[claim.experiment]):
            if there is None or workload not in there.workloads:
                lacking.append(original_of(workload))
    return sorted(set(lacking))


def _of_trace(first: Finding, paper: Paper, found: Reproduction) -> Finding:
    """What a statement about a trace comes to: whether its figure is the one that the paper prints."""
    of = first.line.trace
    figures = found.originals[of["of"]]["figures"]
    text = printed.Printed.of(of["printed"])
    ours = printed.figure_of(figures, of["figure"])
    finding = replace(first, asked=of["printed"], ours=text.ours(ours))
    if ours is None:
        return replace(finding, category=CAUSE_UNKNOWN)
    if text.agrees(ours):
        return finding
    slower = slowness(figures, paper.originals[of["of"]]) if of["figure"].startswith("interarrival_ns") else None
    if slower and _is_of_speed(slower) and text.is_near(ours / slower.times):
        return replace(finding, category=CAUSE_KNOWN, because=f"another speed: {slower.text()}")
    is_near = is_within(2, ours, text.value)
    return replace(finding, category=SAME_DIRECTION if is_near else CAUSE_UNKNOWN, is_near=is_near)


def _is_of_speed(slower: Slower) -> bool:
    """Whether the trace and the paper's table differ by a speed, and by nothing else."""
    return bool(slower.ratios) and slower.is_one_speed and slower.is_other_speed


def _of_claim(claim: Claim, line: Line, found: Reproduction, outcomes: Mapping[str, Outcome]) -> Finding:
    """What a statement comes to by one claim."""
    figures = found.measured[claim.experiment, ""]
    verdict = judge(claim, found.paper.experiments[claim.experiment], figures)
    finding = Finding(line, "", "", REPRODUCED, requirement(claim), verdict.text())
    if verdict.is_undecided or verdict.is_level:
        because = "too few requests" if verdict.is_undecided else "not told apart"
        return replace(finding, category=UNDECIDED, because=because)
    if not claim.is_judged:
        category = compared(verdict.found, claim.value, has_sign=is_difference(claim), tolerance=claim.tolerance)
        finding = replace(finding, category=category, is_near=_is_near(verdict.found, claim.value))
    elif not verdict.holds:
        finding = replace(finding, category=CAUSE_UNKNOWN)
    if finding.category == REPRODUCED:
        return finding
    excluded = _excluded(claim, found.paper)
    if finding.category == SAME_DIRECTION:
        return replace(finding, because=excluded)
    because = _explained(claim, line, found.paper, outcomes) or excluded
    return replace(finding, category=CAUSE_KNOWN, because=because) if because else finding


def _is_near(ours: float, paper: float) -> bool:
    return ours * paper > 0 and is_within(2, ours, paper)


def compared(ours: float, paper: float, *, has_sign: bool, tolerance: str = "sign") -> str:
    """The category of a value, before its cause is asked.

    A difference between two configurations has a direction, unless ours is level. A share or a number of pages has
    none, and has to be within a factor of two instead, or have the paper's order of magnitude if that is its
    tolerance. What was divided by zero agrees with nothing.
    """
    if not isfinite(ours):
        return CAUSE_UNKNOWN
    if abs(ours - paper) <= TOLERANCE * abs(paper):
        return REPRODUCED
    if has_sign:
        return SAME_DIRECTION if ours * paper > 0 and not is_level(ours, paper) else CAUSE_UNKNOWN
    if tolerance == "magnitude":
        return SAME_DIRECTION if ours * paper > 0 and is_within(MAGNITUDE, ours, paper) else CAUSE_UNKNOWN
    return SAME_DIRECTION if _is_near(ours, paper) else CAUSE_UNKNOWN


def _explained(claim: Claim, line: Line, paper: Paper, outcomes: Mapping[str, Outcome]) -> str:
    """The explanation of a claim, or of the one that the line names as cause, if its changes show it."""
    for each in (claim.id, line.cause):
        outcome = outcomes.get(each)
        if outcome and outcome.explanation and outcome.is_explained:
            return f"[{outcome.explanation.name}]({paper.name}.md#what-fails-and-why)"
    return ""


def _excluded(claim: Claim, paper: Paper) -> str:
    """That the published rules exclude a value, if they do."""
    if any(bound.claim == claim.id and bound.published == claim.value for bound in paper.bounds):
        anchor = "published-numbers-that-the-published-rules-exclude"
        return f"[excluded by the published rules]({paper.name}.md#{anchor})"
    return ""


# ---- the documents


def all_findings(folder: Path) -> dict[str, list[Finding]]:
    """What the statements of each paper come to, on the figures that `folder` has recorded of it."""
    found = {}
    for name in names():
        found[name] = findings(of_record(find(name), _text(folder / f"{name}.json")))
    return found


def summary(found: Mapping[str, Sequence[Finding]], folder: str = "") -> str:
    """The table of counts, for a document from which the papers' pages are in `folder`."""
    everything = [each for of_paper in found.values() for each in of_paper]
    text = list(table_head(["paper", "claims", "tried", *CATEGORIES], 1))
    text += [table_row([f"[{name}]({folder}{name}.md)", *_counts(of_paper)]) for name, of_paper in found.items()]
    text += [table_row(["all", *_counts(everything)]), ""]
    counts = Counter(each.category for each in everything)
    tested = sum(bool(each.line.tested_by) for each in everything)
    near = sum(each.category == SAME_DIRECTION and each.is_near for each in everything)
    text.append(
        f"Of the {counts[REPRODUCED]} that are reproduced, {tested} are worked examples, formulas and rules that tests "
        f"check; of the {counts[SAME_DIRECTION]} values with the same direction, {near} are within a factor of two."
    )
    return "\n".join(text) + "\n"


def _counts(found: Sequence[Finding]) -> list[str]:
    counts = Counter(each.category for each in found)
    tried = len(found) - sum(counts[each] for each in NOT_TRIED)
    return [str(number) for number in (len(found), tried, *(counts[each] for each in CATEGORIES))]


def render(found: Mapping[str, Sequence[Finding]]) -> str:
    """The page with every claim, in Markdown."""
    return PAGE_HEAD + summary(found) + "\n" + "\n".join([*_reasons(found), *_papers(found)])


def _reasons(found: Mapping[str, Sequence[Finding]]) -> Iterator[str]:
    yield "## Out of reach"
    yield ""
    yield from table_head(["reason", "meaning", *found], 2)
    for reason, meaning in REASONS.items():
        counts = [sum(each.reason == reason for each in of_paper) for of_paper in found.values()]
        if any(counts):
            yield table_row([reason, meaning, *map(str, counts)])
    yield ""


def _papers(found: Mapping[str, Sequence[Finding]]) -> Iterator[str]:
    for name, of_paper in found.items():
        yield f"## {name}"
        yield ""
        yield from table_head(["claim", "where", "the paper says", "asked", "ours", "outcome", "because"], 7)
        for each in of_paper:
            row = [f"`{each.line.id}`", each.where, each.statement, each.asked, each.ours, each.category, each.because]
            yield table_row(row)
        yield ""


def documents(folder: Path) -> dict[Path, str]:
    """The documents that show the register, and what they hold: `claims.md`, and README.md there and two levels up."""
    found = all_findings(folder)
    root = folder.resolve().parent.parent
    texts = {folder / "claims.md": render(found)}
    for path, prefix in ((folder / "README.md", ""), (root / "README.md", f"{folder.resolve().relative_to(root)}/")):
        texts[path] = _with_summary(path, summary(found, prefix))
    return texts


def _with_summary(path: Path, table: str) -> str:
    """A document with the table between its marks; raises InputError if it has none."""
    before, _, rest = _text(path).partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not end:
        raise InputError(f"{path}: lacks the line {MARKS[0].strip()} or {MARKS[1]}")
    return before + MARKS[0] + table + end + after


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {cause(error)}") from None
