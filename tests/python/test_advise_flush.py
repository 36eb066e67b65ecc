"""Flushes and the kinds of a data buffer in the answers of the advisor."""

from conftest import write_trace

import flashraid as fr

DEVICE = {"device": "tiny", "fill": 0.5, "fit": "wrap", "jobs": 1}


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
    assert "the trace is too short: 44 flushes, of which 0 are beyond p99: p50 is compared." in sentences
    assert "write latency is not compared: answered by the data buffer, not by flash." in sentences
    tight = fr.advise(trace, buffer_bytes=1 << 18, max_p99_flush="1ns", **asked)
    assert tight.recommended is None
    assert all("max_p99_flush 1ns: it has" in each.out for each in tight.tried)
