"""Figures of papers' experiments: their numbers are those that were recorded, and the paper's those of its claims."""

import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from html import unescape
from statistics import fmean

import polars as pl
import pytest
from conftest import ROOT
from test_report import Page
from test_reproduce import EXPERIMENT, figures
from test_reproduce_papers import CLAIM, EXPERIMENTS, PAGES, recorded_reproduction

import flashraid as fr
from flashraid.command import run as run_command
from flashraid.report import Part, Table
from flashraid.reproduce import drawings, page, papers
from flashraid.reproduce.outcome import Reproduction
from flashraid.reproduce.papers import Claim, Drawing, Paper
from flashraid.reproduce.report import reproduction_parts

NAMES = papers.names()
MOST_BYTES = 60_000


@pytest.fixture(scope="module")
def found():
    return {name: recorded_reproduction(name) for name in NAMES}


def all_figures(found):
    for each in found.values():
        for experiment in each.paper.experiments.values():
            for plan in drawings.plans(experiment):
                yield each, plan, drawings.figure(each, plan)


def test_every_experiment_has_figures_with_numbers_and_names_of_their_own(found):
    names = []
    for each in found.values():
        for experiment in each.paper.experiments.values():
            of_experiment = drawings.of_experiment(each, experiment)
            assert of_experiment, experiment.name
            assert all(len(figure.frame) for figure in of_experiment)
            names += [figure.name for figure in of_experiment]
    assert len(set(names)) == len(names) > 50


def test_numbers_of_figures_are_the_recorded_ones(found):
    """Computed anew from the JSON beside the page, without the judgements' code."""
    count = 0
    for reproduction, plan, figure in all_figures(found):
        tree = json.loads((PAGES / f"{reproduction.paper.name}.json").read_text())[plan.experiment.name]
        names = {plan.called(each): each for axis in plan.labels.values() for each in axis}
        for row in figure.frame.iter_rows(named=True):
            if any(value in drawings.SUMMARIES.values() for value in row.values()):
                continue
            own = {column: names[value] for column, value in row.items() if column != "value"}
            values = [
                of_place(tree, plan, own | {"workload": workload, "point": point})
                for workload in ([own["workload"]] if "workload" in own else plan.labels["workloads"])
                for point in ([own["point"]] if "point" in own else plan.labels["points"])
            ]
            assert row["value"] == pytest.approx(fmean(values), rel=1e-9, abs=1e-9), (figure.name, row)
            count += 1
    assert count > 1000


def of_place(tree, plan, own):
    def recorded(configuration):
        figure = tree[configuration][own["workload"]][own["point"]][own.get("metric", plan.labels["metrics"][0])]
        return figure if isinstance(figure, list) else [figure]

    mine = recorded(own.get("configuration", plan.labels["configurations"][0]))
    if not plan.drawing.against:
        return fmean(mine)
    shares = [100 * a / b if b else 100.0 for a, b in zip(mine, recorded(plan.drawing.against), strict=True)]
    return {"reduction": 100 - fmean(shares), "increase": fmean(shares) - 100, "ratio": fmean(shares)}[
        plan.drawing.relation
    ]


def test_numbers_of_the_paper_are_those_that_its_claims_state(found):
    """Each, as a reduction if it is relative, is a number of a claim on the same experiment."""
    count = 0
    for reproduction, plan, figure in all_figures(found):
        known = set()
        for claim in reproduction.paper.claims:
            if claim.experiment == plan.experiment.name and claim.against == plan.drawing.against:
                if claim.judge == "near":
                    values = [claim.value]
                elif claim.judge == "cells":
                    values = [value for row in claim.value.values() for value in row.values()]
                else:
                    continue
                known |= {_less(value, claim) for value in values}
        for value in figure.stated["value"] if figure.stated is not None else ():
            assert _less(value, plan.drawing) in known, figure.name
            count += 1
    assert count > 100


def _less(value, of):
    if not of.against:
        return value
    return round({"reduction": value, "increase": -value, "ratio": 100 - value}[of.relation], 6)


def test_stated_numbers_stand_where_the_claim_says(found):
    figures = {figure.name: figure for figure in found["cr5m"].figures()}
    stated = figures["cr5m-figure8-less"].stated.rows()
    cells = next(claim for claim in found["cr5m"].paper.claims if claim.id == "fig8.cells")
    means = {claim.points[0]: claim.value for claim in found["cr5m"].paper.claims if claim.id.startswith("fig8.ssd")}
    expected = {(point, workload, value) for workload, row in cells.value.items() for point, value in row.items()}
    expected |= {(point, "mean", value) for point, value in means.items()}
    assert expected <= set(stated)
    assert set(stated) == expected


def made_up(drawing, *claims):
    experiment = replace(EXPERIMENT, figure=[drawing])
    measured = figures() | figures(metric="write_mean")
    return Reproduction.of(Paper("p", "", "", {}, {}, {"e": experiment}, list(claims), []), {("e", ""): measured})


LESS = Drawing(of=["new"], against="old", x="workloads", mean_over="points")
NEAR = Claim("c", "", "", "value", "e", "mean", "new", "near", against="old", value=12.0)


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ({}, [("a", 12.0), ("b", 12.0)]),
        ({"relation": "ratio", "value": 88.0}, [("a", 12.0), ("b", 12.0)]),
        ({"relation": "increase", "value": -12.0}, [("a", 12.0), ("b", 12.0)]),
        ({"workloads": ["b"]}, [("b", 12.0)]),
        ({"workloads": [["a", "b"]], "points": [["1", "2", "3"]]}, [("mean", 12.0)]),
        ({"workloads": [["a", "b"]], "points": [["1", "2", "3"]], "group": "max"}, [("most", 12.0)]),
        # Of other figures than those shown.
        ({"points": ["1"]}, None),
        ({"workloads": ["a"], "points": [["1", "2"]]}, None),
        ({"against": ""}, None),
        ({"metric": "write_mean"}, None),
        ({"of": "old"}, None),
        ({"judge": "above"}, None),
    ],
)
def test_a_number_is_shown_where_it_belongs_or_not_at_all(claim, expected):
    (figure,) = made_up(LESS, replace(NEAR, **claim)).figures()
    assert (figure.stated if expected is None else figure.stated.rows()) == expected


def test_what_a_claim_summarizes_is_shown_beside_its_number():
    every = {"workloads": [["a", "b"]], "points": [["1", "2", "3"]]}
    (figure,) = made_up(LESS, replace(NEAR, **every), replace(NEAR, **every, group="max")).figures()
    ours = dict(figure.frame.rows())
    assert ours == pytest.approx({"a": 20.0, "b": 5 / 3, "mean": 65 / 6, "most": 30.0})


def test_without_words_points_are_along_a_line_and_workloads_in_panels():
    (figure,) = made_up(Drawing()).figures()
    assert (figure.mark, figure.x.column, figure.series, figure.facet) == ("line", "point", "configuration", "workload")
    assert figure.frame.columns == ["workload", "configuration", "point", "value"]
    assert figure.name == "p-e"
    bars = replace(EXPERIMENT, points={"1": {}}, figure=())
    (plan,) = drawings.plans(bars)
    assert (plan.mark, plan.x, plan.series, plan.facet) == ("bars", "workloads", "configurations", "")


def test_an_axis_without_a_place_is_refused():
    with pytest.raises(fr.InputError, match="figure more of e: configurations have no place in it"):
        drawings.plans(replace(EXPERIMENT, figure=[Drawing("more", metric=["mean", "write_mean"], facet="points")]))


@pytest.mark.parametrize(
    ("figure", "message"),
    [
        (
            'marks = "bars"',
            r"experiments\.toml:\d+:1: figure of e: : key marks: there is none; the nearest is mark;",
        ),
        ('mark = "bar"', r"papers/p: figure of e: mark bar: there is none; the nearest is bars;"),
        ('name = "b"\nx = "point"', r"papers/p: figure b of e: x point: there is none; the nearest is points;"),
        ('of = ["y"]', r"papers/p: figure of e: configurations y: there is none; there are x"),
        (
            'metric = "write_mean"',
            r"papers/p: figure of e: metrics write_mean: there is none; the nearest is mean;",
        ),
        ('against = "y"', r"papers/p: figure of e: against y: there is none"),
        ('mark = "bars"\nscale = "log"', r"papers/p: figure of e: scale log: bars have no length on it: allowed with"),
    ],
)
def test_a_figure_with_an_error_is_refused_with_its_place(tmp_path, figure, message):
    folder = tmp_path / "p"
    folder.mkdir()
    folder.joinpath("experiments.toml").write_text(f"{EXPERIMENTS}[[experiment.figure]]\n{figure}\n")
    folder.joinpath("claims.toml").write_text(CLAIM + 'judge = "rises"')
    with pytest.raises(fr.InputError, match=message):
        papers.load(folder)


# ---- the files of figures


def numbers_in(svg):
    (text,) = re.findall(r"<desc>(.*?)</desc>", svg, re.S)
    return unescape(text)


def test_the_pages_show_every_figure_and_no_other(found):
    shown = re.findall(r"!\[.*\]\(figures/(.*)\.svg\)", "".join((PAGES / f"{name}.md").read_text() for name in NAMES))
    assert sorted(shown) == sorted(figure.name for _, _, figure in all_figures(found))


def test_a_figure_is_drawn_alike_each_time_with_text_as_text(found):
    figure = drawings.of_experiment(found["ppc"], found["ppc"].paper.experiments["figure3"])[0]
    text = drawings.svg(figure)
    assert text == drawings.svg(figure)
    assert len(text) < MOST_BYTES
    assert "<title>Figure 3: Eight pages on four channels with two ways</title>" in text
    assert ">eight-pages</text>" in text
    assert numbers_in(text).splitlines()[1:] == ["eight-pages,1.0000,flashraid", "eight-pages,1.0000,paper"]


def test_a_figure_has_its_title_and_numbers_for_who_cannot_see_it():
    (figure,) = made_up(LESS).figures()
    frame = figure.frame.with_columns(workload=pl.lit("<a> & b"))
    root = ElementTree.fromstring(drawings.svg(replace(figure, title="less <than> & more", frame=frame)))
    assert root.attrib["role"] == "img"
    title, numbers = (root.find(f"{{http://www.w3.org/2000/svg}}{name}").text for name in ("title", "desc"))
    assert title == "less <than> & more"
    assert numbers.splitlines()[1].startswith("<a> & b,")


def test_the_page_of_an_experiment(command):
    command("reproduce", "ppc.figure3", "--write", ".", "--quiet")
    written = sorted(str(path.relative_to(command.folder)) for path in command.folder.rglob("*") if path.is_file())
    assert written == ["figures/ppc-figure3.svg", "ppc.figure3.json", "ppc.figure3.md"]
    text = (command.folder / "ppc.figure3.md").read_text()
    assert text.startswith("# Figure 3: Eight pages on four channels with two ways\n")
    assert "(figures/ppc-figure3.svg)" in text
    assert "s22.parallel.example" in text
    assert "figure10" not in text
    # It can be written again from its figures, in which nothing runs.
    source = command.folder / "ppc.figure3.json"
    command("reproduce", "ppc.figure3", "--from", source, "--write", ".", "--quiet")
    assert (command.folder / "ppc.figure3.md").read_text() == text
    done = command("reproduce", "ppc.updates", "--from", source, status=2)
    assert done.stderr.startswith(
        f"error: {source}: it lacks the figures of ppc: updates, no-pc, pages, 4+1, extra_pre"
    )
    source.write_text("[]")
    assert "not the figures of a paper" in command("reproduce", "ppc.figure3", "--from", source, status=2).stderr


def test_a_page_that_cannot_be_written_leaves_nothing(command, tmp_path, monkeypatch, capsys):
    command("reproduce", "ppc.figure3", "--write", ".", "--quiet")
    source, folder = str(command.folder / "ppc.figure3.json"), tmp_path / "new"
    line = ["reproduce", "ppc.figure3", "--from", source, "--write", str(folder), "--report", str(tmp_path / "r.html")]

    def fails(found):
        raise fr.InputError("it cannot be")

    monkeypatch.setattr(page, "render", fails)
    assert run_command(line) == 2
    assert capsys.readouterr().err == "error: it cannot be\n"
    assert [path for path in folder.rglob("*") if path.is_file()] == []
    assert not list(tmp_path.glob(".r.html*"))


def test_what_is_missing_and_quick_is_said_in_the_report(found):
    quick = replace(found["cr5m"], is_quick=True, left_out=["cr5m.figure8", "variant recordings"])
    texts = [block.text for block in reproduction_parts(quick)[0].blocks]
    assert any(text.startswith("Quick figures: of each trace a part was replayed") for text in texts)
    assert "Left out, as the traces are missing: cr5m.figure8, variant recordings." in texts
    whole = [block.text for block in reproduction_parts(found["cr5m"])[0].blocks]
    assert not [text for text in whole if "Quick" in text or "Left out" in text]


def test_the_report_has_what_was_tried_for_each_claim_that_fails(found):
    for each in found.values():
        failing = [of for of in each.outcomes if of.word == "fails" and of.explanation]
        tried = [
            (block.caption, *row)
            for part in reproduction_parts(each)
            if part.name == "failures"
            for block in part.blocks
            if isinstance(block, Table)
            for row in rows_of(Part("", "", [block]))
        ]
        expected = [
            (f"Tried for {of.explanation.name}", of.claim.id, of.verdict.text(), trial.verdict.text())
            for of in failing
            for trial in of.trials
        ]
        assert sorted((caption, id, *texts) for caption, id, _, *texts in tried) == sorted(expected)
        for part in reproduction_parts(each):
            for row in rows_of(part) if part.name.startswith("experiment-") else ():
                outcome = next(of for of in each.outcomes if of.claim.id == row[0])
                assert row[4:] == [outcome.verdict.text(), page.outcome_word(outcome).replace("*", "")]


def rows_of(part):
    tables = [block for block in part.blocks if isinstance(block, Table)]
    return [[cell.text for cell in row] for table in tables for group in table.groups for row in group.rows]


def test_figures_as_files(command):
    command("reproduce", "ppc.figure3", "--figures", "new", "--quiet")
    assert sorted(path.name for path in (command.folder / "new").iterdir()) == [
        f"ppc-figure3.{ending}" for ending in ("csv", "png", "svg")
    ]


def test_the_report_has_each_claim_and_the_numbers_of_each_figure(command, found):
    source = PAGES / "sirf1.json"
    command("reproduce", "sirf1", "--from", source, "--report", "sirf1.html", "--quiet")
    shown_page = Page((command.folder / "sirf1.html").read_text())
    rows = [row for caption, table in shown_page.tables.items() if caption.startswith("Claims on") for row in table[1:]]
    claims = {claim.id: claim for claim in found["sirf1"].paper.claims}
    assert [row[0][2] for row in rows] == list(claims)
    assert all(row[2][2] == claims[row[0][2]].statement for row in rows)
    for figure in found["sirf1"].figures():
        shown, expected = (sorted(rows, key=str) for rows in (shown_page.rows(figure.name), figure.table().to_dicts()))
        values = [row.pop("value") for row in expected]
        assert [row.pop("value") for row in shown] == pytest.approx(values, rel=1e-6)
        assert [{name: row[name] for name in row if name != "is_stated"} for row in shown] == expected


# ---- in Python


def test_a_reproduction_in_python(tmp_path):
    found = fr.reproduce("ppc.figure3", cache=False)
    assert isinstance(found, fr.Reproduction)
    assert repr(found) == "<Reproduction: ppc.figure3, 1 claims>"
    (row,) = found.to_frame().rows(named=True)
    assert (row["id"], row["outcome"], row["found"], row["unit"]) == ("ppc.s22.parallel.example", "holds", 1.0, "ms")
    assert row["asked"] == "1.0 ms"
    assert row["statement"] in found._repr_html_()
    assert [figure.name for figure in found.figures()] == ["ppc-figure3"]
    assert len(found.plot("ppc-figure3").axes) == 1
    found.report(tmp_path / "figure3.html")
    assert row["statement"] in (tmp_path / "figure3.html").read_text()
    with pytest.raises(fr.InputError, match="figure ppc-figure4: there is none; the nearest is ppc-figure3"):
        found.plot("ppc-figure4")


def test_all_claims_of_a_paper_are_rows(found):
    for each in found.values():
        frame = each.to_frame()
        assert frame["id"].to_list() == [f"{each.paper.name}.{claim.id}" for claim in each.paper.claims]
        # Of those that need traces which are not there nothing is said.
        without = sum(claim.experiment in each.paper.unmeasured for claim in papers.find(each.paper.name).claims)
        written = (ROOT / "papers" / each.paper.name / "claims.toml").read_text().count("[[claim]]")
        assert written == len(frame) + without


def test_a_report_says_what_was_changed_and_how_to_repeat_it(tmp_path):
    found = fr.reproduce("ppc.figure3", quick=True, cache=False, change={"program_ns": 400000, "raid0": {"seed": 3}})
    found.report(tmp_path / "report.html")
    text = unescape((tmp_path / "report.html").read_text())
    assert "Changed in every run: program_ns=400000, raid0.seed=3." in text
    assert "flashraid reproduce ppc.figure3 --set program_ns=400000 --set raid0.seed=3 --quick" in text
