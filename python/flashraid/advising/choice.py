"""The choice among finalists, and what is to be said of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isinf, log2
from typing import Any

from ..evidence import EQUAL, FEWEST, SHARES, SPARSE, are_near, differ, is_overloaded, why_unfinished, words_of
from ..intervals import mean_of
from ..quantities import with_interval
from .front import doublings, front
from .objectives import FAILING, OPEN, Objective, Value, judged, tail_of
from .search import Tried

PROTECTION = "protection"


@dataclass(frozen=True)
class Ranked:
    """A candidate of the front, and how far it is from the best in each subject, in doublings; the least is best."""

    tried: Tried
    regrets: Mapping[str, float]  # by subject
    score: float


def ranked(found: Sequence[Tried], objectives: Sequence[Objective], preferred: Sequence[str] = ()) -> list[Ranked]:
    """The front, the best first: what is on average over the subjects the least doublings from the best figures.

    `preferred` are subjects that count twice. What does not survive a failure comes behind what does. Figures that are
    evidence of nothing do not count (`judged`).
    """
    objectives = judged(objectives, [each.values for each in found])
    costs = [each.costs(objectives) for each in found]
    at_front = front(costs)
    best = [min(costs[at][number] for at in at_front) for number in range(len(objectives))] if at_front else []
    result = []
    for at in at_front:
        of: dict[str, list[float]] = {}
        for objective, own, least in zip(objectives, costs[at], best, strict=True):
            if isinf(least):  # nobody has such a figure
                continue
            of.setdefault(objective.subject, []).append(doublings(own, least))
        regrets = {subject: mean_of(values) for subject, values in of.items() if subject != PROTECTION}
        weights = {subject: 2 if subject in preferred else 1 for subject in regrets}
        score = sum(weights[subject] * regret for subject, regret in regrets.items()) / sum(weights.values())
        result.append(Ranked(found[at], regrets, score))
    return sorted(result, key=lambda each: (not is_protected(each.tried), each.score))


def distinct(order: Sequence[Ranked], objectives: Sequence[Objective]) -> list[Ranked]:
    """Those that differ from each better one in something that tells them apart; the others are out."""
    objectives = judged(objectives, [each.tried.values for each in order])
    found: list[Ranked] = []
    for each in order:
        own = each.tried.values
        for better in found:
            if all(is_alike(own[of.name], better.tried.values[of.name]) for of in objectives):
                each.tried.out = f"{better.tried.candidate.name} is like it in everything that was measured"
                break
        else:
            found.append(each)
    return found


def is_protected(tried: Tried) -> bool:
    """Whether it survives any failure."""
    return any(value.mean for name, value in tried.values.items() if name.startswith("survives_"))


def text_of(objective: Objective, value: Value) -> str:
    """A figure with its unit and interval."""
    if value.mean is None:
        return "-"
    unit, one = objective.kind.unit([value.mean])
    text = with_interval(value.mean / one, value.half_width / one, objective.kind.decimals)
    return f"{text}{'~' if value.is_sparse else ''} {unit}".rstrip()


def is_alike(one: Value, other: Value) -> bool:
    """Whether two figures do not differ, or by no more than the seeds make them."""
    if one.mean is None or other.mean is None:
        return one.mean == other.mean
    if len(one.each) < 2 or len(other.each) < 2:
        return are_near((one.mean,), (other.mean,))
    return not differ(one.each, other.each)


def sentences(
    order: Sequence[Ranked],
    objectives: Sequence[Objective],
    changes: Mapping[str, str],
    doubts: Sequence[str],
    whys: Mapping[str, str] | None = None,
    effects: Sequence[str] = (),
) -> list[str]:
    """The recommendation in words: what is recommended, why, the runner-up, what would change it, and the doubts.

    `whys` says of changes in what the other choice is better then, and worse; `effects` are sentences of what a change
    makes of the recommended one's figures.
    """
    if not order:
        return ["Nothing is recommended: no candidate has all that is asked for."]
    first = order[0]
    said = [f"Recommended: {first.tried.candidate.name}."]
    if not is_protected(first.tried):
        said.append("It survives no failure, and neither does anything else that has what is asked for.")
    elif first.tried.survives_but:
        said.append(f"A failure that it survives still loses {first.tried.survives_but}.")
    worst = [subject for subject, regret in first.regrets.items() if regret > 0.5]
    near = [subject for subject, regret in first.regrets.items() if regret <= log2(1 + EQUAL)]
    if len(order) == 1:
        said.append("The front has no other member.")
    elif near:
        said.append(f"It is the best of the front, or as good, in {_list(near)}.")
    if worst:
        said.append(f"It is far from the best in {_list(worst)}.")
    objectives = judged(objectives, [each.tried.values for each in order])
    if len(order) > 1:
        second = order[1]
        said.append(f"Runner-up: {second.tried.candidate.name}{differences(first.tried, second.tried, objectives)}.")
        if second.score - first.score < 0.02:
            said.append("The two are so close that a small change of what matters to you decides between them.")
    same = [what for what, name in changes.items() if name == first.tried.candidate.name]
    other = {what: name for what, name in changes.items() if name != first.tried.candidate.name}
    whys = whys or {}
    said += [f"With {what}, {name} would be recommended{whys.get(what, '')}." for what, name in other.items()]
    if same:
        said.append(f"The choice stays the same with {_list(same)}.")
    return [*said, *effects, *(f"But: {doubt}" for doubt in doubts)]


def differences(first: Tried, second: Tried, objectives: Sequence[Objective]) -> str:
    """In what the second is better than the first, and in what it is worse."""
    better: list[str] = []
    worse: list[str] = []
    for objective in objectives:
        one, other = first.values[objective.name], second.values[objective.name]
        if objective.subject == PROTECTION or is_alike(one, other):
            continue
        text = f"{objective.title} {text_of(objective, other)} against {text_of(objective, one)}"
        is_better = objective.cost(other.mean) < objective.cost(one.mean)
        (better if is_better else worse).append(text)
    parts = [f"{word} in {'; '.join(texts)}" for word, texts in (("better", better), ("worse", worse)) if texts]
    return f", which is {', and '.join(parts)}" if parts else ", which differs in nothing that was measured"


def _list(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


IDLE = 0.05  # the load below which waiting is rare


# All of the trace may cost so many times what the excerpt says before that is worth a word.
UNLIKE = 1.5


def doubts(found: Sequence[Tried], tail: str, seeds: int, scale: float = 1.0) -> list[str]:
    """Why the answer may be worth less than it looks; `scale` is what all of the trace costs for what it should."""
    if not found:
        return []
    rows = [row for each in found for row in each.rows.get(OPEN, [])]
    said = []
    kinds = ("read", "write", "flush")
    most = {kind: max(int(row.get(f"latency_ns.{kind}.count") or 0) for row in rows) for kind in kinds}
    if not any(most.values()):
        if any(row.get("latency_ns.trim.count") for row in rows):
            return ["nothing is compared but what follows from the configuration: all requests are discards."]
        return ["no request is measured: the trace is too short, or its warm-up too long."]
    said += [_too_short(kind, most, tail) for kind in kinds if 0 < most[kind] < FEWEST[tail]]
    if any(each.values["rebuild_tail"].is_sparse for each in found if "rebuild_tail" in each.values):
        said.append(f"{words_of(tail)} in rebuild is not compared: {SPARSE}.")
    if unfinished := [each for each in found if any(why_unfinished(row.get) for row in each.rows.get(OPEN, []))]:
        said.append(
            f"write amplification is not compared: {_names(unfinished)} had not written all of its deferred parities "
            "at the end of the trace, which is too short to tell."
        )
    said += _void(found)
    if seeds == 1:
        said.append("each run was done once, which does not tell a difference from chance (--seeds 3).")
    if scale > UNLIKE:
        said.append(
            f"all of the trace costs {scale:.1f} times what its excerpt told: the search may have cost more than it "
            "should, and knows less of what it left out (--steady: a used drive, in which GC does not come late)."
        )
    loads = [float(row.get("workload.busiest_load") or 0) for row in rows]
    if max(loads) < IDLE:
        said.append(f"the load is too low to matter: the busiest part is in use for {max(loads):.1%} of the time.")
    if over := [each for each in found if any(is_overloaded(row.get) for row in each.rows.get(OPEN, []))]:
        said.append(f"{_names(over)} cannot keep up with the trace: latencies grow with its length.")
    if endless := [each for each in found if any(map(_rebuilds_for_ever, each.rows.get(FAILING, [])))]:
        why = "as there is no spare chip or time: latencies in it are those of all requests after the failure"
        said.append(f"the rebuild of {_names(endless)} does not end, {why}.")
    if not any(row.get("collection.collections") or row.get("collection.copies") for row in rows):
        said.append("no GC ran: write amplification is that of redundancy alone (--fill, --steady: a used drive).")
    if seeds > 1 and all(len(set(value.each)) <= 1 for each in found for value in each.values.values()):
        said.append("nothing is random in these runs: the seeds gave the same figures, and intervals say nothing.")
    return said


def _too_short(kind: str, counts: Mapping[str, int], tail: str) -> str:
    """That there are too few requests of a kind for a quantile, and what is compared instead."""
    count, compared = counts[kind], tail_of(kind, tail, counts)
    plural = "flushes" if kind == "flush" else f"{kind}s"
    beyond = int(round(count * (1 - SHARES[tail]), 6))
    instead = f"{words_of(compared)} is compared" if count >= FEWEST[compared] else "their latency is not compared"
    return f"the trace is too short: {count:,} {plural}, of which {beyond} are beyond {words_of(tail)}: {instead}."


def _void(found: Sequence[Tried]) -> list[str]:
    """The latencies that are not compared, as they say nothing of the flash."""
    said = []
    for kind in ("read", "write", "flush"):
        values = [each.values[f"{kind}_tail"] for each in found if f"{kind}_tail" in each.values]
        if values and all(value.void for value in values):
            said.append(f"{kind} latency is not compared: {values[0].void}.")
    return said


def _names(of: Sequence[Tried]) -> str:
    """The names of the first three, and how many more there are."""
    names = _list([each.candidate.name for each in of[:3]])
    return f"{names} and {len(of) - 3} more" if len(of) > 3 else names


def _rebuilds_for_ever(row: Mapping[str, Any]) -> bool:
    return bool(row.get("rebuild.0.latency_ns.count")) and row.get("rebuild.0.window_of_vulnerability_ns") is None
