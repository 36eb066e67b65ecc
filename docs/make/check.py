"""Checks a built site: links and anchors lead somewhere, and no page asks anything of another host."""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser fetches for a page by itself, by element and attribute. A link that is followed by hand is none of it.
FETCHED = {
    ("script", "src"),
    ("img", "src"),
    ("img", "srcset"),
    ("source", "src"),
    ("source", "srcset"),
    ("iframe", "src"),
    ("video", "src"),
    ("audio", "src"),
    ("embed", "src"),
    ("object", "data"),
    ("image", "href"),
    ("use", "href"),
}
# <link rel=...> that is fetched; others only name a page.
FETCHED_RELATIONS = {
    "stylesheet",
    "icon",
    "preload",
    "prefetch",
    "preconnect",
    "dns-prefetch",
    "modulepreload",
    "manifest",
}
# Addresses in scripts of the theme that are text or names, such as that of SVG.
STYLE_ADDRESS = re.compile(r"(?:@import\s+|url\()\s*['\"]?((?:https?:)?//[^'\")\s]+)")


class Page(HTMLParser):
    """What a page links to, what it fetches, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        for name in ("id", "name"):
            if name in given and (name == "id" or tag == "a"):
                self.anchors.add(given[name])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and FETCHED_RELATIONS & set(given.get("rel", "").split()):
            self.fetched.append(given["href"])
        self.fetched += [given[name] for element, name in FETCHED if element == tag and name in given]
        self.fetched += STYLE_ADDRESS.findall(given.get("style", ""))


def outside(address: str) -> bool:
    return bool(re.match(r"(?:[a-z]+:)?//", address))


def problems(site: Path, leave_out: str = "rust") -> Iterator[str]:
    """What is wrong with the pages of a site; the folder `leave_out` was made by another tool, which checks itself."""
    pages = {
        path: Page(path.read_text())
        for path in sorted(site.glob("**/*.html"))
        if path.relative_to(site).parts[0] != leave_out and path.name != "404.html"
    }
    for path, page in pages.items():
        name = path.relative_to(site)
        for address in page.fetched:
            if outside(address):
                yield f"{name} fetches {address}"
        for address in [*page.links, *page.fetched]:
            parts = urlsplit(address)
            if parts.scheme or outside(address):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                yield f"{name}: {address} does not exist"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{name}: {address} has no such anchor"
    for path in sorted(site.glob("**/*.css")):
        if path.relative_to(site).parts[0] != leave_out:
            for address in STYLE_ADDRESS.findall(path.read_text()):
                yield f"{path.relative_to(site)} fetches {address}"
    if not pages:
        yield "there are no pages"


if __name__ == "__main__":
    found = list(problems(Path(sys.argv[1])))
    if found:
        sys.exit("\n".join(found))
