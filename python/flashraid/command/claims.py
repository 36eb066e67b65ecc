"""The claims of a paper on standard output: what it says, what is asked of our figures, and what they come to."""

import shutil
import textwrap

from ..reproduce import page
from ..reproduce.found import Found, Outcome
from .layout import print_tables, table_of

# Lines get no longer, as sentences are hard to read then.
MOST_COLUMNS = 100


def show_reproduction(found: Found) -> None:
    """Each claim, experiment by experiment; then flashraid's figures under each variant that was asked for."""
    width = min(shutil.get_terminal_size((MOST_COLUMNS, 0)).columns, MOST_COLUMNS)
    print(textwrap.fill(found.paper.title, width))
    if found.is_quick:
        print(textwrap.fill(page.QUICK, width))
    for name, experiment in found.paper.experiments.items():
        outcomes = [each for each in found.outcomes if each.claim.experiment == name]
        if outcomes:
            print()
            print(textwrap.fill(f"{found.paper.name}.{name}: {experiment.title}", width))
        for outcome in outcomes:
            print()
            print("\n".join(_lines(outcome, width)))
    print()
    print(textwrap.fill(page.counted(found.outcomes), width))
    if found.is_quick:
        print(textwrap.fill(page.QUICK, width))
    for variant in (each for each in found.paper.variants if each.name in found.asked):
        table = table_of(f"variant {variant.name}", ["claim", "outcome", "flashraid"])
        for column in table.columns[1:]:
            column.justify = "left"
        for outcome in found.outcomes:
            if variant.name in outcome.variants:
                verdict = outcome.variants[variant.name]
                table.add_row(outcome.claim.id, outcome.word_of(verdict), verdict.text())
        print()
        if table.row_count:
            print_tables(table)
        else:
            print(f"variant {variant.name}: no claim is of its workloads")


def _lines(outcome: Outcome, width: int) -> list[str]:
    name, where, statement, asked, ours, word = page.claim_row(outcome)
    return [
        _indented(f"{name}: {word}", "  ", width),
        _indented(f"{where}: {statement}", "    paper   ", width),
        _indented(asked, "    asked   ", width),
        _indented(ours, "    ours    ", width),
    ]


def _indented(text: str, head: str, width: int) -> str:
    rest = " " * len(head)
    return textwrap.fill(
        text, width, initial_indent=head, subsequent_indent=rest, break_on_hyphens=False, break_long_words=False
    )
