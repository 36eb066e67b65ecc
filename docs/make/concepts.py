"""The drawings of docs/concepts.md. Each function makes one."""

from collections.abc import Callable

from drawing import WIDTH, Drawing

Cells = list[tuple[str, str]]


def row(drawing: Drawing, x: float, y: float, cells: Cells, width: float = 84, gap: float = 10) -> None:
    for at, (label, role) in enumerate(cells):
        drawing.cell(x + at * (width + gap), y, width, label, role)


def device() -> Drawing:
    drawing = Drawing(
        "The parts of a device",
        "Channels hold chips, chips hold dies, dies hold planes, planes hold blocks, blocks hold pages.",
    )
    drawing.text(4, 18, "controller: scheme, FTL, buffer", "title")
    drawing.line((70, 26), (70, 186))
    for channel in range(2):
        y = 44 + 84 * channel
        drawing.line((70, y + 30), (110, y + 30))
        drawing.text(74, y + 24, "bus", "small muted")
        drawing.frame(110, y, 446, 68)
        drawing.text(118, y + 17, f"channel {channel}", "small muted")
        for chip in range(2):
            x = 118 + 218 * chip
            drawing.cell(x, y + 24, 210, "", "free", 38)
            drawing.text(x + 8, y + 48, f"chip {channel}.{chip}", "small")
            for die in range(2):
                drawing.cell(x + 66 + 70 * die, y + 29, 64, f"die {die}", "old")
    drawing.text(4, 240, "die", "title")
    drawing.text(4, 258, "one array operation at a time (LUN)", "small muted")
    for plane in range(2):
        x = 4 + 280 * plane
        drawing.frame(x, 268, 272, 116)
        drawing.text(x + 8, 285, f"plane {plane}", "small muted")
        for block in range(3):
            left = x + 8 + 87 * block
            drawing.text(left, 304, f"block {block}", "small")
            for page in range(3):
                drawing.cell(left, 310 + 23 * page, 80, f"page {page}", "data", 20)
    drawing.text(4, 404, "read and program: one page; erase: one block", "small muted")
    return drawing


def stripe() -> Drawing:
    drawing = Drawing(
        "Stripes and parity",
        "Four members. Each row is a stripe of three data strips and one parity strip; the parity is on the last "
        "member "
        "in the first stripe and moves one member to the left from stripe to stripe.",
    )
    left, step = 92, 117
    for member in range(4):
        drawing.text(left + step * member + 52, 18, f"member {member}", "title middle")
    strip = 0
    for stripe_number in range(4):
        y = 30 + 40 * stripe_number
        drawing.text(4, y + 19, f"stripe {stripe_number}")
        for member in range(4):
            x = left + step * member
            if member == 3 - stripe_number:
                drawing.cell(x, y, 104, f"P{stripe_number}", "parity")
            else:
                drawing.cell(x, y, 104, f"page {strip}", "data")
                strip += 1
    drawing.frame(left - 6, 24, WIDTH - left + 4, 40)
    drawing.text(4, 208, "P0 = page 0 ⊕ page 1 ⊕ page 2: any one of the four is the XOR of the others")
    drawing.legend(222, {"data": "data strip: a host page", "parity": "parity strip"})
    return drawing


def update() -> Drawing:
    drawing = Drawing(
        "Two ways to update a parity",
        "A write of page 1. Read-modify-write reads the old page 1 and the old parity. Reconstruct write reads page "
        "0 and "
        "page 2. Both program the new page 1 and the new parity.",
    )
    for at, (title, read, sum_) in enumerate(
        [
            ("read-modify-write (RMW)", (False, True, False, True), "P′ = P ⊕ old 1 ⊕ new 1"),
            ("reconstruct write (RCW)", (True, False, True, False), "P′ = 0 ⊕ new 1 ⊕ 2"),
        ]
    ):
        y = 158 * at
        drawing.text(4, y + 18, title, "title")
        drawing.text(WIDTH - 4, y + 18, sum_, "end")
        drawing.text(4, y + 50, "on flash", "small muted")
        drawing.text(4, y + 82, "pre-read", "small muted")
        drawing.text(4, y + 120, "program", "small muted")
        names = ["0", "1", "2", "P"]
        for member, name in enumerate(names):
            x = 92 + 117 * member
            role = "parity" if name == "P" else "data"
            drawing.cell(x, y + 30, 104, name, role)
            if read[member]:
                drawing.arrow((x + 52, y + 60), (x + 52, y + 90))
                drawing.text(x + 60, y + 80, "read", "small")
        drawing.cell(92 + 117, y + 98, 104, "new 1", "data")
        drawing.cell(92 + 351, y + 98, 104, "P′", "parity")
    return drawing


def versions() -> Drawing:
    drawing = Drawing(
        "Base and current version",
        "Before: the map names page 5 in block A. After an update the map names the new version in block B; the old "
        "version "
        "in block A is garbage, or the base that the parity on flash still covers.",
    )
    for at, (title, cells) in enumerate(
        [
            (
                "before",
                (
                    [("4", "data"), ("5", "data"), ("6", "data"), ("7", "data")],
                    [("9", "data"), ("free", "free"), ("free", "free"), ("free", "free")],
                ),
            ),
            (
                "after an update of page 5",
                (
                    [("4", "data"), ("5", "old"), ("6", "data"), ("7", "data")],
                    [("9", "data"), ("5′", "data"), ("free", "free"), ("free", "free")],
                ),
            ),
        ]
    ):
        y = 152 * at
        drawing.text(4, y + 18, title, "title")
        drawing.text(4, y + 62, "block A", "small muted")
        drawing.text(4, y + 112, "block B", "small muted")
        row(drawing, 70, y + 44, cells[0])
        row(drawing, 70, y + 94, cells[1])
        drawing.cell(468, y + 67, 88, "map: 5 →", "free")
        if at:
            drawing.arrow((512, y + 95), (512, y + 135), (206, y + 135), (206, y + 124))
            drawing.text(168, y + 38, "superseded version", "small muted")
        else:
            drawing.arrow((512, y + 67), (512, y + 34), (206, y + 34), (206, y + 43))
    drawing.text(4, 314, "If the parity was updated too, the old version is garbage.")
    drawing.text(4, 334, "If the parity was deferred, the old version is its base: a semivalid page,")
    drawing.text(4, 352, "which the recovery of the other strips of its stripe may still need.")
    drawing.legend(366, {"data": "current version", "old": "superseded version", "free": "erased"})
    return drawing


def guard() -> Drawing:
    drawing = Drawing(
        "Guards of a strip whose parity is deferred",
        "Page 1 was written and the parity was not. With a mirror copy, the new version is on the member and on a "
        "mirror chip. "
        "With a partial parity, NVRAM holds the XOR of the old and the new version. In both, the old version stays "
        "on flash, "
        "as the parity still covers it.",
    )
    for at, title in enumerate(["guard: a copy on a mirror chip", "guard: the partial parity in NVRAM", "no guard"]):
        y = 152 * at
        drawing.text(4, y + 18, title, "title")
        drawing.text(4, y + 50, "parity covers", "small muted")
        drawing.text(4, y + 90, "current", "small muted")
        old = "base of 1" if at < 2 else "old 1"
        row(drawing, 92, y + 30, [("0", "data"), (old, "old"), ("2", "data"), ("P", "parity")], 104, 13)
        drawing.cell(209, y + 70, 104, "new 1", "data")
        if at == 0:
            drawing.cell(326, y + 70, 150, "copy of new 1", "copy")
            drawing.text(92, y + 122, "new 1 lost: take the copy.  0 lost: P ⊕ base of 1 ⊕ 2", "small")
        elif at == 1:
            drawing.cell(326, y + 70, 150, "base ⊕ new", "nvram")
            drawing.text(92, y + 122, "new 1 lost: (P ⊕ 0 ⊕ 2) ⊕ NVRAM.  0 lost: P ⊕ base of 1 ⊕ 2", "small")
        else:
            drawing.text(92, y + 122, "Until the parity is written: new 1 is lost with its member,", "small")
            drawing.text(92, y + 138, "and so are 0 and 2 once GC has erased old 1.", "small")
    drawing.legend(
        456, {"old": "superseded version", "copy": "mirror chip", "nvram": "NVRAM", "parity": "parity on flash"}
    )
    return drawing


def gc() -> Drawing:
    drawing = Drawing(
        "Garbage collection",
        "The victim block holds two current pages, two garbage pages and a semivalid page. First the stripe of the "
        "semivalid "
        "page is committed, which makes that page garbage. Then the current pages move to another block. Then the "
        "victim is "
        "erased.",
    )
    steps: list[tuple[str, Cells, Cells]] = [
        (
            "1  choose the victim: fewest pages to move",
            [("8", "data"), ("garbage", "old"), ("base", "parity"), ("12", "data"), ("garbage", "old")],
            [("free", "free")] * 5,
        ),
        (
            "2  commit the stripe of the semivalid page: its base becomes garbage",
            [("8", "data"), ("garbage", "old"), ("garbage", "old"), ("12", "data"), ("garbage", "old")],
            [("free", "free")] * 5,
        ),
        (
            "3  move the current pages: a read and a program each",
            [("garbage", "old")] * 5,
            [("8", "data"), ("12", "data"), ("free", "free"), ("free", "free"), ("free", "free")],
        ),
        (
            "4  erase: five free pages for two programs",
            [("free", "free")] * 5,
            [("8", "data"), ("12", "data"), ("free", "free"), ("free", "free"), ("free", "free")],
        ),
    ]
    for at, (title, victim, target) in enumerate(steps):
        y = 112 * at
        drawing.text(4, y + 18, title, "title")
        drawing.text(4, y + 48, "victim", "small muted")
        drawing.text(4, y + 84, "target", "small muted")
        row(drawing, 62, y + 29, victim)
        row(drawing, 62, y + 65, target)
    drawing.legend(452, {"data": "current", "old": "garbage", "parity": "semivalid (base)", "free": "erased"})
    return drawing


def rebuild() -> Drawing:
    drawing = Drawing(
        "Rebuild orders",
        "Member 3 has failed. SOR reads all strips of one stripe, programs the lost one and goes on to the next "
        "stripe. DOR "
        "reads each member at its own pace, several stripes ahead. MCR rebuilds the strips without a mirror copy "
        "like DOR; "
        "then it copies the others from the mirror chip, with one read each.",
    )
    # Which stripe each member reads in each slot of time, and what the spare chip programs.
    panels: list[tuple[str, str, dict[str, tuple[str, str]]]] = [
        (
            "SOR (stripe-oriented)",
            "one stripe after the other",
            {
                "member 0": ("0 1 2", "data"),
                "member 1": ("0 1 2", "data"),
                "member 2": ("0 1 2", "data"),
                "spare": (" 0 1 ", "parity"),
            },
        ),
        (
            "DOR (disk-oriented)",
            "each member reads on as soon as it is idle",
            {
                "member 0": ("0123 ", "data"),
                "member 1": ("012 3", "data"),
                "member 2": ("01 23", "data"),
                "spare": (" 01 2", "parity"),
            },
        ),
        (
            "MCR (mirroring-assisted)",
            "stripes 1 and 3 are mirrored: copied, not rebuilt",
            {
                "member 0": ("02   ", "data"),
                "member 1": ("02   ", "data"),
                "member 2": ("02   ", "data"),
                "mirror": ("  13 ", "copy"),
                "spare": (" 0213", "parity"),
            },
        ),
    ]
    y = 0.0
    for title, about, rows in panels:
        drawing.text(4, y + 18, title, "title")
        drawing.text(WIDTH - 4, y + 18, about, "end small muted")
        y += 28
        for name, (slots, role) in rows.items():
            drawing.text(4, y + 18, name, "small muted")
            for time, stripe_number in enumerate(slots):
                copied = name == "spare" and "mirror" in rows and time > 2
                if stripe_number != " ":
                    label = f"stripe {stripe_number}"
                    drawing.cell(92 + 93 * time, y, 85, label, "copy" if copied else role, 26)
            y += 32
        drawing.arrow((92, y + 4), (WIDTH - 4, y + 4))
        drawing.text(WIDTH - 4, y + 20, "time", "end small muted")
        y += 36
    drawing.legend(
        y,
        {"data": "read of a surviving strip", "parity": "rebuilt strip", "copy": "read or copied from the mirror chip"},
    )
    return drawing


DRAWINGS: dict[str, Callable[[], Drawing]] = {
    draw.__name__: draw for draw in (device, stripe, update, versions, guard, gc, rebuild)
}
