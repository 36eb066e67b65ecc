"""Flushes and the kinds of a data buffer in the answers of the advisor."""

from conftest import long, write_trace

import flashraid as fr
from flashraid.advising import choice, objectives

DEVICE = {"device": "tiny", "fill": 0.5, "fit": "wrap", "jobs": 1}


@long
def test_flushes_and_the_kinds_of_a_buffer_are_part_of_the_answer(tmp_path):
    """A flush after every eighth write, of a database, behind a buffer in DRAM."""
    rows = [
        (at * 400, "F", 0, 0) if at % 9 == 8 else (at * 400, "W", at * 7 % 101 * 4096, 4096 * (1 + at % 2))
        for at in range(400)
    ]
    trace = write_trace(tmp_path, rows)
    asked = {"schemes": ["raid1", "raid5"], "seeds": 2, **DEVICE}
    found = fr.advise(trace, buffer_bytes=1 << 18, max_p99_flush="10s", **asked)
    assert "latency_ns.flush.p50" in {each.column for each in found.objectives}
    row = found.to_frame().to_dicts()[0]
    assert row["flush_tail"] > 0
    said = found.to_dict()
    assert {"no data buffer", "the data buffer in NVRAM"} <= set(said["changes"])
    sentences = " ".join(said["sentences"])
    _each_effect_is_what_a_run_without_or_with_the_other_buffer_has(trace, found)
    assert "the trace is too short: 44 flushes, of which 0 are beyond p99: p50 is compared." in sentences
    why = "at least 90 % of the writes were answered by the data buffer, not by flash"
    assert f"write latency is not compared: {why}." in sentences
    tight = fr.advise(trace, buffer_bytes=1 << 18, max_p99_flush="1ns", **asked)
    assert tight.recommended is None
    assert all("max_p99_flush 1ns: it has" in each.out for each in tight.tried)


def _each_effect_is_what_a_run_without_or_with_the_other_buffer_has(trace, found):
    """Of flushes, by which a user sees why another kind of buffer changes the choice or does not."""
    own = found.front[0].tried
    settings = {key: own.rows["open"][0][f"config.run.{key}"] for key in ("space_bytes", "fill_bytes", "jitter_ns")}
    flush_tail = next(each for each in found.objectives if each.name == "flush_tail")
    now = choice.text_of(flush_tail, own.values["flush_tail"])
    others = {"no data buffer": {}, "the data buffer in NVRAM": {"nvram_buffer_bytes": 1 << 18}}
    for what, buffer in others.items():
        place = {"device": "tiny", "scheme": own.candidate.scheme, **dict(own.candidate.settings)}
        then = fr.run(trace, **place, **settings, **buffer).latency.flush.p50
        effect = next(each.effect for each in found.changes if each.what == what)
        assert effect.startswith(f"With {what}, {own.candidate.name} has ")
        assert f"flush p50 {choice.text_of(flush_tail, objectives.Value(then))} instead of {now}" in effect
        assert effect in found.sentences
