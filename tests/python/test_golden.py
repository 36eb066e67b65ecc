"""The installed package gives the golden results, however it was built.

Those of `crates/sim/tests/suite/determinism.rs`, which compares them with a build that has debug assertions.
"""

import pytest
from conftest import GOLDEN, golden_results

import flashraid as fr

CASES = golden_results()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_every_build_gives_the_same_result(name):
    settings, expected = CASES[name]
    result = fr.run(GOLDEN / "trace.csv", device="tiny", engine=False, **settings).to_dict()
    del result["version"], result["config"]
    assert result == expected
