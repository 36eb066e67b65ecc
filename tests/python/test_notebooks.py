"""The notebooks run, and show what they store: FLASHRAID_BLESS=1 stores anew what they show."""

import os
import re

import nbclient
import nbformat
import pytest
from conftest import PROVE, ROOT

NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
IS_BLESSING = os.environ.get("FLASHRAID_BLESS") == "1"
# Those that take ten seconds each: make prove.
LONG = ("compare_schemes", "reproduce_a_figure")
RUN = [path for path in NOTEBOOKS if PROVE or IS_BLESSING or path.stem not in LONG]
MOST_BYTES = 400_000


def shown(notebook):
    """What each cell of code shows: its texts, and that there is a picture, which differs between versions of fonts."""
    found = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            texts = [output.get("text") or output.get("data", {}) for output in cell.outputs]
            found.append([text if isinstance(text, str) else _texts(text) for text in texts])
    return found


def _texts(data):
    return "picture" if "image/png" in data else dict(data)


@pytest.mark.parametrize("path", RUN, ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_stores(path, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # nothing is taken from earlier runs
    stored = nbformat.read(path, nbformat.NO_CONVERT)
    nbformat.validate(stored)
    run = nbformat.read(path, nbformat.NO_CONVERT)
    nbclient.NotebookClient(
        run,
        timeout=120,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    if IS_BLESSING:
        nbformat.write(run, path)
        stored = run
    assert shown(run) == shown(stored)
    warned = [output.text for cell in run.cells for output in cell.get("outputs", []) if output.get("name") == "stderr"]
    assert not warned  # neither warnings nor progress
    assert path.stat().st_size < MOST_BYTES


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_of_a_notebook_lead_somewhere(path):
    for cell in nbformat.read(path, nbformat.NO_CONVERT).cells:
        if cell.cell_type == "markdown":
            for target in re.findall(r"\]\(([^()\s]+)\)", cell.source):
                assert (path.parent / target).is_file(), target
