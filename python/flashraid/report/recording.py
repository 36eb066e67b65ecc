"""A series of intervals that a run records for its report, in a temporary folder."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from .. import _native
from ..files import STANDARD_INPUT, scratch_folder
from ..outputs import Outputs
from ..settings import Pairs, configuration

# A chart of a report has about so many points over the length of a run.
POINTS = 300
# Bytes of a compressed and of a plain trace for each request, roughly, to guess the length of a long one.
COMPRESSED_BYTES, PLAIN_BYTES = 10, 40
COMPRESSED = (".gz", ".zst", ".xz")
# In a closed loop, requests per second and outstanding request, roughly.
CLOSED_LOOP_RATE = 5_000
# A run until SSDs are worn out repeats its trace: roughly so often.
AGEING_PASSES = 100
LEAST_NS = 1_000


@contextmanager
def recorded(outputs: Outputs, trace: str, *run: Any) -> Iterator[Outputs]:
    """The outputs, with a temporary series unless they have one. `run` is device, scheme, configuration, settings."""
    if "series" in outputs.files:
        yield outputs
        return
    with scratch_folder() as folder:
        given = {"series_interval": f"{interval_ns(trace, *run)}ns"} | outputs.times
        arguments: Any = {**outputs.arguments, **given, "series": os.path.join(folder, "series.csv")}
        yield replace(outputs, arguments=arguments)


def interval_ns(trace: str, device: str | None, scheme: str | None, config: str | None, settings: Pairs) -> int:
    """The length of intervals that gives about `POINTS` of them: a guess where only a run would tell.

    Too short intervals do no harm but take time: charts merge them.
    """
    known = configuration(device, scheme, config, settings)["config"]["run"]
    text = _native.sanity(trace, device, scheme, config, settings)
    if text is None:  # a pipe, which the run itself will read
        return 100_000_000
    found = json.loads(text)
    requests = found["requests"] if found["is_all"] else max(found["requests"], _guessed_requests(trace))
    if known["queue_depth"]:
        span_ns = requests * 10**9 / (CLOSED_LOOP_RATE * known["queue_depth"])
    else:
        span_ns = found["span_ns"] * requests / max(1, found["requests"])
    passes = 1 if known["until"] == "end" else AGEING_PASSES
    return max(LEAST_NS, int(span_ns * passes / POINTS))


def _guessed_requests(trace: str) -> int:
    path = STANDARD_INPUT if trace == "-" else trace
    if not os.path.isfile(path):
        return 0
    return os.path.getsize(path) // (COMPRESSED_BYTES if path.endswith(COMPRESSED) else PLAIN_BYTES)
