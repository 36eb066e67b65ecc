"""The claims of the papers beside what flashraid measures: experiments and claims as data, runs, judgements, pages.

    flashraid reproduce cr5m.figure8

Each paper is a folder of `papers/`: `experiments.toml` says what is run, `claims.toml` what the paper says of it, and
`explanations.toml` why a claim fails here, as an experiment that changes one thing.

The package's other modules are imported when something is reproduced, so that others need not wait for them.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from .._native import InputError
from ..settings import Path, Progress, check_flags, check_progress, check_texts, path_text, texts

if TYPE_CHECKING:
    from .outcome import Reproduction


def reproduce(
    name: str,
    *,
    change: Mapping[str, Any] | None = None,
    variants: Collection[str] = (),
    traces: Path | None = None,
    whole: bool = False,
    paper_speed: bool = False,
    quick: bool = False,
    cache: bool = True,
    progress: Progress | None = None,
) -> "Reproduction":
    """Runs the experiments of a paper, or one of them, and judges the claims.

    `name` is PAPER or PAPER.EXPERIMENT. An experiment or a variant whose traces are missing is left out; InputError is
    raised if it was named. `change` is laid over the settings of every run, and no variant and no explanation is tried
    then; a value that is a mapping, under the name of a configuration, workload or point, is for its runs alone.
    `variants` are tried besides those that explain a claim; ["all"] stands for every one. `traces` is a folder with
    traces that the paper used, by the names under which they are published: they take the place of profiles, and
    experiments that need them are run, too. With `paper_speed` they are replayed as fast as the paper's tables say;
    the notes of the result say how fast they are. With `whole`, all requests of every trace are replayed, whatever the
    settings limit them to. With `quick`, of each trace the first part is
    replayed, a tenth unless the paper says otherwise, and one repeat of each run instead of all: its figures can
    differ. `cache` says whether runs that were done before, by the same engine and with the same settings and trace,
    are taken from the cache (docs/reproduce.md).

    `progress` is that of `run`: it is called with "reproducing", the number of runs done and their share of the work,
    and stops the work by returning False; then KeyboardInterrupt is raised, and the cache keeps the runs that have
    ended.
    """
    from .changes import checked
    from .outcome import reproduction
    from .papers import find

    check_texts(name=name)
    names = texts("variants", variants)
    check_flags(whole=whole, paper_speed=paper_speed, quick=quick, cache=cache)
    check_progress(progress)
    if change and names:
        raise InputError("variants and change cannot be combined: a change of settings is tried alone")
    return reproduction(
        name,
        change=None if change is None else checked(change, find(name)),
        variants=names,
        traces=None if traces is None else path_text(traces, "traces"),
        whole=whole,
        paper_speed=paper_speed,
        quick=quick,
        cache=cache,
        watch=lambda status: progress is None or progress("reproducing", status.done, status.share),
    )
