"""The wheel, as users install it: into an environment that has nothing, used from another folder."""

import json
import subprocess
import venv

import pytest
from conftest import PROVE, ROOT, SAMPLE

USE = """
import json, sys
import flashraid as fr
result = fr.run(sys.argv[1], device="ssd1", scheme="raid5", limit=100, fill=0.1, verify=True)
print(json.dumps([fr.__file__, fr.__version__, result.requests.completed, result.verify.mismatches]))
"""


@pytest.mark.skipif(not PROVE, reason="make prove: a whole release build, and an environment to fill")
def test_a_wheel_works_in_an_empty_environment(tmp_path):
    wheel = subprocess.run(
        ["make", "-s", "wheel"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()[-1]
    assert "-cp311-abi3-" in wheel
    venv.create(tmp_path / "empty", with_pip=True)
    binaries = tmp_path / "empty" / "bin"
    subprocess.run([binaries / "pip", "install", "-q", ROOT / wheel], check=True)
    found = subprocess.run(
        [binaries / "python", "-I", "-c", USE, SAMPLE], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    file, version, completed, mismatches = json.loads(found.stdout)
    assert file.startswith(str(tmp_path))
    assert (completed, mismatches) == (100, 0)
    for arguments in (
        ["--version"],
        ["run", SAMPLE, "--device", "ssd1", "--scheme", "raid5", "--limit", "100", "--report", "report.html"],
        ["reproduce"],
        ["explain", "commit"],  # of settings, the schema of results, and documents that are in the package
        ["explain", "read_p99_ns"],
        ["explain", "flash-operations"],
        ["devices", "tiny", "--toml"],
    ):
        done = subprocess.run([binaries / "flashraid", *arguments], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert arguments != ["--version"] or done.stdout.split()[-1] == version
    assert "vegaEmbed" in (tmp_path / "report.html").read_text()
