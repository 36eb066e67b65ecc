"""Chooses the drive of Adaptive's experiments, by what its paper shows of the load and by Baseline alone.

    python profiles/fit_drive.py

The paper gives neither a bus, nor what serves one operation at a time, nor what the drive holds; and the times between
arrivals of its Alibaba traces are shorter than recorded, by a factor of at least 35 (the largest of Ali_0 in Table IV
against twelve hours). Candidates are all combinations of BUSES, UNITS, STATES and FACTORS. The rule, written down
before any of them was measured:

1. Table A.2: the chi-squares of lun0, lun1 and lun2, which are among its 62 traces, lie in the range of the 56 that
   have more than a million. They are scaled to all requests of the trace, and to the cv of Table III, so that the
   skew of a profile, which is fitted to the drive afterwards, has no part in it.
2. Section IV.B.2 and the axes of Figures 8 and 9, which are in ks: the totals of hm_0, Ali_0 and Ali_1, scaled
   likewise, are larger than those of lun0, lun1 and lun2, and none is above 1,000 ks.
3. Of the candidates that meet both, the one whose three chi-squares have the geometric mean nearest to the median of
   Table A.2, by their logarithms; of two factors, 1000: a simulator that reads nanoseconds was given microseconds.

If none meets both, 1 and 3 choose the drive, and of the factors the one that meets more of 2. No scheme but Baseline
runs, so no gain is known when the drive is chosen. It prints what it measures, and writes nothing.

What came of it: two candidates meet 1 (25 ns, collecting, die or chip), and none 2, as Alibaba's traces overload both
by either factor. The one with chips is nearer to the median. Then fit_skew.py found that with 1000 no share of skewed
requests up to 75 % has the cv that Table III gives (0.47 for 0.78, 0.55 for 1.24): queues are long on all channels.
With 100 there is one for both traces. So the factor is 100, by Table III, whatever 3 says.
"""

import math
import sys
import tempfile
import tomllib
from itertools import product
from pathlib import Path
from typing import Any

from fit_skew import TARGETS, toml

import flashraid as fr

MEDIAN, LEAST, MOST = 5_139_430, 1_342_894, 854_484_849
MOST_KS = 1000.0
BUSES = {
    "no bus": {},
    "5 ns": {"bus_ps_per_byte": 5000, "read_command_ns": 35, "program_command_ns": 35, "erase_command_ns": 25},
    "25 ns": {"bus_ps_per_byte": 25000, "read_command_ns": 175, "program_command_ns": 175, "erase_command_ns": 125},
}
UNITS = {"die": {}, "chip": {"lun": "chip"}}
STATES = {
    "idle": {"fill": 0.9},
    "collecting": {"blocks_per_plane": 64, "fill": 0.7, "precondition": "random:1", "fit": "wrap"},
}
LUNS = ("lun0", "lun1", "lun2")
# Twelve hours, by the factor by which their times are shorter.
FACTORS = {1000: 43.2e9, 100: 432e9}
LIMIT, WARMUP = 100_000, 1000


def with_duration(text: str, duration_ns: float) -> str:
    """The profile with the mean of the last fifth of its times between arrivals that makes it last so long."""
    profile = tomllib.loads(text)
    *rows, last = profile["arrivals"]["gaps_ns"]
    means = sum(mean for _, _, mean, _ in rows)
    last[2] = round(5 * duration_ns / profile["requests"] - means)
    streams = profile.pop("streams")
    tables = [profile, *streams]
    heads = ["", *["[[streams]]\n"] * len(streams)]
    return "\n".join(
        head + "".join(f"{key} = {toml(value)}\n" for key, value in table.items())
        for head, table in zip(heads, tables, strict=True)
    )


def baseline(text: str, settings: dict[str, Any]) -> tuple[float, float, float]:
    """Chi-square and total time in ks of all requests of the profile, and the cv."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(text)
        file.flush()
        result = fr.run(
            file.name,
            device="adaptive-5p1",
            scheme="raid5",
            decide="after_data",
            limit=LIMIT,
            warmup=str(WARMUP),
            **settings,
        )
    requests, chi_square = tomllib.loads(text)["requests"], result.blocked_chi_square
    total_ks = result.latency.all.total * requests / (LIMIT - WARMUP) / 1e12
    return chi_square.statistic * requests / chi_square.requests, total_ks, float(result.blocked_cv)


def main() -> None:
    """Prints a line for each candidate: which rules it meets, the second only where the first is met, and by what."""
    texts = {name: (Path(__file__).parent / f"adaptive-{name}.toml").read_text() for name in ("hm_0", *TARGETS)}
    for bus, unit, state in product(BUSES, UNITS, STATES):
        settings = BUSES[bus] | UNITS[unit] | STATES[state]
        found = {name: baseline(texts[name], settings) for name in LUNS}
        chi_squares = [found[name][0] * (TARGETS[name] / found[name][2]) ** 2 for name in LUNS]
        distance = math.log(math.prod(chi_squares)) / len(LUNS) - math.log(MEDIAN)
        is_in_range = all(LEAST <= each <= MOST for each in chi_squares)
        shown = [f"{name} {each:.3g}" for name, each in zip(LUNS, chi_squares, strict=True)]
        print(f"{bus}, {unit}, {state}: rule 1 {is_in_range}; chi-squares", *shown, f"distance {distance:+.2f}")
        sys.stdout.flush()
        if not is_in_range:
            continue
        ks = {name: each[1] for name, each in found.items()}
        ks["hm_0"] = baseline(texts["hm_0"], settings)[1]
        for factor, duration_ns in FACTORS.items():
            ks |= {name: baseline(with_duration(texts[name], duration_ns), settings)[1] for name in ("ali_0", "ali_1")}
            largest = max(ks[name] for name in LUNS)
            are_larger = all(largest < each <= MOST_KS for name, each in ks.items() if name not in LUNS)
            print(f"  1/{factor}: rule 2 {are_larger}; ks", *(f"{name} {each:.3g}" for name, each in ks.items()))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
