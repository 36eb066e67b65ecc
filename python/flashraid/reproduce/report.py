"""The report of a reproduction: its claims experiment by experiment, the figures, and why claims fail."""

from ..files import NewFile
from ..outputs import check_report
from ..report import page
from ..report.parts import Block, Code, Notice, Part, Table, Text
from ..settings import Path
from . import drawings
from .found import Found
from .page import CLAIM_HEAD, QUICK, claim_row, command, command_again, counted
from .papers import Experiment


def of_reproduction(found: Found, path: Path | NewFile) -> None:
    """Writes the report of a reproduction to a file. Raises InputError if that cannot be."""
    if not isinstance(path, NewFile):
        check_report(path, "report")
    page.write(found.paper.title, reproduction_parts(found), path)


def reproduction_parts(found: Found) -> list[Part]:
    """The parts of the report."""
    summary: list[Block] = [Text(counted(found.outcomes))]
    if found.is_quick:
        summary.insert(0, Notice(QUICK))
    if found.changed:
        summary.insert(0, Notice(f"Changed in every run: {', '.join(found.changed)}."))
    if found.left_out:
        summary.append(Notice(f"Left out, as the traces are missing: {', '.join(found.left_out)}."))
    summary += [Text(f"{note[:1].upper()}{note[1:]}.") for note in found.notes]
    parts = [Part("", "summary", summary)]
    parts += [_experiment(found, each) for each in found.paper.experiments.values()]
    if failures := list(_failures(found)):
        parts.append(Part("What fails, and why", "failures", failures))
    parts.append(Part("Origin", "origin", [Code(command_again(found))]))
    return parts


def _experiment(found: Found, experiment: Experiment) -> Part:
    blocks: list[Block] = [Text(experiment.about.strip())] if experiment.about else []
    outcomes = [each for each in found.outcomes if each.claim.experiment == experiment.name]
    if outcomes:
        rows = [claim_row(each) for each in outcomes]
        blocks.append(Table.of_texts(f"Claims on {experiment.where}", CLAIM_HEAD, rows, are_figures=False))
    blocks += drawings.of_experiment(found, experiment)
    return Part(f"{experiment.where}: {experiment.title}", f"experiment-{experiment.name}", blocks)


def _failures(found: Found) -> list[Block]:
    blocks: list[Block] = []
    for reason in found.paper.explanations:
        outcomes = [each for each in found.outcomes if each.word == "fails" and each.explanation is reason]
        if outcomes:
            rows = [
                [
                    each.claim.id,
                    command(found.paper.name, each.claim, trial.change),
                    each.verdict.text(),
                    trial.verdict.text(),
                ]
                for each in outcomes
                for trial in each.trials
            ]
            blocks.append(Text(f"{'' if reason.changes else 'Conjecture: '}{reason.mechanism.strip()}"))
            head = ["claim", "command", "unchanged", "changed"]
            if rows:
                blocks.append(Table.of_texts(f"Tried for {reason.name}", head, rows, are_figures=False))
    return blocks
