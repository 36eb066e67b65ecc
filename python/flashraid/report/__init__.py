"""Reports: one HTML file with tables and charts that needs nothing else, no network either."""

from .of_results import figures, of_comparison, parts, title_of
from .page import html, write
from .parts import Cell, Code, Group, List, Notice, Part, Table, Text

__all__ = [
    "Cell",
    "Code",
    "Group",
    "List",
    "Notice",
    "Part",
    "Table",
    "Text",
    "figures",
    "html",
    "of_comparison",
    "parts",
    "title_of",
    "write",
]
