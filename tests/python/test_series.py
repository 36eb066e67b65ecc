"""Series of intervals: their class, and how long ones are merged for figures."""

import math
import random

import polars as pl
import pytest
from conftest import write_device, write_trace, writes

import flashraid as fr
from flashraid import report
from flashraid.comparison import Comparison
from flashraid.figures import of_series
from flashraid.figures.of_series import MOST_ROWS, reduced

INTERVAL_NS = 1000


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Writes while a chip fails and is rebuilt, in 40 intervals or more."""
    folder = tmp_path_factory.mktemp("series")
    settings = {"device": write_device(folder, spare_chips=1), "scheme": "raid5", "fill": 0.5, "rebuild": "sor"}
    trace = write_trace(folder, writes(400, gap_us=500))
    return fr.run(trace, fail=["chip:0.0@50%"], series=folder / "s.csv", series_interval="5ms", **settings)


def intervals(count):
    """A made-up series with known sums, in which every seventh interval has no reads."""
    draw = random.Random(count)
    reads = [0 if at % 7 == 0 else draw.randrange(1, 9) for at in range(count)]
    return pl.DataFrame(
        {
            "start_ns": [at * INTERVAL_NS for at in range(count)],
            "length_ns": [INTERVAL_NS] * (count - 1) + [INTERVAL_NS // 2],
            "read_requests": reads,
            "bytes_written": [4096 * draw.randrange(3) for _ in range(count)],
            "read_mean_ns": [draw.random() * 1e6 if number else None for number in reads],
            "read_p99_ns": [draw.randrange(10**6) if number else None for number in reads],
            "flash_erases": [draw.randrange(5) for _ in range(count)],
            "rebuilt_pages": [draw.randrange(5) for _ in range(count)],
            "member0_busy": [draw.random() for _ in range(count)],
            "die_max_busy": [draw.random() for _ in range(count)],
            "outstanding_requests": [draw.randrange(9) for _ in range(count)],
            "member0_queue": [draw.randrange(9) for _ in range(count)],
            "free_blocks": [draw.randrange(99) for _ in range(count)],
            "device0_age": [at / count for at in range(count)],
        },
        schema_overrides={"read_p99_ns": pl.Int64},
    ).with_columns(write_amplification=pl.when(pl.col("bytes_written") > 0).then(pl.col("free_blocks") / 50))


@pytest.mark.parametrize("count", [1, 400, 401, 1237])
def test_merging_keeps_sums_means_and_maxima(count):
    whole = intervals(count)
    merged = reduced(whole)
    assert len(merged) <= MOST_ROWS
    assert count > MOST_ROWS or merged.equals(whole)
    for column in ("length_ns", "read_requests", "bytes_written", "flash_erases", "rebuilt_pages"):
        assert merged[column].sum() == whole[column].sum()

    def total(frame, of, weight):
        return sum(value * by for value, by in frame.select(of, weight).iter_rows() if value is not None)

    for of, weight in [
        ("read_mean_ns", "read_requests"),
        ("member0_busy", "length_ns"),
        ("write_amplification", "bytes_written"),
    ]:
        assert total(merged, of, weight) == pytest.approx(total(whole, of, weight))
    for column in ("read_p99_ns", "die_max_busy"):
        assert merged[column].max() == whole[column].max()


def test_each_merged_row_is_of_its_own_intervals():
    """Row by row, against plain loops over the intervals it covers."""
    whole = intervals(1237)
    size = math.ceil(1237 / MOST_ROWS)
    rows = whole.to_dicts()
    for at, row in enumerate(reduced(whole).to_dicts()):
        own = rows[at * size : (at + 1) * size]
        assert row["start_ns"] == own[0]["start_ns"]
        assert row["read_p99_ns"] == max((each["read_p99_ns"] or 0 for each in own), default=None) or None
        assert row["rebuilt_pages"] == sum(each["rebuilt_pages"] for each in own)
        for column in ("outstanding_requests", "member0_queue", "free_blocks", "device0_age"):
            assert row[column] == own[-1][column]
        busy = sum(each["member0_busy"] * each["length_ns"] for each in own) / sum(each["length_ns"] for each in own)
        assert row["member0_busy"] == pytest.approx(busy)


def test_intervals_without_requests_have_no_latency():
    whole = intervals(1200).with_columns(read_requests=0, read_mean_ns=pl.lit(None, pl.Float64))
    assert reduced(whole)["read_mean_ns"].null_count() == 400


def test_figures_show_the_columns(run):
    series = run.series
    frame = series.to_frame()
    figures = {figure.name: figure for figure in series.figures()}
    latency = figures["write-latency-over-time"].frame
    means = latency.filter(series="mean")["latency_us"].drop_nulls()
    counts = frame.filter(pl.col("write_requests") > 0)["write_requests"]
    assert (means * counts).sum() * 1000 == pytest.approx(run.latency.write.total)
    assert figures["free-blocks"].frame["blocks"][-1] == sum(member.free_blocks for member in run.members)
    times = figures["free-blocks"].frame["time_s"]
    assert times[-1] == pytest.approx(run.simulated_ns / 1e9, abs=1e-9)
    drawn = series.plot("load-over-time").axes[0].lines
    assert [line.get_label() for line in drawn] == ["bus, mean", "bus, busiest", "die, mean", "die, busiest"]
    assert list(drawn[1].get_ydata()) == pytest.approx([100 * share for share in frame["bus_max_busy"]])
    assert "read-latency-over-time" not in figures
    assert "highest" not in figures["write-latency-over-time"].about


def test_a_rebuild_is_shown_with_the_latency_it_caused(run):
    frame = run.series.to_frame()
    rebuilt = frame["rebuilt_pages"]
    assert rebuilt.sum() == run.rebuild[0].pages > 0
    progress = {figure.name: figure for figure in run.series.figures()}["rebuild-progress"].frame
    shares = progress["rebuilt_percent"]
    assert shares[-1] == pytest.approx(100)
    assert shares.is_sorted()
    first = (rebuilt > 0).arg_max()
    end_s = (frame["start_ns"][first] + frame["length_ns"][first]) / 1e9
    reached = progress.filter(pl.col("rebuilt_percent") > 0).row(0)
    assert reached == pytest.approx((end_s, 100 * rebuilt[first] / rebuilt.sum()))
    assert "rebuild-latency-over-time" in [figure.name for figure in run.series.figures()]
    without = fr.Series(frame.with_columns(rebuilt_pages=0))
    assert not [figure.name for figure in without.figures() if figure.name.startswith("rebuild")]


def test_long_series_say_that_they_are_merged():
    figures = {figure.name: figure for figure in fr.Series(intervals(1237)).figures()}
    assert len(figures["free-blocks"].frame) <= MOST_ROWS
    assert "highest of their quantiles" in figures["read-latency-over-time"].about


def test_only_quantiles_are_called_the_highest():
    found = {figure.name: figure.about for figure in of_series.figures(intervals(MOST_ROWS + 50))}
    assert "the highest of their quantiles" in found["read-latency-over-time"]
    for name in ("free-blocks", "write-amplification-over-time"):
        assert "merged to at most" in found[name]
        assert "quantiles" not in found[name]


def test_short_and_nearly_empty_intervals_make_no_spike():
    whole = intervals(50).with_columns(bytes_written=pl.Series([8192] * 48 + [1, 8192]))
    whole = whole.with_columns(
        length_ns=pl.Series([INTERVAL_NS] * 49 + [INTERVAL_NS // 3]), write_amplification=pl.Series(range(1, 51))
    )
    found = {figure.name: figure for figure in of_series.figures(whole)}
    amplification = found["write-amplification-over-time"]
    assert amplification.frame["ratio"].to_list() == [*whole["write_amplification"][:48], None]
    assert "The last interval, which is short, is left out." in amplification.about
    assert "less than 5 % of the mean have no value" in amplification.about
    # What is at the end of an interval is so however short it is.
    assert found["free-blocks"].frame["blocks"].to_list() == whole["free_blocks"].to_list()
    assert "short" not in found["free-blocks"].about


def test_failures_and_ends_of_rebuilds_are_marked(run):
    rebuild = run.rebuild[0]
    expected = {(run.faults[0].at_ns / 1e9, "chip:0.0 fails"), (rebuild.ended_ns / 1e9, "rebuild ends")}
    figures = {figure.name: figure for figure in report.figures(Comparison([run]))}
    assert {(rule.at, rule.label) for rule in figures["free-blocks"].rules} == expected
    assert figures["read-latency" if "read-latency" in figures else "write-latency"].rules == ()
    assert "Vertical lines mark failures and the ends of rebuilds." in figures["free-blocks"].about


def test_many_members_are_summed_up():
    busy = {f"member{number}_busy": [(number + 1) / 20] * 3 for number in range(10)}
    frame = intervals(3).drop("member0_busy").with_columns(**{name: pl.Series(each) for name, each in busy.items()})
    rows = {figure.name: figure for figure in of_series.figures(frame)}["member-busy-over-time"].frame
    found = dict(rows.group_by("series").first().select("series", "busy_percent").iter_rows())
    assert found == pytest.approx({"busiest": 50, "mean": 27.5, "least busy": 5})


def test_a_member_that_was_idle_is_shown():
    frame = intervals(3).with_columns(member1_busy=pl.lit(0.0), member2_busy=pl.lit(None, pl.Float64))
    rows = {figure.name: figure for figure in of_series.figures(frame)}["member-busy-over-time"].frame
    assert rows["series"].unique(maintain_order=True).to_list() == ["member 0", "member 1"]
    assert rows.filter(series="member 1")["busy_percent"].to_list() == [0, 0, 0]


def test_a_series_shows_itself(run):
    series = run.series
    assert repr(series) == f"<Series: raid5 on small, {len(series.to_frame())} intervals>"
    html = series._repr_html_()
    assert "<td>400</td>" in html
    assert f"<td>0.000 to {run.simulated_ns / 1e9:.3f} s</td>" in html
    assert "load-over-time" in html
    unsafe = fr.Series(series.to_frame(), "<b>")._repr_html_()
    assert "<b>" not in unsafe
    again = fr.Series(run.files["series"])
    assert again.name == "s.csv"
    assert again.to_frame().equals(series.to_frame())
    assert again.chart("free-blocks").to_dict()["title"] == "Free blocks"


def test_what_is_no_series_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("request,latency_ns\n1,2\n")
    (tmp_path / "a.parquet").write_text("nothing")
    for name, message in [
        ("a.csv", "series a.csv: no column start_ns"),
        ("a.parquet", "a.parquet: cannot be read"),
        ("missing.csv", "missing.csv: cannot be read"),
        ("a.txt", "ends in .csv or .parquet"),
    ]:
        with pytest.raises(fr.InputError, match=message):
            fr.Series(tmp_path / name)
    with pytest.raises(fr.InputError, match="no column length_ns"):
        fr.Series(pl.DataFrame({"start_ns": [0]}))
