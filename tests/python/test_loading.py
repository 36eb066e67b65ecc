"""Results that were saved can be loaded, and are used as those of a run."""

import pytest
from conftest import write_trace, writes

import flashraid as fr

SETTINGS = {"device": "tiny", "fill": 0.5}


def test_a_saved_result_is_the_same(tmp_path):
    result = fr.run(write_trace(tmp_path, writes(50)), scheme="raid5", **SETTINGS)
    path = tmp_path / "result.json"
    path.write_text(result.json)
    loaded = fr.load(path)
    assert isinstance(loaded, fr.Result)
    assert loaded.to_dict() == result.to_dict()
    assert [each.name for each in loaded.figures()] == [each.name for each in result.figures()]
    assert loaded.latency.write.p99 == result.latency.write.p99
    loaded.plot("write-latency")
    loaded.report(tmp_path / "report.html")
    assert "raid5" in (tmp_path / "report.html").read_text()


def test_a_saved_comparison_is_the_same(tmp_path, command):
    path = tmp_path / "comparison.json"
    arguments = ("--device", "tiny", "--schemes", "raid0,raid5", "--seeds", "2", "--fill", "0.5", "--json", path)
    command("compare", write_trace(tmp_path, writes(50)), *map(str, arguments))
    loaded = fr.load(path)
    assert isinstance(loaded, fr.Comparison)
    assert [result.scheme for result in loaded.results] == ["raid0", "raid0", "raid5", "raid5"]
    assert (loaded.seeds, len(loaded.capacity), loaded.partial) == (2, 2, False)
    assert loaded.to_frame()["seed"].to_list() == [1, 2, 1, 2]
    loaded.chart("write-latency")
    (tmp_path / "again.json").write_text(loaded.json)
    assert fr.load(tmp_path / "again.json").to_dict() == loaded.to_dict()


def test_what_is_no_result_is_refused(tmp_path):
    path = tmp_path / "other.json"
    path.write_text("{}")
    for given, says in ((path, "holds no result"), (tmp_path / "none.json", "cannot be read"), (3, "path = 3")):
        with pytest.raises(fr.InputError, match=says):
            fr.load(given)
