"""The code of all documents runs as it is printed.

Each document has a folder of its own, in which its blocks of `sh` and `python` run from first to last, with a small
trace under the names that documents use. A block that cannot run says why in the line above:
`<!-- not run: REASON -->`.
"""

import gzip
import io
import re
import shlex
import warnings
from contextlib import redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import PAGE, PROVE, ROOT, write_trace
from test_documents import DOCUMENTS
from test_help import COMMANDS

import flashraid as fr

FENCE = re.compile(
    r"(?ms)^(?:<!-- not run: (?P<reason>[^\n]+) -->\n)?(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^ *```"
)
# No example fills a device so far that its GC has little room: who copies it would begin with a warning.
LITTLE_SPARE = "the spare that GC can use is"
# Commands that may take minutes, or need what no test has, so that a block of these alone may be left out.
LEFT_OUT = {("advise",), ("reproduce",), ("sweep",), ("trace", "windows")}


class Block(NamedTuple):
    language: str
    code: str
    reason: str | None
    line: int


def blocks(text: str) -> list[Block]:
    found = []
    for match in FENCE.finditer(text):
        code = re.sub(rf"(?m)^{match['indent']}", "", match["code"])
        found.append(Block(match["language"], code, match["reason"], text[: match.start("code")].count("\n") + 1))
    return [block for block in found if block.language in ("sh", "python")]


def commands(code: str) -> list[list[str]]:
    """The commands of a block of shell: one a line, apart from lines that go on."""
    lines = re.sub(r"\\\n\s*", "", code).split("\n")
    return [words for line in lines if (words := shlex.split(line, comments=True))]


TRACE = "trace.ssdsim-us.trace"
PROFILE = """
about = "reads"
requests = 1000
space_bytes = 1073741824
arrivals = { law = "poisson", mean_ns = 100000 }
[[streams]]
ops = { read = 1 }
"""
# Devices of documents are as large as real ones; the same with fewer and smaller blocks are filled in a moment. Drives
# of today program twelve pages together.
FEW = {"blocks_per_plane": 512, "pages_per_block": 12, "fit": "wrap", "limit": 200}


def simulates(words: list[str]) -> bool:
    return words[1] in ("run", "compare", "calibrate", "advise") and "--config" not in words


def without(words: list[str], option: str, instead: list[str]) -> list[str]:
    """A command in which something else stands for an option and its value, if it has the option."""
    if option not in words:
        return words
    at = words.index(option)
    return [*words[:at], *instead, *words[at + 2 :]]


def with_less_work(words: list[str]) -> list[str]:
    """The same command with less to do: documents show commands that are worth waiting for.

    Devices are smaller, so that a number of bytes to be filled becomes a share; traces are cut and made to fit; SSDs do
    not wear out. A command with few blocks of its own keeps them, with fewer pages.
    """
    words = without(words, "--seeds", ["--seeds", "2"])
    if "--report" in words and "all" in words:  # `make demo` draws all of them, also as a part of `make test`
        words = without(words, "--schemes", ["--schemes", "raid0,raid5"])
    if any(word.startswith("blocks_per_plane=") for word in words):
        return [*words, f"--limit={FEW['limit']}", "--set=pages_per_block=16"]
    words = without(words, "--fill-bytes", ["--fill", "0.01"])
    for option in ("--until", "--fit", "--limit"):
        words = without(words, option, [])
    return [*words, *(f"--set={key}={value}" for key, value in FEW.items())]


PAGES = {str(path.relative_to(ROOT)): path for path in DOCUMENTS if blocks(path.read_text())}
# Reports, figures and reproductions take many seconds: `make test` tries them elsewhere. And pages of schemes are all
# generated alike: it runs some.
OF_SCHEMES = [name for name in PAGES if name.startswith("docs/schemes/")]
LONG = {"docs/advisor.md", "docs/arrays.md", "docs/report.md", "docs/reproduce.md", *OF_SCHEMES} - set(OF_SCHEMES[::4])
RUN = [name for name in PAGES if PROVE or name not in LONG]


@pytest.fixture
def folder(tmp_path):
    """The files that documents name."""
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "sweep.toml").symlink_to(ROOT / "examples" / "sweep.toml")
    (tmp_path / "new.toml").write_text((ROOT / "devices/array-5x.toml").read_text())
    (tmp_path / "mine.toml").write_text(PROFILE)
    # Within 60 ms, then some from 10 s on and some from 10 min on, near address 0 and near 5 GiB.
    times = [200 * at if at < 300 else (10_000_000 if at < 350 else 600_000_000) + 300 * at for at in range(400)]
    rows = [
        (time, "RWWR"[at % 4], at % 2 * 5 * 2**30 + at * 37 % 2000 * PAGE, (1 + at % 5) * PAGE)
        for at, time in enumerate(times)
    ]
    trace = write_trace(tmp_path, rows).read_text()
    with gzip.open(tmp_path / "app.csv.gz", "wt") as file:
        file.write(trace)
    lines = [f"{time} 3 {offset // 512} {size // 512} {int(op == 'R')}\n" for time, op, offset, size in rows]
    (tmp_path / TRACE).write_text("".join(lines))
    return tmp_path


@pytest.fixture
def flashraid(monkeypatch):
    """The library, as documents import it, with less to do."""
    for name in ("run", "compare", "advise"):
        function = getattr(fr, name)
        monkeypatch.setattr(fr, name, lambda *given, call=function, **named: call(*given, **{**named, **FEW}))
    return fr


def run(words: list[str], folder: Path, preloaded):
    words = without([TRACE if word == "TRACE" else word for word in words], "--kills", ["--kills", "20"])
    return preloaded((with_less_work(words) if simulates(words) else words)[1:], folder)


@pytest.mark.parametrize("document", RUN)
def test_the_blocks_of_a_document_run(document, folder, flashraid, preloaded, monkeypatch):
    monkeypatch.chdir(folder)
    names = {"fr": flashraid, "result": flashraid.run("trace.csv", device="tiny", scheme="raid5")}
    for block in blocks(PAGES[document].read_text()):
        if block.reason:
            continue
        place = f"{document}:{block.line}"
        if block.language == "python":
            with warnings.catch_warnings(record=True) as warned, redirect_stdout(io.StringIO()):
                warnings.simplefilter("always")
                exec(compile(block.code, place, "exec"), names)
            assert not [str(warning.message) for warning in warned if LITTLE_SPARE in str(warning.message)], place
            continue
        for words in commands(block.code):
            assert words[0] == "flashraid", f"{place}: {words[0]} cannot run here: say so above the block"
            words, target = (words[:-2], words[-1]) if words[-2] == ">" else (words, None)
            done = run(words, folder, preloaded)
            assert done.returncode == 0, f"{place}: {' '.join(words)}\n{done.stderr[-1000:]}"
            assert LITTLE_SPARE not in done.stderr, f"{place}: {' '.join(words)}\n{done.stderr[-1000:]}"
            if target:
                (folder / target).write_text(done.stdout)


def test_examples_of_help_and_of_make_leave_gc_its_room(folder, flashraid):
    """And of blocks that do not run; papers fill as they say."""
    texts = [*(command.help for command in COMMANDS.values()), (ROOT / "Makefile").read_text()]
    texts += [path.read_text() for path in DOCUMENTS if path.parent.name != "papers"]
    filled = {found for text in texts for found in re.findall(r"--device (\w[-\w]*) [^\n]*--fill ([\d.]+)", text)}
    assert {("ssd1", "0.4"), ("ssd1", "0.3")} <= filled
    for device, fill in filled:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            flashraid.run(folder / "trace.csv", device=device, scheme="raid5", fill=fill)
        assert not [str(warning.message) for warning in warned if LITTLE_SPARE in str(warning.message)], (device, fill)


def test_blocks_are_left_out_only_if_they_cannot_run():
    found = [(name, block) for name, path in PAGES.items() for block in blocks(path.read_text())]
    assert sum(block.reason is None for _, block in found) > 60
    for name, block in found:
        if block.reason and block.language == "python":
            assert "flashraid" not in block.code, f"{name}:{block.line}"
        elif block.reason:
            called = [line.split() for line in re.sub(r"\\\n\s*", "", block.code).split("\n") if line.strip()]
            others = [words for words in called if words[0] != "flashraid"]
            is_long = [any(tuple(words[1 : 1 + len(of)]) == of for of in LEFT_OUT) for words in called]
            assert others or all(is_long), f"{name}:{block.line}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```sh\na b\n```\n", [("sh", "a b\n", None)]),
        ("<!-- not run: needs root -->\n```sh\na\n```\n", [("sh", "a\n", "needs root")]),
        ("- item\n\n  ```python\n  a\n\n  b\n  ```\n", [("python", "a\n\nb\n", None)]),
        ("```toml\na = 1\n```\n```\nb\n```\n", []),
    ],
)
def test_blocks_are_found(text, expected):
    assert [(block.language, block.code, block.reason) for block in blocks(text)] == expected


def test_commands_are_cut():
    assert commands("a --b 'c d'   # why\n\nlong \\\n    line\n# nothing\n") == [["a", "--b", "c d"], ["long", "line"]]
