"""Measures every validation case; with --write makes docs/validation.md of them. Exit status 1 if one does not hold."""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # so that it runs as a script

from validation import document
from validation.cases import Runner


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/validation.md")
    write = parser.parse_args().write
    figures = {}
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(Path(folder))
        for case in document.CASES:
            figure = figures[document.key(case)] = case.figure(runner)
            failed += not case.holds(figure)
            mark = "" if case.holds(figure) else "  DOES NOT HOLD"
            interval = "" if figure.half_width is None else f" ± {figure.half_width:,.{case.decimals}f}"
            value, expected = (f"{number:,.{case.decimals}f}" for number in (figure.value, case.expected))
            print(f"{case.name}: {value}{interval} {case.unit}, expected {expected}{mark}", flush=True)
    if write:
        document.PATH.write_text(document.render(figures), encoding="utf-8")
        print(f"written: {document.PATH.name}")
    print(f"{failed} of {len(document.CASES)} do not hold" if failed else f"all {len(document.CASES)} cases hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
