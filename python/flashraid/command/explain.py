"""`flashraid explain`: what a name in settings, results and outputs means."""

import shutil
import textwrap

import rich_click as click

from .. import explain as library
from .completion import complete_keys
from .options import argument


@click.command()
@argument(
    "key",
    metavar="KEY",
    help="A setting, a key of a result, a column of an output, a figure, a scheme or its parameter "
    "(SCHEME.PARAMETER), PAPER.EXPERIMENT, or a term.",
    complete=complete_keys,
)
def explain(key: str) -> int:
    """Explain a setting, key of a result, column, figure, scheme, parameter, experiment of a paper, or term.

    A key may be given whole or by its last parts; every meaning is printed.

    Examples: flashraid explain gc_threshold; flashraid explain latency_ns.read.p99; flashraid explain "full stripe"
    """
    width = min(shutil.get_terminal_size((100, 0)).columns, 120)
    texts = []
    for found in library.explain(key):
        lines = _indented(f"{', '.join(found.names)} ({found.kind})", width, 0)
        lines += _indented(found.about, width)
        lines += [line for name, value in found.facts.items() for line in _indented(f"{name}: {value}", width)]
        lines += [line for name, about in found.words.items() for line in _indented(f"{name}: {about}", width, 4)]
        texts.append("\n".join(lines))
    print("\n\n".join(texts))
    return 0


def _indented(text: str, width: int, depth: int = 2) -> list[str]:
    start = " " * depth
    return textwrap.wrap(text, width, initial_indent=start, subsequent_indent=start + "  ", break_on_hyphens=False)
