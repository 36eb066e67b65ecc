"""Mutation testing (mutation/mutate.py): the record is complete, and docs/faults.md says what it says."""

import os
import shutil
import subprocess
import tomllib
from math import comb

import pytest
from conftest import PROVE, ROOT

import mutate

PAGE = ROOT / "docs" / "faults.md"
MARKS = "<!-- samples -->\n", "<!-- end of samples -->"


@pytest.fixture(scope="module")
def samples():
    return tomllib.loads(mutate.RECORD.read_text())["sample"]


def test_each_survivor_is_killed_equivalent_or_open(samples):
    for drawn in samples:
        parts = [drawn.get(part, []) for part in ("killed", "unconfirmed", "survivor")]
        assert sum(map(len, parts)) == drawn["size"]
        for survivor in drawn.get("survivor", []):
            outcomes = [survivor[key] for key in ("killed_by", "equivalent", "open") if survivor.get(key)]
            assert len(outcomes) == 1, survivor["mutant"]
    assert len({drawn["seed"] for drawn in samples}) == len(samples)


def test_tests_that_kill_survivors_exist(samples):
    for survivor in [survivor for drawn in samples for survivor in drawn.get("survivor", [])]:
        if "killed_by" in survivor:
            file, _, test = survivor["killed_by"].partition(" ")
            assert f"fn {test}(" in (ROOT / file).read_text(), survivor["killed_by"]


def test_page_shows_the_record(samples):
    table = mutate.table(samples)
    before, rest = PAGE.read_text().split(MARKS[0])
    old, after = rest.split(MARKS[1])
    if os.environ.get("FLASHRAID_BLESS"):
        PAGE.write_text(before + MARKS[0] + table + MARKS[1] + after)
    else:
        assert old == table, "FLASHRAID_BLESS=1 writes it anew"


def test_a_sample_is_recorded_as_it_is_read():
    mutants = [{"id": name, "text": f'{name} "x"'} for name in "abc"]
    fates = mutate.fates(mutants[:2], mutants[2:], {"a": "sim/timing read", "b": None})
    sample = {"seed": 7, "commit": "1a2b", "mutants": 9, "size": 2, "without": ["sim/goldens"]}
    [read] = tomllib.loads(mutate.text_of(sample | fates))["sample"]
    survivors = [{"mutant": "b", "line": 'b "x"'}]
    assert read == sample | {"not_built": ["c"], "killed": [["a", "sim/timing read"]], "survivor": survivors}


def test_bound_is_that_of_clopper_and_pearson():
    """The share at which so many kills or more have a probability of 2.5 %."""
    for killed, size in [(29, 30), (30, 30), (50, 60), (1, 10)]:
        share = mutate.lower_bound(killed, size)
        tail = sum(comb(size, k) * share**k * (1 - share) ** (size - k) for k in range(killed, size + 1))
        assert tail == pytest.approx(0.025)
    assert mutate.lower_bound(30, 30) == pytest.approx(0.025 ** (1 / 30))
    assert mutate.lower_bound(0, 10) == 0
    assert mutate.lower_bound(29, 30) == pytest.approx(0.828, abs=0.0005)


def test_goldens_are_a_suite_of_their_own_and_count_apart():
    """They are left out by name, and what they alone kill is no kill without them."""
    golden = f"determinism::{mutate.GOLDEN_TEST}"
    both = f"sim/determinism {golden}"
    tests = [golden, "determinism::equal", "timing::read"]
    expected = {"sim/goldens": [golden], "sim/determinism": ["determinism::equal"], "sim/timing": ["timing::read"]}
    assert mutate.groups("sim", {"name": "suite"}, tests) == expected
    assert mutate.groups("torture", {"name": "suite"}, ["mutants::kills", "torture::a"]) == {
        "torture/torture": ["torture::a"]
    }
    assert mutate.groups("sim", {"name": "flashraid_sim"}, ["a::b", "c::d"]) == {"sim/flashraid_sim": ["a::b", "c::d"]}
    killed = [["a", f"sim/goldens {golden}"], ["b", both, "sim/timing read"], ["c", "flash/gc d"]]
    assert mutate.without_goldens({"killed": killed}) == 2
    assert f"fn {mutate.GOLDEN_TEST}(" in (ROOT / "crates/sim/tests/suite/determinism.rs").read_text()


SOURCE = """
impl A {
    fn step(&mut self, n: u32) -> bool {
        if n < self.end && n + 1 != 7 { self.note(n); }
        n == self.end
    }
}
"""


def mutant(number, part, before, after):
    start = SOURCE.index(part)
    return {"number": number, "start": start, "end": start + len(part), "before": before, "after": after}


def test_mutants_lie_in_each_other():
    """A mutated text holds no other mutant, the original all of them."""
    inner = mutant(2, "n < self.end", "(if {CHOSEN} { n <= self.end } else { ", " })")
    outer = mutant(1, "n < self.end && n + 1 != 7", "(if {CHOSEN} { n < self.end || n + 1 != 7 } else { ", " })")
    inserted = mutant(3, "", " if {CHOSEN} { return true; }", "") | {"start": SOURCE.index("\n        if")}
    inserted["end"] = inserted["start"]
    text, ranges = mutate.instrument(SOURCE, [inner, outer, inserted])
    first, second, third = (f"{mutate.HOOK}({number})" for number in (1, 2, 3))
    smaller = f"(if {second} {{ n <= self.end }} else {{ n < self.end }})"
    condition = f"(if {first} {{ n < self.end || n + 1 != 7 }} else {{ {smaller} && n + 1 != 7 }})"
    expected = SOURCE.replace("n < self.end && n + 1 != 7", condition)
    assert text == expected.replace("\n        if (", f" if {third} {{ return true; }}\n        if (")
    assert [text[start:end].count(mutate.HOOK) for start, end in (ranges[1], ranges[2], ranges[3])] == [2, 1, 1]


@pytest.mark.skipif(
    not PROVE or shutil.which("cargo") is None, reason="make prove: needs cargo, and compiles a parser of Rust"
)
def test_finder():
    """The finder's own tests; it is in no workspace of others."""
    manifest = ["--manifest-path", ROOT / "mutation/Cargo.toml", "--target-dir", ROOT / "target/mutation/list"]
    subprocess.run(["cargo", "test", "-q", *manifest], check=True)
