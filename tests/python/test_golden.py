"""The installed package gives the golden results, however it was built.

Those of `crates/sim/tests/suite/determinism.rs`, which compares them with a build that has debug assertions.
"""

import json

import pytest
from conftest import ROOT

import flashraid as fr

GOLDEN = ROOT / "tests" / "golden"
CASES = json.loads((GOLDEN / "cases.json").read_text())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_every_build_gives_the_same_result(name):
    result = fr.run(GOLDEN / "trace.csv", device="tiny", engine=False, **CASES[name]).to_dict()
    del result["version"], result["config"]
    assert result == json.loads((GOLDEN / f"{name}.json").read_text())
