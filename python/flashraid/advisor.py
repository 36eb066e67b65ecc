"""The advisor: which scheme, with which parameters, for a workload on a device, and how sure that is."""

import json
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

from . import _native
from ._native import InputError
from .advising import changes
from .advising.candidates import Candidate, candidates
from .advising.changes import Change, changed, changes_of, runs_of
from .advising.choice import PROTECTION, Ranked, distinct, doubts, ranked, sentences, text_of
from .advising.endurance import beside, check_endurance, endured, must_endure
from .advising.excerpts import excerpts_of
from .advising.forecast import ChangedRuns, Forecast
from .advising.objectives import (
    FAILING,
    LIFETIME,
    OPEN,
    RUNS,
    TAILS,
    Objective,
    Value,
    objectives,
    value_of,
)
from .advising.runs import MOST_BYTES, Runs, Watch
from .advising.search import Must, Search, Tried, Workload
from .chance import JITTER_NS
from .comparing import MOST_SEEDS
from .figures import Figure
from .figures.drawn import Drawn
from .files import must_be_read_again, scratch_folder
from .interrupts import Interrupts
from .profile_text import is_profile
from .quantities import SIZE, TIME, Kind
from .scaled import scale_of
from .setting_types import Settings
from .settings import (
    Pairs,
    Path,
    bare,
    check_progress,
    check_texts,
    common_space,
    configuration,
    device_and_config,
    given,
    known_name,
    own_of,
    pairs,
    path_text,
    possible,
    texts,
    with_effect,
)
from .settings import text_of as setting_text
from .sizes import check_range, format_bytes, parse_bytes, parse_share, parse_time
from .sweeping.dataset import Dataset
from .sweeping.job import OF_RECORDING, told_once
from .sweeping.plan import PLACES
from .sweeping.where import Where, where
from .sweeps import folder_text

if TYPE_CHECKING:
    import polars

SUBJECTS = ("latency", "throughput", "endurance", "capacity", "memory", "rebuild")
PARTS = ("member", "chip", "channel", "device")
MOST_MEMBERS = 64  # of a device


@dataclass(frozen=True)
class Question:
    """What is asked."""

    trace: str
    device: str | None
    config: str | None
    settings: Pairs
    schemes: Sequence[str] | None = None
    vary: Mapping[str, Sequence[str]] | None = None
    musts: Sequence[Must] = ()
    fault: str | None = "chip:0.0"
    tail: str = "p99"
    seeds: int = 3
    preferred: Sequence[str] = ()
    run: Mapping[str, Any] = field(default_factory=dict)  # the table of the complete configuration


def advise(
    trace: Path,
    *,
    device: Path | None = None,
    config: Path | None = None,
    schemes: Iterable[str] | None = None,
    survives: str | None = None,
    survives_failures: int | None = None,
    max_p99_read: str | None = None,
    max_p99_write: str | None = None,
    max_p99_flush: str | None = None,
    min_capacity: float | str | None = None,
    max_nvram: str | None = None,
    min_dwpd: float | None = None,
    years: float | None = None,
    vary: Mapping[str, Sequence[object]] | None = None,
    prefer: Iterable[str] = (),
    tail: str = "p99",
    fault: str | None = None,
    seeds: int = 3,
    out: Path | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    tls_ca: Path | None = None,
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
    progress: Watch | None = None,
    **settings: Unpack[Settings],
) -> "Advice":
    """Searches the schemes and their parameters for a workload, and recommends one (docs/advisor.md).

    `trace`, `device`, `config` and the settings are those of `run`; `schemes` is what to choose from, by default all
    that the device can have.

    What an answer must have: `survives` (`member`, `chip`, `channel` or `device`); `survives_failures`, how many at
    once; `max_p99_read`, `max_p99_write` and `max_p99_flush`, as `500us`; `min_capacity`, the usable share of the
    flash, as 0.7 or `70%`; `max_nvram`, as `64KiB`; `min_dwpd`, drive writes a day that the flash endures for `years`,
    by default five. `vary` has more settings with their values, of which every combination is tried; `tail` is the
    quantile of the latencies that are compared; `prefer` names subjects that count twice: latency, throughput,
    endurance, capacity, memory, rebuild. The finalists are run with so many `seeds`, and with the failure of `fault`,
    by default one chip or SSD. `out`, `jobs`, `scheduler` and the certificates are those of `sweep`: runs that are in
    `out` are not done again.

    `progress` is called several times a second with the round and a SweepStatus, and stops by returning False. Raises
    InputError if no scheme is possible, and KeyboardInterrupt when it is stopped.
    """
    trace_text, (device_text, config_text) = path_text(trace, "trace"), device_and_config(device, config)
    check_progress(progress)
    place = where(jobs, scheduler, tls_ca, tls_cert, tls_key)
    words = {"survives": survives, "max_p99_read": max_p99_read, "max_p99_write": max_p99_write}
    words["max_p99_flush"] = max_p99_flush
    check_texts(**given(**words, max_nvram=max_nvram, tail=tail, fault=fault))
    for key, values in _pairs(vary or {}):
        check_texts(key=key)
        if isinstance(values, str | bytes) or not isinstance(values, Iterable) or isinstance(values, Mapping):
            raise InputError(f"vary: {key} = {values!r}: allowed is a list of values")
    folder = None if out is None else folder_text(out)
    question = asked(
        trace_text,
        device_text,
        config_text,
        pairs(settings),
        schemes=None if schemes is None else texts("schemes", schemes),
        survives=survives,
        survives_failures=survives_failures,
        max_p99_read=max_p99_read,
        max_p99_write=max_p99_write,
        max_p99_flush=max_p99_flush,
        min_capacity=min_capacity,
        max_nvram=max_nvram,
        min_dwpd=min_dwpd,
        years=years,
        vary={key: [setting_text(value) for value in values] for key, values in _pairs(vary or {})},
        prefer=texts("prefer", prefer),
        tail=tail,
        fault=fault,
        seeds=seeds,
    )
    with Interrupts() as interrupts:
        return search(
            question,
            folder,
            place,
            lambda name, status: not interrupts.came and (progress is None or progress(name, status) is not False),
        )


def _pairs(vary: object) -> list[tuple[Any, Any]]:
    if not isinstance(vary, Mapping):
        raise InputError(f"vary = {vary!r}: allowed is a mapping of keys to lists of values")
    return list(vary.items())


def asked(
    trace: str,
    device: str | None,
    config: str | None,
    settings: Pairs,
    *,
    schemes: Sequence[str] | None,
    survives: str | None,
    survives_failures: int | None,
    max_p99_read: str | None,
    max_p99_write: str | None,
    max_p99_flush: str | None,
    min_capacity: float | str | None,
    max_nvram: str | None,
    min_dwpd: float | None,
    years: float | None,
    vary: Mapping[str, Sequence[str]],
    prefer: Sequence[str],
    tail: str,
    fault: str | None,
    seeds: int,
    label: Callable[[str], str] = str,
) -> Question:
    """What is asked, checked; `label` gives the name of an argument in messages."""
    must_be_read_again(trace, "the advisor replays the trace many times")
    known_name(label("tail"), tail, TAILS)
    for subject in prefer:
        known_name(label("prefer"), subject, SUBJECTS)
    check_range(label("seeds"), seeds, 1, MOST_SEEDS)
    settings = [(bare(key), value) for key, value in settings]
    varied = {bare(key) for key in vary}
    for key in [*(key for key, _ in settings), *varied]:
        if key in OWN:
            raise InputError(f"{key}: not allowed here: the advisor sets it itself")
    for key in (*OF_WORKLOAD, "devices"):
        if key in varied:
            raise InputError(f"{label('vary')} {key}: not allowed: all candidates have the same: ask for each value")
    check_endurance(label, min_dwpd, years)
    # The device is looked at with the first scheme that it can have.
    common, scheme = own_of(None, settings), possible(device, config, settings, schemes)[0][0]
    detail = configuration(device, scheme, config, common)
    run = detail["config"]["run"]
    for key in OWN:
        if key != "seed" and run[key] not in (0, "", False, "end", []):
            said = f"{key} = {setting_text(run[key])}"
            raise InputError(f"{config}: {said}: not allowed here: the advisor sets it itself")
    is_array = detail["config"].get("array", {}).get("devices", 1) > 1
    part = "device" if is_array else "chip"
    musts = []
    if survives is not None:
        known_name(label("survives"), survives, PARTS)
        if survives == "device" and not is_array:
            raise InputError(f"{label('survives')} device: the device is a single SSD: allowed with devices above 1")
        musts.append(Must(f"{label('survives')} {survives}", OPEN, f"survives.{survives}", least=1))
        part = survives
        if survives == "member":
            part = "device" if is_array else detail["config"]["device"]["member"]
    if survives_failures is not None:
        check_range(name := label("survives_failures"), survives_failures, 1, MOST_MEMBERS)
        musts.append(Must(f"{name} {survives_failures}", OPEN, "survives_failures", least=survives_failures))
    most_of = {"read": max_p99_read, "write": max_p99_write, "flush": max_p99_flush}
    for kind, text in most_of.items():
        name = f"max_p99_{kind}"
        if text is not None:
            most = parse_time(label(name), text)
            musts.append(
                Must(f"{label(name)} {text}", OPEN, f"latency_ns.{kind}.p99", most=most, kind=TIME, is_measured=True)
            )
    if max_nvram is not None:
        most = parse_bytes(label("max_nvram"), max_nvram)
        musts.append(Must(f"{label('max_nvram')} {max_nvram}", OPEN, "capacity.nvram_bytes", most=most, kind=SIZE))
    if min_capacity is not None:
        share = parse_share(label("min_capacity"), min_capacity)
        text = f"{label('min_capacity')} {min_capacity}"
        most_raw = 1 / share if share else None
        musts.append(Must(text, OPEN, "capacity.raw_per_user_byte", most=most_raw, kind=RAW))
    if min_dwpd is not None:
        own_limit = float(detail["config"]["device"]["pe_limit"])
        musts.append(must_endure(label, min_dwpd, years, own_limit, is_varied="pe_limit" in varied))
    if fault is not None and ("@" in fault or not fault):
        raise InputError(f"{label('fault')} {fault}: allowed is what fails, as chip:0.0, without a time")
    where = fault or _first(part, is_array=is_array)
    configuration(device, scheme, config, [*common, ("fail", f"{where}@50%")])  # refuses what there is not
    return Question(trace, device, config, settings, schemes, vary, musts, where, tail, seeds, prefer, run)


def _first(part: str, *, is_array: bool) -> str:
    """The first of the parts that can fail, as `fail` names it."""
    first = "chip:0.0" if part == "chip" else f"{part}:0"
    return f"device:0/{first}" if is_array and part != "device" else first


RAW = Kind((("flash bytes a usable byte", 1),), 3)
# What says how much there is to do: the same for all candidates.
OF_WORKLOAD = ("limit", "warmup", "speed", "jitter_ns", "fill", "fill_bytes", "space_bytes")
# Settings that the advisor's runs have of their own.
OWN = ("drive", "queue_depth", "fail", "replace", "verify", "verify_every", "until", "seed")


def search(question: Question, out: str | None, place: Where, watch: Watch) -> "Advice":
    """Searches. Raises KeyboardInterrupt if the watch returns False, InputError if there is nothing to choose from."""
    vary = question.vary or {}
    choice, refused = candidates(question.device, question.config, question.schemes, question.settings, vary)
    needed_bytes = _needed_bytes(question, choice, is_verified=False)
    if place.jobs is None and place.scheduler is None and needed_bytes > MOST_BYTES:
        needed, most = format_bytes(needed_bytes), format_bytes(MOST_BYTES)
        raise InputError(
            f"a run on this device takes {needed} of memory: allowed is {most}, or what is free with jobs = 1"
        )
    info, fixed = info_of(question), fixed_of(question, choice)
    counts = counts_of(question, info)
    requests = counts["requests"]
    refuse_addresses(question, int(info["max_address_bytes"]), int(fixed["space_bytes"]))
    with scratch_folder() as scratch, Dataset(out or os.path.join(scratch, "runs")) as dataset:
        do = Runs(dataset, place, watch)
        stored_pages = int(fixed.get("fill_bytes", 0)) // next(iter(choice.values()))["config"]["device"]["page_bytes"]
        excerpts = excerpts_of(question.trace, reading_of(question), requests, stored_pages, scratch)
        random = random_runs(question, choice, fixed)
        is_verified = place.jobs is not None or _needed_bytes(question, choice, is_verified=True) <= MOST_BYTES
        workload = Workload(fixed, requests, question.fault, question.seeds, excerpts, random, is_verified)
        wanted = objectives(question.tail, question.fault is not None, counts)
        tried = [Tried(each) for each in choice]
        found = Search(tried, wanted, list(question.musts), workload, do)
        of_device = next(iter(choice.values()))["config"]["device"]
        others = changed(fixed, question.trace, question.run, of_device)
        stored = max(1, int(fixed.get("fill_bytes", 0)))
        of_changes = [
            ChangedRuns(runs_of(each, workload.runs), int(each.get("fill_bytes", stored)) / stored)
            for each in others.values()
        ]
        do.forecast = Forecast(found, place.threads, of_changes, changes.MOST_CHANGED)
        order = ranked(found.run(), wanted, question.preferred)
        at_front = {id(each.tried) for each in order}
        for each in tried:
            if not each.out and id(each) not in at_front:
                each.out = "another one is as good or better in everything"
        order = distinct(order, wanted)
        would = list(changes_of(order, found, others, question.preferred))
        if out:
            dataset.tidy([])
        return Advice(question, wanted, tried, order, would, refused, workload, found.cost, found.scale(*RUNS))


def _needed_bytes(question: Question, choice: Mapping[Candidate, Mapping[str, Any]], *, is_verified: bool) -> int:
    """The most memory of a run, or of one that knows the contents of all pages, so that it can compare them."""
    largest = max(choice, key=lambda each: int(choice[each]["memory_bytes"]))
    if not is_verified:
        return int(choice[largest]["memory_bytes"])
    settings = [*own_of(largest.scheme, question.settings), *largest.settings, ("verify", "true")]
    return int(configuration(question.device, largest.scheme, question.config, settings)["memory_bytes"])


def info_of(question: Question) -> dict[str, Any]:
    """What there is to know of the requests that a run replays."""
    reading = [*reading_of(question), ("limit", setting_text(question.run["limit"]))]
    info: dict[str, Any] = json.loads(_native.trace_info(question.trace, reading, 4096, None, None))
    return info


def counts_of(question: Question, info: Mapping[str, Any]) -> dict[str, int]:
    """How many requests a run replays, and how many of each kind about are measured."""
    requests, warmup = int(info["requests"]), str(question.run["warmup"])
    measured = max(0, requests - int(warmup)) / max(1, requests) if warmup.isdecimal() else 1
    kinds = {"read": "reads", "write": "writes", "flush": "flushes"}
    return {"requests": requests} | {kind: round(measured * info[key]) for kind, key in kinds.items()}


def refuse_addresses(question: Question, end: int, space: int) -> None:
    """Raises InputError if requests end here, beyond the space of all candidates, so that none of them could be run."""
    if end > space and (question.run["fit"], question.run["on_error"]) == ("error", "stop"):
        raise InputError(
            f"{question.trace}: requests end at byte {end}, but the logical space that all schemes have in common has"
            f" {space} bytes: use --fit compact, --fit wrap, or a larger device"
        )


def reading_of(question: Question) -> Pairs:
    """How the trace is read."""
    return [(key, setting_text(question.run[key])) for key in READING]


READING = (
    "format",
    "time_unit",
    "device_filter",
    "on_error",
    "op",
    "action",
    "object_bytes",
    "sector_bytes",
    "columns",
    "separator",
)


def fixed_of(question: Question, choice: Mapping[Candidate, Mapping[str, Any]]) -> dict[str, Any]:
    """What all runs have in common: with the same logical space and filled bytes, those of the smallest capacity."""
    space_bytes, fill_bytes = common_space(list(choice.values()))
    places = {"trace": question.trace, "device": question.device, "config": question.config}
    settings = {key: value for key, value in question.settings if key not in ("fill", "fill_bytes", "space_bytes")}
    common: dict[str, object] = {"space_bytes": space_bytes, **({"fill_bytes": fill_bytes} if fill_bytes else {})}
    if warmup := question.run["warmup"]:  # also that of a file, as shorter runs have a shorter one
        common["warmup"] = setting_text(warmup)
    if question.seeds > 1 and not is_profile(question.trace):
        common["jitter_ns"] = question.run["jitter_ns"] or (0 if "jitter_ns" in settings else JITTER_NS)
    return {key: value for key, value in places.items() if value is not None} | settings | common


def random_runs(
    question: Question, choice: Mapping[Candidate, Mapping[str, Any]], fixed: Mapping[str, Any]
) -> Sequence[str]:
    """The runs that another seed changes."""
    if is_profile(question.trace) or any(each["config"]["run"]["precondition"] != "none" for each in choice.values()):
        return RUNS
    return (OPEN, FAILING) if fixed.get("jitter_ns") else ()  # a closed loop has no arrivals


class Advice(Drawn):
    """An answer of the advisor: the Pareto front, the best first, and a recommendation.

    `front` lists its members as `Ranked`; `tried` has every candidate, with the reason why it is not on the front;
    `refused` has the schemes that the device cannot have. `cost` is the number of flash operations that the search has
    simulated, without runs under another load.
    """

    def __init__(
        self,
        question: Question,
        wanted: list[Objective],
        tried: list[Tried],
        front: list[Ranked],
        changes: list[Change],
        refused: Mapping[str, str],
        workload: Workload,
        cost: int,
        scale: float,
    ) -> None:
        self.question, self.objectives, self.tried, self.front = question, wanted, tried, front
        self.changes, self.refused, self.cost = changes, refused, cost
        self._workload, self._scale = workload, scale

    @property
    def recommended(self) -> Candidate | None:
        """The recommended candidate; None if no candidate has what is asked for."""
        return self.front[0].tried.candidate if self.front else None

    @property
    def runner_up(self) -> Candidate | None:
        """The second best."""
        return self.front[1].tried.candidate if len(self.front) > 1 else None

    @property
    def warnings(self) -> list[str]:
        """What of the recording is likely to mislead, each text once."""
        rows = (row for each in self.tried for rows in each.rows.values() for row in rows)
        return told_once(str(row.get(OF_RECORDING) or "") for row in rows)

    @property
    def sentences(self) -> list[str]:
        """The recommendation in words."""
        members = [each.tried for each in self.front]
        said = doubts(members, self.question.tail, self.question.seeds, self._scale)
        if self.question.fault and not self._workload.is_verified:
            said.append(
                "contents after the failure were not compared, only what was lost was counted, as that takes more than "
                f"{format_bytes(MOST_BYTES)} of memory (--jobs 1 compares them)."
            )
        changes = {each.what: each.choice for each in self.changes if each.choice}
        whys = {each.what: each.why for each in self.changes}
        effects = [each.effect for each in self.changes if each.effect]
        found = sentences(self.front, self.objectives, changes, said, whys, effects)
        row = self.front[0].tried.rows[OPEN][0] if self.front else {}
        scaled = scale_of(row.get("capacity.share_of_preset"), row.get("device", ""))
        return [*found, f"Lifetimes and rebuild times are those of a drive {scaled}."] if scaled else found

    def to_frame(self) -> "polars.DataFrame":
        """A row for each member of the front, the best first: its figures, half the width of their 95 % intervals, and
        the command that runs it again.
        """
        import polars

        return polars.DataFrame([self._row(each) for each in self.front])

    def _row(self, each: Ranked) -> dict[str, Any]:
        row: dict[str, Any] = {"candidate": each.tried.candidate.name, "scheme": each.tried.candidate.scheme}
        for objective, value in self._figures(each.tried):
            row[objective.name] = value.mean
            row[f"{objective.name}_half_width"] = value.half_width
        return row | {"score": each.score, "command": self.command(each.tried.candidate)}

    def _figures(self, tried: Tried) -> Iterator[tuple[Objective, Value]]:
        """All figures of a member of the front."""
        for objective in self._all_objectives:
            yield objective, self._value(tried, objective)

    @property
    def _all_objectives(self) -> list[Objective]:
        """The objectives, and what is shown beside them."""
        return [*self.objectives, LIFETIME, *beside(self.question.musts)]

    def _value(self, tried: Tried, objective: Objective) -> Value:
        asked = endured(objective, self.question.musts, tried.rows.get(OPEN, ()))
        if asked is not None:
            return asked
        return tried.values.get(objective.name) or value_of(objective, tried.rows[objective.run])

    def to_dict(self) -> dict[str, Any]:
        """All of the answer as plain dicts, lists, numbers and strings (docs/advisor.md)."""
        asked = self.question
        first = self.front[0].tried.rows[OPEN][0] if self.front else {}
        return {
            "schema": 1,
            "version": _native.__version__,
            "question": {
                "trace": asked.trace,
                "sha256": first.get("workload.sha256"),
                "device": asked.device,
                "config": asked.config,
                "settings": dict(asked.settings),
                "schemes": None if asked.schemes is None else list(asked.schemes),
                "vary": {key: list(values) for key, values in (asked.vary or {}).items()},
                "musts": [each.text for each in asked.musts],
                "fault": asked.fault,
                "tail": asked.tail,
                "seeds": asked.seeds,
                "prefer": list(asked.preferred),
            },
            "recommended": self.recommended and self.recommended.name,
            "runner_up": self.runner_up and self.runner_up.name,
            "front": [self._member(each) for each in self.front],
            "out": {each.candidate.name: each.out for each in self.tried if each.out},
            "refused": dict(self.refused),
            "changes": {each.what: each.choice for each in self.changes if each.choice},
            "sentences": self.sentences,
            "flash_operations": self.cost,
        }

    def _member(self, each: Ranked) -> dict[str, Any]:
        figures = {
            objective.name: {
                "run": objective.run,
                "column": objective.column,
                "mean": value.mean,
                "half_width": value.half_width,
                "each": list(value.each),
                "is_sparse": value.is_sparse,
            }
            for objective, value in self._figures(each.tried)
        }
        return {
            "candidate": each.tried.candidate.name,
            "scheme": each.tried.candidate.scheme,
            "settings": dict(each.tried.candidate.settings),
            "score": each.score,
            "distances": dict(each.regrets),
            "figures": figures,
            "runs": {run: [row["run"] for row in rows] for run, rows in each.tried.rows.items()},
            "commands": {run: self.command(each.tried.candidate, run) for run in each.tried.rows},
        }

    @property
    def json(self) -> str:
        """All of the answer as one JSON object."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The front as a table of texts: heads, and a row for each member."""
        shown = [each for each in self._all_objectives if self._is_shown(each)]
        rows = [
            [
                each.tried.candidate.name,
                *(text_of(objective, self._value(each.tried, objective)) for objective in shown),
            ]
            for each in self.front
        ]
        return ["candidate", *(each.title for each in shown)], rows

    def _is_shown(self, objective: Objective) -> bool:
        """Whether the figure tells anything apart."""
        means = {self._value(each.tried, objective).mean for each in self.front}
        return means != {None} and (len(means) > 1 or objective.subject != PROTECTION)

    def command(self, candidate: Candidate, run: str = OPEN) -> str:
        """The command that does a run of a candidate again: as it is, in a `closed` loop, or `failing`."""
        point = self._workload.point(candidate, run)
        if self.question.run.get("seed", 1) != 1:  # that of a file
            point["seed"] = 1
        places = {key: str(point.pop(key)) for key in PLACES if key in point}
        own = own_of(candidate.scheme, [(key, setting_text(value)) for key, value in point.items()])
        own = with_effect(places.get("device"), candidate.scheme, own, places.get("config"))
        words = ["flashraid", "run", shlex.quote(places.pop("trace"))]
        words += [word for key, text in places.items() for word in (f"--{key}", shlex.quote(text))]
        words += [shlex.quote(f"--set={key}={text}") for key, text in own]
        seeds = self._workload.every_seed[run]
        return " ".join([*words, *([f"--seeds {seeds}"] if seeds > 1 else [])])

    def figures(self) -> list[Figure]:
        """What `plot` and `chart` draw: the distances from the best, and the front in pairs of figures."""
        from .figures import of_sweeps

        return of_sweeps.of_advice(self.front, self.objectives)

    def report(self, path: Path, title: str = "") -> None:
        """Writes a report to the file `path` (.html); `title` replaces its heading.

        Raises InputError if the file cannot be written.
        """
        from .report import of_sweeps

        of_sweeps.of_advice(self, path, title)

    def __repr__(self) -> str:
        name = self.recommended.name if self.recommended else "nothing"
        return f"<Advice: {name}, of {len(self.front)} on the front and {len(self.tried)} candidates>"
