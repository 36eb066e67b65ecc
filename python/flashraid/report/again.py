"""The commands that repeat a run."""

import shlex
from collections.abc import Sequence
from typing import Any

from .. import settings
from .._native import FlashraidError
from ..result import Result
from ..settings import Pairs


def commands(results: Sequence[Result], seeds: int = 1) -> list[str]:
    """Commands whose configuration is exactly that of the results: one comparison, else a run for each.

    Of several seeds the results are those of the first. Only settings that differ from the defaults are named. A result
    that no such command repeats, as that of a device from a file, needs its JSON, of which the command then says so.
    """
    results = [result for result in results if result.workload.name]
    if len(results) > 1 and (one := _compare(results)):
        return [one + _seeds(seeds)]
    return [_run(result, _seeds(seeds)) for result in results]


def _seeds(seeds: int) -> str:
    return f" --seeds {seeds}" if seeds > 1 else ""


def _run(result: Result, ending: str) -> str:
    trace = shlex.quote(result.workload.name)
    config = result.to_dict()["config"]
    device, scheme = config["device"]["name"], config["scheme"]["name"]  # `result.scheme` may name a file as well
    pairs = _changes(config)
    if pairs is None or _complete(device, scheme, pairs) != config:
        return f"flashraid run {trace} --config RESULT.json{ending}   # the JSON of the result under {result.scheme}"
    return f"flashraid run {trace} --device {device} --scheme {scheme}{_options(pairs)}{ending}"


def _compare(results: Sequence[Result]) -> str | None:
    """A comparison that gives each result its configuration, if there is one."""
    configs = [result.to_dict()["config"] for result in results]
    schemes, device = [result.scheme for result in results], configs[0]["device"]["name"]
    if len(set(schemes)) < len(schemes) or len({result.workload.sha256 for result in results}) > 1:
        return None
    merged: dict[str, str] = {}
    for config in configs:
        for key, value in _changes(config) or []:
            if merged.setdefault(key, value) != value:
                return None
    trace, pairs = shlex.quote(results[0].workload.name), list(merged.items())
    for equal in settings.EQUAL:
        try:
            shares = settings.for_each(device, schemes, None, pairs, equal)
        except FlashraidError:
            continue
        if [_complete(device, name, share.settings) for name, share in zip(schemes, shares, strict=True)] == configs:
            own = "" if equal == settings.SPACE else f" --equal {equal}"
            return f"flashraid compare {trace} --device {device} --schemes {','.join(schemes)}{own}{_options(pairs)}"
    return None


def _changes(config: dict[str, Any]) -> Pairs | None:
    """The settings that differ from the defaults of the device and the scheme; None if there is no such device."""
    try:
        default = settings.configuration(config["device"]["name"], config["scheme"]["name"], None, [])["config"]
    except FlashraidError:
        return None
    return [
        (key, _text(value))
        for table, values in config.items()
        for key, value in values.items()
        if default.get(table, {}).get(key) != value
    ]


def _complete(device: str, scheme: str, pairs: Pairs) -> dict[str, Any] | None:
    """The configuration that these settings give."""
    try:
        return settings.configuration(device, scheme, None, pairs)["config"]  # type: ignore[no-any-return]
    except FlashraidError:
        return None


def _options(pairs: Pairs) -> str:
    return "".join(f" --set {shlex.quote(f'{key}={value}')}" for key, value in pairs)


def _text(value: Any) -> str:
    if isinstance(value, list):
        joined = settings.list_text(value)
        return joined if all(isinstance(each, str) for each in value) else f"[{joined}]"
    return str(value).lower() if isinstance(value, bool) else str(value)
