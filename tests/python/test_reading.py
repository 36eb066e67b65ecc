"""Files in TOML and JSON are read in one way: places in messages, deep nesting, and names that are not known."""

import json
import math
import time

import pytest
from conftest import SAMPLE

import flashraid as fr
from flashraid import _native, documents
from flashraid.explain import explain
from flashraid.keys import said_at
from flashraid.sweeping import plan

DEEP = 200_000
NESTED = {
    "open.toml": "a = " + "[" * DEEP,
    "closed.toml": f"a = {'[' * DEEP}{']' * DEEP}",
    "inline.toml": "a = " + "{a=" * DEEP,
    "dotted.toml": f"[a{'.a' * DEEP}]\n",
    "open.json": '{"schema": 2, "results": ' + "[" * DEEP,
    "closed.json": f'{{"schema": 2, "results": {"[" * DEEP}{"]" * DEEP}}}',
    "objects.json": '{"a":' * DEEP,
    "some.json": f'{{"schema": 2, "results": {"[" * 150}{"]" * 150}}}',
}
RUN = ["run", SAMPLE, "--device", "tiny", "--scheme", "raid0"]
USES = {
    "toml": (
        ["sweep", "FILE"],
        ["run", SAMPLE, "--scheme", "raid0", "--device", "FILE"],
        [*RUN, "--config", "FILE"],
        ["run", "FILE", "--device", "tiny", "--scheme", "raid0"],
        ["run", "FILE", "--device", "tiny", "--scheme", "raid0", "--seeds", "2"],
    ),
    "json": (["report", "FILE", "-o", "r.html"], [*RUN, "--config", "FILE"], ["reproduce", "cr5m", "--from", "FILE"]),
}


@pytest.mark.parametrize("name", NESTED)
def test_deep_nesting_is_an_error_at_once(command, name):
    (command.folder / name).write_text(NESTED[name])
    for use in USES[name.rpartition(".")[2]]:
        began = time.monotonic()
        said = command(*[name if each == "FILE" else each for each in use], status=2).stderr
        assert said.startswith(f"error: {name}"), (use, said)
        assert (said.count("\n"), len(said) < 300) == (1, True), said
        assert time.monotonic() - began < 60  # it took 52 s where nothing else ran


@pytest.mark.parametrize("value", ["[" * DEEP, "{a=" * DEEP, '"' + "[" * DEEP])
def test_deep_nesting_of_a_value_is_an_error_at_once(value):
    with pytest.raises(fr.InputError):
        fr.run(SAMPLE, device="tiny", scheme="raid0", gc_threshold=value)
    with pytest.raises(fr.InputError):
        fr.reproduce("cr5m.figure8", change={"gc_threshold": value})


def test_a_toml_file_is_what_it_says(tmp_path):
    text = 'b = 1\na = [1.5, "ü", true, inf, -inf, nan]\n[t]\nz = { y = -0x1 }\n[t.s]\n"x.y" = """\nz"""\n'
    text += "[[l]]\n[[l]]\nk = 1_0\n"
    path = tmp_path / "f.toml"
    path.write_text(text.replace("-0x1", "0x1"))
    found = documents.read_toml(str(path))
    assert math.isnan(found["a"].pop())
    inf = float("inf")
    assert found == {
        "b": 1,
        "a": [1.5, "ü", True, inf, -inf],
        "t": {"z": {"y": 1}, "s": {"x.y": "z"}},
        "l": [{}, {"k": 10}],
    }
    assert list(found) == ["b", "a", "t", "l"]  # in the order of the file, on which that of a sweep's points depends
    assert [said_at("", key) for key in found["t"]] == [f"{path}:4:1", f"{path}:5:4"]
    path.write_text(text)
    with pytest.raises(fr.InputError, match=r"f\.toml:4:"):
        documents.read_toml(str(path))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            '[fixed]\ntrace = "t"\n  gc_treshold = 0.1\n',
            ":3:3: fixed: key gc_treshold: there is none; the nearest is gc_",
        ),
        ("[gird]\n", ":1:2: table gird: there is none; the nearest is grid"),
        ("[grid.device]\nchanels = [1]\n", ":2:1: grid: key chanels: there is none; the nearest is channels"),
        (
            "[grid]\ngc_threshold = [0.1]\n[grid.device]\ngc_threshold = [1]\n",
            ":4:1: grid: gc_threshold is given twice",
        ),
        ("[grid]\nfill = 1 2\n", ":2:8: "),
        ('[fixed]\nscheme = "a"\n[grid]\nscheme = ["b"]\n', ":4:1: scheme is given twice"),
        ("[grid]\nfill = {from = 1}\n", ":2:1: grid.fill"),
        ("[when]\n", ": when: allowed are tables"),
    ],
)
def test_messages_about_a_plan_begin_with_the_place(tmp_path, text, says):
    path = tmp_path / "plan.toml"
    path.write_text(text)
    with pytest.raises(fr.InputError) as error:
        plan.read(str(path))
    assert str(error.value).startswith(f"{path}{says}")


def test_messages_about_json_have_the_place(tmp_path):
    path = tmp_path / "r.json"
    for text, says in (('{\n"a": ]', ":2:6: is not JSON: "), ('{"a": NaN}', ": is not JSON: NaN is no number of JSON")):
        path.write_text(text)
        with pytest.raises(fr.InputError) as error:
            documents.read_json(str(path))
        assert str(error.value).startswith(f"{path}{says}")
    path.write_text(json.dumps([[1, {"a": [None]}]]))
    assert documents.read_json(str(path)) == [[1, {"a": [None]}]]
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(fr.InputError, match="allowed is plain text in UTF-8, and byte 0 is none"):
        documents.read_json(str(path))


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("waf", "write_amplification"),
        ("WAF", "write_amplification"),
        ("MTTDL", "window_of_vulnerability_ns"),
        ("mttdl", "window_of_vulnerability_ns"),
        ("Mtbf", "failure"),
        ("TBW", "full_drive_writes"),
        ("UBER", "pages_uncorrectable"),
        ("Chunk-Size", "strip"),
        ("WA", "write_amplification"),
        ("dwpd", "full_drive_writes"),
        ("tbw", "full_drive_writes"),
        ("iops", "requests_per_second"),
        ("mbps", "bandwidth"),
        ("p999", "p99_9"),
        ("lat", "latency_ns"),
    ],
)
def test_what_the_field_calls_figures_leads_to_them(name, meant):
    with pytest.raises(fr.InputError, match=rf"nothing is called {name}; the nearest (is|are) {meant}\b"):
        explain(name)


@pytest.mark.parametrize(
    ("given", "ours"),
    [
        ("waf", "write_amplification"),
        ("WAF", "write_amplification"),
        ("mttdl", "window_of_vulnerability_ns"),
        ("TBW", "full_drive_writes"),
        ("IOPS", "requests_per_second"),
    ],
)
def test_what_the_field_calls_a_figure_is_no_setting_and_leads_to_it(given, ours):
    says = f"unknown key {given}: it is called {ours}, and is no setting \\(flashraid explain {ours}\\)"
    with pytest.raises(fr.InputError, match=says):
        fr.run(SAMPLE, device="tiny", scheme="raid5", **{given: 0.1})
    says = f"key {given}: there is none; it is called {ours}, which is not possible there"
    with pytest.raises(fr.InputError, match=says):
        plan.made({"fixed": {"trace": SAMPLE, given: 0.1}})
    assert explain(ours)
    with pytest.raises(fr.InputError, match="the nearest is queue_depth"):
        plan.made({"fixed": {"trace": SAMPLE, "QD": 8}})
    for subject, meant in (("WAF", "endurance"), ("Tbw", "endurance"), ("IOPS", "throughput"), ("Lat", "latency")):
        with pytest.raises(fr.InputError, match=f"prefer {subject}: there is none; the nearest is {meant};"):
            fr.advise(SAMPLE, device="tiny", prefer=[subject])


def test_what_the_field_calls_schemes_and_parts_leads_to_them():
    for given, meant in (("RAID5", "raid5"), ("raidz2", "raid6"), ("raid01", "raid1"), ("jbod", "raid0")):
        for use in (
            lambda name: fr.schemes(name),
            lambda name: fr.compare(SAMPLE, device="tiny", schemes=["raid0", name]),
        ):
            with pytest.raises(fr.InputError, match=f"scheme {given}.*the nearest is {meant}"):
                use(given)
    simulation = fr.Simulation(device="tiny", scheme="raid5")
    for given in ("drive:3", "ssd:3", "disk:0"):
        with pytest.raises(fr.InputError, match="the nearest is device"):
            simulation.fail(given)
    with pytest.raises(AttributeError, match="the nearest is write_amplification"):
        simulation.result().waf  # noqa: B018


def test_names_that_are_near_are_found_in_python_as_in_the_engine():
    assert _native.meant("gc_treshold", ["fill", "gc_threshold"]) == ["gc_threshold"]
    assert _native.meant("xyzzy", ["fill", "gc_threshold"]) == []
