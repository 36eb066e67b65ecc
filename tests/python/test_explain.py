"""`flashraid explain` knows every name that users meet, and says of it what its source says."""

import json
import re

import polars as pl
import pytest
from conftest import ROOT, SAMPLE

import flashraid as fr
from flashraid import _native
from flashraid.command.init import text
from flashraid.explain import explain
from flashraid.reproduce import papers


def kinds(key):
    return {each.kind.partition(" of ")[0] for each in explain(key)}


def test_it_explains_every_setting_and_parameter():
    for of in json.loads(_native.settings()):
        for name in (of["key"], f"{of['table']}.{of['key']}", f"config.{of['table']}.{of['key']}"):
            [found] = [each for each in explain(name) if each.names == (f"{of['table']}.{of['key']}",)]
            assert found.about == of["about"]
            assert found.facts["allowed"] == of["allowed"]
    for scheme in json.loads(_native.schemes(None)):
        assert "scheme" in kinds(scheme["name"])
        for of in scheme["parameters"]:
            found = [each for each in explain(of["name"]) if each.about == of["about"]]
            assert any(re.search(rf"\b{scheme['name']}(,|$)", each.kind) for each in found)
            [own] = explain(f"{scheme['name']}.{of['name']}")
            assert (own.kind, own.about) == (f"parameter of {scheme['name']}", of["about"])


def test_it_explains_every_experiment():
    for paper in papers.names():
        for name, of in papers.find(paper).experiments.items():
            [found] = explain(f"{paper}.{name}")
            assert of.title in found.about
            assert found.facts["more"] == f"flashraid reproduce {paper}.{name}"


def paths(value, path=""):
    """The keys of a result, as docs/result.md names them."""
    for key, each in value.items():
        name = f"{path}.{key}" if path else key
        if name == "config":
            continue
        yield name
        items = each if isinstance(each, list) else [each]
        for item in items:
            if isinstance(item, dict):
                yield from paths(item, name + "[]" if isinstance(each, list) else name)


def test_it_explains_every_key_and_column_of_a_run(tmp_path):
    files = {"latency_log": "requests.csv", "operation_log": "operations.csv", "series": "series.csv"}
    outputs = {name: tmp_path / file for name, file in files.items()}
    result = fr.run(
        SAMPLE, device="ppc-4p1", scheme="ppc", fit="wrap", limit=300, verify=True, drain=True, fail="chip:0.0@50%",
        **outputs,
    )  # fmt: skip
    names = set(paths(result.to_dict()))
    assert len(names) > 200
    free = {"capacity.tables", "capacity.nvram", "workload.ignored"}  # objects by name, explained as a whole
    for name in names:
        if name.rpartition(".")[0] not in free:
            assert any(name in each.names for each in explain(name)), name
    for path in outputs.values():
        for column in pl.read_csv(path).columns:
            assert "column" in kinds(column), column


def test_it_explains_every_figure():
    compared = fr.compare(SAMPLE, device="ssd1", schemes="ppc", limit=300, engine=False)
    for figure in compared.figures():
        assert "figure" in kinds(figure.name), figure.name


def test_it_explains_every_term_of_the_glossary():
    terms = re.findall(r"(?m)^- \*\*(.*?)\*\*", (ROOT / "docs/glossary.md").read_text())
    for term in terms:
        first = re.split(r",? [(`]", term)[0].strip("`")
        assert "term" in kinds(first), term


@pytest.mark.parametrize(
    ("key", "name", "says"),
    [
        ("latency_ns.read.p99", "latency_ns.read.p99", "99 % took at most this long."),
        ("members[].busy_fraction", "members[].busy_fraction", "busy"),
        ("members[3].busy_fraction", "members[].busy_fraction", "busy"),
        ("members.3.busy_fraction", "members[].busy_fraction", "busy"),
        ("member3_queue", "memberM_queue", "queued but not started"),
        ("full stripe write", "full-stripe write", "all data strips of a stripe"),
        ("CMT", "CMT (cached mapping table)", "map entries"),
        ("cached mapping table", "CMT (cached mapping table)", "map entries"),
        ("alpha", "scheme.alpha", "recency"),
    ],
)
def test_names_may_be_spelt_as_users_have_them(key, name, says):
    assert any(name in each.names and says in each.about for each in explain(key))


@pytest.mark.parametrize(
    ("key", "facts"),
    [
        ("device.channels", {"default": "required", "allowed": "a whole number from 1 to 64"}),
        ("device.read_ns", {"unit": "ns", "default": "required"}),
        ("device.cmt_entries", {"unit": "entries", "default": "65536", "has effect with": "mapping = dftl"}),
        ("run.fail", {"default": "none"}),
        ("scheme.parity_cache_bytes", {"unit": "bytes", "default": "32768"}),
        ("latency_ns.read.p99", {"unit": "ns"}),  # that of the object in which it stands
        ("rebuild[].latency_ns.p99", {"unit": "ns"}),
        ("guard.hit_rate", {"unit": "share"}),  # of an object that a result may lack
        ("buffer.kind", {"values": "dram, nvram"}),
        ("read_p99_ns", {"unit": "ns"}),
    ],
)
def test_facts_stand_with_a_name(key, facts):
    assert any(facts.items() <= found.facts.items() for found in explain(key)), [each.facts for each in explain(key)]


@pytest.mark.parametrize(
    ("scheme", "settings", "key"),
    [
        ("raid5", {"cmt_entries": 10}, "cmt_entries"),
        ("raid5", {"nvram_victim": "largest_group"}, "nvram_victim"),
        ("raid0", {"rebuild_window": 2}, "rebuild_window"),
        ("sirf1", {"groups": 1, "read": "least_busy"}, "scheme.read"),
        ("fpc", {"update": "rcw", "fpc_cached_parity_free": "yes"}, "fpc_cached_parity_free"),
    ],
)
def test_what_a_setting_needs_is_what_a_refusal_says(scheme, settings, key):
    needs = next(found.facts["has effect with"] for found in explain(key) if "has effect with" in found.facts)
    with pytest.raises(fr.InputError, match=f"has no effect here: allowed with {re.escape(needs)}$"):
        fr.run(SAMPLE, device="ssd1", scheme=scheme, **settings)
    start = next(line for line in text("-", "ssd1", scheme).split("\n\n") if f"\n#{key.rpartition('.')[2]} = " in line)
    assert f"Has effect with {needs}." in " ".join(line.removeprefix("# ") for line in start.splitlines())


def test_only_names_that_were_meant_are_told():
    """Two figures have one meaning in the document, and one name ends as the other."""
    assert ("free-blocks",) in [each.names for each in explain("free-blocks")]
    assert ("fewest-free-blocks",) in [each.names for each in explain("fewest-free-blocks")]


def test_it_prints_every_meaning(command):
    shown = " ".join(command("explain", "layout").stdout.split())
    assert "scheme.layout (parameter of raid5, " in shown
    assert "default: left_asymmetric" in shown
    assert "layout (term)" in shown
    words = command("explain", "gc_policy").stdout
    assert "    greedy: The block with the fewest pages to move" in words
    p99 = command("explain", "p99").stdout
    assert p99.count("99 % took") == 1
    assert all(f"latency_ns.{kind}.p99" in p99 for kind in ("read", "write", "flush"))


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("gc_treshold", "nothing is called gc_treshold; the nearest is gc_threshold"),
        ("latency_ns.read.p98", "nothing is called latency_ns.read.p98; the nearest are p"),
        ("xyzzy", "nothing is called xyzzy; see docs/glossary.md"),
        ("", "the name to explain is empty: allowed is one as in"),
        (" ", "the name to explain is empty: allowed is one as in"),
        ("raid5.updat", "nothing is called raid5.updat; the nearest are update"),
    ],
)
def test_an_unknown_name_is_an_error_with_the_nearest(command, key, says):
    done = command("explain", key, status=2)
    assert done.stdout == ""
    assert done.stderr.startswith(f"error: {says}")
    assert done.stderr.count("\n") == 1
