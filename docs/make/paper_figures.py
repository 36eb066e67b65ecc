"""Draws the figures of the papers' pages from the numbers recorded beside them: made with the site, not stored."""

from pathlib import Path

from flashraid.reproduce import page, papers
from flashraid.reproduce.outcome import of_record

PAGES = Path(__file__).parents[1] / "papers"


def draw() -> None:
    """Writes all of them to docs/papers/figures, and removes others that are there."""
    made: dict[Path, str] = {}
    for name in papers.names():
        found = of_record(papers.find(name), (PAGES / f"{name}.json").read_text(encoding="utf-8"))
        made |= {PAGES / path: text for path, text in page.drawn(found).items()}
    folder = PAGES / page.FIGURES
    folder.mkdir(exist_ok=True)
    for path in set(folder.iterdir()) - set(made):
        path.unlink()
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
