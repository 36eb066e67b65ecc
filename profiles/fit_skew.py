"""Fits the skew of the profiles adaptive-*: which share of the requests goes to places that begin on one channel.

    python profiles/fit_skew.py

The share of each profile is chosen so that the coefficient of variation of blocked requests (`blocked_cv`) under
Baseline, on the 5+1 drive that fit_drive.py has chosen, is the paper's (Table III), before any other scheme is tried.
It prints the share that it finds beside the one in the profile, and writes nothing.
"""

import sys
import tomllib
from pathlib import Path

from fit_drive import BUSES, STATES, TARGETS, UNITS, baseline, profile_text

UPDATE_SHARES = {"lun0": 0.793, "lun1": 0.798, "lun2": 0.811, "ali_0": 0.858, "ali_1": 0.874}
STEPS = 7
# The drive of the experiments (papers/adaptive/experiments.toml).
DRIVE = BUSES["25 ns"] | UNITS["chip"] | STATES["collecting"]


def skewed(text: str, share: float, update_share: float) -> str:
    """The profile with this share of its requests in the last stream, whose writes are all updates."""
    profile = tomllib.loads(text)
    reads, writes, hot = profile["streams"]
    both = {op: weight / sum(hot["ops"].values()) for op, weight in hot["ops"].items()}
    reads["weight"], writes["weight"] = (round(1e6 * (1 - share) * both[op]) for op in ("read", "write"))
    hot["weight"] = round(1e6 * share)
    writes["addresses"]["new_share"] = round((1 - update_share) / (1 - share), 4)
    return profile_text(profile)


def measured(text: str) -> float:
    """Coefficient of variation under Baseline, in the experiments' part of the profile."""
    return float(baseline(text, DRIVE).blocked_cv)


def fitted(name: str, text: str) -> tuple[float, float]:
    """The share, and the coefficient of variation with it: by bisection, as it rises with the share."""
    low, high = 0.0, min(0.75, UPDATE_SHARES[name])
    for _ in range(STEPS):
        middle = (low + high) / 2
        is_above = measured(skewed(text, middle, UPDATE_SHARES[name])) > TARGETS[name]
        low, high = (low, middle) if is_above else (middle, high)
    share = round((low + high) / 2, 2)
    return share, measured(skewed(text, share, UPDATE_SHARES[name]))


def main() -> None:
    """Prints a line for each profile."""
    for name, target in TARGETS.items():
        text = (Path(__file__).parent / f"adaptive-{name}.toml").read_text()
        streams = tomllib.loads(text)["streams"]
        has = streams[-1]["weight"] / sum(stream["weight"] for stream in streams)
        share, found = fitted(name, text)
        print(f"{name:6} target {target:.2f}: share {share:.2f} gives {found:.3f}; the profile has {has:.2f}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
