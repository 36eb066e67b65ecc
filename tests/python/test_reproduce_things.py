"""What an explanation may change: one thing, and nothing that the paper fixes."""

import re

import pytest

import flashraid as fr
from flashraid.report import Text
from flashraid.reproduce import page, papers, things
from flashraid.reproduce.outcome import Reproduction
from flashraid.reproduce.papers import Claim, Experiment, Explanation, Paper
from flashraid.reproduce.report import reproduction_parts

TABLES = {"w": {"requests_per_second": 100, "mean_bytes": 4096, "write_share": 0.5}, "other": {}}


def stream(**members):
    return {"profile": {"streams": {"0": members}}}


@pytest.mark.parametrize(
    ("change", "thing"),
    [
        ({"fill": 0.5}, "fill"),
        ({"no-pc": {"update": "rmw"}, "fpc": {"update": "rmw"}}, "update"),
        ({"read_command_ns": 0, "erase_command_ns": 0}, "commands"),
        ({"w": stream(addresses={"law": "uniform"}) | {}, "v": stream(offset_bytes=0, length_bytes=1)}, "addresses"),
        ({"w": {"profile": {"page_bytes": 4096, "streams": {"0": {"align_bytes": 4096}}}}}, "sizes"),
        ({"w": {"speed": 2}, "v": {"profile": {"arrivals": {"law": "bursts"}}}}, "arrivals"),
        ({"w": stream(weight=1), "v": stream(ops={"read": 1})}, "operations"),
    ],
)
def test_settings_of_one_thing_may_change_together(change, thing):
    assert {leaf.thing for leaf in things.leaves(change)} == {thing}
    things.check(change, {}, {}, "")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"partial_writes": "free", "write_completes": "data_in"}, "partial_writes and write_completes"),
        ({"w": stream(sizes={}, addresses={})}, "addresses and sizes"),
        ({"blocks_per_plane": 64, "fill": 0.7}, "blocks_per_plane and fill"),
        ({}, "nothing"),
    ],
)
def test_two_things_at_once_show_neither(change, told):
    with pytest.raises(fr.InputError, match=f"one thing at a time is allowed: it changes {told}"):
        things.check(change, {}, {}, "")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"gc_threshold": 0.1}, "gc_threshold = 0.1: the paper has 0.3"),
        ({"mcr": {"mw_limit": 0}}, "mw_limit = 0: the paper has 1.1 or 1.3"),
        ({"speed": 20}, "speed: the paper has requests_per_second = 100 for w"),
        ({"w": {"speed": 20}}, "speed: the paper has requests_per_second = 100 for w"),
        (
            {"w": {"profile": {"arrivals": {"law": "bursts", "mean_ns": 5_000_000}}}},
            "profile.arrivals: the paper has requests_per_second = 100 for w",
        ),
        (
            {"w": {"profile": {"arrivals": {"law": "fixed", "interval_ns": 1000}}}},
            "profile.arrivals: the paper has requests_per_second = 100 for w",
        ),
        (
            {"w": stream(sizes={"law": "table", "bytes": [[1, 4096], [1, 8192]]})},
            "profile.sizes: the paper has mean_bytes",
        ),
        ({"w": stream(ops={"read": 1})}, "profile.ops: the paper has write_share = 0.5 for w"),
    ],
)
def test_what_the_paper_fixes_explains_nothing(change, told):
    with pytest.raises(fr.InputError, match=re.escape(told)):
        things.check(change, {"gc_threshold": 0.3, "mw_limit": [1.1, 1.3]}, TABLES, "")


@pytest.mark.parametrize(
    "change",
    [
        {"gc_threshold": 0.3},
        {"cr5m": {"mw_limit": 1.3}},
        {"other": {"speed": 20}},
        {"w": {"profile": {"arrivals": {"law": "bursts", "mean_ns": 10_000_000, "mean_requests": 9}}}},
        {"w": stream(sizes={"law": "table", "bytes": [[1, 2048], [1, 6144]]})},
        {"w": stream(align_bytes=4096)},
        {"w": stream(addresses={"law": "uniform"})},
    ],
)
def test_what_keeps_the_papers_numbers_may_explain(change):
    things.check(change, {"gc_threshold": 0.3, "mw_limit": [1.1, 1.3]}, TABLES, "")


def test_explanations_of_the_papers_can_be_refused():
    """Each paper says what it fixes, in settings that there are; papers are checked whenever they are read."""
    for name in papers.names():
        fixed = papers.read_tables(papers.FOLDER / name / "explanations.toml")["fixed"]
        for key, value in fixed.items():
            changed = 12345 if not isinstance(value, list) else "none"
            with pytest.raises(fr.InputError, match=f"{key} = {changed}: the paper has"):
                things.check({key: changed}, fixed, {}, "")


def test_a_conjecture_explains_nothing_and_is_shown_as_one():
    claim = Claim("c", "", "", "trend", "e", "mean", "new", "above", against="old", value=0.0)
    experiment = Experiment("e", "", "", {"old": {}, "new": {}}, {"w": {}}, {"1": {}}, ["mean"])
    figures = {(name, "w", "1", "mean"): [value] for name, value in (("old", 100.0), ("new", 110.0))}
    figures |= {(name, "w", "1", "requests"): [1000.0] for name in ("old", "new")}
    for changes, title, mechanism in (
        ([], "### `c` (conjecture)", "Conjecture: So."),
        ([{"fill": 0.5}], "### `c`", "So."),
    ):
        reason = Explanation("r", ["c"], "So.", changes)
        paper = Paper("p", "", "", {}, {}, {"e": experiment}, [claim], [reason])
        found = Reproduction.of(paper, {("e", ""): figures, ("e", "r 1"): figures})
        assert not found.outcomes[0].is_explained
        lines = page.render(found).splitlines()
        assert title in lines
        assert sum("flashraid reproduce p.e --set" in line for line in lines) == len(changes)
        (part,) = (part for part in reproduction_parts(found) if part.name == "failures")
        assert next(block.text for block in part.blocks if isinstance(block, Text)) == mechanism
        assert len([block for block in part.blocks if not isinstance(block, Text)]) == len(changes)
