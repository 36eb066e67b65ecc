"""The commands that repeat a run, or a comparison with all its repeats."""

import json
import shlex
from collections.abc import Sequence
from typing import Any

from .. import _native, settings
from .._native import FlashraidError
from ..compared import Results
from ..measured import Measured
from ..settings import Pairs


def commands(comparison: Results) -> list[str]:
    """Commands whose configuration is exactly that of the results, as often as they were repeated: one comparison, else
    one of a scheme, or a run, for each.

    Only settings that differ from the defaults are named: those of an older version that differ from the defaults of
    today are among them. A result that no such command repeats, as that of a device from a file, needs its JSON, of
    which the command then says so.
    """
    results = [result for result in comparison.results[:: comparison.seeds] if result.workload.name]
    compared = _how_often(comparison) + ("" if comparison.capacity else " --no-capacity")
    # What `run` does not do: repeat a run with other arrivals, and measure the capacity.
    is_compared = bool(comparison.repeats or comparison.capacity)
    if (len(results) > 1 or is_compared) and (one := _compare(results)):
        return [one + compared]
    if is_compared:
        return [
            one + compared if (one := _compare([result])) else _by_file("compare", result, compared)
            for result in results
        ]
    return [_run(result, f" --seeds {comparison.seeds}" if comparison.seeds > 1 else "") for result in results]


def _how_often(comparison: Results) -> str:
    """The option of `compare` that repeats each run as often; it repeats short ones by itself."""
    return "" if comparison.repeats else f" --seeds {comparison.seeds}"


def _run(result: Measured, ending: str) -> str:
    trace = shlex.quote(result.workload.name)
    config = _config(result)
    # `result.device` and `result.scheme` may name a file as well.
    device, scheme = (config[table]["name"] if config else "" for table in ("device", "scheme"))
    pairs = _changes(config) if config else None
    if config is None or pairs is None or not _gives(device, scheme, pairs, config):
        return _by_file("run", result, ending)
    return f"flashraid run {trace} --device {device} --scheme {scheme}{_options(pairs)}{ending}"


def _by_file(command: str, result: Measured, ending: str) -> str:
    """The command that takes the configuration from the JSON of the result."""
    trace, config = shlex.quote(result.workload.name), _config(result)
    schemes = f" --schemes {config['scheme']['name'] if config else result.scheme}" if command == "compare" else ""
    said = f"the JSON of the result under {result.scheme}"
    return f"flashraid {command} {trace} --config RESULT.json{schemes}{ending}   # {said}"


def _compare(results: Sequence[Measured]) -> str | None:
    """A comparison that gives each result its configuration, if there is one."""
    configs = [config for result in results if (config := _config(result))]
    schemes = [result.scheme for result in results]
    if len(configs) < len(results) or len(set(schemes)) < len(schemes):
        return None
    if len({result.workload.sha256 for result in results}) > 1:
        return None
    device = configs[0]["device"]["name"]
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
        each = zip(schemes, shares, configs, strict=True)
        if all(_gives(device, scheme, share.settings, config) for scheme, share, config in each):
            own = "" if equal == settings.SPACE else f" --equal {equal}"
            return f"flashraid compare {trace} --device {device} --schemes {','.join(schemes)}{own}{_options(pairs)}"
    return None


def _config(result: Measured) -> dict[str, Any] | None:
    """The configuration of a result, complete as one of today; None if this version does not know all of it."""
    try:
        return json.loads(_native.configuration_of_result(result.json))  # type: ignore[no-any-return]
    except FlashraidError:
        return None


def _changes(config: dict[str, Any]) -> Pairs | None:
    """The settings with effect that differ from the defaults of the device and the scheme; None if there is no such
    device.
    """
    device, scheme = config["device"]["name"], config["scheme"]["name"]
    default = _detail(device, scheme, [])
    if default is None:
        return None
    pairs = _differences(config, default["config"])
    idle = _idle(_detail(device, scheme, pairs))
    return [(key, value) for key, value in pairs if key not in idle]


def _gives(device: str, scheme: str, pairs: Pairs, config: dict[str, Any]) -> bool:
    """Whether these settings give the configuration, but for what has no effect in it."""
    made = _detail(device, scheme, pairs)
    if made is None or made["config"].keys() != config.keys():
        return False
    others = _differences(config, made["config"])
    return not others or {key for key, _ in others} <= _idle(_detail(device, scheme, pairs + others))


def _differences(config: dict[str, Any], other: dict[str, Any]) -> Pairs:
    """The settings of a configuration that another one has not."""
    return [
        (key, _text(value))
        for table, values in config.items()
        for key, value in values.items()
        if other.get(table, {}).get(key) != value
    ]


def _detail(device: str, scheme: str, pairs: Pairs) -> dict[str, Any] | None:
    """The configuration that these settings give, and what of them has no effect."""
    try:
        return settings.configuration(device, scheme, None, pairs)
    except FlashraidError:
        return None


def _idle(detail: dict[str, Any] | None) -> set[str]:
    """The settings asked for that have no effect."""
    return {each["key"] for each in detail["idle"]} if detail else set()


def _options(pairs: Pairs) -> str:
    return "".join(f" --set {shlex.quote(f'{key}={value}')}" for key, value in pairs)


def _text(value: Any) -> str:
    if isinstance(value, list):
        joined = settings.list_text(value)
        return joined if all(isinstance(each, str) for each in value) else f"[{joined}]"
    return str(value).lower() if isinstance(value, bool) else str(value)
