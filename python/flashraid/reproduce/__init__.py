"""The claims of the papers beside what flashraid measures: experiments and claims as data, runs, judgements, pages.

    flashraid reproduce cr5m.figure8

Each paper is a folder of `papers/`: `experiments.toml` says what is run, `claims.toml` what the paper says of it, and
`explanations.toml` why a claim fails here, as an experiment that changes one thing.
"""

from .outcome import Outcome, Reproduction, reproduce
from .papers import Claim, Experiment, Explanation, Paper, find, load, names

__all__ = [
    "Claim",
    "Experiment",
    "Explanation",
    "Outcome",
    "Paper",
    "Reproduction",
    "find",
    "load",
    "names",
    "reproduce",
]
