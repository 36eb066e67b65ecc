"""A paper's own traces: found by published names and columns, at the paper's speed, recorded with their SHA-256."""

import hashlib
import json
import re
import shutil
from collections import Counter
from dataclasses import replace

import pytest
import recordings
from conftest import ROOT

import flashraid as fr
from flashraid.command import run as run_command
from flashraid.reproduce import originals, outcome, page, papers, printed, register
from flashraid.reproduce.originals import with_originals
from flashraid.reproduce.runs import Cell, Run, entire, reduced, requests_of, run_of

# A paper of one profile and of traces that only a folder has: one by one, a folder of three, one known by its SHA-256.
HEAD = """
title = "A paper"
about = ""
[settings]
device = "adaptive-5p1"
limit = 50
fill = 0.001
fit = "wrap"
[workloads]
ali_1 = { trace = "profile:adaptive-ali_1" }
[originals.ali_1]
files = ["ali_1"]
source = "Alibaba"
table = { requests = 400, write_share = 0.75, mean_write_bytes = 8192 }
intervals_ns = { p20 = 500, p40 = 500, p60 = 500, p80 = 1500, p100 = 9900000 }
part = "12h"
[originals.hm_0]
files = ["hm_0"]
source = "MSR"
table = { requests = 400, write_share = 0.75 }
intervals_ns = { p20 = 500000, p40 = 500000, p60 = 500000, p80 = 1500000, p100 = 1500000 }
settings = { fill = 0.002 }
[originals.luns]
files = ["systor17-additional-01"]
source = "SNIA"
members = 3
members_like = "2016021612-LUN4"
settings = { fit = "wrap" }
[[experiment]]
name = "figures"
where = "Figure 1"
title = "On profiles"
workloads = ["ali_1"]
points = { "1" = {} }
metrics = ["mean"]
[experiment.configurations]
baseline = { scheme = "raid5" }
[[experiment]]
name = "whole"
where = "Table III"
title = "On traces"
workloads = ["original:hm_0", "original:ali_1"]
points = { "1" = { limit = 0 }, "2" = { limit = 0, speed = 2 } }
metrics = ["blocked_cv", "mean"]
[experiment.configurations]
baseline = { scheme = "raid5" }
[[experiment]]
name = "folder"
where = "Figure 2"
title = "On a folder"
workloads = ["original:luns"]
points = { "1" = { limit = 0 } }
metrics = ["chi_square", "uniform_exponent"]
[experiment.configurations]
baseline = { scheme = "raid5" }
[[variant]]
name = "measured"
about = "On a recording."
experiments = ["figures"]
workloads = ["original:hm_0"]
"""
CLAIMS = """
[[claim]]
id = "mean.above"
where = "Figure 1"
statement = "Requests take time."
kind = "range"
experiment = "figures"
metric = "mean"
of = "baseline"
judge = "above"
value = 0.0
is_headline = true
conclusion = "Yes."
[[claim]]
id = "mean.all"
where = "Table III"
statement = "They take less than a second on all traces."
kind = "range"
experiment = "whole"
metric = "mean"
of = "baseline"
judge = "below"
value = 1e6
[[claim]]
id = "chi"
where = "Figure 2"
statement = "Chi-square."
kind = "value"
experiment = "folder"
metric = "chi_square"
of = "baseline"
judge = "cells"
tolerance = "magnitude"
[claim.value]
"original:luns/1" = { "1" = 1.0 }
"original:luns/2" = { "1" = 1.0 }
"original:luns/3" = { "1" = 1e9 }
"""
REGISTER = """
"mean.above" = {}
"mean.all" = {}
"chi.1" = { judged_by = "chi", cell = ["original:luns/1", "1"] }
"chi.3" = { judged_by = "chi", cell = ["original:luns/3", "1"] }
"code" = { where = "T", statement = "It has 750 lines.", out_of_reach = "authors" }
"""
# What a table has of the traces themselves: figure, trace, as it is printed.
PRINTED = {
    "t.requests": ("requests", "hm_0", "400"),
    "t.writes": ("write_share", "ali_1", "80.0 %"),
    "t.size": ("mean_write_bytes", "ali_1", "8.2 KB"),
    "t.p20": ("interarrival_ns.p20", "ali_1", "0.5 us"),
    "t.p100": ("interarrival_ns.p100", "ali_1", "9.9 ms"),
}
for name, (figure, of, text) in PRINTED.items():
    REGISTER += f'''
["{name}"]
where = "T"
statement = "{of} has {text}."
trace = {{ of = "{of}", figure = "{figure}", printed = "{text}" }}
'''


@pytest.fixture
def paper(tmp_path, monkeypatch):
    """The paper `p`, as the package would have it."""
    folder = tmp_path / "papers" / "p"
    folder.mkdir(parents=True)
    for name, text in (("experiments", HEAD), ("claims", CLAIMS), ("register", REGISTER), ("explanations", "")):
        (folder / f"{name}.toml").write_text(text)
    for module in (papers, register):
        monkeypatch.setattr(module, "FOLDER", tmp_path / "papers")
    monkeypatch.setenv("FLASHRAID_CACHE", str(tmp_path / "cache"))
    return papers.find("p")


@pytest.fixture
def folder(tmp_path):
    """The traces of `p`, in the shapes in which such are published."""
    there = tmp_path / "traces"
    recordings.packed(there / "MSR-Cambridge" / "hm_0.csv.gz", recordings.msr(1))
    recordings.folder_of_luns(there / "systor17-additional-01", 3)
    (there / "ali_1.csv").write_text(recordings.alibaba(2, gap_us=500.0))
    (there / "README").write_text("nothing\n")
    return there


def command(*arguments, capsys):
    """Status, output and messages of a command."""
    status = run_command(["reproduce", *map(str, arguments)])
    told = capsys.readouterr()
    return status, told.out, told.err


# ---- found


def test_originals_are_found_by_their_published_names_and_read_by_their_columns(paper, folder):
    found = with_originals(paper, str(folder))
    assert {name: (each.place, each.format) for name, each in found.recordings.items()} == {
        "ali_1": ("ali_1.csv", "alibaba"),
        "hm_0": ("MSR-Cambridge/hm_0.csv.gz", "auto"),
        "luns/1": ("systor17-additional-01/2016021612-LUN0.csv.gz", "auto"),
        "luns/2": ("systor17-additional-01/2016021612-LUN1.csv.gz", "auto"),
        "luns/3": ("systor17-additional-01/2016021612-LUN2.csv.gz", "auto"),
    }
    ali = {"trace": str(folder / "ali_1.csv"), "format": "alibaba"}
    assert found.paper.experiments["figures"].workloads == {"ali_1": ali}
    assert found.paper.experiments["whole"].workloads == {
        "original:hm_0": {"trace": str(folder / "MSR-Cambridge" / "hm_0.csv.gz"), "fill": 0.002},
        "original:ali_1": ali,
    }
    assert list(found.paper.experiments["folder"].workloads) == [f"original:luns/{number}" for number in (1, 2, 3)]
    kept = with_originals(paper, str(folder), keeps_profiles=True).paper
    assert kept.experiments["figures"].workloads == {"ali_1": {"trace": "profile:adaptive-ali_1"}}
    assert kept.experiments["whole"].workloads["original:ali_1"] == ali


@pytest.mark.parametrize(
    ("text", "format"),
    [(recordings.alibaba(1), "alibaba"), (recordings.msr(1), "msr"), (recordings.systor(1), "auto")],
)
def test_columns_tell_the_format_where_the_name_does_not(tmp_path, text, format):
    path = tmp_path / "ours.csv"
    path.write_text(text)
    assert originals.known_format(path) == format
    assert fr.trace_info(path, format=format).requests == recordings.REQUESTS


def test_of_a_part_of_a_paper_only_its_traces_are_looked_at(paper, folder):
    (folder / "ali_1.csv").write_text("no trace")
    found = with_originals(paper.part(["folder"]), str(folder))
    assert list(found.recordings) == ["luns/1", "luns/2", "luns/3"]
    assert found.notes == [f"luns is {folder / 'systor17-additional-01'}"]
    # The folder itself is one, too.
    found = with_originals(paper.part(["folder"]), str(folder / "systor17-additional-01"))
    assert found.recordings["luns/1"].place == "2016021612-LUN0.csv.gz"


def test_a_trace_of_a_folder_that_the_paper_has_a_table_of_is_that_one(paper, folder):
    def of(requests):
        lun = replace(paper.originals["hm_0"], files=["2016021612-LUN1"], table={"requests": requests})
        return replace(paper, originals={**paper.originals, "lun": lun}).part(["folder"])

    assert "luns/2" in with_originals(of(recordings.REQUESTS), str(folder)).recordings
    with pytest.raises(fr.InputError, match=r"LUN1\.csv\.gz: not the trace of lun: requests is .*; the paper has 1,"):
        with_originals(of(1000), str(folder))


def test_what_is_wrong_with_a_folder_is_told_in_a_line(paper, folder, capsys):
    def refused(change, text):
        change()
        status, out, err = command("p", "--traces", folder, "--quiet", capsys=capsys)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert re.search(text, err), err

    luns, ali = folder / "systor17-additional-01", folder / "ali_1.csv"
    lost = luns / "2016021612-LUN1.csv.gz"
    refused(lost.unlink, r"systor17-additional-01: it has 2 traces \(\.csv\); luns has 3")
    refused(lambda: shutil.copytree(luns, folder / "more" / luns.name), "could both be luns: allowed is one")
    shutil.rmtree(folder / "more")
    stranger = luns / "notes.csv.gz"
    refused(lambda: shutil.copy(luns / "2016021612-LUN0.csv.gz", stranger), "none of luns: allowed are names as 2016")
    shutil.rmtree(luns)
    packed = folder / "systor17-additional-01.tar"
    refused(lambda: packed.write_text(""), "allowed is a folder of 3 traces: unpack it")
    packed.unlink()
    refused(
        lambda: ali.write_text("1 2 3\n4 5 6\n"),
        r"ali_1\.csv: .*; its first line is no request of msr or alibaba or tencent$",
    )
    # No option of another command is advised.
    refused(
        lambda: ali.write_text("foo,bar,baz\n1,2,3\n"), r"matches no trace format; .*missing: ts_us, op, offset, size$"
    )
    refused(lambda: ali.write_text(""), r"ali_1\.csv: an empty file; expected at least one request$")
    refused(lambda: ali.write_text(recordings.alibaba(2, count=300)), "not the trace of ali_1: requests is 300; the")
    ali.unlink()
    shutil.rmtree(folder / "MSR-Cambridge")
    refused(
        lambda: (folder / "hm0.csv.gz").write_text(""), r"none of the traces of p: allowed are ali_1, hm_0, .*; hm0"
    )


def test_a_name_that_is_nearly_one_is_noted(paper, folder):
    found = folder / "MSR-Cambridge" / "hm_0.csv.gz"
    found.rename(folder / "hm-0.csv.gz")
    assert "hm-0.csv.gz is none of them; the nearest is hm_0" in with_originals(paper, str(folder)).notes
    found.symlink_to("nothing")
    assert "hm_0.csv.gz is a link to nothing" in with_originals(paper, str(folder)).notes
    found.unlink()
    found.mkdir()
    assert "hm_0.csv.gz is a folder, not a file" in with_originals(paper, str(folder)).notes


def test_a_trace_is_found_up_to_two_folders_below(paper, folder):
    trace = folder / "MSR-Cambridge" / "hm_0.csv.gz"
    for place, is_found in ("hm_0.csv.gz", True), ("a/b/hm_0.csv.gz", True), ("a/b/c/hm_0.csv.gz", False):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        trace = trace.rename(folder / place)
        assert ("hm_0" in with_originals(paper, str(folder)).recordings) is is_found, place


def test_a_trace_that_is_known_by_its_sha_256_is_no_other(paper, folder):
    path = folder / "MSR-Cambridge" / "hm_0.csv.gz"
    own = hashlib.sha256(path.read_bytes()).hexdigest()

    def of(sha256):
        each = replace(paper.originals["hm_0"], sha256=("11", sha256))
        return replace(paper, originals={"hm_0": each})

    assert "hm_0" in with_originals(of(own), str(folder)).recordings
    with pytest.raises(fr.InputError, match=f"not hm_0: its SHA-256 is {own}, and that of hm_0 11"):
        with_originals(of("00"), str(folder))


def test_an_original_is_used_by_somebody(tmp_path):
    (tmp_path / "p").mkdir()
    text = HEAD.replace("[originals.ali_1]", "[originals.ali_2]").replace(', "original:ali_1"', "")
    (tmp_path / "p" / "experiments.toml").write_text(text)
    with pytest.raises(fr.InputError, match="original of workload ali_2: there is none; the nearest is ali_1"):
        papers.load(tmp_path / "p")
    (tmp_path / "p" / "experiments.toml").write_text(HEAD.replace('"original:luns"', '"original:lunes"'))
    with pytest.raises(fr.InputError, match="workload original:lunes: there is none; the nearest is original:luns"):
        papers.load(tmp_path / "p")


# ---- at the paper's speed


def test_the_factor_of_speed_is_stated_and_applied_on_request(paper, folder):
    """The file has 0.5 ms between requests, and 1.5 ms after each four; the paper's table has it in nanoseconds."""
    notes = with_originals(paper, str(folder)).notes
    stated = "ali_1: times between arrivals are 1,000 times those of the paper's table (20 %: 1,000, "
    (note,) = (each for each in notes if each.startswith("ali_1: times"))
    assert note.startswith(stated)
    assert note.endswith("; --paper-speed replays it so much faster")
    (note,) = (each for each in notes if each.startswith("hm_0: times"))
    assert note == "hm_0: times between arrivals are those of the paper's table (20 %: 1, 40 %: 1, 60 %: 1, 80 %: 1)"
    found = with_originals(paper, str(folder), at_paper_speed=True)
    assert found.recordings["ali_1"].speed == 1000
    assert [each for each in found.notes if each.endswith("; replayed so much faster")]
    # What the experiment makes faster is so besides.
    for point, speed in (("1", 1000.0), ("2", 2000.0)):
        cell = Cell("baseline", "original:ali_1", point)
        run = run_of(found.paper, found.paper.experiments["whole"], cell, {})
        assert float(dict(run.settings)["speed"]) == speed
    assert found.provenance()["ali_1"]["speed"] == 1000
    run = run_of(found.paper, found.paper.experiments["figures"], Cell("baseline", "ali_1", "1"), {"speed": "3"})
    assert float(dict(run.settings)["speed"]) == 3000


def test_it_is_stated_before_anything_runs(paper, folder, capsys):
    _, _, err = command("p.figures", "--traces", folder, "--paper-speed", capsys=capsys)
    notes, _, rest = err.partition("p.figures: 1 run")
    assert notes.count("note: ") == 4
    assert "replayed so much faster" in notes
    assert "note: " not in rest


def test_a_rate_tells_the_speed_where_the_table_has_no_times(paper, folder):
    original = replace(paper.originals["hm_0"], intervals_ns={}, table={"requests_per_second": 13.34})
    of_rate = replace(paper, originals={"hm_0": original})
    found = with_originals(of_rate, str(folder), at_paper_speed=True)
    # A mean of 0.75 ms between arrivals.
    assert found.recordings["hm_0"].speed == pytest.approx(13.34 / 1333, rel=0.01)
    silent = replace(paper, originals={"hm_0": replace(original, table={})})
    with pytest.raises(fr.InputError, match="--paper-speed: no table of the paper says how fast"):
        with_originals(silent, str(folder), at_paper_speed=True)


@pytest.mark.parametrize(
    ("quantiles", "times", "is_one_speed"),
    [
        ({"p20": 500, "p40": 1000, "p80": 4000, "p100": 9}, 10, True),
        ({"p20": 500, "p40": 1000, "p80": 40000, "p100": 9}, 10, False),
        ({"p20": 0, "p40": 1000, "p80": 4000, "p100": 9}, 10, True),  # of a clock that is too coarse
    ],
)
def test_a_speed_is_the_median_over_the_quantiles(quantiles, times, is_one_speed):
    original = papers.Original(["x"], "", intervals_ns={"p20": 50, "p40": 100, "p80": 400, "p100": 1})
    found = originals.slowness({"interarrival_ns": quantiles}, original)
    assert found.times == pytest.approx(times)
    assert found.is_one_speed is is_one_speed
    assert found.text().startswith("10 times those of the paper's table (")
    assert found.text().endswith("; they agree on no speed)") is not is_one_speed


# ---- whole traces


def test_all_requests_of_a_trace_count_on_request(folder):
    run = Run(str(folder / "ali_1.csv"), "", "ssd1", "raid5", (("format", "alibaba"), ("limit", "50")), "")
    assert requests_of(run) == 50
    assert requests_of(entire(run)) == recordings.REQUESTS
    without = replace(run, settings=(("format", "alibaba"), ("limit", "0")))
    assert requests_of(without) == recordings.REQUESTS
    assert reduced(without, 0.5) == without  # there are few


def test_whole_is_a_flag_that_stands_alone(paper, folder, capsys):
    _, out, _ = command("p.figures", "--whole", "--traces", folder, "--json", "-", "--quiet", capsys=capsys)
    told = json.loads(out)
    assert told["originals"]["ali_1"]["sha256"] == hashlib.sha256((folder / "ali_1.csv").read_bytes()).hexdigest()
    whole = fr.reproduce("p.figures", traces=folder, whole=True)
    limited = fr.reproduce("p.figures", traces=folder)
    key = ("baseline", "ali_1", "1", "mean")
    assert whole.measured["figures", ""][key] != limited.measured["figures", ""][key]
    assert page.command_again(whole) == f"flashraid reproduce p.figures --traces {folder} --whole"
    assert command("p", "--whole", "--quick", capsys=capsys)[0] == 2
    with pytest.raises(fr.InputError, match="whole and quick contradict each other"):
        fr.reproduce("p", whole=True, quick=True)
    with pytest.raises(fr.InputError, match="give the folder of traces, too"):
        fr.reproduce("p", paper_speed=True)


# ---- without a folder, and recorded


def test_what_needs_a_folder_is_left_out_without_one(paper, capsys):
    status, out, err = command("p", "--quiet", "--variant", "all", capsys=capsys)
    assert status == 0
    left_out = ["whole (needs --traces DIR)", "folder (needs --traces DIR)", "variant measured (needs --traces DIR)"]
    assert err == f"left out, as the traces are missing: {', '.join(left_out)}\n"
    assert "mean.all" not in out
    needs = "it needs traces that are no part of flashraid, a folder with them as --traces DIR"
    status, _, err = command("p.folder", "--quiet", capsys=capsys)
    assert (status, err) == (2, f"error: p.folder: {needs}: systor17-additional-01, SNIA\n")
    status, _, err = command("p.figures", "--variant", "measured", "--quiet", capsys=capsys)
    assert (status, err) == (2, f"error: variant measured: {needs}: hm_0, MSR\n")


def test_of_an_experiment_what_is_there_is_done(paper, folder, capsys):
    (folder / "ali_1.csv").unlink()
    status, out, err = command("p", "--traces", folder, "--quiet", capsys=capsys)
    assert status == 0
    assert "left out, as the traces are missing: whole on ali_1 (needs --traces DIR)\n" in err
    # What is said of all traces is not judged on one.
    assert "mean.all" not in out
    assert "chi:" in out


def test_figures_stay_with_their_sha_256_when_the_folder_is_gone(paper, folder, tmp_path, capsys):
    written = tmp_path / "docs"
    assert command("p", "--write", written, "--traces", folder, "--quiet", capsys=capsys)[0] == 0
    told = json.loads((written / "p.json").read_text())
    # The page's experiments are as they are; beside them stands what needs the traces.
    assert list(told["figures"]["baseline"]) == ["ali_1"]
    assert told["figures"]["baseline"] != told["figures, measured"]["baseline"]
    assert list(told["folder"]["baseline"]) == ["original:luns/1", "original:luns/2", "original:luns/3"]
    hm = folder / "MSR-Cambridge" / "hm_0.csv.gz"
    sha256 = hashlib.sha256(hm.read_bytes()).hexdigest()
    assert told["originals"]["hm_0"]["sha256"] == sha256
    assert told["originals"]["hm_0"]["file"] == "MSR-Cambridge/hm_0.csv.gz"
    assert told["originals"]["hm_0"]["figures"]["requests"] == recordings.REQUESTS
    assert "figures" not in told["originals"]["luns/1"]
    text = (written / "p.md").read_text()
    assert f"| `hm_0` | `hm_0` | MSR | SHA-256 `{sha256}`, at its own speed, by flashraid {fr.__version__} |" in text
    assert "3 traces, at its own speed" in text
    before = {path.name: path.read_bytes() for path in written.iterdir() if path.is_file()}

    def again():
        return {path.name: path.read_bytes() for path in written.iterdir() if path.is_file()}

    # Without the folder, and without any run.
    assert command("p", "--write", written, "--quiet", capsys=capsys)[0] == 0
    assert again() == before
    source = tmp_path / "p.json"
    shutil.copy(written / "p.json", source)
    shutil.rmtree(written)
    assert command("p", "--from", source, "--write", written, "--quiet", capsys=capsys)[0] == 0
    assert again() == before
    # Another trace of the name replaces what the first gave, and nothing else.
    recordings.packed(hm, recordings.msr(7))
    shutil.rmtree(folder / "systor17-additional-01")
    assert command("p", "--write", written, "--traces", folder, "--quiet", capsys=capsys)[0] == 0
    fresh = json.loads((written / "p.json").read_text())
    assert fresh["originals"]["hm_0"]["sha256"] == hashlib.sha256(hm.read_bytes()).hexdigest() != sha256
    assert fresh["whole"]["baseline"]["original:hm_0"] != told["whole"]["baseline"]["original:hm_0"]
    assert fresh["whole"]["baseline"]["original:ali_1"] == told["whole"]["baseline"]["original:ali_1"]
    assert fresh["folder"] == told["folder"]


def test_figures_of_other_metrics_are_measured_anew(paper, folder, tmp_path, capsys):
    written = tmp_path / "docs"
    assert command("p", "--write", written, "--traces", folder, "--quiet", capsys=capsys)[0] == 0
    (papers.FOLDER / "p" / "experiments.toml").write_text(HEAD.replace('"blocked_cv", "mean"', '"p99", "mean"'))
    assert command("p", "--write", written, "--quiet", capsys=capsys)[0] == 0
    told = json.loads((written / "p.json").read_text())
    assert "whole" not in told
    assert "folder" in told
    assert "Not measured, as no DIR was there: `whole` on hm_0, ali_1." in (written / "p.md").read_text()


# ---- the register


def categories(found):
    return {each.line.id: each.category for each in register.findings(found)}


def test_lines_read_needs_dir_until_somebody_has_it(paper, folder, capsys, tmp_path):
    written = tmp_path / "docs"
    assert command("p", "--write", written, "--quiet", capsys=capsys)[0] == 0
    found = register.all_findings(written)["p"]
    assert Counter(each.category for each in found) == {"reproduced": 1, "needs DIR": 8, "out of reach": 1}
    # What a table says of traces is an input, and no claim.
    assert [each.line.id for each in found if each.line.is_input] == list(PRINTED)
    by_id = {each.line.id: each for each in found}
    assert by_id["t.requests"].because == "`hm_0` (MSR)"
    assert by_id["mean.all"].because == "`ali_1` (Alibaba), `hm_0` (MSR)"
    assert by_id["chi.3"].because == "`luns` (SNIA)"
    assert (by_id["chi.1"].where, by_id["chi.1"].statement) == ("Figure 2", "Chi-square. (original:luns/1, 1)")
    assert "| p | 5 | 1 | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 3 | 1 |" in register.summary({"p": found}).replace(
        "[p](p.md)", "p"
    )
    assert command("p", "--write", written, "--traces", folder, "--quiet", capsys=capsys)[0] == 0
    told = json.loads((written / "p.json").read_text())
    # Within a factor of three, and not.
    told["folder"]["baseline"]["original:luns/1"]["1"]["chi_square"] = 2.9
    told["folder"]["baseline"]["original:luns/3"]["1"]["chi_square"] = 3.3e8
    found = register.findings(outcome.of_record(papers.find("p"), json.dumps(told)))
    by_id = {each.line.id: each for each in found}
    assert {name: each.category for name, each in by_id.items()} == {
        "mean.above": "reproduced",
        "mean.all": "reproduced",
        "t.requests": "reproduced",
        "t.writes": "same direction",  # 75 % are no 80 %
        "t.size": "reproduced",
        "t.p20": "not reproduced, cause known",
        "t.p100": "not reproduced, cause unknown",
        "chi.1": "same direction",
        "chi.3": "not reproduced, cause unknown",
        "code": "out of reach",
    }
    assert by_id["t.p20"].because.startswith("another speed: 1,000 times those of the paper's table")
    assert (by_id["t.p20"].asked, by_id["t.p20"].ours) == ("0.5 us", "500.223 us")
    assert (by_id["t.size"].asked, by_id["t.size"].ours) == ("8.2 KB", "8.192 KB")
    # Times that agree on no speed differ by another cause.
    told["originals"]["ali_1"]["figures"]["interarrival_ns"]["p80"] *= 10
    found = outcome.of_record(papers.find("p"), json.dumps(told))
    assert categories(found)["t.p20"] == "not reproduced, cause unknown"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            'trace = { of = "hm", figure = "requests", printed = "4" }',
            "trace of hm: there is none; the nearest is hm_0",
        ),
        ('trace = { of = "hm_0", figure = "request", printed = "4" }', "trace figure request: there is none; the near"),
        (
            'trace = { of = "hm_0", figure = "requests", printed = "4 kB" }',
            "trace printed 4 kB: allowed is a number and",
        ),
        ('trace = { of = "hm_0", figure = "requests" }', "trace: printed is missing"),
        ('trace = { of = "hm_0", figur = "requests" }', "trace figur: there is none; the nearest is figure"),
    ],
)
def test_mistakes_in_figures_of_traces_are_told(paper, line, message):
    (papers.FOLDER / "p" / "register.toml").write_text(f'x = {{ where = "T", statement = "s", {line} }}\n')
    with pytest.raises(fr.InputError, match=r"papers/p/register\.toml.*: x: " + re.escape(message)):
        register.lines(paper)


@pytest.mark.parametrize(
    ("text", "agreeing", "differing"),
    [
        ("3,993,316", (3993316,), (3993315, 3993317)),
        ("64.5 %", (0.6446, 0.6454), (0.6444, 0.6456)),
        ("8.3 KB", (8300, 8499, 8350), (8240, 8560)),
        ("0.2 ms", (150_001, 249_999), (149_000, 251_000)),
        ("2.0 ms", (1_951_000, 2_049_000), (1_900_000, 2_060_000)),
    ],
)
def test_a_figure_agrees_if_it_would_be_printed_so(text, agreeing, differing):
    found = printed.Printed.of(text)
    assert all(map(found.agrees, agreeing))
    assert not any(map(found.agrees, differing))


def test_figures_of_a_trace_by_their_keys():
    figures = {"requests": 4, "mean_bytes": 2048.0, "write_share": 0.75, "interarrival_ns": {"p20": 7}}
    asked = {"requests": 4, "bytes": 8192, "read_share": 0.25, "interarrival_ns.p20": 7, "interarrival_ns.p40": None}
    assert {key: printed.figure_of(figures, key) for key in asked} == asked
    assert printed.figure_of({"interarrival_ns": None}, "interarrival_ns.p20") is None  # of a single request
    assert printed.Printed.of("683 min").agrees(682.6 * 60e9)
    assert printed.Printed.of("7.0 GB").agrees(7.04 * 2**30)


def test_what_of_adaptive_a_folder_can_decide():
    found = register.all_findings(ROOT / "docs" / "papers")["adaptive"]
    out = {each.line.id: each.reason for each in found if each.category == register.OUT_OF_REACH}
    copied = [each.line.id for each in found if each.category == register.COPIED]
    inputs = [
        f"table3.ali_{number}.{key}"
        for number in (0, 1)
        for key in ("requests", "write_pct", "write_size", "update_pct")
    ]
    assert copied == [*inputs, "s2.lun.collection"]
    assert out == {
        "overhead.bpu.more": "not-given",
        "overhead.time.range": "authors",
        "overhead.time.per.update": "authors",
    }
    paper = papers.find("adaptive")
    for line in register.lines(paper):
        # What a line says is what it asks.
        text = line.statement.replace(",", "")
        if line.trace:
            number = line.trace["printed"].partition(" ")[0].replace(",", "")
            in_us = {"0.2": "200", "0.9": "900"}.get(number, number)
            assert float(in_us) in [float(each) for each in re.findall(r"\d+\.?\d*", text)], line
        elif line.cell:
            (claim,) = register.claims_of(line, paper)
            number = line.cell[0].partition("/")[2]
            assert not number or f"Trace {int(number)} " in line.statement
            assert text.endswith(f" {claim.value:g}." if not number else f"of {claim.value}.")
