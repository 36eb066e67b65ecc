"""Writes the drawings and generated pages of docs/ and, with --check, only says which of them are not up to date.

It also draws the figures of the papers' pages, which are not stored.
"""

import sys
from pathlib import Path

import concepts
import drawing
import example
import paper_figures
import schemes

DOCS = Path(__file__).parents[1]


def files() -> dict[Path, str]:
    """Every generated file with its text."""
    made = {DOCS / "drawings" / f"{name}.svg": draw().svg() for name, draw in concepts.DRAWINGS.items()}
    made[DOCS / "assets/drawings.css"] = drawing.style_sheet()
    reading = DOCS / "reading-a-result.md"
    made[reading] = example.page(reading.read_text())
    return made | schemes.files()


def main() -> None:
    made = files()
    stale = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv[1:]:
        if stale:
            sys.exit("not up to date (run `make docs`): " + ", ".join(path.name for path in stale))
        return
    for path in stale:
        path.parent.mkdir(exist_ok=True)
        path.write_text(made[path])
    paper_figures.draw()


if __name__ == "__main__":
    main()
