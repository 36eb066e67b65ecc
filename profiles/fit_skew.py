"""Fits the skew of the profiles adaptive-*: which share of the requests goes to places that begin on one channel.

    python profiles/fit_skew.py

The share of each profile is chosen so that the coefficient of variation of blocked requests (`blocked_cv`) under
Baseline, on the 5+1 drive that fit_drive.py has chosen, is the paper's (Table III), before any other scheme is tried.
It prints the share that it finds beside the one in the profile, and writes nothing.
"""

import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import flashraid as fr

# Of Table III. hm_0 has less than a drive without skew has, and so none.
TARGETS = {"lun0": 0.32, "lun1": 0.60, "lun2": 0.65, "ali_0": 0.78, "ali_1": 1.24}
UPDATE_SHARES = {"lun0": 0.793, "lun1": 0.798, "lun2": 0.811, "ali_0": 0.858, "ali_1": 0.874}
STEPS = 7
# The drive of the experiments (papers/adaptive/experiments.toml).
DRIVE: dict[str, Any] = {
    "bus_ps_per_byte": 25000,
    "read_command_ns": 175,
    "program_command_ns": 175,
    "erase_command_ns": 125,
    "lun": "chip",
    "blocks_per_plane": 64,
    "fill": 0.7,
    "precondition": "random:1",
    "fit": "wrap",
}


def skewed(text: str, share: float, update_share: float) -> str:
    """The profile with this share of its requests in the last stream, whose writes are all updates."""
    profile = tomllib.loads(text)
    reads, writes, hot = profile["streams"]
    both = {op: weight / sum(hot["ops"].values()) for op, weight in hot["ops"].items()}
    reads["weight"], writes["weight"] = (round(1e6 * (1 - share) * both[op]) for op in ("read", "write"))
    hot["weight"] = round(1e6 * share)
    writes["addresses"]["new_share"] = round((1 - update_share) / (1 - share), 4)
    head = {key: value for key, value in profile.items() if key != "streams"}
    return "".join(f"{key} = {toml(value)}\n" for key, value in head.items()) + "".join(
        "\n[[streams]]\n" + "".join(f"{key} = {toml(value)}\n" for key, value in stream.items())
        for stream in profile["streams"]
    )


def toml(value: object) -> str:
    """A value of a profile as TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def measured(text: str) -> float:
    """Coefficient of variation under Baseline, in the experiments' part of the profile."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(text)
        file.flush()
        result = fr.run(
            file.name,
            device="adaptive-5p1",
            scheme="raid5",
            decide="after_data",
            limit=100_000,
            warmup="1000",
            **DRIVE,
        )
    return float(result.blocked_cv)


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
