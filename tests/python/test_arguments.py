"""Whatever is given to the Python package: it works, or InputError says in one line which argument cannot be."""

import inspect
import json
import math

import pytest
from conftest import PAGE, some_of, write_device, write_trace, writes

import flashraid as fr
from flashraid import _native
from flashraid.advisor import READING

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

BAD = [
    -1,
    2**64,
    -(2**70),
    True,
    1.5,
    math.nan,
    math.inf,
    "x",
    "",
    "a\0b",
    "\ud800",
    "é" * 5000,
    b"x",
    [],
    [None],
    {},
    {"a": 1},
    object(),
    lambda: 0,
    10**30,
]


def name_of(value):
    return type(value).__name__ + "-" + repr(value)[:12].encode("ascii", "replace").decode()


def refused_or_fine(call, *arguments, **keywords):
    """Whether it was refused; no other error than InputError may come."""
    try:
        call(*arguments, **keywords)
    except fr.InputError as error:
        text = str(error)
    except KeyboardInterrupt:  # by its progress
        return False
    else:
        return False
    assert "\n" not in text.strip()
    return True


@pytest.fixture
def sim(tmp_path):
    return fr.Simulation(device=write_device(tmp_path), scheme="raid5", fill=0.5, verify=True)


NUMBERS = {
    "submit": {"op": "write", "offset_bytes": 0, "size_bytes": PAGE, "arrival_ns": 5},
    "advance_until": {"time_ns": 5},
    "fail_member": {"member": 0},
    "fail_device": {"device": 1},
    "replace_device": {"device": 0},
    "fail_channel": {"channel": 0},
    "fail_chip": {"channel": 0, "chip": 0},
    "fail_die": {"channel": 0, "chip": 0, "die": 0},
    "fail_plane": {"channel": 0, "chip": 0, "die": 0, "plane": 0},
    "fail_block": {"channel": 0, "chip": 0, "die": 0, "plane": 0, "block": 0},
    "fail_page": {"lpn": 0},
    "fail": {"fault": "page:lpn=0"},
    "submit_many": {"op": ["write"], "offset_bytes": [0], "size_bytes": [PAGE], "arrival_ns": [5]},
}


def test_every_method_of_a_simulation_is_tried():
    methods = {name for name, of in inspect.getmembers(fr.Simulation, inspect.isfunction) if name[0] != "_"}
    with_arguments = {name for name in methods if len(inspect.signature(getattr(fr.Simulation, name)).parameters) > 1}
    assert with_arguments == {*NUMBERS, "save_drive"}  # whose argument is a path, as those of `test_drives` are


@pytest.mark.parametrize("value", BAD, ids=name_of)
@pytest.mark.parametrize("method", NUMBERS)
def test_methods_of_a_simulation(sim, method, value):
    good = NUMBERS[method]
    if method.endswith("_device"):
        sim = fr.Simulation(device="tiny", scheme="hotswap", devices=4, spare_devices=1, channels=1, fill=0.5)
    for name in good:
        bad = [value] if isinstance(good[name], list) else value
        # Words that cannot be are told of by the engine, which knows its own names.
        says = None if isinstance(value, str) and name in ("op", "fault") else name
        with pytest.raises(fr.InputError, match=says):
            getattr(sim, method)(**good | {name: bad})
        if isinstance(good[name], list):  # the column itself
            assert refused_or_fine(sim.submit_many, **good | {name: value})
    assert sim.outstanding == 0
    assert not refused_or_fine(getattr(sim, method), **good)


def test_numbers_are_named_with_what_is_allowed(sim):
    allowed = f"allowed is a whole number from 0 to {2**64 - 1}"
    for call, message in [
        (lambda: sim.submit("write", -1, PAGE), f"offset_bytes = -1: {allowed}"),
        (lambda: sim.submit("write", 0, True), f"size_bytes = True: {allowed}"),
        (lambda: sim.submit("write", 0, PAGE, 1.0), f"arrival_ns = 1.0: {allowed}"),
        (lambda: sim.submit_many(["read"] * 2, [0, -5], [PAGE] * 2, [1, 2]), f"offset_bytes[1] = -5: {allowed}"),
        (lambda: sim.fail_chip(0, -1), f"chip = -1: {allowed}"),
        (lambda: sim.submit(7, 0, PAGE), "op = 7: allowed is a text in UTF-8"),
    ]:
        with pytest.raises(fr.InputError) as error:
            call()
        assert str(error.value) == message


def test_arrays_of_numbers(sim):
    numpy = pytest.importorskip("numpy")
    for column in (numpy.array([-1]), numpy.array([0.5]), numpy.array([True]), numpy.array(["0"])):
        with pytest.raises(fr.InputError, match=r"offset_bytes\[0\] = "):
            sim.submit_many(["write"], column, numpy.array([PAGE]), numpy.array([0]))
    with pytest.raises(fr.InputError, match="the same number in each"):
        sim.submit_many(["write"], numpy.array([]), numpy.array([PAGE]), numpy.array([0]))
    assert sim.submit_many(numpy.array(["write"]), numpy.array([0]), [numpy.int32(PAGE)], numpy.array([0])) == [0]


FUNCTIONS = {
    "run": {"device": "tiny", "scheme": "raid5", "config": None, "engine": True, "progress": None},
    "compare": {
        "device": "tiny",
        "schemes": "raid0",
        "config": None,
        "engine": True,
        "progress": None,
        "seeds": 1,
        "capacity": True,
        "equal": "space",
        "jobs": 1,
    },
    "calibrate": {"device": "tiny", "config": None, "progress": None},
    "sanity": {"device": "tiny", "scheme": "raid5", "config": None},
    "trace_info": {"page_bytes": 4096, "capacity_bytes": 10**9, "progress": None},
    "read_trace": {},
    "convert": {
        "output": "out.csv",
        "to": "flashraid",
        "from_ns": 0,
        "to_ns": 2**64 - 1,
        "from_bytes": 0,
        "to_bytes": 2**64 - 1,
        "skip": 0,
        "limit": 0,
        "rebase_time": False,
        "rebase_address": False,
        "progress": None,
    },
    "anonymise": {"output": "out.csv", "seed": 1, "to": "flashraid", "progress": None},
    "fit": {"output": "out.toml", "page_bytes": 4096, "progress": None},
    "synth": {
        "output": "out.csv",
        "profile": None,
        "requests": 10,
        "space_bytes": 1 << 20,
        "interval_ns": 10,
        "format": "flashraid",
        "page_bytes": 4096,
        "read_share": 0.0,
        "min_pages": 1,
        "max_pages": 1,
        "arrivals": "fixed",
        "seed": 1,
        "progress": None,
    },
    "sweep": {
        "plan": {"fixed": {"trace": "trace.csv", "device": "tiny", "scheme": "raid5"}},
        "out": None,
        "jobs": 1,
        "scheduler": None,
        "tls_ca": None,
        "tls_cert": None,
        "tls_key": None,
        "progress": None,
    },
    "advise": {
        "device": "tiny",
        "config": None,
        "schemes": ["raid0"],
        "survives": None,
        "survives_failures": None,
        "max_p99_read": None,
        "max_p99_write": None,
        "max_p99_flush": None,
        "min_capacity": None,
        "max_nvram": None,
        "min_dwpd": None,
        "years": None,
        "vary": None,
        "prefer": [],
        "tail": "p99",
        "fault": None,
        "seeds": 1,
        "out": None,
        "jobs": 1,
        "scheduler": None,
        "tls_ca": None,
        "tls_cert": None,
        "tls_key": None,
        "progress": None,
    },
    "datasheet": {
        "device": "tiny",
        "scheme": "raid5",
        "pe_cycles": 1,
        "quick": True,
        "jobs": 1,
        "progress": lambda *told: False,  # ends a sheet that nothing is wrong with
    },
    "load": {"path": "result.json"},
    "profiles": {},
    "reproduce": {
        "name": "ppc.figure3",
        "change": None,
        "variants": [],
        "traces": None,
        "whole": False,
        "paper_speed": False,
        "quick": True,
        "cache": True,
        "progress": None,
    },
    "windows": {"like": ["ali_0"], "step_ns": 600 * 10**9, "page_bytes": 4096, "most": 3, "progress": None},
    "schemes": {"name": "raid5"},
    "devices": {"name": "tiny", "scheme": "raid5"},
    "fit_device": {"sheet": "sheet.toml"},
}
OF_NO_TRACE = ("sweep", "datasheet", "load", "synth", "reproduce", "schemes", "devices", "fit_device")


def test_every_function_is_tried():
    public = {name for name in fr.__all__ if inspect.isfunction(getattr(fr, name))}
    assert public == set(FUNCTIONS)
    for name, good in FUNCTIONS.items():
        parameters = inspect.signature(getattr(fr, name)).parameters.values()
        own = {each.name for each in parameters if each.kind is not each.VAR_KEYWORD} - {"trace"}
        assert own == set(good), name


# Each call of `windows` reads a profile to the end.
CALLS = [
    (function, value)
    for function in sorted(set(FUNCTIONS) - {"profiles"})
    for value in (some_of(BAD, 0, 5) if function == "windows" else BAD)
]


@pytest.mark.parametrize(("function", "value"), CALLS, ids=name_of)
def test_arguments_of_functions(tmp_path, monkeypatch, function, value):
    monkeypatch.chdir(tmp_path)
    trace, good = write_trace(tmp_path, writes(5)), FUNCTIONS[function]
    traces = {} if function in OF_NO_TRACE else {"trace": trace}
    call = getattr(fr, function)
    for name in [*traces, *good]:
        if name == "progress" and callable(value):
            continue
        refused_or_fine(call, **{**traces, **good, name: value})
    if function not in (*OF_NO_TRACE, "fit"):
        for key in (*READING, "limit"):
            refused_or_fine(call, **{**traces, **good, key: value})


KEYS = [(each["key"], each["default"]) for each in json.loads(_native.settings())]


@pytest.mark.parametrize("key", [key for key, _ in KEYS])
def test_every_setting(tmp_path, monkeypatch, key):
    monkeypatch.chdir(tmp_path)
    trace = write_trace(tmp_path, writes(3))
    for value in BAD:
        refused_or_fine(fr.run, trace, **{"device": "tiny", "scheme": "raid5", key: value})
        refused_or_fine(fr.Simulation, **{"device": "tiny", "scheme": "raid5", key: value})
    for name in ("latency_log", "series", "hdr_log", "timeline", "series_interval", "timeline_window", "fio"):
        if key == KEYS[0][0]:
            for value in BAD:
                refused_or_fine(fr.run, trace, **{"device": "tiny", "scheme": "raid5", name: value})


def test_a_list_is_no_number(tmp_path):
    trace = write_trace(tmp_path, writes(3))
    for key, allowed in [("fill", "allowed is 0 to 1"), ("queue_depth", "allowed is a whole number")]:
        with pytest.raises(fr.InputError, match=rf"^{key} = \[1\]: {allowed}"):
            fr.run(trace, scheme="raid5", device="tiny", **{key: [1]})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"change": [("seed", 1)]}, "change = [('seed', 1)]: allowed is a mapping of keys to values"),
        ({"change": {"raid0": 1}}, "change['raid0'] = 1: allowed is a mapping of keys to values"),
        ({"change": {"profile": 1}}, "change['profile'] = 1: allowed is a mapping of keys to values"),
        (
            {"change": {"profile": {"streams": {"0": 1}}}},
            "change['profile']['streams']['0'] = 1: allowed is a mapping of keys to values",
        ),
        ({"change": {"seed": {"a": 1}}}, "change['seed'] = {'a': 1}: allowed is the value of a setting"),
        ({"change": {"trace": 5}}, "profile: 5 is none, and cannot be changed"),
        ({"change": {"device": ["ssd1"]}, "cache": False}, None),
        ({"variants": "all"}, "variants = 'all': allowed is a list of texts"),
        ({"variants": ["all"], "change": {"seed": 2}}, "variants and change cannot be combined"),
        ({"traces": "nowhere"}, "traces nowhere: no such directory"),
        ({"name": "ppc.figure33"}, "experiment of ppc figure33: there is none; the nearest is figure3"),
    ],
)
def test_arguments_of_reproduce(arguments, message):
    call = FUNCTIONS["reproduce"] | arguments
    if message is None:
        assert refused_or_fine(fr.reproduce, **call) is False
        return
    with pytest.raises(fr.InputError) as error:
        fr.reproduce(**call)
    assert message in str(error.value)


def test_the_progress_of_reproduce_is_that_of_run():
    told = []

    def progress(stage, count, share):
        told.append((stage, count, share))
        return len(told) < 3

    with pytest.raises(KeyboardInterrupt):
        fr.reproduce("ppc.figure10", quick=True, cache=False, progress=progress)
    assert {stage for stage, _, _ in told} == {"reproducing"}
    assert len(told) == 3
    assert all(isinstance(count, int) and 0 <= share <= 1 for _, count, share in told)
