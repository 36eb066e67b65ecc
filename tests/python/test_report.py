"""Reports of results: what stands in them is what stands in the JSON, and what cannot be reported is refused."""

import gzip
import itertools
import json
import os
import re
import shlex
from html.parser import HTMLParser
from importlib import metadata

import polars as pl
import pytest
import vl_convert
from conftest import PROVE, ROOT, SAMPLE, write_device, write_trace, writes

import flashraid as fr
from flashraid import report, settings, summary
from flashraid.command.report import Drawings
from flashraid.comparison import Comparison
from flashraid.figures import Axis, Figure
from flashraid.outputs import Outputs
from flashraid.report import again, reading
from flashraid.report.recording import interval_ns

SETTINGS = {"device": "ssd1", "limit": 3000, "fill": 0.05, "fit": "wrap"}
SMALL = ["--device", "ssd1", "--limit", "1000", "--fill", "0.05", "--no-engine", "--quiet"]


class Page(HTMLParser):
    """The data of charts, the tables, links, and the headings of a report."""

    def __init__(self, text):
        super().__init__()
        self.charts, self.tables, self.urls, self.headings, self.texts = {}, {}, [], [], []
        self._chart = self._heading = self._cell = self._caption = None
        self._is_script = False
        self._rows = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        of = dict(attributes)
        self.urls += [of[name] for name in ("src", "href", "action", "data") if name in of]
        if tag == "figure":
            self._chart = of["data-name"]
        elif tag == "script":
            self._is_script = True
            self._is_spec = of.get("class") == "spec"
        elif tag in ("h1", "h2", "h3", "h4"):
            self.headings.append([int(tag[1]), ""])
            self._heading = self.headings[-1]
        elif tag == "caption":
            self._caption, self._rows = "", []
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("th", "td"):
            self._cell = [tag, of.get("scope"), ""]
            self._rows[-1].append(self._cell)
        elif tag == "small" and self._cell:
            self._cell = None

    def handle_endtag(self, tag):
        if tag == "script":
            self._is_script = False
        elif tag in ("h1", "h2", "h3", "h4"):
            self._heading = None
        elif tag == "table":
            self.tables[self._caption.strip()] = self._rows
            self._caption = None
        elif tag in ("th", "td"):
            self._cell = None
        elif tag == "caption":
            self._caption += " "

    def handle_data(self, data):
        if self._is_script:
            if self._is_spec:
                self.charts[self._chart] = json.loads(data)
            return
        self.texts.append(data)
        if self._heading:
            self._heading[1] += data
        elif self._cell:
            self._cell[2] += data
        elif self._caption is not None and not self._caption.endswith(" "):
            self._caption += data

    def rows(self, name):
        """The rows that a chart draws, as dicts."""
        frames = [panel["data"] for panel in self.charts[name]["panels"]]
        return [row for frame in frames for row in records(frame)]

    def table(self, start):
        return next(rows for caption, rows in self.tables.items() if caption.startswith(start))


def records(frame):
    """The rows of columns that are lists, or texts with the places of the values among them."""
    columns = [of if isinstance(of, list) else [of["texts"][place] for place in of["places"]] for of in frame.values()]
    return [dict(zip(frame, row, strict=True)) for row in zip(*columns, strict=True)]


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    series = tmp_path_factory.mktemp("series") / "s.parquet"
    with pytest.warns(UserWarning, match="raid0"):
        return fr.compare(
            SAMPLE,
            schemes="raid0,raid5,ppc",
            fail=["chip:0.1@50%"],
            blocks_per_plane=32,
            series=series,
            series_interval="10ms",
            capacity=False,
            **SETTINGS,
        )


@pytest.fixture(scope="module")
def text(comparison, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    comparison.report(path)
    return path.read_text()


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def test_the_script_of_charts_is_the_one_of_the_pinned_package():
    """FLASHRAID_BLESS=1 makes it anew, after a change of the pinned version."""
    made = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    path = ROOT / "python/flashraid/report/vega.js.gz"
    if os.environ.get("FLASHRAID_BLESS") == "1":
        path.write_bytes(gzip.compress(made.encode(), mtime=0))
    assert gzip.decompress(path.read_bytes()).decode() == made
    pinned = re.search(r'"vl-convert-python==(\S+)"', (ROOT / "pyproject.toml").read_text())[1]
    assert pinned == metadata.version("vl-convert-python")
    licence = (ROOT / "python/flashraid/report/vega.LICENSE").read_text()
    versions = {"Vega": vl_convert.get_vega_version(), "vega-embed": vl_convert.get_vega_embed_version()}
    assert all(f"{name} {version}" in licence for name, version in versions.items())


def test_charts_hold_the_figures_of_the_json(page, comparison):
    results = {result.scheme: result.to_dict() for result in comparison.results}
    for row in page.rows("flash-operations"):
        result = results[row["scheme"]]
        count = result["flash_ops"][row["action"]][row["key"]]
        assert row["per_request"] == pytest.approx(count / result["requests"]["completed"], rel=1e-6)
    for row in page.rows("write-amplification"):
        expected = results[row["scheme"]]["write_amplification_by"][row["key"]]
        assert row["ratio"] == pytest.approx(expected, rel=1e-6)
    for kind in ("read", "write"):
        rows = page.rows(f"{kind}-latency")
        for scheme, result in results.items():
            found = {row["quantile"]: row["latency_us"] for row in rows if row["scheme"] == scheme}
            assert found[1.0] == pytest.approx(result["latency_ns"][kind]["max"] / 1e3, rel=1e-6)
            assert len(found) >= 8
            assert found[0.0] == result["latency_ns"][kind]["min"] / 1e3  # 0 too, which a logarithm cannot show
    for row in page.rows("parity-updates"):
        assert row["updates"] == results[row["scheme"]]["parity_updates"][row["key"]]
    assert {"pre-read"} <= {row["cause"] for row in page.rows("flash-operations")}
    assert {"full stripe", "RCW (reconstruct write)"} & {row["method"] for row in page.rows("parity-updates")}
    for row in page.rows("member-busy"):
        busy = results[row["scheme"]]["members"][int(row["member"])]["busy_fraction"]
        assert row["busy_percent"] == pytest.approx(100 * busy, rel=1e-6)


def test_charts_over_time_hold_the_columns_of_the_series(page, comparison):
    for result in comparison.results:
        frame = result.frame("series")
        rows = [row for row in page.rows("free-blocks") if row["scheme"] == result.scheme]
        assert rows[-1]["blocks"] == frame["free_blocks"][-1]
        end_ns = frame["start_ns"][-1] + frame["length_ns"][-1]
        assert rows[-1]["time_s"] == pytest.approx(end_ns / 1e9, rel=1e-6)
        assert len(rows) <= 400


UNITS = {"GiB": 2**30, "MiB": 2**20, "KiB": 2**10, "%": 0.01, "us": 1e3, "ms": 1e6, "s": 1e9, "MB/s": 1e6, "min": 6e10}

YEARS = {"h": 1 / 8766, "days": 1 / 365.25}


def test_the_comparison_has_every_line_of_the_summary_and_its_figures(page, comparison):
    rows = page.table("Each figure with its difference from the first scheme")
    cells = {row[0][2]: [cell[2] for cell in row[1:]] for row in rows if row and row[0][1] == "row"}
    lines = [line for section in summary.table(comparison) for line in section.lines]
    assert len(cells) == len(lines)
    assert [cell[2] for cell in rows[0]] == ["", "raid0", "raid5", "ppc"]
    checked = 0
    for name, values in cells.items():
        line = next(line for line in lines if name.startswith(line.head))
        for repeats, value in zip(comparison.repeats, values, strict=True):
            found = re.match(r"[\d,.]+", value)
            each = [summary.value_at(result, line.path) for result in repeats]
            if found and not any(isinstance(of, str | None) for of in each):
                exact = sum(each) / len(each)
                scale = (YEARS if "years" in line.path else UNITS).get(line.unit, 1)
                digits = len(found[0].partition(".")[2])
                assert float(found[0].replace(",", "")) * scale == pytest.approx(exact, abs=0.51 * scale / 10**digits)
                checked += 1
    assert checked > 60
    best = [row for row in rows if any("best" in cell[2] for cell in row)]
    assert len(best) > 5


def test_sentences_faults_configuration_and_origin_are_there(page, text, comparison):
    said = " ".join(" ".join(page.texts).split())
    for sentence in summary.conclusion(comparison):
        assert sentence in said
    for warning in comparison.warnings:
        assert warning in said
    rebuilds = page.table("Rebuilds")
    assert [row[0][2] for row in rebuilds[1:]] == ["raid5", "ppc"]
    assert len(page.table("Faults")) == 1 + 3
    keys = {row[0][2] for start in ("Settings that differ", "Settings of all") for row in page.table(start)[1:]}
    config = comparison.results[2].to_dict()["config"]
    assert {key for table in config.values() for key in table} <= keys
    assert comparison.results[0].workload.sha256 in said
    assert "synthetic" not in said
    levels = [level for level, _ in page.headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_the_page_asks_for_nothing_and_is_small(text, page):
    assert all(url.startswith(("#", "data:")) for url in page.urls)
    assert not re.search(r"url\(|@import", text.split("</style>")[0])
    assert "default-src 'none'" in text
    data = sum(len(json.dumps(chart)) for chart in page.charts.values())
    tables = text.count("<td") * 60
    assert len(text) - data - tables < 2_000_000
    assert text.count("window.vegaEmbed") == 1


def test_the_commands_give_the_same_configuration(comparison, tmp_path):
    (line,) = again.commands(comparison)
    assert line.endswith(" --no-capacity")
    words = shlex.split(line)
    assert words[:3] == ["flashraid", "compare", SAMPLE.name]
    pairs = [tuple(value.split("=", 1)) for word, value in itertools.pairwise(words) if word == "--set"]
    for result, share in zip(
        comparison.results, settings.for_each("ssd1", ["raid0", "raid5", "ppc"], None, pairs), strict=True
    ):
        again_config = settings.configuration("ssd1", result.scheme, None, share.settings)["config"]
        assert again_config == result.to_dict()["config"]
    different = [
        fr.run(SAMPLE, scheme="raid5", update=update, **SETTINGS | {"limit": 200}) for update in ("rmw", "rcw")
    ]
    assert all("update=" in line and " run " in line for line in again.commands(Comparison(different)))
    own = fr.run(write_trace(tmp_path, writes(20)), device=write_device(tmp_path), scheme="raid5", fill=0.1)
    assert "--config RESULT.json --seeds 2 " in again.commands(Comparison([own, own], seeds=2))[0]


@pytest.mark.parametrize(
    ("asked", "ending"),
    [
        ({"schemes": "raid0,raid5"}, ""),
        ({"schemes": "raid0,raid5", "seeds": 1}, " --seeds 1"),
        ({"schemes": "raid0,raid5", "seeds": 2, "capacity": False}, " --seeds 2 --no-capacity"),
        ({"schemes": "raid0,raid5", "jitter_ns": 0}, " --seeds 1"),
        ({"schemes": "raid5", "queue_depth": 4}, ""),
        ({"schemes": "raid5", "capacity": False, "fill": 0.1}, " --no-capacity"),
        ({"schemes": "raid5", "device": None, "capacity": False}, " --no-capacity"),
    ],
)
def test_the_commands_repeat_a_comparison_as_often(command, asked, ending):
    (command.folder / SAMPLE.name).symlink_to(SAMPLE)
    device = asked.pop("device", "tiny") or write_device(command.folder)
    found = fr.compare(SAMPLE, device=device, limit=60, fit="wrap", engine=False, **asked)
    (line,) = again.commands(found)
    assert line.partition("   # ")[0].endswith(ending)
    (command.folder / "RESULT.json").write_text(found.results[0].json)
    words = shlex.split(line, comments=True)[1:]
    done = command(*words, "--quiet", "--no-engine", "--json", "-")
    assert json.loads(done.stdout) == found.to_dict()


def test_reports_by_command_change_no_result_and_leave_only_what_was_asked_for(command):
    plain = command("compare", SAMPLE, "--schemes", "raid0,raid5", *SMALL, "--no-capacity", "--json", "plain.json")
    figures = ["--figures", "figures"] if PROVE else []  # each of some thirty takes long to be drawn for print
    drawn = command(
        *("compare", SAMPLE, "--schemes", "raid0,raid5", *SMALL, "--no-capacity", "--json", "drawn.json"),
        *("--report", "r.html", *figures),
    )
    folder = command.folder
    assert (folder / "plain.json").read_bytes() == (folder / "drawn.json").read_bytes()
    assert plain.stdout == drawn.stdout
    assert sorted(path.name for path in folder.iterdir()) == ["drawn.json", *figures[1:], "plain.json", "r.html"]
    page = Page((folder / "r.html").read_text())
    assert {"free-blocks", "read-latency"} <= set(page.charts)
    assert not figures or {path.stem for path in (folder / "figures").iterdir()} == set(page.charts)
    assert 100 <= len(page.rows("free-blocks")) / 2 <= 400


def test_a_report_of_a_run_with_a_series_of_ones_own(command):
    command(
        *("run", SAMPLE, "--scheme", "raid5", *SMALL, "--json", "r.json"),
        *("--series", "s.csv", "--series-interval", "50ms", "--report", "r.html"),
    )
    rows = len((command.folder / "s.csv").read_text().splitlines()) - 1
    page = Page((command.folder / "r.html").read_text())
    assert len(page.rows("free-blocks")) == rows
    command("report", "r.json", "--series", "s.csv", "-o", "again.html", "--title", "A <title>")
    again_page = Page((command.folder / "again.html").read_text())
    assert again_page.charts == page.charts
    assert again_page.headings[0][1] == "A <title>"


def test_what_is_refused(command):
    folder = command.folder
    command("run", SAMPLE, "--scheme", "raid5", *SMALL, "--json", "r.json")
    result = json.loads((folder / "r.json").read_text())
    (folder / "newer.json").write_text(json.dumps(result | {"schema": 99}))
    (folder / "older.json").write_text(json.dumps(result | {"schema": 1}))
    (folder / "text.json").write_text("{")
    (folder / "other.json").write_text('{"jobs": []}')
    (folder / "part.json").write_text('{"schema": 2, "version": "0.1.0"}')
    (folder / "file").write_text("")
    (folder / "json.html").write_text(json.dumps(result))
    before = sorted(path.name for path in folder.iterdir())
    for arguments, says in [
        (["missing.json", "-o", "r.html"], "missing.json: cannot be read: No such file"),
        (["text.json", "-o", "r.html"], "text.json:1:2: is not JSON"),
        (["other.json", "-o", "r.html"], "other.json: holds no result of flashraid: allowed is the JSON of run or"),
        (["part.json", "-o", "r.html"], "part.json: holds no result of flashraid, as it has no device"),
        (["newer.json", "-o", "r.html"], "99 of the result format, and allowed is 2: use a newer flashraid"),
        (["older.json", "-o", "r.html"], "1 of the result format, and allowed is 2: run it again with --config"),
        (["json.html", "-o", "json.html"], "result json.html and -o are both json.html"),
        (["r.json", "-o", "r.txt"], "-o: r.txt: allowed is a name that ends in .html"),
        (["r.json", "-o", "no/r.html"], "no/r.html: cannot be written"),
        (["r.json", "-o", "r.html", "--figures", "file"], "--figures: file: allowed is the name of a folder"),
        (["r.json", "-o", "r.html", "--series", "none.csv"], "none.csv"),
        (["r.json", "-o", "r.html", "--series", "file", "--series", "file"], "--series: 2 files for 1 results"),
    ]:
        done = command("report", *arguments, status=2)
        assert says in done.stderr, (arguments, done.stderr)
        assert done.stderr.count("\n") == 1
    for arguments, says in [
        (["--report", "r.pdf"], "--report: r.pdf: allowed is a name that ends in .html"),
        (["--report", "no/r.html"], "no/r.html: cannot be written"),
        (["--figures", "file/figures"], "--figures: file/figures: no folder can be written there"),
        (["--figures", "figures", "--fill", "2"], "fill"),
        (["--report", "r.html", "--fill", "2"], "fill"),
        (["--report", "r.html", "--timeline", "r.html"], "--timeline: r.html: allowed"),
        (["--report", "r.html", "--json", "r.html"], "--json and --report are both r.html"),
    ]:
        done = command("run", SAMPLE, "--scheme", "raid5", *SMALL, *arguments, status=2)
        assert says in done.stderr, (arguments, done.stderr)
    assert sorted(path.name for path in folder.iterdir()) == before


def test_partial_synthetic_and_different_results_are_called_so(tmp_path):
    found = fr.run("profile:sirf1-fin1", device="ssd1", scheme="raid5", limit=200, fit="wrap", queue_depth=4)
    other = fr.run(SAMPLE, scheme="raid5", **SETTINGS | {"limit": 100})
    paths = []
    for name, result in (("first", found), ("second", other)):
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_text(json.dumps(result.to_dict() | {"partial": name == "second"}))
    read = reading.read(paths)
    assert [result.scheme for result in read.results] == ["raid5", "raid5 (second)"]
    text = report.html("both", report.parts(read, []))
    assert "the synthetic workload profile:sirf1-fin1" in text
    assert "Partial: the run was interrupted under raid5 (second)" in text
    assert "In the first column, 200 requests" in text
    assert "in a closed loop, 4 of them outstanding at any time," in text
    assert "The results are of different traces and queue depths: figures differ for more reasons" in text


@pytest.fixture(scope="module")
def several():
    """A comparison of two schemes with two seeds each, as its JSON has it."""
    return fr.compare(SAMPLE, schemes="raid0,raid5", seeds=2, **SETTINGS | {"limit": 100}).to_dict()


def read_from(folder, *files):
    paths = [folder / f"{number}" / "r.json" for number in range(len(files))]
    for path, of in zip(paths, files, strict=True):
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(of))
    return paths, reading.read(paths)


def test_results_of_one_scheme_from_files_of_one_name_have_names_of_their_own(tmp_path, several):
    first = several["results"][0]
    paths, found = read_from(tmp_path, first, first, first)
    assert [each.scheme for each in found.results] == ["raid0", "raid0 (r)", f"raid0 ({paths[2]})"]
    commands = again.commands(Comparison(found.results))
    assert all(line.startswith(f"flashraid run {SAMPLE.name} --device ssd1 --scheme raid0 ") for line in commands)
    assert len(set(commands)) == 1


def test_files_of_interrupted_comparisons_mix_no_schemes(tmp_path, several):
    rates = several["capacity"]
    short = several | {"capacity": rates[:1]}
    alone = summary.candidates(read_from(tmp_path, short)[1])
    assert [each.capacity and each.capacity.scheme for each in alone] == ["raid0", None]
    whole = summary.candidates(read_from(tmp_path, several, several)[1])
    assert [each.capacity.requests_per_second for each in whole] == [each["requests_per_second"] for each in rates * 2]
    # The rate of raid5 is not known, and that of the next file is not taken for it.
    assert [each.capacity for each in summary.candidates(read_from(tmp_path, short, several)[1])] == [None] * 4
    odd = several | {"results": several["results"][:3], "capacity": []}
    assert len(read_from(tmp_path, odd)[1].results) == 3
    with pytest.raises(fr.InputError, match=r"r\.json: was interrupted between the seeds of raid5: allowed is"):
        read_from(tmp_path, odd, several)
    with pytest.raises(fr.InputError, match="the files are of different numbers of seeds"):
        read_from(tmp_path, several, several["results"][0])


def made_up(of, **changes):
    """A result with other members."""
    return fr.Result(json.dumps({**of, **changes}), None, [], 0, {})


def page_of(*results):
    return Page(report.html("made up", report.parts(Comparison(list(results)), [])))


def cells(rows):
    return [[cell[2] for cell in row] for row in rows]


def test_tables_of_events_hold_their_figures(several):
    of = several["results"][0]
    felt = {"requests": 3, "latency_ns": of["latency_ns"]["all"] | {"mean": 5e6, "p99_9": 6e6, "max": 7e6}}
    failed = {"fault": "chip:0.1", "at_ns": 2e9, "when": "50%", "spare": True, "pages_lost": 1234}
    rebuild = felt | {"failed": [failed], "started_ns": 1e9, "window_of_vulnerability_ns": 3e9, "pages": 4321}
    rebuild |= {
        "bytes_per_second": 8e6,
        "finished_ns": 4e9,
        "pages_lost": 5321,
        "pages_copied": 21,
        "pages_xored": 4300,
    }
    none = rebuild | {"failed": [failed | {"fault": "chip:0.2"}], "pages": 0, "pages_copied": 0, "pages_xored": 0}
    none |= {"finished_ns": None, "window_of_vulnerability_ns": None, "bytes_per_second": None}
    replacement = felt | {"old_device": 2, "new_device": 5, "outcome": "given_up", "started_ns": 1e9}
    replacement |= {"duration_ns": None}
    lost = failed | {"fault": "chip:0.2", "spare": False}
    page = page_of(made_up(of, faults=[failed, lost], rebuild=[rebuild, none], replacements=[replacement]))
    head, *rows = cells(page.table("Faults"))
    assert head == ["scheme", "fault", "given as", "time", "replaced by", "host pages lost at once"]
    assert rows == [
        ["raid0", "chip:0.1", "50%", "2.00 s", "a spare", "1,234"],
        ["raid0", "chip:0.2", "50%", "2.00 s", "none", "1,234"],
    ]
    latencies = ["requests", "mean latency", "p99.9 latency", "maximum latency"]
    shown = ["3", "5.00 ms", "6.00 ms", "7.00 ms"]
    how = "21 copied, 4,300 computed from others, 1,000 overwritten, discarded or moved meanwhile"
    assert cells(page.table("Rebuilds")) == [
        ["scheme", "failed", "start", "window of vulnerability", "pages restored", "how", "speed", *latencies],
        ["raid0", "chip:0.1", "1.00 s", "3.00 s", "4,321 of 5,321", how, "8.0 MB/s", *shown],
        ["raid0", "chip:0.2", "1.00 s", "not ended", "0 of 5,321", "5,321 not restored, no spare", "–", *shown],
    ]
    assert cells(page.table("Replacements")) == [
        ["scheme", "SSD", "outcome", "start", "duration", *latencies],
        ["raid0", "2 by 5", "given up", "1.00 s", "not ended", "3", "5.00 ms", "6.00 ms", "7.00 ms"],
    ]


def test_what_differs_between_results_is_said(several):
    of = several["results"][0]
    workload, config = of["workload"], of["config"]
    work = workload | {"reads": 21, "writes": 22, "trims": 0, "flushes": 0, "requests": 43}
    others = [
        (of, {}, None),
        (of, {"device": "other"}, "The results are of different devices"),
        (of, {"workload": work}, "The results are of different numbers of requests"),
        (of, {"version": "0"}, "The results are of different versions of flashraid."),
    ]
    for one, changes, says in others:
        said = " ".join(page_of(made_up(one), made_up(one, scheme="x", **changes)).texts)
        assert ("of different" in said) == (says is not None)
        assert (says or "") in said
    page = page_of(made_up(of, workload=work))
    assert "43 requests (21 reads, 22 writes) of the trace" in " ".join(page.texts)
    third = made_up(of, scheme="y", config=config | {"run": config["run"] | {"seed": 9}})
    page = page_of(made_up(of), made_up(of, scheme="x"), third)
    assert cells(page.table("Settings that differ"))[1:] == [["Run"] + [""] * 3, ["seed", "1", "1", "9"]]


def drawn(rows, scheme="a"):
    frame = pl.DataFrame({"scheme": [scheme] * rows, "x": range(rows), "y": [at / 8 for at in range(rows)]})
    return Figure("f", "F", "About it.", "line", frame, Axis("x", "x"), Axis("y", "y"), "scheme")


def test_the_table_of_a_chart_has_its_first_rows():
    for count, shown in ((3, 3), (100, 100), (101, 100)):
        page = Page(report.html("t", [report.Part("P", "p", [drawn(count)])]))
        assert len(page.rows("f")) == count
        assert cells(page.table("Data: F"))[1:] == [["a", str(at), f"{at / 8:.6g}"] for at in range(shown)]
        assert ("The first 100 of 101 rows." in " ".join(page.texts)) == (count == 101)


def test_nothing_shown_is_taken_for_html():
    unsafe = "</script><i>&"
    note, cell = report.Notice(unsafe), report.Cell(unsafe, unsafe, note=unsafe)
    table = report.Table(unsafe, ["", unsafe], [report.Group(unsafe, [[cell, cell]])])
    blocks = [report.Text(unsafe), note, report.List([unsafe]), report.Code(unsafe), table, drawn(2, unsafe)]
    text = report.html(unsafe, [report.Part(unsafe, "p", blocks)])
    assert "<i>" not in text
    page = Page(text)
    assert {row["scheme"] for row in page.rows("f")} == {unsafe}
    assert text.count("&lt;/script&gt;&lt;i&gt;&amp;") >= 14


def test_cells_have_differences_marks_and_the_letters_of_their_notes():
    one, two = report.Cell("1", "+1 %", is_best=True, note="first"), report.Cell("2", "2.0x", note="second")
    rows = [[report.Cell("row"), one, two], [report.Cell("more"), report.Cell("3"), two]]
    table = report.Table("T", ["", "a", "b"], [report.Group("", rows)])
    text = report.html("t", [report.Part("P", "p", [table])])
    best, note = r"(?:<span class=\"mark\">.*?best</span></span>)?", r"<span class=\"mark\"> <span.*?\((\w)\)</span>"
    found = re.findall(rf">(\d){best}{note}<small>(.*?)</small>", text)
    assert found == [("1", "a", "+1 %"), ("2", "b", "2.0x"), ("2", "b", "2.0x")]
    assert re.findall(r"<li>(\(.+)</li>", text) == ["(a) first", "(b) second"]
    assert text.count("★") == 1


def test_tables_of_many_schemes_are_in_pieces_on_paper():
    """Each with the first column, so that no column is cut; together they have every cell once."""
    head, row = (
        ["", *(f"s{at}" for at in range(14))],
        [report.Cell("row"), *(report.Cell(f"c{at}") for at in range(14))],
    )
    table = report.Table("T", head, [report.Group("g", [row])], has_schemes=True)
    assert [len(piece.head) for piece in table.pieces] == [8, 8]
    assert [name for piece in table.pieces for name in piece.head[1:]] == head[1:]
    assert [cell for piece in table.pieces for cell in piece.groups[0].rows[0][1:]] == row[1:]
    assert all(piece.groups[0].rows[0][0].text == "row" for piece in table.pieces)
    text = report.html("t", [report.Part("P", "p", [table])])
    assert text.count(">c13<") == 2
    assert text.count('class="scroll print"') == 2
    assert "layout broad" in text
    few = report.Table("T", head[:8], [report.Group("g", [row[:8]])], has_schemes=True)
    assert 'class="scroll print"' not in report.html("t", [report.Part("P", "p", [few])])


def test_series_belong_to_their_results(tmp_path, several, monkeypatch):
    monkeypatch.setattr(reading.checking, "check_series", lambda result, path: None)
    found = read_from(tmp_path, several["results"][0], several["results"][2])[1]
    names = [tmp_path / name for name in ("one.csv", "two.csv", "s-raid0.csv", "s-raid5.csv")]
    for path in names:
        path.write_text("")
    reading.add_series(found, names[:2])
    assert [result.files["series"] for result in found.results] == [str(path) for path in names[:2]]
    reading.add_series(found, [tmp_path / "s.csv"])
    assert [result.files["series"] for result in found.results] == [str(path) for path in names[2:]]


def test_an_interruption_while_figures_are_drawn_is_said_and_leaves_nothing(tmp_path, several, monkeypatch, capsys):
    def interrupted(figure):
        raise KeyboardInterrupt

    (tmp_path / "from").mkdir()
    outputs = Outputs({}, {"report": "--report"}, report=tmp_path / "r.html", figures=tmp_path / "figures")
    drawings = Drawings(outputs, {})
    monkeypatch.setattr("flashraid.figures.printed.figure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        drawings.write(read_from(tmp_path / "from", several["results"][0])[1], quiet=False)
    drawings.discard()
    said = capsys.readouterr().err.splitlines()
    assert said == ["drawing figures ...", "figures and report: not complete, and not written"]
    assert [path.name for path in tmp_path.iterdir()] == ["from"]


def test_a_report_that_fails_leaves_nothing(tmp_path):
    parts = [report.Part("P", "p", [drawn(2), drawn(2)])]
    with pytest.raises(fr.InputError, match="allowed is one figure of each name, and there are several: f"):
        report.write("t", parts, tmp_path / "r.html")
    assert list(tmp_path.iterdir()) == []


def test_a_run_until_ssds_are_worn_out_has_longer_intervals():
    array = [("devices", "4"), ("pe_limit", "3000")]
    once, repeated = (
        interval_ns(str(SAMPLE), "tiny", "raid5", None, array + more) for more in ([], [("until", "worn:1")])
    )
    assert repeated == pytest.approx(100 * once, rel=0.01)


@pytest.mark.parametrize(
    ("more", "least_ms", "most_ms"),
    [([], 50, 60), ([("limit", "500")], 0.3, 0.5), ([("speed", "2")], 25, 30), ([("queue_depth", "16")], 1, 10)],
)
def test_intervals_suit_the_length_of_the_run(more, least_ms, most_ms):
    assert least_ms * 1e6 <= interval_ns(str(SAMPLE), "ssd1", "raid5", None, more) <= most_ms * 1e6


def test_the_documents_name_every_part():
    document = (ROOT / "docs" / "report.md").read_text()
    for title in ("Conclusion", "Comparison", "Charts", "Faults and rebuilds", "Configuration", "Origin"):
        assert title in document
