"""The pages of docs/schemes: one for each scheme of the registry, with drawings of what the engine does.

What a page says comes from the registry, from the head of the scheme's file (idea, source, departures), from runs of
the engine on a small device, and from docs/schemes/NAME.toml, which says when to choose the scheme.
"""

import csv
import functools
import json
import re
import tempfile
import tomllib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import flashraid as fr
from drawing import WIDTH, Drawing
from flashraid import _native

ROOT = Path(__file__).parents[2]
HEADS = ROOT / "crates/redundancy/src/schemes"
FOLDER = ROOT / "docs/schemes"
PAGE_BYTES = 4096
MEMBERS = 4
PAGES = 12
# Four channels with two chips each, so that a channel can have a chip for copies; four SSDs for schemes of arrays.
DEVICE = "tiny"
ROLES = {"host": "data", "parity": "parity", "commit": "parity", "mirror": "copy"}

Row = dict[str, Any]


@dataclass
class Trial:
    """A run of a few requests, one a second: its page operations, those of each request first, and what a drain did."""

    operations: list[Row]
    latencies_ns: list[int]
    drained_reads: int
    drained_programs: int

    def of(self, request: int | None) -> list[Row]:
        return [operation for operation in self.operations if operation["request"] == request]


def trial(scheme: Row, requests: Sequence[tuple[str, int, int]], fill: float) -> Trial:
    """Runs requests (operation, page, pages) under a scheme on the small device."""
    return _trial(scheme["name"], scheme["protects"] == "device", tuple(requests), fill)


def rows_of(path: Path) -> list[Row]:
    """The rows of a log; what is a number there is one."""
    with path.open(newline="") as file:
        return [
            {key: int(text) if text.isdigit() else text or None for key, text in row.items()}
            for row in csv.DictReader(file)
        ]


@functools.cache
def _trial(scheme: str, of_array: bool, requests: tuple[tuple[str, int, int], ...], fill: float) -> Trial:
    settings: dict[str, Any] = {"devices": MEMBERS} if of_array else {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        files = {name: Path(folder, name) for name in ("trace.csv", "operations.csv", "requests.csv")}
        rows = [
            f"{1_000_000 * at},{op},{page * PAGE_BYTES},{pages * PAGE_BYTES},,"
            for at, (op, page, pages) in enumerate(requests)
        ]
        files["trace.csv"].write_text("\n".join(["ts_us,op,offset,size,flags,latency_us", *rows, ""]))
        result = fr.run(
            files["trace.csv"],
            device=DEVICE,
            scheme=scheme,
            chips_per_channel=2,
            fill=fill,
            drain=True,
            operation_log=files["operations.csv"],
            latency_log=files["requests.csv"],
            **settings,
        )
        operations = sorted(rows_of(files["operations.csv"]), key=lambda one: (one["start_ns"], one["member"]))
        answered = sorted(rows_of(files["requests.csv"]), key=lambda one: one["request"])
    drained = result.to_dict()["drain"]["flash_ops"]
    return Trial(
        operations, [one["latency_ns"] for one in answered], drained["reads"]["total"], drained["programs"]["total"]
    )


def places(scheme: Row) -> dict[tuple[int, int], list[tuple[str, str]]]:
    """What (row, member) of an empty device holds after pages were written in order: labels and roles.

    Page by page for the places of data and copies, as the log names the request of each; in whole stripes for parity,
    with many more behind them, so that a cache has written out the parities of the first.
    """
    found: dict[tuple[int, int], list[tuple[str, str]]] = {}

    def put(operation: Row, label: str) -> None:
        cells = found.setdefault((operation["page"], operation["member"]), [])
        cells.append((label, ROLES[operation["cause"]]))

    singly = trial(scheme, [("W", page, 1) for page in range(PAGES)], 0)
    for page in range(PAGES):
        for operation in singly.of(page):
            if operation["action"] == "program" and operation["cause"] in ("host", "mirror"):
                put(operation, str(page) if operation["cause"] == "host" else f"{page}′")
    rows = {page for page, _ in found}
    whole = trial(scheme, [("W", 0, 8 * PAGES)], 0)
    programs = [one for one in whole.operations if one["action"] == "program" and one["page"] in rows]
    parities = [one for one in programs if ROLES[one["cause"]] == "parity"]
    on = {(one["page"], one["member"]) for one in parities}
    for operation in sorted(parities, key=lambda one: (one["page"], one["member"])):
        page, member = operation["page"], operation["member"]
        # The second one of a stripe with two is on the member after the first (SPEC 8.16).
        is_second = scheme["survives_failures"] == 2 and (page, (member - 1) % MEMBERS) in on
        put(operation, f"{'Q' if is_second else 'P'}{page}")
    return found


def picture_of_places(scheme: Row) -> Drawing:
    found = places(scheme)
    unit = "SSD" if scheme["protects"] == "device" else "channel"
    drawing = Drawing(
        f"{scheme['title']}: where pages lie",
        f"Host pages 0 to {PAGES - 1}, written in order to an empty device of {MEMBERS} members.",
    )
    left, step = 92, 117
    for member in range(MEMBERS):
        drawing.text(left + step * member + 52, 18, f"member {member}", "title middle")
        drawing.text(left + step * member + 52, 34, f"{unit} {member}", "small muted middle")
    y = 44.0
    for page in sorted({page for page, _ in found}):
        cells = {member: found.get((page, member), []) for member in range(MEMBERS)}
        drawing.text(4, y + 19, f"page {page}", "small muted")
        for member, held in cells.items():
            x = left + step * member
            width = (104 - 4 * (len(held) - 1)) / max(1, len(held))
            for at, (label, role) in enumerate(held or [("", "free")]):
                drawing.cell(x + at * (width + 4), y, width if held else 104, label, role)
        y += 36
    roles = {role for cells in found.values() for _, role in cells}
    parity = "parities" if scheme["survives_failures"] == 2 else "parity"
    meanings = {"data": "host page", "copy": "mirror copy", "parity": f"{parity} of the stripe in this row"}
    drawing.legend(y + 6, {role: meaning for role, meaning in meanings.items() if role in roles})
    return drawing


@dataclass
class Step:
    """Page operations that run at the same time."""

    when: str
    operations: list[Row] = field(default_factory=list)


def steps(operations: Sequence[Row], when: str) -> list[Step]:
    """Cuts operations, in order of their start, where one starts after another one has ended."""
    found: list[Step] = []
    for operation in operations:
        if not found or operation["start_ns"] >= min(one["end_ns"] for one in found[-1].operations):
            found.append(Step(when))
        found[-1].operations.append(operation)
    return found


def picture_of_update(scheme: Row) -> Drawing:
    updated = trial(scheme, [("W", 1, 1)], 0.5)
    now, later = steps(updated.of(0), "now"), steps(updated.of(None), "later")
    words = [*(f"{one['cause']} {one['action']} on member {one['member']}" for step in now for one in step.operations)]
    drawing = Drawing(f"{scheme['title']}: an update of one page", "In order: " + ", ".join(words) + ".")
    left, step_width = 92, 117
    for member in range(MEMBERS):
        drawing.text(left + step_width * member + 52, 18, f"member {member}", "title middle")
    y, roles = 30.0, set()
    for step in [*now, *later]:
        actions = {one["action"] for one in step.operations}
        drawing.text(4, y + 14, " and ".join(sorted(actions, reverse=True)), "small")
        drawing.text(4, y + 29, step.when if step.when == "later" else "", "small muted")
        used = {member: [one for one in step.operations if one["member"] == member] for member in range(MEMBERS)}
        for member, there in used.items():
            for at, one in enumerate(there):
                read = one["action"] == "read"
                role = "old" if read else ROLES[one["cause"]]
                label = "read" if read else {"data": "new data", "parity": "parity", "copy": "copy"}[role]
                roles.add(role)
                drawing.cell(left + step_width * member, y + 34 * at, 104, label, role)
        y += 34 * max(1, *(len(there) for there in used.values())) + 8
    if "parity cache" in scheme["nvram"]:
        drawing.text(4, y + 19, "NVRAM", "small")
        drawing.cell(left, y, 455, "parity cache: what the parity on flash does not cover yet", "nvram")
        y += 42
        roles.add("nvram")
    if updated.drained_programs:
        text = (
            f"at the commit: {counted(updated.drained_reads, 'read')}, {counted(updated.drained_programs, 'program')}"
        )
        drawing.text(left, y + 14, text, "small muted")
        y += 24
    drawing.line((left, y), (WIDTH - 4, y))
    latency = f"acknowledged after {updated.latencies_ns[0] / 1000:,.0f} us on an idle device"
    drawing.text(left, y + 20, latency, "small")
    return drawing


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def cost_rows(scheme: Row) -> list[tuple[str, int, int, int, int, float]]:
    """What requests cost on a filled, idle device: reads and programs before the answer and after it, and latency."""
    data = sum(role == "data" for cells in row_cells(scheme) for _, role in cells)
    cases = [
        ("read of one page", [("R", 1, 1)], 0),
        ("update of one page", [("W", 1, 1)], 0),
        ("second update of the same page", [("W", 1, 1), ("W", 1, 1)], 1),
        (f"write of a whole stripe ({counted(data, 'page')})", [("W", 0, data)], 0),
    ]
    rows = []
    for name, requests, request in cases:
        done = trial(scheme, requests, 0.5)
        own = done.of(request)
        after = done.of(None)
        begin = done.of(request)[0]["start_ns"] if own else 0
        after = [one for one in after if one["start_ns"] >= begin]
        reads, programs = (sum(one["action"] == action for one in own) for action in ("read", "program"))
        later_reads, later_programs = (sum(one["action"] == action for one in after) for action in ("read", "program"))
        rows.append(
            (
                name,
                reads,
                programs,
                later_reads + done.drained_reads,
                later_programs + done.drained_programs,
                done.latencies_ns[request] / 1000,
            )
        )
    return rows


def row_cells(scheme: Row) -> list[list[tuple[str, str]]]:
    """What the first row of the picture holds."""
    return [cells for (page, _), cells in places(scheme).items() if page == 0]


def head_of(scheme: str) -> dict[str, str]:
    """The paragraphs of the head of a scheme's file: Idea, Source and Departures."""
    stem = scheme.replace("-", "_")
    path = next(path for path in (HEADS / f"{stem}.rs", HEADS / stem / "mod.rs") if path.exists())
    lines = [line[3:].removeprefix(" ") for line in path.read_text().splitlines() if line.startswith("//!")]
    text = "\n".join(lines)
    names = r"Idea|Paper|Source|Departures|Note"
    parts = re.split(rf"(?m)^({names})(?=[:,])", text)
    found = {
        "Source" if name == "Paper" else name: body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)
    }
    return {name: body.lstrip(":, ") for name, body in found.items()}


def slug(heading: str) -> str:
    """The anchor of a heading, as hosting sites and our site make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def sections_of_the_specification() -> dict[str, str]:
    """The link to each section of docs/spec, by its number."""
    links = {}
    for path in sorted((ROOT / "docs/spec").glob("*.md")):
        for number, title in re.findall(r"(?m)^## (\d\.\d+) (.*)$", path.read_text()):
            links[number] = f"../spec/{path.name}#{slug(f'{number} {title}')}"
    return links


def with_links(text: str, links: dict[str, str]) -> str:
    """A text whose citations of the specification are links."""
    more = r"(?:(?: \([^()\n]*\))?(?:,| and| to) \d\.\d+)*"

    def link(found: re.Match[str]) -> str:
        return re.sub(
            r"\d\.\d+",
            lambda number: f"[{number[0]}]({links[number[0]]})" if number[0] in links else number[0],
            found[0],
        )

    return re.sub(rf"SPEC \d\.\d+{more}", link, text)


def paragraph(text: str, links: dict[str, str]) -> str:
    """A paragraph of a head as Markdown: one line each for the paragraph and the items of its list."""
    joined = re.sub(r"\n(?!- )\s*", " ", text)
    joined = re.sub(r"\s*\n- ", "\n- ", joined)
    first, _, items = joined.partition("\n- ")
    lines = [first] if first else []
    if items:
        lines += ["", "- " + items] if first else ["- " + items]
    return with_links("\n".join(lines), links)


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    def line(cells: Sequence[object]) -> str:
        return "| " + " | ".join(str(cell) for cell in cells) + " |"

    return "\n".join([line(heads), line(["---"] * len(heads)), *map(line, rows)])


def capacity(scheme: Row) -> tuple[str, Row]:
    """The preset of a device that a scheme is for, and what it leaves there."""
    name = "array-5x" if scheme["protects"] == "device" else "ssd1"
    return name, json.loads(_native.device(name, scheme["name"]))["schemes"][scheme["name"]]


def size(number: int) -> str:
    """A size in the binary unit that fits."""
    value, units = float(number), ["bytes", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(units) > 1:
        value, units = value / 1024, units[1:]
    return f"{value:,.0f} bytes" if units[0] == "bytes" else f"{value:,.1f} {units[0]}"


def prose(scheme: str) -> dict[str, str]:
    """What docs/schemes/NAME.toml says: when to choose the scheme, what to beware of, and the page of its paper's "
    "claims."""
    path = FOLDER / f"{scheme}.toml"
    texts: dict[str, str] = tomllib.loads(path.read_text())
    if set(texts) - {"claims"} != {"choose", "beware"}:
        raise SystemExit(f"{path.name} must have the keys choose and beware, and may have claims")
    return {key: text.strip() for key, text in texts.items()}


def page(scheme: Row) -> str:
    name = scheme["name"]
    links, head, texts = sections_of_the_specification(), head_of(name), prose(name)
    device, left = capacity(scheme)
    parts = [
        f"# {name}: {scheme['title']}",
        f"<!-- Written by `make docs` from the registry, the head of the scheme's file and {name}.toml; do not edit. "
        f"-->",
        scheme["about"],
        capital(paragraph(head["Idea"], links)),
        table(
            ["property", "value"],
            [
                ["survives the loss of", scheme["survives"]],
                *([["except", scheme["window"]]] if scheme["window"] else []),
                ["members", scheme["members"]],
                ["NVRAM", ", ".join(scheme["nvram"]) or "none"],
            ],
        ),
        "```sh\n"
        + f"flashraid run TRACE --device {device} --scheme {name} --fill 0.4 --verify\n"
        + f"flashraid schemes {name}\n```",
        "## When to choose it",
        texts["choose"],
        "**Beware.** " + texts["beware"],
        "## Where pages lie",
        f"![Where {name} puts pages]({name}.svg)",
        f"Host pages 0 to {PAGES - 1} written in order to an empty device: the preset `{DEVICE}` with two chips on "
        f"each channel"
        + (f", {MEMBERS} SSDs of it. " if scheme["protects"] == "device" else ". ")
        + "A row is a page of each member. The engine placed them; the drawing is its log of operations.",
        "## What an update does",
        f"![An update under {name}]({name}-update.svg)",
        "The page operations of an update of host page 1 on the same device, half full, from top to bottom in order "
        "of time.",
        "## Cost",
        table(
            ["request", "flash reads", "flash programs", "later reads", "later programs", "latency"],
            [
                [case, reads, programs, later_reads, later_programs, f"{us:,.1f} us"]
                for case, reads, programs, later_reads, later_programs, us in cost_rows(scheme)
            ],
        ),
        "Counted by the engine on that device while it is idle. *Later* is what is done for the redundancy after the "
        "answer: in "
        "idle time, or by a drain at the end (`--drain`). GC comes on top, and it grows with every program.",
        table(
            [f"on `{device}`", "value"],
            [
                ["capacity for the host", size(left["user_bytes"])],
                ["flash for redundancy", f"{left['redundancy_share']:.1%} of the flash"],
                ["raw bytes for each byte of the host", f"{left['raw_per_user_byte']:.2f}"],
                ["controller tables", size(left["table_bytes"])],
                ["NVRAM", size(left["nvram_bytes"]) if left["nvram_bytes"] else "none"],
                ["survives", left["survives"]["text"]],
            ],
        ),
        f"`flashraid devices {device}` shows the same for all schemes.",
        "## Parameters",
        table(
            ["parameter", "default", "allowed", "meaning"],
            [
                [
                    f"`{one['name']}`",
                    f"`{one['default']}`",
                    one["allowed"].replace("|", "\\|"),
                    one["about"].replace("|", "\\|"),
                ]
                for one in scheme["parameters"]
            ],
        )
        if scheme["parameters"]
        else "None.",
        "## Source and rules",
        paragraph(head["Source"], links),
    ]
    if head.get("Departures", "none.") != "none.":
        parts += ["**Departures from the source.**", capital(paragraph(head["Departures"], links))]
    if head.get("Note"):
        parts += ["**Note.** " + capital(paragraph(head["Note"], links))]
    if texts.get("claims"):
        parts += [
            f"What the paper claims, and what flashraid measures: [{texts['claims']}](../papers/{texts['claims']}.md)."
        ]
    return "\n\n".join(parts) + "\n"


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def overview(schemes: Sequence[Row]) -> str:
    rows = []
    for scheme in schemes:
        _, reads, programs, later_reads, later_programs, us = cost_rows(scheme)[1]
        _, left = capacity(scheme)
        later = f" + {later_reads} / {later_programs}" if later_reads or later_programs else ""
        rows.append(
            [
                f"[`{scheme['name']}`]({scheme['name']}.md)",
                scheme["title"],
                left["survives"]["text"],
                f"{left['redundancy_share']:.1%}",
                f"{reads} / {programs}{later}",
                f"{us:,.0f} us",
                ", ".join(scheme["nvram"]),
            ]
        )
    return (
        "\n\n".join(
            [
                "# Schemes",
                "<!-- Written by `make docs`; do not edit. -->",
                "One page for each scheme of the registry. `flashraid schemes` lists them; `flashraid compare TRACE "
                "--device ssd1 --schemes "
                "A,B` runs them on your workload. The [concepts](../concepts.md) explain the words.",
                table(
                    ["scheme", "name", "survives", "redundancy", "reads / programs of an update", "latency", "NVRAM"],
                    rows,
                ),
                "*Survives* and *redundancy* (share of the flash) are those on `ssd1`, of schemes for arrays those "
                "on `array-5x`. The update "
                "is one page on a filled, idle device with four members; behind the plus sign stands what follows "
                "after the answer. The "
                "pages say how this was counted.",
            ]
        )
        + "\n"
    )


def files() -> dict[Path, str]:
    """Every file that is made here, with its text."""
    schemes: list[Row] = json.loads(_native.schemes(None))
    made = {FOLDER / "README.md": overview(schemes)}
    for scheme in schemes:
        made[FOLDER / f"{scheme['name']}.md"] = page(scheme)
        made[FOLDER / f"{scheme['name']}.svg"] = picture_of_places(scheme).svg()
        made[FOLDER / f"{scheme['name']}-update.svg"] = picture_of_update(scheme).svg()
    return made
