"""`fr.schemes()`, `fr.devices()`, and comparisons of every scheme that a device can have."""

import json

import pytest
from conftest import SAMPLE, SCHEMES

import flashraid as fr

COMPARE = [
    "compare",
    SAMPLE,
    "--device",
    "tiny",
    "--fit",
    "wrap",
    "--limit",
    "100",
    "--no-engine",
    "--seeds",
    "1",
    "--json",
]
# Those of `flashraid devices tiny`: they need a mirror chip, or an array.
IMPOSSIBLE = ["cr5m", "hotswap", "online-rebuild", "offline-diff-raid"]
POSSIBLE = [name for name in SCHEMES if name not in IMPOSSIBLE]


def test_schemes_are_those_of_the_command(command):
    listed = json.loads(command("schemes", "--json").stdout)
    assert [scheme.to_dict() for scheme in fr.schemes()] == listed
    one = fr.schemes("ca-ppc")
    assert one in fr.schemes()
    assert "alpha" in [parameter.name for parameter in one.parameters]


def test_devices_are_those_of_the_command(command):
    assert [device.to_dict() for device in fr.devices()] == json.loads(command("devices", "--json").stdout)
    found = fr.devices("ppc-4p1", scheme="raid5")
    assert found.to_dict() == json.loads(command("devices", "ppc-4p1", "--scheme", "raid5", "--json").stdout)
    assert list(found.schemes) == ["raid5"]
    # 5 chips, of which RAID-5 takes one, and the over-provisioned share of each.
    assert found.schemes["raid5"].user_bytes <= found.raw_bytes * 4 / 5
    assert "array" in fr.devices("tiny").schemes["hotswap"].refused


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (lambda: fr.schemes("raid9"), "unknown scheme raid9; the nearest is raid0"),
        (lambda: fr.devices("tinny"), "unknown device tinny; the nearest is tiny"),
        (lambda: fr.devices("tiny", scheme="rad5"), "unknown scheme rad5; the nearest is raid5"),
        (lambda: fr.devices(scheme="raid5"), "scheme: allowed only with the name"),  # type: ignore[call-overload]
        (lambda: fr.schemes(5), "name = 5: allowed is a text"),  # type: ignore[call-overload]
    ],
)
def test_unknown_names_are_errors_with_the_nearest(use, says):
    with pytest.raises(fr.InputError, match=f"^{says}"):
        use()


def test_notebooks_show_tables():
    table = fr.schemes()._repr_html_()
    assert table.count("<tr>") == len(SCHEMES) + 1
    assert "<td" in fr.schemes("ppc")._repr_html_()
    device = fr.devices("tiny")._repr_html_()
    assert all(name in device for name in SCHEMES)
    assert "hotswap replaces SSDs of an array" in device


def test_all_schemes_are_those_that_the_device_can_have(command, tmp_path):
    done = command(*COMPARE, "-", "--schemes", "all")
    assert [result["scheme"] for result in json.loads(done.stdout)["results"]] == POSSIBLE
    for name in IMPOSSIBLE:
        assert f"warning: {name} is left out: {name} " in done.stderr
    assert done.stdout == command(*COMPARE, "-", "--schemes", ",".join(POSSIBLE)).stdout
    assert "left out" not in command(*COMPARE, "-", "--schemes", "all", "--quiet").stderr
    with pytest.warns(UserWarning, match="left out") as warned:
        found = fr.compare(SAMPLE, device="tiny", schemes="all", fit="wrap", limit=100, engine=False, seeds=1)
    assert found.json == done.stdout
    assert sum("left out" in str(each.message) for each in warned) == len(IMPOSSIBLE)
    found.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert all(f"{name} is left out: " in page for name in IMPOSSIBLE)


def test_settings_decide_which_schemes_are_possible(command):
    done = command(*COMPARE, "-", "--schemes", "all", "--rebuild", "copy", "--set", "groups=2")
    assert "warning: raid5 is left out: " in done.stderr
    assert [result["scheme"] for result in json.loads(done.stdout)["results"]] == ["raid1", "raid10", "sirf1"]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (["--set", "gc_threshold=7"], "gc_threshold = 7"),
        (["--set", "gc_treshold=0.1"], "unknown"),
        (["--set", "alpha=7"], "alpha = 7"),
        (["--set", "cmt_entries=10"], "cmt_entries = 10: has no effect here"),
    ],
)
def test_a_wrong_setting_is_an_error_and_no_reason_to_leave_schemes_out(command, settings, says):
    done = command(*COMPARE, "-", "--schemes", "all", *settings, status=2)
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert says in done.stderr
