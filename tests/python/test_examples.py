"""The examples run."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py") if path.name != "ageing.py")


def run(example, *arguments):
    line = [sys.executable, ROOT / "examples" / example, *arguments]
    done = subprocess.run(line, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return done


def test_the_picture_of_ageing_is_drawn(tmp_path):
    picture, table = tmp_path / "picture.svg", tmp_path / "figures.csv"
    run("ageing.py", picture, "--csv", table, "--limit", "2000")
    assert picture.read_text().startswith("<?xml")
    assert len(table.read_text().splitlines()) > 3


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_runs_as_it_is(example):
    done = run(example)
    assert done.stderr == ""  # no warnings: what is copied is right
    assert len(done.stdout.splitlines()) > 1
    document = ast.get_docstring(ast.parse((ROOT / "examples" / example).read_text())) or ""
    assert f"python examples/{example}" in document
