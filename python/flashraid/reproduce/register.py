"""The register: each statement that a paper makes, what decides it here, and what that comes to.

`papers/PAPER/register.toml` has one line for each statement. Nothing in it says how a statement fares: that is computed
from the figures that were recorded, by the rules of docs/papers/README.md ("The register").
"""

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any

from .._native import InputError
from ..causes import cause
from ..settings import known_name
from . import printed
from .found import Outcome
from .judgements import Verdict, is_difference, is_level, is_moved, is_within, judge
from .originals import Slower, original_of, slowness
from .outcome import Reproduction, changes_of, of_record
from .page import requirement, table_head, table_row
from .papers import (
    FOLDER,
    Claim,
    Overlay,
    Paper,
    changes_workload,
    check,
    find,
    names,
    read_tables,
    record,
    selection,
    workloads_of,
)

REPRODUCED = "reproduced"
BY_RULE = "by rule"
SAME_DIRECTION = "same direction"
CONTRADICTED = "contradicted by the paper itself"
CAUSE_KNOWN = "not reproduced, cause known"
CAUSE_UNKNOWN = "not reproduced, cause unknown"
UNDECIDED = "undecided"
NEEDS_DIR = "needs DIR"
OUT_OF_REACH = "out of reach"
NOT_TRIED = (NEEDS_DIR, OUT_OF_REACH)
CATEGORIES = (REPRODUCED, BY_RULE, SAME_DIRECTION, CONTRADICTED, CAUSE_KNOWN, CAUSE_UNKNOWN, UNDECIDED, *NOT_TRIED)
# What is said of an input that nothing checks.
COPIED = "copied"
# What is said of a figure that a profile was fitted to: it confirms nothing, and is not counted.
FITTED = "fitted"
# Of several claims that decide one statement together the first of these counts.
GRAVEST_FIRST = (CAUSE_UNKNOWN, CAUSE_KNOWN, CONTRADICTED, UNDECIDED, FITTED, SAME_DIRECTION, BY_RULE, REPRODUCED)

# Why a statement is out of reach.
REASONS = {
    "not-given": "depends on rules or settings that the paper does not give",
    "authors": "about the authors' own program or hardware",
    "not-modeled": "about something that flashraid has no counterpart of",
    "not-run": "could be tried, but no experiment does",
}

# A value counts as reproduced if ours is within so much of it.
TOLERANCE = 0.10
# By how many times at most a difference may be another one than the paper's, and still be said to have its direction.
MOST_TIMES = 3
# Words of an order, which no single value decides.
ORDER = re.compile(
    r"\b(the|its) (most|least|best|worst|largest|smallest|highest|lowest|longest|shortest|fastest|slowest)\b"
    r"|\b(most|least) of all\b|\bat (best|worst)\b",
    re.IGNORECASE,
)

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
    also: Sequence[str] = ()  # other names of the same: a statement that is made again, the parts of one example
    where: str = ""
    statement: str = ""
    input: bool = False  # what the paper's experiments are given: listed, and no claim
    judged_by: str | Sequence[str] = ""  # claims of claims.toml; of several all must hold
    cell: Sequence[str] = ()  # workload and point, if that claim is a table
    figure: Mapping[str, Any] = field(default_factory=dict)  # a claim of its own: a value, unless it says otherwise
    trace: Mapping[str, str] = field(default_factory=dict)  # a figure of an original itself (printed.py)
    tested_by: str | Sequence[str] = ""  # "FILE TEST"; of several all must pass
    by_rule: str = ""  # why it cannot fail
    contradicted: str = ""  # what else the paper says, by which the statement is wrong
    out_of_reach: str = ""  # one of REASONS
    because: str = ""  # a sentence on that, on why what decides it was fitted, or on what its outcome hangs on
    cause: str = ""  # of a value that is not reproduced: the claim with the same cause

    @property
    def is_input(self) -> bool:
        """Whether it is of what the experiments are given, as all that tables say of traces is."""
        return self.input or bool(self.trace)

    @property
    def tests(self) -> Sequence[str]:
        """The tests that decide it."""
        return [self.tested_by] if isinstance(self.tested_by, str) and self.tested_by else list(self.tested_by)

    @property
    def has_no_decider(self) -> bool:
        """Whether neither a figure nor a test decides it: arithmetic, what is contradicted, inputs that were copied."""
        decides = (self.judged_by, self.figure, self.trace, self.tested_by, self.out_of_reach)
        return not any(decides) and bool(self.statement and (self.input or self.by_rule or self.contradicted))


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
    decided: dict[Hashable, str] = {}
    for line in found:
        _check(line, paper, where)
        for decider, said in _deciders(line, paper):
            other = decided.setdefault(decider, line.id)
            if other != line.id:
                raise InputError(f"{where}: {line.id}: {said} decides {other} already, and no statement counts twice")
    return found


def _deciders(line: Line, paper: Paper) -> Iterator[tuple[Hashable, str]]:
    """What decides a statement, each with its name: of values the figure, whatever the paper's number."""
    if line.is_input:
        return
    for test in line.tests:
        yield test, f"test {test}"
    for claim in claims_of(line, paper):
        figure = (claim.experiment, claim.against, claim.relation, claim.group, repr(selection(claim)))
        yield claim.id if claim.is_judged else figure, f"the figure of {claim.id}"


def _check(line: Line, paper: Paper, where: str) -> None:
    where = f"{where}: {line.id}:"
    ways = [bool(each) for each in (line.judged_by, line.figure, line.trace, line.tested_by, line.out_of_reach)]
    if sum(ways) > 1:
        raise InputError(f"{where} allowed is one of judged_by, figure, trace, tested_by and out_of_reach")
    if line.out_of_reach:
        known_name(f"{where} out_of_reach", line.out_of_reach, REASONS)
    if (any(ways[1:]) or line.input) and not (line.where and line.statement):
        raise InputError(f"{where} where or statement is missing")
    if line.trace:
        printed.check(line.trace, paper, where)
    claims = claims_of(line, paper, where)
    for claim in claims:
        check(claim, paper.experiments, where)
    words = ORDER.search(line.statement or " ".join(claim.statement for claim in claims))
    if words and claims and all(not claim.is_judged and claim.group == "mean" for claim in claims):
        raise InputError(f"{where} {words[0]}: an order, which no value decides: allowed with a claim that is judged")
    if line.cause:
        known_name(f"{where} cause", line.cause, [claim.id for claim in paper.claims])


def claims_of(line: Line, paper: Paper, where: str = "") -> list[Claim]:
    """The claims that decide a statement: of claims.toml, or one made of a cell or of `figure`."""
    if line.tested_by or line.out_of_reach or line.trace or line.has_no_decider:
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
    if sum(claim.kind == "value" for claim in found) > 1 or (len(found) > 1 and line.cell):
        raise InputError(f"{where} judged_by: one value at most is allowed, and a cell of a table alone")
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
    if line.has_no_decider:
        return _ruled(replace(first, category=COPIED) if line.input else first)
    if line.tests:
        because = ", ".join(
            f"[`{test}`](../../{file})" for file, _, test in (each.partition(" ") for each in line.tests)
        )
        return _ruled(replace(first, because=f"test {because}"))
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
    gravest = _ruled(min(decided, key=lambda each: GRAVEST_FIRST.index(each.category)))
    return replace(
        gravest,
        because="; ".join(filter(None, (gravest.because, line.because))),
        where=line.where or claims[0].where,
        statement=line.statement or " ".join(claim.statement for claim in claims),
        asked="; ".join(each.asked for each in decided),
        ours="; ".join(each.ours for each in decided),
    )


def _ruled(finding: Finding) -> Finding:
    """A finding that cannot be another one, or whose statement the paper contradicts elsewhere."""
    if finding.line.contradicted:
        return replace(finding, category=CONTRADICTED, because=finding.line.contradicted)
    if finding.line.by_rule and finding.category == REPRODUCED:
        return replace(finding, category=BY_RULE, because=_joined(finding.line.by_rule, finding.because))
    return finding


def _joined(*texts: str) -> str:
    return " ".join(filter(None, texts))


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
    if claim.kind == FITTED:
        return replace(finding, category=FITTED)
    if verdict.is_undecided or verdict.is_level:
        because = "too few requests" if verdict.is_undecided else "not told apart"
        return replace(finding, category=UNDECIDED, because=because)
    if not claim.is_judged:
        category = _of_value(claim, verdict)
        finding = replace(finding, category=category, is_near=_is_near(verdict.found, claim.value))
    elif not verdict.holds:
        finding = replace(finding, category=CAUSE_UNKNOWN)
    if finding.category == REPRODUCED:
        return finding
    if because := _excluded(claim, found.paper):
        return replace(finding, category=CONTRADICTED, because=because)
    if finding.category == SAME_DIRECTION:
        return finding
    if not claim.is_judged and abs(verdict.found - claim.value) < verdict.spread:
        return replace(finding, category=UNDECIDED, because="the repeats differ by more")
    because = _explained(claim, line, verdict, found, outcomes)
    return replace(finding, category=CAUSE_KNOWN, because=because) if because else finding


def _of_value(claim: Claim, verdict: Verdict) -> str:
    """The category of a value, before its cause is asked. Orders of magnitude are compared as differences are."""
    return compared(verdict.found, claim.value, has_sign=is_difference(claim) or claim.tolerance == "magnitude")


def _is_near(ours: float, paper: float) -> bool:
    return ours * paper > 0 and is_within(2, ours, paper)


def compared(ours: float, paper: float, *, has_sign: bool) -> str:
    """The category of a figure, beside the paper's.

    A difference between two configurations has a direction, unless ours is level or another one by far. A share or a
    number of pages has none, and has to be within a factor of two instead. What was divided by zero agrees with
    nothing.
    """
    if not isfinite(ours):
        return CAUSE_UNKNOWN
    if abs(ours - paper) <= TOLERANCE * abs(paper):
        return REPRODUCED
    if has_sign:
        is_alike = ours * paper > 0 and not is_level(ours, paper) and is_within(MOST_TIMES, ours, paper)
    else:
        is_alike = _is_near(ours, paper)
    return SAME_DIRECTION if is_alike else CAUSE_UNKNOWN


def _explained(claim: Claim, line: Line, verdict: Verdict, found: Reproduction, outcomes: Mapping[str, Outcome]) -> str:
    """The explanation of a claim, or of the one that the line names as cause, if a change moves this figure."""
    for each in (claim.id, line.cause):
        outcome = outcomes.get(each)
        reason = outcome.explanation if outcome else None
        for name, change in changes_of(reason) if reason else ():
            if reason and _is_moved(claim, verdict, name, change, found):
                return f"[{reason.name}]({found.paper.name}.md#what-fails-and-why)"
    return ""


def _is_moved(claim: Claim, before: Verdict, name: str, change: Overlay | str, found: Reproduction) -> bool:
    """Whether a change of an explanation moves the figure of a claim half way, or to where it agrees.

    A change of the workload has to make it agree. Of figures that were not measured under the change none is moved.
    """
    paper, is_of_workload = found.paper, not isinstance(change, str) and changes_workload(change)
    experiment = paper.experiments[claim.experiment]
    if isinstance(change, str):
        variant = next((each for each in paper.variants if each.name == change), None)
        if variant is None or variant.adapted(claim, experiment) is None:
            return False
        is_of_workload = variant.is_of_workload
    try:
        after = judge(claim, experiment, found.measured[claim.experiment, name])
    except KeyError:
        return False
    if after.is_undecided:
        return False
    if claim.is_judged:
        agrees, moved = after.holds, is_moved(before, after)
    else:
        agrees = _of_value(claim, after) in (REPRODUCED, SAME_DIRECTION)
        moved = abs(after.found - claim.value) < abs(before.found - claim.value) / 2
    return agrees or (moved and not is_of_workload)


def _excluded(claim: Claim, paper: Paper) -> str:
    """That the paper itself excludes what a claim says, if it does."""
    for bound in paper.bounds:
        if bound.is_of(claim):
            return f"[by {bound.by}]({paper.name}.md#published-numbers-that-the-paper-itself-excludes)"
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
    found = {name: _counted(of_paper) for name, of_paper in found.items()}
    everything = [each for of_paper in found.values() for each in of_paper]
    text = list(table_head(["paper", "claims", "tried", *CATEGORIES], 1))
    text += [table_row([f"[{name}]({folder}{name}.md)", *_counts(of_paper)]) for name, of_paper in found.items()]
    text += [table_row(["all", *_counts(everything)]), ""]
    counts = Counter(each.category for each in everything)
    tested = sum(bool(each.line.tested_by) and each.category == REPRODUCED for each in everything)
    near = sum(each.category == SAME_DIRECTION and each.is_near for each in everything)
    text.append(
        f"Of the {counts[REPRODUCED]} that are reproduced, {tested} are worked examples, formulas and rules that tests "
        f"check; of the {counts[SAME_DIRECTION]} values with the same direction, {near} are within a factor of two, "
        "the others within three."
    )
    return "\n".join(text) + "\n"


def _counted(found: Sequence[Finding]) -> list[Finding]:
    """Those that are claims: without inputs, and without what was fitted."""
    return [each for each in found if not each.line.is_input and each.category != FITTED]


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
        yield from _rows(_counted(of_paper))
        if fitted := [each for each in of_paper if each.category == FITTED]:
            yield f"Claims of {name} that profiles or drives were fitted to, which confirm nothing and are not counted:"
            yield ""
            yield from _rows(fitted)
        inputs = [each for each in of_paper if each.line.is_input]
        if inputs:
            yield f"Inputs of {name}, which are no claims:"
            yield ""
            yield from _rows(inputs)


def _rows(found: Sequence[Finding]) -> Iterator[str]:
    yield from table_head(["claim", "where", "the paper says", "asked", "ours", "outcome", "because"], 7)
    for each in found:
        ids = ", ".join(f"`{name}`" for name in (each.line.id, *each.line.also))
        yield table_row([ids, each.where, each.statement, each.asked, each.ours, each.category, each.because])
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
