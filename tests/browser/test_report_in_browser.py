"""A report in a browser: all charts draw their data, without a network; controls work; everybody can use it."""

import csv
import io
import json
import os
from contextlib import nullcontext
from itertools import product
from pathlib import Path
from urllib.parse import unquote

import polars
import pytest
from pages import Opened, chromium

import flashraid as fr
from flashraid import report
from flashraid.figures import Axis, Figure

ROOT = Path(__file__).parents[2]
AXE = Path(__file__).with_name("axe.min.js").read_text()
WIDTHS = (400, 1600)
KINDS = ("read-latency", "flash-operations", "member-busy", "free-blocks", "load-over-time")  # of charts, one of each
SETTINGS = {
    "device": "ssd1",
    "limit": 2000,
    "fill": 0.05,
    "chips_per_channel": 2,
    "blocks_per_plane": 64,
    "fit": "wrap",
}


@pytest.fixture(scope="session")
def comparison(tmp_path_factory):
    """Two schemes, of which one rebuilds a failed chip."""
    series = tmp_path_factory.mktemp("series") / "series.csv"
    with pytest.warns(UserWarning, match="raid0"):
        return fr.compare(
            ROOT / "samples" / "pgbench-transactions.csv.gz",
            schemes=["raid0", "raid5"],
            fail=["chip:0.1@50%"],
            series=series,
            series_interval="40ms",
            capacity=False,
            **SETTINGS,
        )


@pytest.fixture(scope="session")
def path(comparison, tmp_path_factory):
    target = tmp_path_factory.mktemp("report") / "report.html"
    comparison.report(target)
    return target


@pytest.fixture(scope="session")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="session")
def wide(browser, path):
    """The whole report. Tests leave it as they find it, as those below."""
    with Opened(browser, path, 1600) as found:
        yield found


@pytest.fixture(scope="session")
def short(comparison, tmp_path_factory):
    """A report with all tables and a chart of each kind: what is done with all charts takes long."""
    charts = [figure for figure in report.figures(comparison) if figure.name in KINDS]
    assert len(charts) == len(KINDS)
    target = tmp_path_factory.mktemp("short") / "report.html"
    report.write("A short report", report.parts(comparison, charts), target)
    return target


@pytest.fixture(scope="session")
def opened(browser, short):
    with Opened(browser, short, 1600) as found:
        yield found


@pytest.fixture(scope="session")
def dark(browser, short):
    with Opened(browser, short, 1600, "dark") as found:
        yield found


MARKS = """figures => figures.map(figure => [figure.dataset.name, [
...figure.querySelectorAll(".drawing")].map(drawing => ({
  drawn: [...drawing.querySelectorAll("svg .role-mark path")].filter(path => {
    const box = path.getBBox();
    return box.width + box.height > 0 && !/NaN|Infinity|undefined/.test(path.getAttribute("d"));
  }).length,
  labelled: drawing.getAttribute("role") === "img" && drawing.getAttribute("aria-label").length > 20,
  width: drawing.querySelector("svg").getBoundingClientRect().width,
}))])"""


@pytest.mark.parametrize("width", WIDTHS)
def test_every_chart_draws_without_a_network_and_fits_the_page(browser, path, short, comparison, wide, width):
    """All of them on a narrow page are drawn by `make prove` only, one of each kind by `make test`."""
    is_whole = width == 1600 or bool(os.environ.get("FLASHRAID_PROVE"))
    names = [figure.name for figure in report.figures(comparison)]
    with nullcontext(wide) if width == 1600 else Opened(browser, path if is_whole else short, width) as opened:
        found = dict(opened.page.eval_on_selector_all("figure.chart", MARKS))
        assert list(found) == [name for name in names if is_whole or name in KINDS]
        for name, panels in found.items():
            for panel in panels:
                assert panel["drawn"] >= 1, name
                assert panel["labelled"], name
                assert 200 < panel["width"] <= width, name
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
        assert opened.errors == []
        assert opened.outside == []
    assert {*KINDS, "rebuild-latency"} <= set(names)


def test_bars_are_as_high_as_their_numbers(wide, comparison):
    """The heights of the bars, read back from the drawing, are in the ratio of the figures of the JSON."""
    paths = wide.page.eval_on_selector_all(
        "#write-amplification svg .mark-rect path",
        "paths => paths.map(path => [path.getAttribute('aria-label'), path.getBBox().height])",
    )
    heights = [height for _, height in paths if height > 0]
    parts = [
        result.write_amplification_by[part]
        for result in comparison.results
        for part in result.write_amplification_by
        if result.write_amplification_by[part]
    ]
    assert len(heights) == len(parts)
    scale = sum(heights) / sum(parts)
    assert sorted(heights) == pytest.approx([part * scale for part in sorted(parts)], abs=1.5)


def test_the_theme_follows_the_system_and_the_switch(dark):
    background = "getComputedStyle(document.body).backgroundColor"
    label = "getComputedStyle(document.querySelector('#read-latency svg .role-axis-label text')).fill"
    page = dark.page
    before = page.evaluate(background), page.evaluate(label)
    page.select_option("#theme", "light")
    page.wait_for_selector("html[data-drawn=light]")
    light, light_label = page.evaluate(background), page.evaluate(label)
    page.select_option("#theme", "system")
    page.wait_for_selector("html[data-drawn=dark]")
    assert (page.evaluate(background), page.evaluate(label)) == before
    assert light == "rgb(255, 255, 255)"
    assert light != before[0]
    assert light_label != before[1]


def test_hover_toggles_and_zoom(opened):
    page, chart = opened.page, opened.page.locator("#read-latency")
    symbols = "#read-latency svg .mark-symbol.role-mark path"
    before = page.locator(symbols).count()
    chart.locator("svg").hover()
    page.locator(symbols).last.hover(force=True)
    page.wait_for_selector("#vg-tooltip-element.visible")
    assert "latency" in page.inner_text("#vg-tooltip-element")

    toggle = page.locator("#shared button", has_text="raid5")
    toggle.click()
    page.wait_for_function(f"document.querySelectorAll({symbols!r}).length < {before}")
    assert toggle.get_attribute("aria-pressed") == "false"
    toggle.press("Enter")
    page.wait_for_function(f"document.querySelectorAll({symbols!r}).length === {before}")
    assert toggle.get_attribute("aria-pressed") == "true"

    labels = "[...document.querySelectorAll('#free-blocks svg .role-axis-label text')].map(text => text.textContent)"
    whole = page.evaluate(labels)
    page.locator("#free-blocks").get_by_role("button", name="Zoom in").press("Space")
    page.wait_for_function(f"JSON.stringify({labels}) !== {json.dumps(json.dumps(whole))}")
    page.locator("#free-blocks").get_by_role("button", name="Reset the zoom").click()
    page.wait_for_function(f"JSON.stringify({labels}) === {json.dumps(json.dumps(whole, separators=(',', ':')))}")
    assert opened.errors == []


def test_every_control_is_reached_by_keyboard_and_shows_it(opened):
    page = opened.page
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")
    controls = "a[href], button, select, summary, [tabindex='0']"
    page.evaluate(f"document.querySelectorAll({controls!r}).forEach((control, at) => {{ control.dataset.at = at; }})")
    expected = page.eval_on_selector_all(
        controls, "all => all.filter(one => one.getClientRects().length).map(one => one.dataset.at)"
    )
    assert len(expected) > 30
    page.evaluate(
        """window.reached = {};
        addEventListener("focusin", ({ target }) => {
          reached[target.dataset.at] = getComputedStyle(target).outlineStyle;
        });"""
    )
    for _ in range(len(expected) + 5):
        page.keyboard.press("Tab")
    reached = page.evaluate("reached")
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = false; })")
    assert set(expected) <= set(reached)
    assert {reached[at] for at in expected} == {"solid"}


def test_axe_finds_nothing_in_either_theme(opened):
    """The dark theme differs in nothing but colors. Tables of charts and settings are unfolded by `make prove` only."""
    page = opened.page
    if os.environ.get("FLASHRAID_PROVE"):
        page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")
    page.evaluate(AXE)
    run = "more => axe.run(document, { resultTypes: ['violations'], ...more })"
    for theme, more in (("light", {}), ("dark", {"runOnly": ["color-contrast"]})):
        page.select_option("#theme", theme)
        page.wait_for_selector(f"html[data-drawn={theme}]")
        found = page.evaluate(run, more)
        assert [
            (each["id"], each["help"], each["nodes"][0]["html"][:200], each["nodes"][0]["failureSummary"][:300])
            for each in found["violations"]
        ] == []
        assert len(found["passes"]) >= (1 if theme == "dark" else 20)
    page.select_option("#theme", "system")
    page.wait_for_selector("html[data-drawn=light]")
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = false; })")


def test_csv_has_the_rows_of_the_chart(wide, comparison):
    figures = {figure.name: figure for figure in report.figures(comparison)}
    for name in ("write-latency", "load-over-time"):
        summary = wide.page.locator(f"#{name} summary")
        summary.press("Enter")
        link = wide.page.wait_for_selector(f"#{name} a.download[href^='data:text/csv']")
        rows = list(csv.DictReader(io.StringIO(unquote(link.get_attribute("href").partition(",")[2]))))
        frame = figures[name].frame
        assert list(rows[0]) == frame.columns
        assert len(rows) == frame.height
        for column in frame.columns:
            values = frame[column].to_list()
            if frame[column].dtype.is_numeric():
                read = [float(row[column]) if row[column] else None for row in rows]
                assert read == pytest.approx(values, rel=1e-6), column
            else:
                assert sorted(row[column] for row in rows) == sorted(values), column


def test_print_has_everything_but_controls(dark):
    page = dark.page
    assert len(page.pdf(format="A4")) > 50_000
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    shown = "all => all.filter(one => one.getClientRects().length).length"
    assert page.eval_on_selector_all("select, .zooms, nav, a.download, .copy, summary", shown) == 0
    assert page.eval_on_selector_all("#configuration td", shown) > 100
    assert page.eval_on_selector_all(".drawing svg.marks", shown) == page.locator(".drawing").count()
    text = "getComputedStyle(document.querySelector('#read-latency svg .role-axis-label text')).fill"
    assert page.evaluate(text) == "rgb(26, 26, 26)"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    page.wait_for_selector("html[data-drawn=dark]")
    assert dark.errors == []


def test_nothing_of_a_wide_table_is_cut(browser, tmp_path):
    """Not on A4 paper, where it is in pieces; on the screen it has the width of the page, and says where it goes on."""
    names = [f"scheme-{at}" for at in range(14)]
    row = [report.Cell("a figure with a long name (us)"), *(report.Cell("12,345.6", "+123 %") for _ in names)]
    table = report.Table("A comparison", ["", *names], [report.Group("group", [row] * 3)], has_schemes=True)
    target = tmp_path / "wide.html"
    report.write("Many schemes", [report.Part("Comparison", "comparison", [table])], target)
    with Opened(browser, target, 1600) as opened:
        page = opened.page
        left, right = page.eval_on_selector(".scroll", "one => [one.scrollLeft, one.clientWidth]")
        assert (left, right > 1500) == (0, True)
        assert page.locator(".scroll.screen:not(.more)").count() == 1
        page.set_viewport_size({"width": 800, "height": 900})
        page.wait_for_selector(".scroll.screen.more")
        assert "Scroll sideways" in page.eval_on_selector(
            ".more caption span", "it => getComputedStyle(it, '::after').content"
        )
        page.eval_on_selector(".scroll.screen", "one => { one.scrollLeft = one.scrollWidth; }")
        page.wait_for_selector(".scroll.screen:not(.more)")
        page.emulate_media(media="print")
        page.set_viewport_size({"width": round(182 / 25.4 * 96), "height": 900})  # A4 between its margins
        ends = "all => all.filter(one => one.getClientRects().length).map(one => one.getBoundingClientRect().right)"
        found = page.eval_on_selector_all("table.figures td small", ends)
        assert len(found) == 3 * 14
        assert max(found) <= 182 / 25.4 * 96


def test_numbers_of_papers_are_drawn_beside_ours(browser, tmp_path):
    """In each of several panels, with a mark of its own, and told apart in the CSV."""
    ours = polars.DataFrame({"trace": ["a", "b"] * 2, "width": ["4", "4", "8", "8"], "ms": [1.0, 2.0, 3.0, 4.0]})
    theirs = polars.DataFrame({"trace": ["a", "b"], "width": ["4", "8"], "ms": [1.5, 4.5]})
    x, y = Axis("trace", "trace", "category"), Axis("ms", "response time (ms)")
    figure = Figure("figure-8", "Response time", "Bars are ours.", "bars", ours, x, y, facet="width", stated=theirs)
    target = tmp_path / "report.html"
    report.write("A paper", [report.Part("Figures", "figures", [figure])], target)
    with Opened(browser, target, 1600) as opened:
        page = opened.page
        assert page.locator(".drawing .mark-rect.role-mark path").count() == 4
        assert page.locator(".drawing .mark-symbol.role-mark path").count() == 2
        axes = "all => all.map(axis => [...axis.querySelectorAll('text')].map(text => text.textContent).join())"
        labels = page.eval_on_selector_all(".drawing .role-axis-label", axes)
        assert labels[1] == labels[3]  # one scale for all panels
        page.locator("summary").click()
        link = page.wait_for_selector("a.download[href^='data:text/csv']").get_attribute("href")
        rows = list(csv.DictReader(io.StringIO(unquote(link.partition(",")[2]))))
        assert sorted((row["source"], row["ms"]) for row in rows) == [
            *(("flashraid", number) for number in "1234"),
            *(("paper", number) for number in ("1.5", "4.5")),
        ]
        assert opened.errors == []


@pytest.mark.skipif("not os.environ.get('FLASHRAID_PROVE')", reason="make prove: many reports")
def test_reports_of_other_devices_draw_as_well(browser, tmp_path):
    trace = ROOT / "samples" / "sqlite-transactions.csv.gz"
    for device, depth in product(("ssd1", "ssd2", "ppc-4p1", "array-5x"), (0, 16)):
        schemes = ["raid0", "raid5"] if device.startswith("array") else ["raid0", "raid5", "ppc", "fra"]
        series = tmp_path / f"{device}-{depth}.csv"
        found = fr.compare(
            trace, device=device, schemes=schemes, fill=0.1, limit=3000, queue_depth=depth, fit="wrap", series=series
        )
        target = tmp_path / f"{device}-{depth}.html"
        found.report(target)
        for width in WIDTHS:
            with Opened(browser, target, width) as opened:
                marks = dict(opened.page.eval_on_selector_all("figure.chart", MARKS))
                assert all(panel["drawn"] for panels in marks.values() for panel in panels), (device, depth)
                assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
                assert (opened.errors, opened.outside) == ([], [])
