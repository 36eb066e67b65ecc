"""Profiles and fits, from the command and from Python."""

import json
from pathlib import Path

import pytest

import flashraid as fr

SAMPLE = str(Path(__file__).parents[2] / "samples/postmark-transactions.csv.gz")


def test_profiles_are_listed_and_printed(command):
    names = [each["name"] for each in json.loads(command("trace", "profiles", "--json").stdout)]
    assert names == sorted(fr.profiles())
    assert "cr5m-radius" in names
    text = command("trace", "profiles", "cr5m-radius").stdout
    assert text.startswith("# Synthetic: ")
    assert "[[streams]]" in text
    assert "the nearest is cr5m-radius" in command("trace", "profiles", "cr5m-radus", status=2).stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--seed", "2"], "--seed needs a profile: allowed is profiles NAME --seed N"),
        (["none.toml", "--seed", "2"], "none.toml: cannot be read: No such file or directory"),
        (["broken.toml", "--seed", "2"], "broken.toml:2:4: key with no value, expected `=`"),
        (["binary.toml"], "binary.toml: allowed is plain text in UTF-8, and byte 1 is none"),
    ],
)
def test_profiles_that_cannot_be_printed(command, arguments, says):
    (command.folder / "broken.toml").write_text("a = 1\nno profile\n")
    (command.folder / "binary.toml").write_bytes(b"\x1f\x8b\xff")
    assert command("trace", "profiles", *arguments, status=2).stderr == f"error: {says}\n"


def test_a_profile_as_a_file_and_as_a_trace(command, tmp_path):
    path = tmp_path / "radius.csv"
    command("trace", "synth", "--profile", "cr5m-radius", "--requests", "2000", "--seed", "5", "-o", str(path))
    info = fr.trace_info(path)
    assert info.requests == 2000
    assert info.write_share == pytest.approx(0.885, abs=0.04)
    again = tmp_path / "again.csv"
    assert fr.synth(again, profile="cr5m-radius", requests=2000, seed=5) == 2000
    assert path.read_bytes() == again.read_bytes()
    assert fr.trace_info("profile:cr5m-radius", limit=100).requests == 100


def test_refused_combinations(command, tmp_path):
    path = str(tmp_path / "x.csv")
    missing = command("trace", "synth", "-o", path, "--requests", "5", status=2)
    assert "--space, --interval-ns: needed without --profile" in missing.stderr
    mixed = command("trace", "synth", "-o", path, "--profile", "cr5m-radius", "--read-share", "0.5", status=2)
    assert "allowed with it are only requests, seed and space_bytes" in mixed.stderr
    small = command("trace", "synth", "-o", path, "--profile", "cr5m-radius", "--space", "4096", status=2)
    assert "space_bytes = 4096: allowed is" in small.stderr


def test_a_fit(command, tmp_path):
    profile, twin = tmp_path / "fitted.toml", tmp_path / "twin.csv"
    shown = command("trace", "fit", SAMPLE, "--limit", "3000", "-o", str(profile), "--quiet").stdout
    assert "and its twin, a model of" in shown
    assert "reuse_distance_pages.p50" in shown
    fitted = fr.fit(SAMPLE, tmp_path / "again.toml", limit=3000)
    assert (tmp_path / "again.toml").read_bytes() == profile.read_bytes()
    figures = {figure.figure: figure for figure in fitted.figures}
    assert figures["requests"].twin == 3000
    assert figures["write_share"].difference == 0
    assert fitted.beyond == sum(not figure.is_within for figure in fitted.figures)
    assert fr.synth(twin, profile=profile) == 3000
    profile.write_text("seeed = 1\n")
    with pytest.raises(fr.InputError, match="seeed"):
        fr.synth(twin, profile=profile)
