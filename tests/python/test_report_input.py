"""What a report reads: broken results and series of other runs are refused in a line that names the file and key."""

import copy
import json
import random

import polars as pl
import pytest
from conftest import PROVE, SAMPLE

import flashraid as fr
from flashraid import report
from flashraid.report import reading

SETTINGS = {
    "device": "ssd1",
    "limit": 600,
    "fill": 0.05,
    "blocks_per_plane": 32,
    "fit": "wrap",
    "fail": ["chip:0.1@50%"],
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    with pytest.warns(UserWarning, match="raid0|trace"):
        found = fr.compare(SAMPLE, schemes="raid0,raid5", series=folder / "s.parquet", capacity=False, **SETTINGS)
    (folder / "both.json").write_text(found.json)
    return folder


def places(value, at=()):
    """The way to every value of a JSON object, of lists to those of the first element."""
    inner = value.items() if isinstance(value, dict) else list(enumerate(value))[:1] if isinstance(value, list) else ()
    for key, each in inner:
        yield (*at, key)
        yield from places(each, (*at, key))


def test_whatever_is_broken_in_a_result_is_drawn_or_refused_in_a_line(results):
    whole = json.loads((results / "both.json").read_text())["results"][1]
    path, drawn, refused = results / "broken.json", [], []
    count = 120 if PROVE else 60
    for way in random.Random(1).sample(sorted(places(whole), key=str), count):
        for value in ("missing", "a text", None, {}, -1.5):
            broken = copy.deepcopy(whole)
            of = broken
            for key in way[:-1]:
                of = of[key]
            if value == "missing":
                del of[way[-1]]
            else:
                of[way[-1]] = value
            path.write_text(json.dumps(broken))
            try:
                drawn.append(reading.read([path]))
            except fr.InputError as error:
                refused.append((way, str(error)))
    assert len(refused) > 2.5 * count
    for way, said in refused:
        assert said.startswith(f"{path}: ")
        assert "allowed is " in said
        assert "\n" not in said
        assert str(way[-1] if isinstance(way[-1], str) else way[-2]) in said
    for comparison in drawn[::10]:
        report.parts(comparison, report.figures(comparison))


def test_a_number_that_json_has_not_is_refused(results):
    path = results / "nan.json"
    path.write_text(
        (results / "both.json").read_text().replace('"write_amplification": ', '"write_amplification": NaN, "x": ', 1)
    )
    with pytest.raises(fr.InputError, match=r"nan\.json: is not JSON: NaN"):
        reading.read([path])


def test_series_of_another_run_and_what_is_none_are_refused(command, results):
    own, other = results / "s-raid5.parquet", results / "s-raid0.parquet"
    result = results / "raid5.json"
    result.write_text(json.dumps(json.loads((results / "both.json").read_text())["results"][1]))
    frame = pl.read_parquet(own)
    frame.with_columns(pl.lit("text").alias("free_blocks")).write_parquet(results / "text.parquet")
    frame.drop("bytes_read").write_parquet(results / "short.parquet")
    frame.with_columns(bytes_written=pl.col("bytes_written") + 4096).write_parquet(results / "bytes.parquet")
    (results / "broken.parquet").write_bytes(b"PAR1")
    (results / "broken.csv").write_text("start_ns,length_ns\n1,x\n")
    for path, says in [
        (other, "the result under raid5 has"),
        (results / "bytes.parquet", "its bytes_written are"),
        (results / "text.parquet", "column free_blocks holds no numbers"),
        (results / "short.parquet", "no column bytes_read"),
        (results / "broken.parquet", "broken.parquet: cannot be read"),
        (results / "broken.csv", "broken.csv: cannot be read"),
        (SAMPLE, "allowed is a name that ends in .csv or .parquet"),
    ]:
        done = command("report", result, "--series", path, "-o", "r.html", status=2)
        assert says in done.stderr, done.stderr
        assert path.name in done.stderr
        assert done.stderr.count("\n") == 1
    comparison = reading.read([result])
    assert reading.add_series(comparison, [own]) == [str(own)]
