"""A paper's page: a pure function of its data and of the figures, so that a stale one shows."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from .._native import __version__
from ..candidate import listed
from ..quantities import rounded
from . import changes, drawings
from .found import ORIGINALS, Found, Outcome, tree
from .judgements import Grid
from .metrics import METRICS
from .papers import Claim, Experiment, Overlay, Paper

# The folder of the figures, beside the page.
FIGURES = "figures"
HEAD = """\
# {title}

Written by `make papers` with flashraid {version}; do not edit. What is run, claimed and explained stands in
[papers/{name}](../../papers/{name}), the figures in [{name}.json]({name}.json); [README](README.md) explains how claims
are judged. `make prove` measures the quick experiments again.
"""
HEAD_OF_PART = """\
# {title}

One experiment of {paper}. Written by `flashraid reproduce {name} --write FOLDER` with flashraid {version}; its
figures are in [{name}.json]({name}.json).
"""
# Of a table with more figures none is named.
MOST_CELLS = 8
FAILURES = """\
A mechanism is named by an experiment that changes one thing, and none that the paper fixes. It counts if it moves the
deciding figure at least half way to where the claim holds; if what it changes is the workload, only if the claim holds
somewhere along the sweep. What no such experiment shows is a conjecture, and the claim stays unexplained.
"""


def render(found: Found) -> str:
    """The page in Markdown."""
    paper = found.paper
    if "." in found.name:
        return _of_part(found)
    lines = [
        HEAD.format(title=paper.title, version=__version__, name=paper.name).replace("(papers/", "("),
        paper.about.strip(),
        "",
    ]
    lines += _summary(found)
    lines += _variants(found)
    lines += _headlines(found)
    lines += _bounds(found)
    lines += _originals(found)
    for experiment in paper.experiments.values():
        lines += _experiment(experiment, found)
    lines += _failures(found)
    return "\n".join(lines) + "\n"


def _of_part(found: Found) -> str:
    """The page of one experiment."""
    (experiment,) = found.paper.experiments.values()
    title = f"{experiment.where}: {experiment.title}"
    lines = [HEAD_OF_PART.format(title=title, paper=found.paper.title, name=found.name, version=__version__)]
    lines += [counted(found.outcomes), "", *_variants(found), *_originals(found)]
    lines += _experiment(experiment, found, is_alone=True)
    lines += _failures(found)
    return "\n".join(lines) + "\n"


def drawn(found: Found) -> dict[str, str]:
    """The SVG files that the page shows, by their names beside it."""
    return {f"{FIGURES}/{each.name}.svg": drawings.svg(each) for each in drawings.of_paper(found)}


def figures_json(found: Found) -> str:
    """The figures behind the page: experiment (and change), configuration, workload, point, metric. One run a line."""
    lines = []
    for name, configurations in tree(found.measured).items():
        runs = [
            f"    {json.dumps(configuration)}: {{\n"
            + ",\n".join(f"      {json.dumps(workload)}: {_points(points)}" for workload, points in workloads.items())
            + "\n    }"
            for configuration, workloads in configurations.items()
        ]
        lines.append(f"  {json.dumps(name)}: {{\n" + ",\n".join(runs) + "\n  }")
    if found.originals:
        told = [f"    {json.dumps(name)}: {json.dumps(dict(each))}" for name, each in found.originals.items()]
        lines.append(f"  {json.dumps(ORIGINALS)}: {{\n" + ",\n".join(told) + "\n  }")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _points(points: dict[str, Any]) -> str:
    rows = ",\n".join(f"        {json.dumps(point)}: {json.dumps(figures)}" for point, figures in points.items())
    return f"{{\n{rows}\n      }}"


def requirement(claim: Claim) -> str:
    """What a claim asks of our figures, in a few words."""
    unit = unit_of(claim)
    if claim.judge == "between":
        low, high = claim.minimum, claim.maximum
        if low is None:
            return f"at most {rounded(high or 0)} {unit}".rstrip()
        if high is None:
            return f"at least {rounded(low)} {unit}".rstrip()
        return f"{rounded(low)} to {rounded(high)} {unit}".rstrip() if low < high else f"{rounded(low)} {unit}"
    texts = {
        "near": "{value} {unit}",
        "cells": "below",
        "above": "above {value} {unit}",
        "below": "below {value} {unit}",
        "highest": "highest: {item}",
        "lowest": "lowest: {item}",
        "rises": "rises",
        "falls": "falls",
        "jumps": "rises by more than {value} %",
        "flat": "within {value} %",
        "levels_off": "no step after {item} gains more than {value} %; the step to it, if there is one, does",
    }
    return texts[claim.judge].format(value=claim.value, unit=unit, item=claim.item).rstrip()


def asked(claim: Claim) -> str:
    """The same where no table follows: of a claim that is a table its numbers, if they are few."""
    if claim.judge != "cells":
        return requirement(claim)
    texts = [
        f"{workload} {point} {rounded(value)}" for workload, row in claim.value.items() for point, value in row.items()
    ]
    return ", ".join(texts) if len(texts) <= MOST_CELLS else f"{len(texts)} figures"


def outcome_word(outcome: Outcome) -> str:
    """The outcome as the page marks it."""
    if outcome.word != "fails":
        return outcome.word
    return "**fails**, explained" if outcome.is_explained else "**fails**, unexplained"


QUICK = (
    "Quick figures: of each trace a part was replayed, and of several repeats one. Figures of whole traces may differ, "
    "and the outcomes of claims with them."
)
CLAIM_HEAD = ("claim", "where", "the paper says", "asked", "ours", "outcome")


def claim_row(outcome: Outcome) -> list[str]:
    """The claim in a row below `CLAIM_HEAD`, where no Markdown is understood."""
    claim = outcome.claim
    word = outcome_word(outcome).replace("*", "")
    return [claim.id, claim.where, claim.statement, asked(claim), outcome.verdict.text(), word]


def counted(outcomes: Sequence[Outcome]) -> str:
    """How many claims hold, fail and are explained, in a sentence."""
    judged = [each for each in outcomes if each.claim.is_judged]
    failed = [each for each in judged if each.word == "fails"]
    undecided = sum(each.word == "undecided" for each in judged)
    unexplained = sum(not each.is_explained for each in failed)
    sentence = (
        f"{len(judged) - len(failed) - undecided} of {len(judged)} claims of the classes exact, ordering, trend and "
        f"range hold, {len(failed)} fail, {undecided} {'is' if undecided == 1 else 'are'} undecided"
    )
    if failed:
        sentence += f"; of those that fail, {unexplained} {'is' if unexplained == 1 else 'are'} unexplained"
    values = [each for each in outcomes if each.claim.kind == "value"]
    return f"{sentence}. {_counted_values(values)}" if values else f"{sentence}."


def _counted_values(values: Sequence[Outcome]) -> str:
    """How many values agree, each as far as its tolerance asks."""
    agreeing = [each.claim.tolerance for each in values if each.verdict.holds]
    signs, tens = agreeing.count("sign"), agreeing.count("magnitude")
    near = len(agreeing) - signs - tens
    parts = []
    if near:
        parts.append(f"{near} {'is' if near == 1 else 'are'} within a factor of two")
    if tens:
        parts.append(f"{tens}{' more' if near else ''} {'is' if tens == 1 else 'are'} within a factor of ten")
    if signs:
        parts.append(f"{signs}{' more' if near or tens else ''} {'has' if signs == 1 else 'have'} the paper's sign")
    number = f"{len(values)} value{'' if len(values) == 1 else 's'}"
    return (
        f"Of {number}, which cannot be tested exactly because traces are lost or configurations not given, "
        f"{listed(parts) or 'none agrees'}."
    )


def _summary(found: Found) -> Iterator[str]:
    yield "## In two minutes"
    yield ""
    if found.paper.conclusion:
        yield found.paper.conclusion.strip()
        yield ""
    yield counted(found.outcomes)
    yield ""


def _variants(found: Found) -> Iterator[str]:
    if not found.paper.variants:
        return
    yield "## Variants"
    yield ""
    yield "Besides the configuration above, experiments were measured under these, each declared before it was run:"
    yield ""
    yield from table_head(["variant", "what it is", "experiments"], 3)
    for variant in found.paper.variants:
        yield table_row([f"`{variant.name}`", variant.about.strip().replace("\n", " "), ", ".join(variant.experiments)])
    yield ""


def _headlines(found: Found) -> Iterator[str]:
    yield "## Headlines"
    yield ""
    headlines = [each for each in found.outcomes if each.claim.is_headline]
    yield from _claims(headlines)
    for outcome in headlines:
        if outcome.variants or outcome.claim.conclusion:
            yield f"### `{outcome.claim.id}`: {outcome.claim.statement}"
            yield ""
        if outcome.variants:
            yield from table_head(["under", "ours", "outcome"], 3)
            yield table_row(["as configured", outcome.verdict.text(), outcome.word])
            for name, verdict in outcome.variants.items():
                yield table_row([f"`{name}`", verdict.text(), outcome.word_of(verdict)])
            yield ""
        if outcome.claim.conclusion:
            yield outcome.claim.conclusion.strip()
            yield ""


def _bounds(found: Found) -> Iterator[str]:
    if not found.paper.bounds:
        return
    yield "## Published numbers that the paper itself excludes"
    yield ""
    yield from table_head(["claim", "published", "at most possible", "by", "why"], 5)
    for bound in found.paper.bounds:
        why = bound.derivation.strip().replace("\n", " ")
        yield table_row([f"`{bound.claim}`", f"{rounded(bound.published)}", f"{rounded(bound.at_most)}", bound.by, why])
    yield ""


def _originals(found: Found) -> Iterator[str]:
    paper = found.paper
    if not (found.originals or paper.unmeasured):
        return
    yield "## The paper's own traces"
    yield ""
    yield (
        "They are no part of flashraid. "
        f"`flashraid reproduce {paper.name} --traces DIR --write docs/papers` measures what needs them, and what was "
        "measured stays here without DIR:"
    )
    yield ""
    yield from table_head(["trace", "files in DIR", "source", "recorded"], 4)
    for name, original in paper.originals.items():
        files = ", ".join(f"`{each}`" for each in original.files)
        own = [each for key, each in found.originals.items() if key.partition("/")[0] == name]
        yield table_row([f"`{name}`", files, original.source, _told(own, _speeds(paper, name))])
    yield ""
    lacking = [f"`{name}` on {', '.join(traces)}" for name, traces in paper.unmeasured.items()]
    if lacking:
        yield f"Not measured, as no DIR was there: {'; '.join(lacking)}."
        yield ""


def _speeds(paper: Paper, original: str) -> dict[str, float]:
    """At how much of its own speed variants replay an original."""
    found = {each.name: each.change.get(f"original:{original}", {}) for each in paper.variants}
    return {name: change["speed"] for name, change in found.items() if "speed" in change}


def _told(recordings: Sequence[Mapping[str, Any]], speeds: Mapping[str, float]) -> str:
    """Where the figures of an original come from."""
    if not recordings:
        return "needs DIR"
    first = recordings[0]
    speed = "at its own speed" if first["speed"] == 1 else f"{first['speed']:,g} times as fast"
    if speeds:
        speed = ", ".join(f"{factor:g} times as fast (`{name}`)" for name, factor in speeds.items())
    by = f"{speed}, by flashraid {first['version']}"
    if len(recordings) > 1:
        return f"{len(recordings)} traces, {by}; their SHA-256 are in the JSON"
    return f"SHA-256 `{first['sha256']}`, {by}"


def _experiment(experiment: Experiment, found: Found, is_alone: bool = False) -> Iterator[str]:
    if not is_alone:
        yield f"## {experiment.where}: {experiment.title}"
        yield ""
    if experiment.about:
        yield experiment.about.strip()
        yield ""
    yield f"`flashraid reproduce {found.paper.name}.{experiment.name}`"
    yield ""
    for drawing in drawings.of_experiment(found, experiment):
        yield f"![{drawing.title}]({FIGURES}/{drawing.name}.svg)"
        yield ""
        yield f"*{drawing.title}.* {drawing.about}"
        yield ""
    figures = found.measured[experiment.name, ""]
    points = list(experiment.points)
    for metric in experiment.metrics:
        about = METRICS[metric]
        yield f"{about.about[:1].upper()}{about.about[1:]}{f' ({about.unit})' if about.unit else ''}:"
        yield ""
        yield from table_head(["workload", "configuration", *points], 2)
        for workload in experiment.workloads:
            for configuration in experiment.configurations:
                row = [figures[configuration, workload, point, metric] for point in points]
                if len(experiment.configurations) == 1 or any(any(each) for each in row):
                    yield table_row([workload, configuration, *(_number(each, min(about.decimals, 2)) for each in row)])
        yield ""
    outcomes = [each for each in found.outcomes if each.claim.experiment == experiment.name]
    yield from _claims(outcomes)
    yield from _under_variants([each for each in outcomes if each.variants])
    for outcome in outcomes:
        if outcome.claim.judge == "cells":
            yield from _table(outcome, experiment, found)


def _number(values: Sequence[float], decimals: int) -> str:
    """A figure; of repeats the mean, and their standard deviation."""
    mean = f"{fmean(values):,.{decimals}f}"
    return f"{mean} ± {stdev(values):,.{decimals}f}" if len(values) > 1 else mean


def _under_variants(outcomes: Sequence[Outcome]) -> Iterator[str]:
    names = list(dict.fromkeys(name for each in outcomes for name in each.variants))
    if not names:
        return
    yield from table_head(["claim", "as configured", *(f"`{name}`" for name in names)], len(names) + 2)
    for each in outcomes:
        under = (each.variants.get(name) for name in names)
        yield table_row(
            [f"`{each.claim.id}`", each.word, *("" if verdict is None else each.word_of(verdict) for verdict in under)]
        )
    yield ""


def _claims(outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield from table_head(["claim", "where", "the paper says", "class", "asked", "ours", "outcome"], 7)
    for each in outcomes:
        claim = each.claim
        row = [
            f"`{claim.id}`",
            claim.where,
            claim.statement,
            claim.kind,
            requirement(claim),
            each.verdict.text(),
            outcome_word(each),
        ]
        yield table_row(row)
    yield ""


def _table(outcome: Outcome, experiment: Experiment, found: Found) -> Iterator[str]:
    claim = outcome.claim
    cells = Grid(claim, experiment, found.measured[experiment.name, ""]).cells()
    points = list(dict.fromkeys(point for _, point, _, _ in cells))
    yield f"`{claim.id}`, the paper's figure / ours, in {unit_of(claim)}:"
    yield ""
    yield from table_head(["workload", *points], 1)
    for workload in claim.value:
        row = {point: f"{rounded(paper)} / {ours.mean:,.1f}" for name, point, paper, ours in cells if name == workload}
        yield table_row([workload, *(row.get(point, "") for point in points)])
    yield ""


def unit_of(claim: Claim) -> str:
    """The unit of a claim's figures."""
    metric = claim.metric if isinstance(claim.metric, str) else claim.metric[0]
    return "%" if claim.against else METRICS[metric].unit


def _failures(found: Found) -> Iterator[str]:
    yield "## What fails, and why"
    yield ""
    yield FAILURES
    failing = [each for each in found.outcomes if each.word == "fails"]
    for reason in found.paper.explanations:
        of = [each for each in found.outcomes if each.explanation is reason and _is_explicable(each)]
        if of:
            kind = "" if reason.changes else " (conjecture)"
            yield f"### {', '.join(f'`{each.claim.id}`' for each in of)}{kind}"
            yield ""
            yield reason.mechanism.strip()
            yield ""
            if not reason.changes:
                continue
            yield from table_head(["command", "claim", "unchanged", "changed", "lacking before", "after", "moved"], 4)
            for each in of:
                for trial in each.trials:
                    yield table_row(
                        [
                            f"`{command(found.paper.name, each.claim, trial.change)}`",
                            f"`{each.claim.id}`",
                            each.verdict.text(),
                            trial.verdict.text(),
                            f"{each.verdict.lack:,.2f}",
                            f"{trial.verdict.lack:,.2f}",
                            _moved(each.verdict.lack, trial.verdict.lack) if each.claim.is_judged else "-",
                        ]
                    )
            yield ""
    rest = [each for each in failing if not each.is_explained]
    if rest:
        yield "### Unexplained"
        yield ""
        yield from _claims(rest)


def _is_explicable(outcome: Outcome) -> bool:
    """Whether it is of a claim that fails, or of numbers, which the register judges one by one."""
    return outcome.word == "fails" or not outcome.claim.is_judged


def _moved(before: float, after: float) -> str:
    if after <= 0:
        return "holds"
    return f"{(before - after) / before:.0%}" if before else "-"


def command(paper: str, claim: Claim, change: Overlay | str) -> str:
    """The command that tries a change."""
    own = [f"--variant {change}"] if isinstance(change, str) else [f"--set '{each}'" for each in changes.texts(change)]
    return " ".join([f"flashraid reproduce {paper}.{claim.experiment}", *own])


def command_again(found: Found) -> str:
    """The command that measures the same again."""
    options = [f"--set {shlex.quote(each)}" for each in found.changed]
    options += [f"--traces {shlex.quote(found.traces)}"] * bool(found.traces)
    flags = {"--paper-speed": found.is_at_paper_speed, "--whole": found.is_whole, "--quick": found.is_quick}
    options += [name for name, is_given in flags.items() if is_given]
    return " ".join([f"flashraid reproduce {found.name}", *options])


def table_head(names: Sequence[str], texts: int) -> Iterator[str]:
    yield table_row(names)
    yield table_row(["---" if number < texts else "---:" for number in range(len(names))])


def table_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
