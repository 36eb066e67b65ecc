"""Figures show the numbers of results: read back from charts and plots, and compared with logs and JSON."""

import itertools
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
import vl_convert
from conftest import PAGE, SAMPLE, write_trace

import flashraid as fr
from flashraid import summary
from flashraid.comparison import Comparison
from flashraid.figures import Axis, Figure, Rule, files, printed, style, vega
from flashraid.figures.of_results import names

SCHEMES = ["raid0", "raid5"]


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    return fr.compare(
        SAMPLE,
        device="ssd1",
        schemes=SCHEMES,
        limit=3000,
        fill=0.1,
        latency_log=folder / "requests.parquet",
        series=folder / "series.parquet",
        series_interval="20ms",
    )


def by_name(drawn, name):
    return {figure.name: figure for figure in drawn.figures()}[name]


def altered(result, **changes):
    """The result with other values at keys like `wear__histogram`."""
    data = result.to_dict()
    for path, value in changes.items():
        *way, last = path.split("__")
        place = data
        for key in way:
            place = place[key]
        place[last] = value
    return fr.Result(json.dumps(data), None, [], 0, {})


def inlined(chart):
    """The rows inside a chart's specification."""
    (rows,) = chart.to_dict()["datasets"].values()
    return rows


def test_latencies_are_those_of_the_log(comparison):
    """Quantiles of the figure, from a histogram of three digits, against the sorted latencies of the log."""
    for kind in ("read", "write"):
        rows = by_name(comparison, f"{kind}-latency").frame
        for result in comparison.results:
            log = result.frame("latency_log").filter(op=kind)["latency_ns"].sort()
            points = rows.filter(scheme=result.scheme)
            assert len(points) > 5
            for quantile, latency_us in points.select("quantile", "latency_us").iter_rows():
                exact = log[max(0, math.ceil(round(quantile * len(log), 6)) - 1)] / 1000
                assert latency_us == pytest.approx(exact, rel=2e-3)


def test_the_whole_distribution_is_drawn_where_a_result_has_it(comparison):
    points = [(0, 100), (0.5, 200), (0.9999, 300), (1, 400)]
    whole = [{"quantile": quantile, "latency_ns": latency_ns} for quantile, latency_ns in points]
    result = altered(comparison.results[0], latency_ns__read__distribution=whole)
    figure = by_name(result, "read-latency")
    assert figure.frame.select("quantile", "latency_us").rows() == [(q, ns / 1000) for q, ns in points]
    places = [row["quantile_place"] for row in inlined(vega.chart(figure))]
    assert places[:3] == pytest.approx([0, -math.log10(0.5), 4])
    assert places[3] > 4.5  # the maximum stands apart from what is measured
    axes = printed.figure(figure).axes[0]
    assert list(axes.lines[0].get_xdata()) == places
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == ["0", "90 %", "99 %", "99.9 %", "99.99 %", "max"]


def test_results_of_older_versions_show_the_quantiles_they_have(comparison):
    figure = by_name(altered(comparison.results[0], latency_ns__read__distribution=[]), "read-latency")
    read = comparison.results[0].latency.read
    expected = [read.min, read.p50, read.p90, read.p95, read.p99, read.p99_9, read.p99_99, read.max]
    assert figure.frame["latency_us"].to_list() == [latency_ns / 1000 for latency_ns in expected]


def test_a_latency_of_zero_has_no_place_on_a_logarithm(comparison):
    points = [{"quantile": quantile, "latency_ns": 50 * quantile} for quantile in (0, 0.5, 1)]
    figure = by_name(altered(comparison.results[0], latency_ns__read__distribution=points), "read-latency")
    assert figure.frame["latency_us"][0] == 0  # the table has it
    assert inlined(vega.chart(figure))[0]["latency_us"] is None
    assert math.isnan(printed.figure(figure).axes[0].lines[0].get_ydata()[0])


def test_bars_are_the_counts_of_the_result(comparison):
    """Heights of stacked bars add up to the totals of the JSON, which the figure does not read."""
    figure = by_name(comparison, "flash-operations")
    rows = inlined(vega.chart(figure))
    panels = printed.figure(figure).axes
    assert [axes.get_title() for axes in panels] == ["reads", "programs"]
    for action, axes in zip(("reads", "programs"), panels, strict=True):
        for at, result in enumerate(comparison.results):
            expected = result.flash_ops[action].total / result.requests.completed
            in_chart = sum(
                row["per_request"] for row in rows if row["scheme"] == result.scheme and row["action"] == action
            )
            bars = [bar for bar in axes.patches if round(bar.get_x() + bar.get_width() / 2) == at]
            assert in_chart == pytest.approx(expected)
            assert sum(bar.get_height() for bar in bars) == pytest.approx(expected)
            assert max(bar.get_y() + bar.get_height() for bar in bars) == pytest.approx(expected)
            assert axes.get_ylim()[1] > expected


def test_write_amplification_adds_up(comparison):
    rows = by_name(comparison, "write-amplification").frame
    for result in comparison.results:
        counted = rows.filter(scheme=result.scheme).filter(~pl.col("part").str.ends_with("(apart)"))
        assert counted["ratio"].sum() == pytest.approx(result.write_amplification)


def test_members_and_parity_updates(comparison):
    raid5 = comparison.results[1]
    busy = by_name(comparison, "member-busy").frame.filter(scheme="raid5")["busy_percent"]
    assert list(busy) == pytest.approx([100 * member.busy_fraction for member in raid5.members])
    updates = by_name(comparison, "parity-updates").frame
    assert updates.filter(scheme="raid0")["updates"].sum() == 0
    methods = ("full_stripe", "rmw", "rcw", "mirrored", "deferred")
    assert updates["updates"].sum() == sum(raid5.parity_updates[method] for method in methods) > 0
    # Bars beside each other: that of raid5 is right of that of raid0, in each member.
    axes = printed.figure(by_name(comparison, "member-busy")).axes[0]
    first, second = axes.containers
    assert all(one.get_x() < other.get_x() for one, other in zip(first, second, strict=True))
    assert [bar.get_height() for bar in second] == pytest.approx(list(busy))


def test_erases_and_caches_where_a_result_has_them(comparison):
    assert {"erases", "parity-cache", "buffer"}.isdisjoint(figure.name for figure in comparison.figures())
    ranges = [(0, 1, 10), (2, 3, 0), (4, 5, 6)]
    histogram = [{"erases_from": start, "erases_to": end, "blocks": blocks} for start, end, blocks in ranges]
    buffer = {"read_hits": 3, "read_misses": 4, "write_hits": 5, "write_misses": 0}
    guard = {"hits": 7, "misses": 2, "commits_replacement": 4, "commits_gc": 0, "commits_rebuild": 0, "commits_idle": 0}
    result = altered(comparison.results[0], wear__histogram=histogram, buffer=buffer, guard=guard)
    erases = by_name(result, "erases")
    assert erases.frame.select("erases", "blocks").rows() == [(0, 5), (2, 0), (4, 3), (6, 0)]
    assert printed.figure(erases).axes[0].lines[0].get_drawstyle() == "steps-post"
    cache = by_name(result, "parity-cache").frame
    assert cache.select("kind", "operations").rows() == [("hit", 7), ("miss", 2), ("replacement", 4)]
    pages = by_name(result, "buffer").frame.select("op", "outcome", "pages").rows()
    assert set(pages) == {("reads", "hit", 3), ("reads", "miss", 4), ("writes", "hit", 5), ("writes", "miss", 0)}
    reasons = {"commits_replacement": 0, "commits_gc": 5, "commits_rebuild": 6, "commits_idle": 7}
    cache = by_name(altered(result, guard=guard | reasons), "parity-cache").frame.filter(what="commits")
    assert cache.select("kind", "operations").rows() == [("GC", 5), ("rebuild", 6), ("idle time", 7)]
    never = altered(comparison.results[0], wear__histogram=[{"erases_from": 0, "erases_to": 0, "blocks": 9}])
    assert "erases" not in [figure.name for figure in never.figures()]
    # Beside others, a scheme that erased nothing is no scheme without blocks.
    both = by_name(Comparison([altered(never, scheme="idle"), result]), "erases").frame
    assert both.filter(scheme="idle").select("erases", "blocks").rows() == [(0, 9), (1, 0)]


def test_latencies_of_rebuilds_stand_beside_those_of_all_requests(comparison):
    raid0, raid5 = comparison.results
    quantiles = {"min": 1, "p50": 2, "p90": 3, "p95": 4, "p99": 5, "p99_9": 6, "p99_99": 7, "max": 8}
    felt = [{name: 1000 * (value + more) for name, value in quantiles.items()} for more in (0, 10)]
    rebuilds = [{"latency_ns": each | {"count": 9}} for each in felt] + [{"latency_ns": felt[0] | {"count": 0}}]
    one = by_name(altered(raid5, rebuild=rebuilds[:1]), "rebuild-latency").frame
    assert one.filter(when="during the rebuild")["latency_us"].to_list() == list(quantiles.values())
    every = raid5.latency.all
    expected = [every[name] / 1000 for name in quantiles]
    assert one.filter(when="all requests")["latency_us"].to_list() == expected
    figure = by_name(Comparison([raid0, altered(raid5, rebuild=rebuilds)]), "rebuild-latency")
    assert figure.frame.filter(when="rebuild 2")["latency_us"].to_list() == [value + 10 for value in quantiles.values()]
    assert figure.frame["when"].unique(maintain_order=True).to_list() == ["rebuild 1", "rebuild 2", "all requests"]


def test_members_wait_for_what_the_result_says_and_many_are_points(comparison):
    result = comparison.results[1]
    of = result.to_dict()["members"][0]
    for count, mark in ((16, "bars"), (17, "points")):
        members = [of | {"busy_fraction": at / 100, "mean_blocked": at * 2.0} for at in range(count)]
        figures = {figure.name: figure for figure in altered(result, members=members).figures()}
        assert {figures[name].mark for name in ("member-busy", "member-queue")} == {mark}
        assert figures["member-busy"].frame["busy_percent"].to_list() == pytest.approx(list(range(count)))
        assert figures["member-queue"].frame["waiting"].to_list() == [2 * at for at in range(count)]


def test_parts_that_stand_apart_and_updates_that_are_counted_elsewhere(comparison):
    parts = ("host", "redundancy", "gc", "metadata", "rebuild", "retry", "migration", "warmup", "failed", "drain")
    methods = {"full_stripe": 1, "rmw": 2, "rcw": 4, "mirrored": 8, "deferred": 16, "committed": 32, "adjusted": 64}
    result = comparison.results[1]
    updates = dict.fromkeys(result.to_dict()["parity_updates"], 0) | methods
    result = altered(result, write_amplification_by=dict.fromkeys(parts, 0.5), parity_updates=updates)
    shown = by_name(result, "write-amplification").frame
    assert shown["key"].to_list() == list(parts)
    words = [{"gc": "GC"}.get(part, part) for part in parts]
    assert shown["part"].to_list() == [word if at < 4 else f"{word} (apart)" for at, word in enumerate(words)]
    assert by_name(result, "parity-updates").frame["updates"].sum() == 1 + 2 + 4 + 8 + 16


def test_parts_without_height_keep_their_place(comparison):
    """A part that one scheme has is there with 0 for the others, so that colors and panels agree."""
    rows = by_name(comparison, "flash-operations").frame
    assert "total" not in rows["cause"]
    for of_cause in rows.partition_by("action", "cause"):
        assert of_cause["scheme"].to_list() == SCHEMES
    assert rows.filter(scheme="raid0", cause="parity", action="programs")["per_request"].to_list() == [0]


@pytest.mark.parametrize(("op", "missing"), [("R", "write-latency"), ("W", "read-latency")])
def test_what_shows_nothing_is_left_out(tmp_path, device, op, missing):
    result = fr.run(write_trace(tmp_path, [(0, op, 0, PAGE)]), device=device, scheme="raid5", fill=1)
    found = [figure.name for figure in result.figures()]
    other = {"read-latency": "write-latency", "write-latency": "read-latency"}[missing]
    assert missing not in found
    assert other in found
    assert ("parity-updates" in found) == (op == "W")


def test_without_any_figure_there_is_one_message(tmp_path, device):
    result = fr.run(write_trace(tmp_path, [(0, "F", 0, 0)]), device=device, scheme="raid5")
    assert result.figures() == []
    for draw in (result.plot, result.chart):
        with pytest.raises(fr.InputError, match="no figures"):
            draw()


def test_unknown_names_are_refused_with_the_nearest(comparison):
    for draw in (comparison.plot, comparison.chart, comparison.results[0].plot, comparison.results[0].series.chart):
        with pytest.raises(fr.InputError, match="figure raed-latency: there is none; the nearest is read-latency"):
            draw("raed-latency")


def test_results_of_one_scheme_are_told_apart(comparison):
    raid0, raid5 = comparison.results
    assert names([raid0, raid5]) == SCHEMES
    assert names([raid0, altered(raid0, seed=7), raid5]) == ["raid0, seed 1", "raid0, seed 7", "raid5"]
    assert names([raid0, altered(raid0, device="d"), altered(raid0, device="d")]) == [
        "raid0, ssd1",
        "raid0, d (1)",
        "raid0, d (2)",
    ]
    assert names([raid0, altered(raid0, workload__name="t")]) == [f"raid0, {SAMPLE.name}", "raid0, t"]
    figure = by_name(Comparison([raid0, raid0]), "read-latency")
    assert figure.frame["scheme"].unique(maintain_order=True).to_list() == ["raid0 (1)", "raid0 (2)"]


def test_all_figures_compile_and_are_drawn(comparison):
    for drawn in (comparison, comparison.results[1].series):
        svg = vl_convert.vegalite_to_svg(drawn.chart().to_dict())
        for figure in drawn.figures():
            assert figure.title in svg
        plot = drawn.plot()
        plot.draw_without_rendering()
        titles = [part.get_suptitle() for part in plot.subfigs]
        assert [title for title in titles if title] == [figure.title for figure in drawn.figures()]


def test_charts_are_interactive(comparison):
    spec = comparison.chart("read-latency").to_dict()
    legend, zoom = spec["params"]
    assert legend["bind"] == "legend"
    assert legend["value"] == [{"scheme": scheme} for scheme in SCHEMES]
    assert zoom["bind"] == "scales"
    bars = comparison.chart("member-busy").to_dict()
    assert [param["bind"] for param in bars["params"]] == ["legend"]
    for name in ("read-latency", "member-busy", "flash-operations"):
        (compiled,) = vl_convert.vegalite_to_vega(comparison.chart(name).to_dict())["legends"]
        assert compiled["encode"]["entries"]["interactive"]
    columns = {tip["field"] for layer in spec["layer"] for tip in layer["encoding"].get("tooltip", [])}
    assert columns == {"scheme", "quantile", "latency_us"}
    # Left to the page: width and colors.
    bare = vega.chart(by_name(comparison, "read-latency")).to_dict()
    assert bare["width"] == "container"
    assert "#" not in json.dumps({key: bare[key] for key in ("layer", "params")})


def test_notebooks_show_tables_and_pictures(comparison):
    result = comparison.results[1]
    html = result._repr_html_()
    (line,) = [
        line
        for section in summary.table(Comparison([result]))
        for line in section.lines
        if line.path == "latency_ns.read.p99"
    ]
    assert f"{line.head}</th><td>{line.cells[0].text}</td>" in html
    assert all(f"<th>{scheme}</th>" in comparison._repr_html_() for scheme in SCHEMES)
    assert comparison.plot("read-latency")._repr_png_().startswith(b"\x89PNG")
    for path in ("device", "scheme", "survives__text"):  # in the caption, the head and a cell
        assert "<b>" not in altered(result, **{path: "<b>"})._repr_html_()
    assert repr(comparison) == "<Comparison: raid0, raid5, status 0>"


FRAME = pl.DataFrame({"load": ["low", "high"] * 2, "scheme": ["a", "a", "b", "b"], "ms": [1.0, 2.0, 3.0, 4.0]})
STATED = pl.DataFrame({"load": ["high"], "scheme": ["b"], "ms": [5.0]})


@pytest.mark.parametrize("mark", ["bars", "line"])
def test_stated_numbers_are_marks_of_their_own(mark):
    figure = Figure("f", "F", "", mark, FRAME, Axis("load", "load", "category"), Axis("ms", "ms"), "scheme", "", STATED)
    axes = printed.figure(figure).axes[0]
    (diamond,) = [line for line in axes.lines if line.get_marker() == "D"]
    assert list(diamond.get_ydata()) == [5.0]
    expected = axes.containers[1][1].get_x() + axes.containers[1][1].get_width() / 2 if mark == "bars" else 1
    assert list(diamond.get_xdata()) == pytest.approx([expected])
    rows = inlined(vega.chart(figure))
    assert [row["ms"] for row in rows if row.get(vega.STATED)] == [5.0]
    assert "paper" in vl_convert.vegalite_to_svg(vega.with_config(vega.chart(figure, 300)).to_dict())
    assert figure.table()["source"].to_list() == ["flashraid"] * 4 + ["paper"]


def line(values, scale="linear"):
    """A line with these values at 0, 1, 2 ..."""
    frame = pl.DataFrame({"t": range(len(values)), "value": values})
    return Figure("f", "F", "", "line", frame, Axis("t", "t"), Axis("value", "value", scale))


def labels(figure):
    """The labels of the y axis, in print and on the screen."""
    axes = printed.figure(figure).axes[0]
    low, high = axes.get_ylim()
    ticks = zip(axes.get_yticks(), axes.yaxis.get_major_formatter().format_ticks(axes.get_yticks()), strict=True)
    svg = vl_convert.vegalite_to_svg(vega.chart(figure, 300).to_dict())
    return {text for place, text in ticks if low <= place <= high}, set(re.findall(r">([\d,.]+)</text>", svg))


def test_axes_have_sensible_labels():
    for found in labels(line([407, 408, 409])):
        assert {"407", "408", "409"} <= found
        assert not [label for label in found if "." in label]
    # A logarithm over many decades labels powers of ten; over few also their halves.
    for found in labels(line([10, 10**6], "log")):
        assert {"10", "1,000", "1,000,000"} <= found
        assert "500" not in found
    for found in labels(line([150, 900], "log")):
        assert {"200", "500"} <= found


def test_labels_and_legends_do_not_overlap():
    """In print, by the boxes that matplotlib gives them: a tail of a million requests, and many schemes."""
    points = [1 - 10 ** (-at / 8) for at in range(49)]
    rows = [{"q": q, "us": 100 + at, "scheme": f"scheme-{of}"} for of in range(9) for at, q in enumerate(points)]
    tail = Figure("f", "F", "", "line", pl.DataFrame(rows), Axis("q", "q", "tail"), Axis("us", "us", "log"), "scheme")
    bars = Figure("f", "F", "", "bars", pl.DataFrame(rows[::49]), Axis("scheme", "s", "category"), Axis("us", "us"))
    for figure in (tail, bars):
        drawing = printed.figure(figure)
        drawing.draw_without_rendering()
        axes = drawing.axes[0]
        shown = [label for label in axes.get_xticklabels() if label.get_text()]
        assert len(shown) >= 5
        if not shown[0].get_rotation():
            boxes = [label.get_window_extent() for label in shown]
            assert all(one.x1 < other.x0 for one, other in itertools.pairwise(boxes))
        for legend in drawing.legends:
            box = legend.get_window_extent()
            assert box.y0 >= axes.get_window_extent().y1
            assert 0 <= box.x0 < box.x1 <= drawing.bbox.width
        assert axes.get_window_extent().height > 1.2 * drawing.dpi


def test_ticks_of_times_have_the_unit_that_suits_them():
    latencies = replace(line([1, 10**8], "log"), y=Axis("value", "latency (us)", "log", is_time=True))
    axes = printed.figure(latencies).axes[0]
    assert axes.get_ylabel() == "latency"
    low, high = axes.get_ylim()
    ticks = axes.get_yticks()
    texts = axes.yaxis.get_major_formatter().format_ticks(ticks)
    printed_texts = {text for place, text in zip(ticks, texts, strict=True) if low <= place <= high}
    svg = vl_convert.vegalite_to_svg(vega.chart(latencies, 300).to_dict())
    for found in (printed_texts, set(re.findall(r">([\d,]+ \w+)</text>", svg))):
        assert len(found) >= 4
        assert found <= {"1 us", "10 us", "100 us", "1 ms", "10 ms", "100 ms", "1 s", "10 s", "100 s"}


def test_rules_are_drawn_with_their_labels():
    """In the panel that a rule belongs to, or in all."""
    frame = pl.DataFrame({"t": [0, 1] * 2, "value": [1, 2, 3, 4], "scheme": ["a", "a", "b", "b"]})
    rules = (Rule(0.5, "chip fails"), Rule(0.75, "rebuild ends", "b"))
    figure = Figure("f", "F", "", "line", frame, Axis("t", "t"), Axis("value", "value"), "", "scheme", None, rules)
    found = [
        [(rule.get_xdata()[0], text.get_text()) for rule, text in zip(axes.lines[1:], axes.texts, strict=True)]
        for axes in printed.figure(figure).axes
    ]
    assert found == [[(0.5, "chip fails")], [(0.5, "chip fails"), (0.75, "rebuild ends")]]
    svg = vl_convert.vegalite_to_svg(vega.chart(figure).to_dict())
    assert svg.count(">chip fails<") == 2
    assert svg.count(">rebuild ends<") == 1


def test_many_schemes_have_a_panel_each(comparison):
    """Colors of more than six cannot be told apart, nor can their lines over time be followed."""
    many = Comparison([altered(comparison.results[1], scheme=f"scheme{at}") for at in range(9)])
    busy = by_name(many, "member-busy")
    assert (busy.facet, busy.series) == ("scheme", "")
    drawing = printed.figure(busy)
    drawing.draw_without_rendering()
    shown = [axes for axes in drawing.axes if axes.get_title()]
    assert [axes.get_title() for axes in shown] == [f"scheme{at}" for at in range(9)]
    boxes = [axes.get_tightbbox() for axes in shown]
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))
    assert by_name(Comparison(many.results[:6]), "member-busy").series == "scheme"


def test_bars_beside_each_other_carry_the_numbers_of_the_legend(comparison):
    chart = vega.with_config(vega.chart(by_name(comparison, "member-busy"), 300))
    svg = vl_convert.vegalite_to_svg(chart.to_dict())
    members = len(comparison.results[0].members)
    for number, scheme in enumerate(SCHEMES, 1):
        assert f">{number} {scheme}<" in svg
        assert len(re.findall(rf'font-size="9px"[^>]*>{number}</text>', svg)) == members


def test_panels_of_a_figure():
    figure = Figure("f", "F", "", "line", FRAME, Axis("load", "load", "category"), Axis("ms", "ms"), "", "scheme")
    one, other = figure.panels()
    assert (one.name, other.name, other.title) == ("f-a", "f-b", "F: b")
    assert other.frame["ms"].to_list() == [3, 4]
    assert one.panels() == [one]
    one, other = replace(figure, stated=STATED).panels()
    assert (one.stated["ms"].to_list(), other.stated["ms"].to_list()) == ([], [5])


def test_files_have_what_a_paper_states(tmp_path):
    figure = Figure("f", "F", "", "line", FRAME, Axis("load", "load", "category"), Axis("ms", "ms"), "scheme")
    files.write([replace(figure, stated=STATED)], tmp_path)
    assert pl.read_csv(tmp_path / "f.csv").filter(source="paper").drop("source").equals(STATED)


def luminance(color):
    shares = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [share / 12.92 if share <= 0.03928 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(("palette", "page"), [(style.LIGHT, "#ffffff"), (style.DARK, "#1b1b1b")])
def test_colors_differ_without_hue(palette, page):
    """By contrast as WCAG defines it: 3:1 against the page, and neighbors apart by 1.3:1."""

    def contrast(one, other):
        low, high = sorted((luminance(one), luminance(other)))
        return (high + 0.05) / (low + 0.05)

    assert all(contrast(color, page) >= 3 for color in palette)
    assert all(contrast(one, other) > 1.3 for one, other in itertools.pairwise(palette))
    levels = sorted(map(luminance, palette))
    assert all(high - low > 0.005 for low, high in itertools.pairwise(levels))


def test_files_are_complete(comparison, tmp_path):
    figures = comparison.figures()[:2]
    written = files.write(figures, tmp_path / "new" / "folder")
    assert len(written) == len(list((tmp_path / "new" / "folder").iterdir())) == 6
    by_ending = {path.rpartition(".")[2]: path for path in written[:3]}
    assert pl.read_csv(by_ending["csv"]).equals(figures[0].frame)
    svg = Path(by_ending["svg"]).read_text()
    assert ">latency<" in svg  # text stays text
    assert all(scheme in svg for scheme in SCHEMES)
    files.write(figures, tmp_path / "new" / "folder")
    assert Path(by_ending["svg"]).read_text() == svg


def test_files_are_absent_after_a_failure(comparison, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(fr.InputError, match=r"figures: .*file"):
        files.write(comparison.figures(), tmp_path / "file")
    save = printed.Drawing.savefig

    def fails(self, name, **keywords):
        if keywords["format"] == "png":
            raise OSError(28, "No space left on device")
        save(self, name, **keywords)

    monkeypatch.setattr(printed.Drawing, "savefig", fails)
    with pytest.raises(fr.InputError, match="No space left"):
        files.write(comparison.figures(), tmp_path / "folder")
    assert not (tmp_path / "folder").exists()
    (tmp_path / "folder").mkdir()
    drawn = []

    def interrupted(self, name, **keywords):
        drawn.append(name)
        if len(drawn) > 5:
            raise KeyboardInterrupt
        save(self, name, **keywords)

    monkeypatch.setattr(printed.Drawing, "savefig", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.write(comparison.figures(), tmp_path / "folder")
    assert list((tmp_path / "folder").iterdir()) == []
