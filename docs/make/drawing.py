"""Drawings of pages, members and arrows as SVG text.

A drawing names roles (`data`, `parity`, ...), and one table gives each role its colors on light and on dark ground. A
file carries both and follows the reader's system; on the site, where the reader has a switch, `style_sheet` does the
same for drawings that the page contains. Every cell has a label, so that no drawing depends on colors alone.
"""

from html import escape
from xml.sax.saxutils import quoteattr

WIDTH = 560

# role: (fill, line, text) on light and on dark ground.
ROLES = {
    "data": (("#dce8f8", "#3a6fb5", "#16202e"), ("#1c3350", "#7fb2ee", "#e6edf7")),
    "parity": (("#fce5d0", "#c0621a", "#2a1a0c"), ("#4b2d16", "#f2a870", "#fbeadd")),
    "copy": (("#daf1e0", "#2c8a4b", "#0e2416"), ("#17402a", "#70d394", "#e0f6e8")),
    "nvram": (("#eae0f8", "#764bbd", "#20143a"), ("#38275b", "#c2a1f4", "#efe7fb")),
    "old": (("#f3f4f6", "#7d8696", "#4a5262"), ("#2b303b", "#8f9aad", "#b9c2d1")),
    "free": (("none", "#b3bac6", "#6b7486"), ("none", "#566073", "#97a2b5")),
    "lost": (("#fadfdf", "#c03434", "#3a0f0f"), ("#4c1e1e", "#f08b8b", "#fbe3e3")),
}
INK, MUTED, LINE = ("#1f2430", "#e3e7ef"), ("#5c6678", "#a3adbf"), ("#8a93a3", "#7c879a")


def _rules(dark: bool, prefix: str) -> str:
    """The style of all roles on one ground, each rule behind `prefix`."""
    at = int(dark)
    lines = [
        f"{prefix} text{{fill:{INK[at]}}}",
        f"{prefix} .muted{{fill:{MUTED[at]}}}",
        f"{prefix} .line{{stroke:{LINE[at]};fill:none}}",
        f"{prefix} .head{{fill:{LINE[at]}}}",
        f"{prefix} .frame{{stroke:{LINE[at]};fill:none}}",
    ]
    for role, grounds in ROLES.items():
        fill, line, ink = grounds[at]
        lines.append(f"{prefix} rect.{role}{{fill:{fill};stroke:{line}}}")
        lines.append(f"{prefix} text.{role}{{fill:{ink}}}")
    return "".join(lines)


# What both grounds share.
SHAPE = (
    ".drawing text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;font-size:14px}"
    ".drawing .small{font-size:12px}.drawing .title{font-weight:600}.drawing .middle{text-anchor:middle}"
    ".drawing .end{text-anchor:end}.drawing rect{stroke-width:1.3}.drawing .frame{stroke-width:1;stroke-dasharray:3 3}"
    ".drawing rect.old,.drawing rect.free{stroke-dasharray:4 3}.drawing .line{stroke-width:1.5}"
)


def style_sheet() -> str:
    """The style of drawings that a page of the site contains: it follows the page's scheme of colors."""
    light, dark = '[data-md-color-scheme="default"] .drawing', '[data-md-color-scheme="slate"] .drawing'
    rules = (SHAPE + _rules(False, light) + _rules(True, dark)).replace("}", "}\n")
    return "/* Written by `make docs`; do not edit. */\n" + rules


class Drawing:
    """A drawing that grows downward; positions are in pixels from its upper left corner."""

    def __init__(self, title: str, about: str) -> None:
        """`title` names the drawing, `about` says in words what it shows, for readers who do not see it."""
        self.title, self.about = title, about
        self.parts: list[str] = []
        self.bottom = 0.0

    def _reach(self, y: float) -> None:
        self.bottom = max(self.bottom, y)

    def text(self, x: float, y: float, text: str, kind: str = "") -> None:
        """A line of text on the base line y. `kind` is a list of classes: title, small, muted, middle, end."""
        chosen = f' class="{kind}"' if kind else ""
        self.parts.append(f'<text x="{x:g}" y="{y:g}"{chosen}>{escape(text, quote=False)}</text>')
        self._reach(y + 6)

    def cell(self, x: float, y: float, width: float, label: str, role: str, height: float = 28) -> None:
        """A page: a box with its label in the middle."""
        self.parts.append(f'<rect class="{role}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4"/>')
        if label:
            small = " small" if len(label) * 7.6 > width - 6 else ""
            self.text(x + width / 2, y + height / 2 + 5, label, f"{role} middle{small}")
        self._reach(y + height)

    def frame(self, x: float, y: float, width: float, height: float) -> None:
        """A dashed box around what belongs together."""
        self.parts.append(f'<rect class="frame" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"/>')
        self._reach(y + height)

    def line(self, *points: tuple[float, float]) -> None:
        path = "M" + "L".join(f"{x:g} {y:g}" for x, y in points)
        self.parts.append(f'<path class="line" d="{path}"/>')

    def arrow(self, *points: tuple[float, float]) -> None:
        """A line through the points with a head at its end, for lines along an axis."""
        self.line(*points)
        (x0, y0), (x, y) = points[-2:]
        if abs(x - x0) > abs(y - y0):
            back = -7 if x > x0 else 7
            corners = f"M{x:g} {y:g}L{x + back:g} {y - 4:g}L{x + back:g} {y + 4:g}Z"
        else:
            back = -7 if y > y0 else 7
            corners = f"M{x:g} {y:g}L{x - 4:g} {y + back:g}L{x + 4:g} {y + back:g}Z"
        self.parts.append(f'<path class="head" d="{corners}"/>')

    def legend(self, y: float, entries: dict[str, str]) -> None:
        """What the roles mean, in rows below the drawing."""
        x = 4.0
        for role, meaning in entries.items():
            width = 26 + 6.6 * len(meaning)
            if x > 4 and x + width > WIDTH:
                x, y = 4, y + 22
            self.cell(x, y, 16, "", role, 14)
            self.text(x + 22, y + 12, meaning, "small muted")
            x += width + 14

    def svg(self) -> str:
        """The file."""
        height = round(self.bottom + 6)
        style = SHAPE + _rules(False, ".drawing") + f"@media(prefers-color-scheme:dark){{{_rules(True, '.drawing')}}}"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
            f'height="{height}" role="img" aria-label={quoteattr(f"{self.title}. {self.about}")}>\n'
            f"<style>{style}</style>\n" + "\n".join(self.parts) + "\n</svg>\n"
        )
