"""The site: what is generated is up to date, and the built site is whole and asks nothing of another host.

The site is built in `make prove` alone, which has MkDocs.
"""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from html.parser import HTMLParser

import pytest
from conftest import PROVE, ROOT, SCHEMES
from markdown_it import MarkdownIt
from test_documents import DOCUMENTS

import check
import concepts
import flashraid
import generated
import paper_figures
import schemes
from drawing import WIDTH
from flashraid import _native

REGISTRY = {scheme["name"]: scheme for scheme in json.loads(_native.schemes(None))}
# Elements of which a page must have as many on the site as on a hosting site, where lists and fences have other rules.
COUNTED = {"li", "table", "pre", "h1", "h2", "h3", "h4", "blockquote", "img", "svg"}
OUTSIDE = {"ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "samples/README.md"}


needs_site = pytest.mark.skipif(not PROVE, reason="make prove: MkDocs builds the site")


def build(folder, *options):
    """Builds a site; without --quiet, which would hide warnings from --strict."""
    line = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder), *options]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The site as `make docs` builds it."""
    paper_figures.draw()
    folder = tmp_path_factory.mktemp("site")
    done = build(folder)
    assert done.returncode == 0, done.stderr
    return folder


@needs_site
@pytest.mark.parametrize(
    ("pages", "problem"),
    [
        ({"index.md": "# A\n"}, None),
        ({"index.md": "# A\n", "other.md": "# B\n"}, 'not included in the "nav"'),
        ({"index.md": "# A\n\n[b](#gone)\n"}, "no such anchor"),
        ({"index.md": "# A\n\n[b](gone.md)\n"}, "'gone.md', but the target is not found"),
    ],
)
def test_a_page_in_no_navigation_and_a_link_to_nothing_are_refused(tmp_path, pages, problem):
    (tmp_path / "docs").mkdir()
    for name, text in pages.items():
        (tmp_path / "docs" / name).write_text(text)
    config = tmp_path / "mkdocs.yml"
    config.write_text(
        f"INHERIT: {ROOT / 'mkdocs.yml'}\ndocs_dir: docs\nnav: [index.md]\nhooks: []\nplugins: []\nextra_css: []\n"
    )
    done = build(tmp_path / "site", "--config-file", str(config))
    assert (done.returncode == 0) == (problem is None)
    assert (problem or "built in") in done.stderr


def test_generated_documents_are_up_to_date():
    made = generated.files()
    stale = [
        str(path.relative_to(ROOT)) for path, text in made.items() if not path.exists() or path.read_text() != text
    ]
    assert not stale, "make docs writes them"
    drawn = {path for folder in ("drawings", "schemes") for path in (ROOT / "docs" / folder).glob("*.svg")}
    assert drawn <= set(made)


@needs_site
def test_links_lead_somewhere_and_nothing_is_fetched_from_outside(site):
    assert list(check.problems(site)) == []
    assert len(list(site.glob("**/*.html"))) > 60


class Elements(HTMLParser):
    """Counts elements of a text, of a whole page only those of its article."""

    def __init__(self, text: str, whole_page: bool) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()
        self.counts = not whole_page
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.counts |= tag == "article"
        if self.counts and tag in COUNTED:
            self.found["img" if tag == "svg" else tag] += 1

    def handle_endtag(self, tag):
        self.counts &= tag != "article"


@needs_site
def test_documents_read_the_same_on_a_hosting_site(site):
    markdown = MarkdownIt("commonmark").enable("table")
    differing = {}
    for path in DOCUMENTS:
        name = str(path.relative_to(ROOT))
        # The page of Python is made of docstrings on the site alone. README.md is the page of the hosting site.
        if name in ("README.md", "docs/api/python.md") or not (name.startswith("docs/") or name in OUTSIDE):
            continue
        page = name.removeprefix("docs/").replace("samples/README", "samples").replace("README", "index")
        page = (page.lower() if name in OUTSIDE else page).removesuffix(".md")
        here = Elements((site / f"{page}.html").read_text(), True).found
        there = Elements(markdown.render(path.read_text()), False).found
        if here != there:
            differing[name] = (there - here, here - there)
    assert not differing


@needs_site
def test_every_public_name_of_python_has_its_documentation_on_the_page(site):
    anchors = check.Page((site / "api/python.html").read_text()).anchors
    assert {f"flashraid.{name}" for name in names_on_the_page_of_python()} <= anchors


def names_on_the_page_of_python():
    return set(re.findall(r"(?m)^::: flashraid\.(\w+)$", (ROOT / "docs/api/python.md").read_text()))


def test_every_public_name_of_python_is_on_its_page():
    text = (ROOT / "docs/api/python.md").read_text()
    missing = set(flashraid.__all__) - names_on_the_page_of_python()
    assert {name for name in missing if f"`{name}`" not in text} <= {"__version__"}


def test_every_page_is_in_the_navigation():
    """Those of schemes come there when the site is built (docs/make/hooks.py)."""
    _, _, navigation = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")
    pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    listed = re.findall(r"(?m)^ +- (\S+\.md)$", navigation)
    assert sorted(listed) == sorted(set(listed))
    of_schemes = {page for page in pages if page.startswith("schemes/") and page != "schemes/README.md"}
    assert set(listed) == pages - of_schemes | {name.lower().replace("/readme", "") for name in OUTSIDE}


def test_every_scheme_has_its_texts():
    texts = {path.stem: schemes.prose(path.stem) for path in schemes.FOLDER.glob("*.toml")}
    assert set(texts) == set(SCHEMES)
    assert all(len(text["choose"]) > 80 and len(text["beware"]) > 60 for text in texts.values())


@pytest.mark.parametrize("name", SCHEMES)
def test_a_scheme_is_drawn_as_its_rules_have_it(name):
    found = schemes.places(REGISTRY[name])
    held = {label: place for place, cells in found.items() for label, role in cells if role == "data"}
    assert set(held) == {str(page) for page in range(schemes.PAGES)}
    copies = {label[:-1]: place for place, cells in found.items() for label, role in cells if role == "copy"}
    parities = {
        int(label[1:]): member for (_, member), cells in found.items() for label, role in cells if role == "parity"
    }
    layouts = [one["default"] for one in REGISTRY[name]["parameters"] if one["name"] == "layout"]
    if layouts == ["left_asymmetric"]:  # SPEC 0.2
        assert parities == {row: schemes.MEMBERS - 1 - row % schemes.MEMBERS for row in range(4)}
        pages = iter(range(schemes.PAGES))
        for row in range(4):
            for member in set(range(schemes.MEMBERS)) - {parities[row]}:
                assert held[str(next(pages))] == (row, member)
    if not parities and copies:  # mirroring alone: each page on two members
        assert set(copies) == set(held)
        assert all(copies[page][1] != held[page][1] for page in held)
    if REGISTRY[name]["protects"] == "none":
        assert not parities
        assert not copies


def test_costs_are_those_of_the_rules():
    """SPEC 0.6: an update of one of three strips reads two pages, under either method; a whole stripe reads nothing."""
    with_parity = [
        scheme
        for scheme in REGISTRY.values()
        if any(one["name"] == "update" for one in scheme["parameters"])
        and not scheme["nvram"]
        and len(places_of_copies(scheme)) == 0
    ]
    assert len(with_parity) > 3
    for scheme in with_parity:
        rows = schemes.cost_rows(scheme)
        assert rows[0][1:5] == (1, 0, 0, 0), scheme["name"]
        assert rows[1][1:5] == (2, 2, 0, 0), scheme["name"]
        assert rows[3][1:5] == (0, 4, 0, 0), scheme["name"]


def places_of_copies(scheme):
    return [label for cells in schemes.places(scheme).values() for label, role in cells if role == "copy"]


@pytest.mark.parametrize("name", concepts.DRAWINGS)
def test_a_drawing_is_whole(name):
    text = concepts.DRAWINGS[name]().svg()
    root = ElementTree.fromstring(text)
    height = float(root.attrib["height"])
    boxes = list(root.iter("{http://www.w3.org/2000/svg}rect"))
    assert boxes
    for box in boxes:
        assert 0 <= float(box.attrib["x"]) <= WIDTH - float(box.attrib["width"]), box.attrib
        assert 0 <= float(box.attrib["y"]) <= height - float(box.attrib["height"]), box.attrib
    for line in root.iter("{http://www.w3.org/2000/svg}text"):
        kind = line.attrib.get("class", "")
        width = len(line.text or "") * (6.2 if "small" in kind else 7.2)
        left = float(line.attrib["x"]) - (width if "end" in kind else width / 2 if "middle" in kind else 0)
        assert left >= -4, line.text
        assert left + width <= WIDTH + 30, line.text


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ('<a href="other.html#there">x</a>', []),
        ('<a href="other.html#gone">x</a>', ["index.html: other.html#gone has no such anchor"]),
        ('<a href="gone.html">x</a><img src="gone.png">', ["gone.html does not exist", "gone.png does not exist"]),
        ('<a href="https://example.org">x</a><link rel="canonical" href="https://example.org">', []),
        ('<script src="https://example.org/a.js"></script>', ["fetches https://example.org/a.js"]),
        ('<link rel="stylesheet" href="//example.org/a.css">', ["fetches //example.org/a.css"]),
        ('<p style="background: url(https://example.org/a.png)">', ["fetches https://example.org/a.png"]),
        ('<link rel="stylesheet" href="a.css">', ["a.css fetches https://example.org/font"]),
    ],
)
def test_a_fault_of_a_page_is_noticed(tmp_path, page, expected):
    (tmp_path / "index.html").write_text(page)
    (tmp_path / "other.html").write_text('<p id="there">')
    style = "@import 'https://example.org/font'" if expected and "a.css fetches" in expected[0] else "p {}"
    (tmp_path / "a.css").write_text(style)
    found = list(check.problems(tmp_path))
    assert len(found) == len(expected)
    assert all(part in problem for part, problem in zip(expected, found, strict=True))
