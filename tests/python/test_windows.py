"""The search of recordings for the parts that papers replayed: planted ones are found, as `trace info` counts them."""

import json
import random
import re
from itertools import pairwise

import pytest
from recordings import alibaba

import flashraid as fr
from flashraid import searching
from flashraid.command import run as run_command
from flashraid.reproduce.papers import Original

HOUR_NS = 3600 * 10**9
# The part that is searched for, of two hours: a busy one, mostly of small writes to few pages.
TABLE = {"requests": 900, "write_share": 0.9, "mean_write_bytes": 8192, "update_request_share": 0.94}


@pytest.fixture(autouse=True)
def parts(monkeypatch):
    """Parts of two hours instead of twelve."""
    known = {
        "p.busy": Original(["busy"], "", TABLE, part="2h"),
        "p.idle": Original(["idle"], "", {"requests": 100, "write_share": 0.1}, part="1h"),
    }
    monkeypatch.setattr(searching, "_parts", lambda: known)


def rows(device, hours, seed):
    """Requests of a volume by the hour: how many, their share of writes, and over how many pages they go."""
    draw = random.Random(seed)
    for number, (count, share, pages) in enumerate(hours):
        for _ in range(count):
            at_us = number * 3600 * 10**6 + draw.randrange(3600 * 10**6)
            op = "W" if draw.random() < share else "R"
            yield at_us, device, op, draw.randrange(pages) * 4096, 8192 if op == "W" else 4096


IDLE, BUSY = (100, 0.1, 10**6), (450, 0.9, 100)


@pytest.fixture
def recording(tmp_path):
    """Two volumes of ten hours in one file. The busy part of one begins after three hours."""
    found = [*rows(419, [IDLE, IDLE, IDLE, BUSY, BUSY, *[IDLE] * 5], 1), *rows(725, [IDLE] * 10, 2)]
    # The first requests, so that hours are those of the volumes.
    found += [(0, device, "R", 0, 4096) for device in (419, 725)]
    path = tmp_path / "volumes.csv"
    text = (
        f"{device},{op},{offset},{size},{1577808000000000 + at}\n" for at, device, op, offset, size in sorted(found)
    )
    path.write_text("".join(text))
    return path


def test_the_part_that_was_planted_is_the_likest(recording):
    best, *others = fr.windows(recording, ["busy"])
    assert (best.device, best.matches, best.like) == ("419", True, "busy")
    assert abs(best.from_ns - 3 * HOUR_NS) <= HOUR_NS / 2
    assert best.to_ns - best.from_ns == 2 * HOUR_NS
    assert others
    assert not any(each.matches for each in others)
    assert [each.off for each in others] == sorted(each.off for each in others)


@pytest.mark.parametrize("step_ns", [HOUR_NS, HOUR_NS // 6])
def test_its_figures_are_those_of_trace_info(recording, tmp_path, step_ns):
    found = fr.windows(recording, ["busy", "p.idle"], step_ns=step_ns, most=4)
    assert [each.like for each in found] == ["busy"] * 4 + ["p.idle"] * 4
    for each in found:
        part = tmp_path / "part.csv"
        times = {"from_ns": each.from_ns, "to_ns": each.to_ns}
        fr.convert(recording, part, format="alibaba", device_filter=each.device, rebase_time=True, **times)
        info = fr.trace_info(part)
        for key in searching.FIGURES:
            assert each[key] == pytest.approx(info[key], abs=1e-12), (each, key)
        of = TABLE if each.like == "busy" else {"requests": 100, "write_share": 0.1}
        assert each.off == pytest.approx(max(abs(info[key] / published - 1) for key, published in of.items()))


def test_of_a_volume_no_two_overlap(recording):
    for device in ("419", "725"):
        found = [each for each in fr.windows(recording, ["busy"], most=99) if each.device == device]
        times = sorted((each.from_ns, each.to_ns) for each in found)
        assert len(times) > 2
        assert all(before[1] <= after[0] for before, after in pairwise(times))


def test_pages_written_before_the_window_are_not_updated_in_it(tmp_path):
    """One page, written once an hour: of two writes in each window one is an update."""
    path = tmp_path / "v.csv"
    path.write_text("".join(f"1,W,0,8192,{hour * 3600 * 10**6}\n" for hour in range(9)))
    for each in fr.windows(path, ["busy"], step_ns=HOUR_NS):
        assert (each.requests, each.update_request_share) == (2, 0.5)


def test_a_window_without_requests_is_none(tmp_path):
    path = tmp_path / "v.csv"
    path.write_text("1,W,0,4096,0\n1,R,0,4096,1\n1,W,0,4096,72000000000\n")  # after twenty hours
    found = fr.windows(path, ["busy"], step_ns=HOUR_NS, most=99)
    assert [(each.from_ns // HOUR_NS, each.requests) for each in found] == [(0, 2), (19, 1)]


def test_a_volume_of_reads_has_no_size_of_writes(tmp_path):
    path = tmp_path / "v.csv"
    path.write_text("".join(f"1,R,0,4096,{minute * 60 * 10**6}\n" for minute in range(300)))
    best, *_ = fr.windows(path, ["busy"])
    assert (best.mean_write_bytes, best.update_request_share, best.off) == (None, None, 1.0)


def test_the_command_shows_them_and_how_to_cut_out_the_best(recording, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ["trace", "windows", str(recording), "--like", "busy", "--like", "idle", "--step", "1h"]
    assert run_command([*arguments, "--quiet"]) == 0
    text = capsys.readouterr().out
    assert "windows of 2h like busy" in text
    assert re.search(r"the paper's +900 +90\.0% +8\.0 KiB +94\.0%", text)
    assert re.search(r"419 +3\.00 h +5\.00 h +900 ", text)
    (cut,) = re.findall(r"(?m)^  flashraid (trace convert .* -o busy\.csv\.gz .*)$", text)
    assert run_command([*cut.split(), "--quiet"]) == 0
    assert fr.trace_info("busy.csv.gz").requests == 900
    capsys.readouterr()
    assert run_command([*arguments, "--json", "-", "--most", "1", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)["windows"]
    assert [(each["like"], each["device"]) for each in found] == [("busy", "419"), ("idle", found[1]["device"])]


def test_what_matches_nothing_is_said(tmp_path, capsys):
    path = tmp_path / "v.csv"
    path.write_text("".join(f"1,R,0,4096,{minute * 60 * 10**6}\n" for minute in range(300)))
    assert run_command(["trace", "windows", str(path), "--like", "busy", "--quiet"]) == 0
    assert "no window matches: all are off by more than 5 %" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--like", "bussy"], "like bussy: there is none; the nearest is busy; there are busy, idle, p.busy, p.idle"),
        (["--like", "busy", "--step", "7min"], "step of 420 s: allowed is a whole part of 2h, the length of busy"),
        (["--like", "busy", "--step", "0s"], "step of 0 s: allowed is a whole part of 2h"),
        (["--like", "busy", "--step", "1us"], "which has no more than 10,000 of them"),
        (
            ["--like", "busy", "--page-bytes", "5000"],
            "page_bytes = 5000: allowed is a power of two from 512 to 1048576",
        ),
        (["--like", "busy"], "v.csv: it lasts 0.298 s, and busy 2h"),
        ([], "missing option '--like'"),
    ],
)
def test_bad_input_is_one_line(tmp_path, capsys, arguments, message):
    path = tmp_path / "v.csv"
    path.write_text(alibaba(1))
    assert run_command(["trace", "windows", str(path), *arguments]) == 2
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert message in told.err


def test_names_are_needed(recording):
    with pytest.raises(fr.InputError, match=r"like: allowed is one or more of busy, idle, p\.busy, p\.idle"):
        fr.windows(recording, [])


def test_it_stops_when_it_is_told_to(recording, monkeypatch):
    monkeypatch.setattr(searching, "ROWS_AT_A_TIME", 100)
    counts = []
    with pytest.raises(KeyboardInterrupt):
        fr.windows(recording, ["busy"], progress=lambda stage, count, share: counts.append(count) or count < 300)
    assert counts == [100, 200, 300]


def test_the_parts_of_papers_are_known(monkeypatch):
    monkeypatch.undo()
    assert searching.part_names() == ["ali_0", "ali_1", "adaptive.ali_0", "adaptive.ali_1"]
    assert searching.part_of("ali_1").table["requests"] == 398009
