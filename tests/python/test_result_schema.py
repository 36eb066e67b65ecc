"""The JSON Schema that the package ships describes results exactly.

It takes every one, names no key that never occurs, and refuses keys that are missing, unknown or of another kind.
"""

import copy
import importlib.resources
import json
import warnings

import jsonschema  # type: ignore[import-untyped]
import pytest
from conftest import GOLDEN, golden_results

import flashraid as fr

SCHEMA = json.loads(importlib.resources.files("flashraid").joinpath("result.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
# What goldens leave out.
WITHOUT = ("version", "config")

RUNS = {
    "everything": {
        "scheme": "ppc",
        "over_provisioning": 0.2,
        "nvram_buffer_bytes": "64KiB",
        "precondition": "random:0.1",
        "mapping": "dftl",
        "verify": True,
        "drain": True,
        "fit": "compact",
    },
    "window": {"scheme": "fra", "drain": True, "fit": "wrap", "warmup": 10, "fail": "chip:0.0@50%"},
    "copies": {"scheme": "cr5m", "fit": "wrap", "chips_per_channel": 2, "spare_chips": 1},
    "links": {"scheme": "raid5", "fit": "wrap", "devices": 4, "link_ps_per_byte": 1667},
    "chips": {
        "scheme": "raid5",
        "chips_per_channel": 2,
        "member": "chip",
        "mapping": "fast",
        "log_blocks": 4,
        "fit": "wrap",
    },
    "worn": {
        "scheme": "raid5",
        "devices": 4,
        "channels": 1,
        "pe_limit": 2,
        "until": "worn:1",
        "blocks_per_plane": 32,
        "fit": "wrap",
    },
    "array": {"scheme": "raid5", "devices": 4, "spare_devices": 1, "fail": "device:1@50%", "fit": "wrap"},
    "slc cache": {
        "scheme": "raid5",
        "mapping_unit_bytes": 1024,
        "program_pages": 2,
        "gc_blocking_scope": "none",
        "slc_static": 2,
        "fit": "wrap",
    },
    "nothing measured": {"scheme": "sirf1", "warmup": 1000, "fit": "wrap"},
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    with warnings.catch_warnings(action="ignore"):
        found = {name: fr.run(GOLDEN / "trace.csv", device="tiny", **run).to_dict() for name, run in RUNS.items()}
    drive = tmp_path_factory.mktemp("schema") / "of.drive"
    fr.run(GOLDEN / "trace.csv", device="tiny", scheme="raid5", fit="wrap", save_drive=drive)
    found["drive"] = fr.run(GOLDEN / "trace.csv", drive=drive, fit="wrap").to_dict()
    simulation = fr.Simulation(device="tiny", scheme="raid1", verify=True)
    simulation.submit("write", 0, 4096)
    simulation.fail_chip(0, 0)
    return found | {"simulation": simulation.result().to_dict()}


@pytest.fixture(scope="module")
def goldens():
    return {name: result for name, (_, result) in golden_results().items()}


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", [*RUNS, "drive", "simulation"])
def test_it_takes_results(results, name):
    VALIDATOR.validate(results[name])


def test_it_takes_every_golden_result(goldens):
    without = {**SCHEMA, "required": [key for key in SCHEMA["required"] if key not in WITHOUT]}
    validator = jsonschema.Draft202012Validator(without)
    assert len(goldens) > 50
    for result in goldens.values():
        validator.validate(result)


def test_every_key_of_it_occurs(results, goldens):
    seen = set()

    def see(name, schema, value):
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            schema = SCHEMA["$defs"][name]
        if "anyOf" in schema and value is not None:
            return see(name, schema["anyOf"][0], value)
        if isinstance(value, dict) and "properties" in schema:
            for key, item in value.items():
                seen.add((name, key))
                see(f"{name}.{key}", schema["properties"][key], item)
        if isinstance(value, list):
            for item in value:
                see(name, schema["items"], item)

    for result in [*results.values(), *goldens.values()]:
        see("RunResult", SCHEMA, result)
    forms = {"RunResult": SCHEMA, **SCHEMA["$defs"]}
    named = {(name, key) for name, form in forms.items() if name != "Scheme" for key in form.get("properties", ())}
    assert len(named) > 200
    assert not sorted(named - seen)


def changed(result, path, value):
    *way, last = path
    result = at = copy.deepcopy(result)
    for key in way:
        at = at[key]
    if value is None:
        del at[last]
    else:
        at[last] = value
    return result


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["schema"], 1),
        (["latency_ns", "read", "p99_9"], None),
        (["latency_ns", "read", "p99_9"], 1.5),
        (["latency_ns", "read", "p999"], 1),
        (["members", 0, "state"], "poorly"),
        (["surprise"], 1),
        (["config", "device", "page_bytes"], 1000),
        (["config", "device", "surprise"], 1),
        (["config", "scheme", "parity_cache_bytes"], None),
        (["config", "scheme", "mw_limit"], 1.1),
        (["config", "scheme", "name"], "raid5"),
        (["verify", "pages_lost"], "none"),
    ],
)
def test_it_refuses_what_is_no_result(results, path, value):
    assert not VALIDATOR.is_valid(changed(results["everything"], path, value))


def test_it_knows_the_limits_of_a_parameter(results):
    limit = ["config", "scheme", "mw_limit"]
    assert VALIDATOR.is_valid(changed(results["copies"], limit, 1000))
    assert VALIDATOR.is_valid(changed(results["copies"], limit, 0))
    assert not VALIDATOR.is_valid(changed(results["copies"], limit, 1000.001))
    assert not VALIDATOR.is_valid(changed(results["copies"], limit, -0.001))


def test_what_a_run_did_not_have_is_absent_and_not_null(results):
    result = results["everything"]
    assert VALIDATOR.is_valid(changed(result, ["drain"], None))
    assert not VALIDATOR.is_valid({**result, "drain": None})
