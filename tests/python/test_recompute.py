"""Results of the installed package are what the logs of their runs say, and the script that says so works by hand."""

import json
import subprocess
import sys

import pytest
from conftest import OF_ARRAYS, PROVE, ROOT, SCHEMES

import flashraid as fr
from reference import recompute

SCRIPT = ROOT / "tests" / "reference" / "recompute.py"
TRACE = ROOT / "tests" / "golden" / "trace.csv"
SETTINGS = {
    "device": "tiny",
    "blocks_per_plane": 12,
    "pages_per_block": 8,
    "over_provisioning": 0.3,
    "fill": 0.9,
    "chips_per_channel": 3,
    "limit": 0 if PROVE else 300,
}


def run(folder, scheme, form, **settings):
    """The paths of a result and its logs."""
    names = {"latency_log": f"requests.{form}", "operation_log": f"operations.{form}", "timeline": "timeline.json"}
    paths = {key: folder / name for key, name in names.items()}
    result = fr.run(TRACE, scheme=scheme, fit="wrap", **SETTINGS | settings, **paths, timeline_window="..")
    (folder / "result.json").write_text(json.dumps(result.to_dict()))
    return [folder / "result.json", *paths.values()]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_figure_is_what_the_logs_say(tmp_path, scheme):
    failures = {"fail": ["program:1@20%", "chip:2.0@40%"]} | ({} if scheme == "raid0" else {"spare_chips": 1})
    if scheme in OF_ARRAYS:
        failures = {"devices": 4, "spare_devices": 2, "fail": ["device:1@40%"]}
    assert recompute.check(recompute.Run(*run(tmp_path, scheme, "parquet", **failures))) == []


@pytest.mark.filterwarnings("ignore")
def test_the_script_says_what_is_wrong(tmp_path):
    paths = run(tmp_path, "raid5", "csv")

    def by_hand(*arguments):
        return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True)

    assert (by_hand(*paths).returncode, by_hand(*paths[:3]).stdout) == (0, "")
    result = json.loads(paths[0].read_text())
    result["latency_ns"]["write"]["p99"] += 1
    paths[0].write_text(json.dumps(result))
    done = by_hand(*paths)
    assert done.returncode == 1
    assert "latency_ns/write/p99 is" in done.stdout
    assert done.stdout.count("\n") == 1
    assert by_hand().returncode == 2
