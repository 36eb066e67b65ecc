"""The command that searches recordings for the parts that papers replayed. Returns its exit status."""

import shlex
from collections.abc import Mapping

import rich_click as click

from ..record import OpenRecord
from ..settings import Pairs
from ..sizes import format_bytes, parse_bytes, parse_time
from . import completion, options
from .layout import print_tables, table_of
from .options import Number, option
from .output import Target
from .progress import Progress


@click.command()
@options.trace
@option(
    "--like",
    metavar="NAME",
    multiple=True,
    required=True,
    help="Part of a recording that a paper replayed, as ali_0; may be repeated.",
    complete=completion.complete_parts,
)
@option("--step", metavar="TIME", default="10min", help="A window begins every so often.")
@option("--most", metavar="N", type=Number(1), default=10, help="Show at most N windows for each name.")
@options.page_bytes
@options.json_target
@options.quiet
@options.with_reading
def windows(
    trace: str,
    reading: Pairs,
    like: tuple[str, ...],
    step: str,
    most: int,
    page_bytes: str,
    json_target: str | None,
    quiet: bool,
) -> int:
    """Find the windows of each volume of a recording that are most like a part that a paper replayed.

    Example: flashraid trace windows alibaba.csv --like ali_0 --like ali_1 --device-filter 419,725
    """
    from ..searching import to_json, windows

    step_ns, page = parse_time("--step", step), parse_bytes("--page-bytes", page_bytes)
    with Target(json_target) as target:
        with Progress(quiet=quiet) as progress:
            watch = progress.begin("trace windows")
            found = windows(trace, like, step_ns=step_ns, page_bytes=page, most=most, progress=watch, **dict(reading))
            progress.hide()
        target.write(to_json(found))
    if json_target != "-":
        _show(found, trace, dict.fromkeys(like), reading)
    return 0


def _show(found: list[OpenRecord], trace: str, like: dict[str, None], reading: Pairs) -> None:
    from ..searching import part_of

    for name in like:
        of = part_of(name)
        table = table_of(
            f"windows of {of.part} like {name}",
            ["volume", "from", "to", "requests", "writes", "mean write", "updates", "off by"],
        )
        table.add_row("the paper's", "", "", *_figures(of.table), "")
        own = [each for each in found if each.like == name]
        for each in own:
            off = f"{each.off:.1%}" + (", matches" if each.matches else "")
            table.add_row(each.device, _time(each.from_ns), _time(each.to_ns), *_figures(each.to_dict()), off)
        print_tables(table)
        if own and own[0].matches:
            print(f"  {_command(own[0], trace, name, reading)}")
        else:
            print("  no window matches: all are off by more than 5 %")


def _figures(of: Mapping[str, float | None]) -> list[str]:
    size = of.get("mean_write_bytes")
    shares = [of.get("write_share"), None, of.get("update_request_share")]
    texts = ["-" if each is None else f"{each:.1%}" for each in shares]
    texts[1] = "-" if size is None else format_bytes(size)
    return [f"{of['requests']:,}", *texts]


def _time(time_ns: int) -> str:
    return f"{time_ns / 3600e9:.2f} h"


def _command(window: OpenRecord, trace: str, name: str, reading: Pairs) -> str:
    """What cuts the window out of the recording."""
    from ..searching import format_of

    output = f"{name.rpartition('.')[2]}.csv.gz"
    words = ["flashraid", "trace", "convert", trace, "-o", output, "--device-filter", window.device]
    words += ["--from-time", f"{window.from_ns // 10**9}s", "--to-time", f"{window.to_ns // 10**9}s", "--rebase-time"]
    formats = dict(reading) | format_of(trace, dict(reading))
    words += ["--format", formats["format"]] if "format" in formats else []
    return shlex.join(words)
