"""The examples run."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_draws_its_picture(example, tmp_path):
    picture, table = tmp_path / "picture.svg", tmp_path / "figures.csv"
    line = [sys.executable, "-W", "ignore", ROOT / "examples" / example, picture, "--csv", table, "--limit", "2000"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert picture.read_text().startswith("<?xml")
    assert len(table.read_text().splitlines()) > 3
