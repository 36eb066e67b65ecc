"""From points to jobs: the complete configuration of each, checked, and which of them are the same run."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import _native
from .._native import InputError
from ..causes import cause
from ..kept import content
from ..profile_text import PREFIX, changed, is_profile, seed_of
from ..profile_text import text_of as profile
from ..settings import Pairs, bare, common_space, configuration, parameters_of, text_of
from .job import Job, Source, contents_beside
from .plan import PLACES, PROFILE, Plan, Point

POINTS_AT_ONCE = 500


@dataclass(frozen=True)
class Resolved:
    """A point, and its job; or why it can have none."""

    point: Point
    job: Job | None
    refused: str = ""
    idle: tuple[str, ...] = ()  # its keys that change nothing of the run


@dataclass(frozen=True)
class _Made:
    """A point with what the engine is told."""

    point: Point
    source: Source
    places: tuple[str | None, str | None, str | None]  # device, scheme, configuration file
    settings: Pairs
    detail: dict[str, Any]
    idle: tuple[str, ...]


def resolve(plan: Plan, go_on: Callable[[], bool] = lambda: True) -> list[Resolved]:
    """All points with their jobs. Raises InputError if none of them is possible: the first reason.

    Raises KeyboardInterrupt if `go_on`, which is asked now and then, says no.
    """
    made: list[_Made | Resolved] = []
    for number, point in enumerate(plan.points):
        if number % POINTS_AT_ONCE == POINTS_AT_ONCE - 1 and not go_on():
            raise KeyboardInterrupt
        try:
            made.append(_made(point))
        except InputError as error:
            made.append(Resolved(point, None, str(error)))
    refused = [each.refused for each in made if isinstance(each, Resolved)]
    if len(refused) == len(made):
        raise InputError(f"{plan.where}: no point can be run; the first: {refused[0]}")
    made = _with_common_space(made)
    found = [each if isinstance(each, Resolved) else _resolved(each) for each in made]
    return _forking(found)


def _made(point: Point) -> _Made:
    scheme = point.get("scheme")
    source = _source(point)
    others = parameters_of() - parameters_of(None if scheme is None else str(scheme))
    own, idle = [], []
    for key, value in point.items():
        if key in PLACES or key.startswith(PROFILE):
            continue
        if key.removeprefix("scheme.") in others:
            idle.append(key)
        elif key == "drive":
            own.append((key, os.path.abspath(str(value))))  # the same from any directory
        else:
            own.append((key, text_of(value)))
    device, config = (None if point.get(key) is None else str(point[key]) for key in ("device", "config"))
    places = (device, None if scheme is None else str(scheme), config)
    detail = configuration(*places, own)
    without = {each["key"] for each in detail["idle"]}
    if not detail["is_random"]:
        without.add("seed")
    if without:
        idle += [key for key, _ in own if bare(key) in without]
        own = [(key, text) for key, text in own if bare(key) not in without]
        detail = configuration(*places, own)
    # The seed of a profile does what this seed is for.
    done = {"seed"} if source.text and "seed" in point else set()
    return _Made(point, source, places, own, detail, tuple(key for key in idle if key not in done))


def _source(point: Point) -> Source:
    """Where the requests of a point come from: with `seed`, those of a profile differ."""
    trace = str(point["trace"])
    change: dict[str, Any] = {}
    for key, value in point.items():
        if key.startswith(PROFILE):
            names = key.removeprefix(PROFILE).split(".")
            if names[0] == "streams" and len(names) == 3:
                change.setdefault("streams", {}).setdefault(names[1], {})[names[2]] = value
            elif len(names) == 1:
                change[names[0]] = value
            else:
                raise InputError(f"{key}: allowed is profile.KEY, or profile.streams.N.KEY")
    if trace == "-":
        raise InputError("trace = -: allowed is a file, which can be read for each run")
    if not is_profile(trace):
        if change:
            raise InputError(f"{PROFILE}{next(iter(change))}: {trace} is no profile, and cannot be changed")
        return _file(trace)
    seed = point.get("seed", 1)
    if type(seed) is int and seed != 1 and "seed" not in change:
        change["seed"] = seed_of(trace) + seed - 1
        if change["seed"] < 0:
            raise InputError(f"seed = {seed}: allowed is 1 or more, which is the seed of {trace}")
    columns = {key: text_of(value) for key, value in point.items() if key.startswith(PROFILE)}
    if "seed" in change:
        columns[f"{PROFILE}seed"] = str(change["seed"])
    text = changed(trace, change) if change else profile(trace)
    _native.check_profile(text, trace)
    if not change and trace.startswith(PREFIX):
        return Source(trace)
    return Source(trace, text=text, changes=tuple(columns.items()))


def _file(trace: str) -> Source:
    try:
        size = os.stat(trace).st_size
        path = os.path.abspath(trace)
        return Source(trace, path=path, sha256=content(trace), size=size, others=contents_beside(path))
    except OSError as error:
        raise InputError(f"{trace}: cannot be read: {cause(error)}") from None


def _with_common_space(made: Sequence[_Made | Resolved]) -> list[_Made | Resolved]:
    """What differs in the scheme alone, and in its parameters, gets the same logical space and filled bytes, as in a
    comparison: those of the smallest capacity, unless the space is given.
    """
    parameters = parameters_of()
    groups: dict[str, list[int]] = {}
    for at, each in enumerate(made):
        if isinstance(each, _Made):
            common = {
                key: value
                for key, value in each.point.items()
                if key != "scheme" and key.removeprefix("scheme.") not in parameters
            }
            groups.setdefault(json.dumps(common, default=str), []).append(at)
    found = list(made)
    for places in groups.values():
        of_group = [each for at in places if isinstance(each := made[at], _Made)]
        capacities = {each.detail["user_bytes"] for each in of_group}
        if len(capacities) == 1 or any(each.detail["config"]["run"]["space_bytes"] for each in of_group):
            continue
        space_bytes, fill_bytes = common_space([each.detail for each in of_group])
        common_settings = [("space_bytes", str(space_bytes)), ("fill", "0"), ("fill_bytes", str(fill_bytes))]
        for at, each in zip(places, of_group, strict=True):
            settings = [pair for pair in each.settings if bare(pair[0]) not in ("fill", "fill_bytes")] + common_settings
            found[at] = replace(each, settings=settings, detail=configuration(*each.places, settings))
    return found


def _resolved(made: _Made) -> Resolved:
    config = json.dumps({"config": made.detail["config"]}, sort_keys=True)
    told = json.dumps([_native.__version__, made.source.identity, config])
    run = hashlib.sha256(told.encode()).hexdigest()
    preparation = _native.preparation(*made.places, made.settings)
    same = "" if preparation is None else hashlib.sha256(preparation.encode()).hexdigest()
    return Resolved(made.point, Job(run, made.source, config, made.detail["memory_bytes"], same), idle=made.idle)


def _forking(found: Sequence[Resolved]) -> list[Resolved]:
    """Only devices that several jobs begin with are kept and copied."""
    runs: dict[str, set[str]] = {}
    for job in jobs_of(found):
        runs.setdefault(job.preparation, set()).add(job.run)
    return [
        replace(each, job=replace(each.job, preparation=""))
        if each.job and len(runs[each.job.preparation]) == 1
        else each
        for each in found
    ]


def jobs_of(found: Sequence[Resolved]) -> Iterator[Job]:
    """Each distinct run once, in the order of the points."""
    seen = set()
    for each in found:
        if each.job and each.job.run not in seen:
            seen.add(each.job.run)
            yield each.job
