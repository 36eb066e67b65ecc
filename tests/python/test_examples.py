"""The examples run."""

import ast
import os
import runpy
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

ROOT = Path(__file__).parents[2]
PICTURES = ["ageing.py", "drive_of_today.py"]
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py") if path.name not in PICTURES)


@pytest.fixture
def run(monkeypatch):
    """Runs an example as the program that it is, without loading Python and the package anew."""

    def program(example, *arguments):
        path = str(ROOT / "examples" / example)
        monkeypatch.setattr(sys, "argv", [path, *map(str, arguments)])
        with patch.dict(os.environ):  # in which Polars keeps what an example sets of it
            runpy.run_path(path, run_name="__main__")

    return program


@pytest.mark.filterwarnings("ignore")  # of the few requests
@pytest.mark.parametrize("example", PICTURES)
def test_a_picture_is_drawn(example, tmp_path, run):
    picture, table = tmp_path / "picture.svg", tmp_path / "figures.csv"
    run(example, picture, "--csv", table, "--limit", "2000")
    assert picture.read_text().startswith("<?xml")
    assert len(table.read_text().splitlines()) > 3


@pytest.mark.filterwarnings("error::UserWarning")  # what is copied is right
@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_runs_as_it_is(example, run, capsys):
    run(example)
    shown = capsys.readouterr()
    assert shown.err == ""
    assert len(shown.out.splitlines()) > 1
    document = ast.get_docstring(ast.parse((ROOT / "examples" / example).read_text())) or ""
    assert f"python examples/{example}" in document
