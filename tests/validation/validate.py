"""Measures every validation case; with --write makes docs/validation.md of them. Exit status 1 if one does not hold.

--quick measures all of them with few requests and makes the page, but judges and writes nothing: whether it runs.
"""

import argparse
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # so that it runs as a script

from flashraid import machine
from flashraid.files import NewFile
from validation import document
from validation.cases import Figure, Runner

QUICK_REQUESTS = 500


def groups() -> list[list[int]]:
    """The numbers of cases of which some are figures of the same run."""
    found: dict[str, list[int]] = {}
    for at, case in enumerate(document.CASES):
        found.setdefault(case.workload, []).append(at)
    return list(found.values())


def measured(cases: list[int], most_requests: int | None) -> list[tuple[int, Figure]]:
    """The figures of these cases."""
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(Path(folder), most_requests)
        return [(at, document.CASES[at].figure(runner)) for at in cases]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/validation.md")
    parser.add_argument("--quick", action="store_true", help="few requests: whether it runs to its end")
    given = parser.parse_args()
    if given.write and given.quick:
        parser.error("--quick measures nothing that could be written: allowed is one of --write and --quick")
    figures = {}
    failed = 0
    with ProcessPoolExecutor(machine.cores()) as pool:
        for group in pool.map(measured, groups(), repeat(QUICK_REQUESTS if given.quick else None)):
            for at, figure in group:
                case = document.CASES[at]
                figures[document.key(case)] = figure
                holds = given.quick or case.holds(figure)
                failed += not holds
                mark = "" if holds else "  DOES NOT HOLD"
                interval = "" if figure.half_width is None else f" ± {figure.half_width:,.{case.decimals}f}"
                value, expected = (f"{number:,.{case.decimals}f}" for number in (figure.value, case.expected))
                print(f"{case.name}: {value}{interval} {case.unit}, expected {expected}{mark}", flush=True)
    page = document.render(figures)
    if given.quick:
        print(f"all {len(document.CASES)} cases run")
        return 0
    if given.write:
        file = NewFile(document.PATH, "--write")
        try:
            file.write(page)
        finally:
            file.discard()
        print(f"written: {document.PATH.name}")
    print(f"{failed} of {len(document.CASES)} do not hold" if failed else f"all {len(document.CASES)} cases hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
