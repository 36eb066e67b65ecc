"""What a change changes: an explanation may change one thing, and none that its paper fixes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .._native import InputError
from ..quantities import rounded
from ..settings import text_of

# Settings that are one thing together; any other is a thing of its own. Members of a profile begin with `profile.`.
TOGETHER: Mapping[str, Sequence[str]] = {
    "commands": ("read_command_ns", "program_command_ns", "erase_command_ns"),
    "arrivals": ("speed", "profile.arrivals"),
    "sizes": ("profile.sizes", "profile.align_bytes", "profile.page_bytes"),
    "addresses": ("profile.addresses", "profile.offset_bytes", "profile.length_bytes"),
    "operations": ("profile.ops", "profile.weight"),
}
# By how much a mean may differ from that of the paper's table, which is rounded.
TOLERANCE = 0.05


class Leaf(NamedTuple):
    """One setting that a change sets, and the configuration, workload or point that it is for, if it is for one."""

    name: str
    key: str
    value: Any

    @property
    def thing(self) -> str:
        """What it is a setting of."""
        return next((thing for thing, keys in TOGETHER.items() if self.key in keys), self.key)


def leaves(change: Mapping[str, Any], name: str = "") -> Iterator[Leaf]:
    """The settings of a change, one by one."""
    for key, value in change.items():
        if key == "profile":
            for stream in value.get("streams", {}).values():
                yield from (Leaf(name, f"profile.{member}", each) for member, each in stream.items())
            yield from (Leaf(name, f"profile.{member}", each) for member, each in value.items() if member != "streams")
        elif isinstance(value, Mapping):
            yield from leaves(value, key)
        else:
            yield Leaf(name, key, value)


def check(
    change: Mapping[str, Any], fixed: Mapping[str, Any], tables: Mapping[str, Mapping[str, float]], where: str
) -> None:
    """Refuses a change of several things, or of what the paper fixes: settings, or what its tables say of workloads."""
    found = list(leaves(change))
    things = sorted({each.thing for each in found})
    if len(things) != 1:
        raise InputError(f"{where} one thing at a time is allowed: it changes {' and '.join(things) or 'nothing'}")
    for leaf in found:
        allowed = fixed.get(leaf.key)
        listed = allowed if isinstance(allowed, list) else [allowed]
        if allowed is not None and leaf.value not in listed:
            values = " or ".join(map(text_of, listed))
            raise InputError(f"{where} {leaf.key} = {text_of(leaf.value)}: the paper has {values}")
        for workload in [leaf.name] if leaf.name in tables else tables:
            if key := _fixed_by_table(leaf, tables[workload]):
                raise InputError(
                    f"{where} {leaf.key}: the paper has {key} = {rounded(tables[workload][key])} for {workload}"
                )


def _fixed_by_table(leaf: Leaf, table: Mapping[str, float]) -> str:
    """The figure of a paper's table that a changed workload would not have any more."""
    if leaf.key == "speed":
        is_kept, keys = leaf.value == 1, ["requests_per_second"]
    elif leaf.key == "profile.arrivals":
        rate = 1e9 / leaf.value["mean_ns"] if "mean_ns" in leaf.value else 0.0
        is_kept, keys = _is_near(rate, table.get("requests_per_second", rate)), ["requests_per_second"]
    elif leaf.key == "profile.sizes":
        shares = leaf.value.get("bytes", ()) if leaf.value.get("law") == "table" else ()
        mean = sum(share * size for share, size in shares) / (sum(share for share, _ in shares) or 1)
        is_kept, keys = _is_near(mean, table.get("mean_bytes", mean)), ["mean_bytes", "mean_write_bytes"]
    elif leaf.thing == "operations":
        is_kept, keys = False, ["write_share"]
    else:
        return ""
    return "" if is_kept else next((key for key in keys if key in table), "")


def _is_near(ours: float, paper: float) -> bool:
    return abs(ours - paper) <= TOLERANCE * paper
