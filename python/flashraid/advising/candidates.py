"""What an advisor chooses from: schemes, each with its parameters at their defaults and with one of them changed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from .. import _native
from .._native import InputError
from ..settings import Pairs, bare, configuration, known_name, own_of, parameters_of, possible

# Sizes that a parameter in bytes is tried with, as multiples of its default.
SIZES = (0.5, 2, 4)


@dataclass(frozen=True)
class Candidate:
    """A scheme with the settings that it is tried with, beside those that all have."""

    scheme: str
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """What tables call it."""
        return " ".join([self.scheme, *(f"{key}={value}" for key, value in self.settings)])

    @property
    def point(self) -> dict[str, Any]:
        """What a sweep is told of it."""
        return {"scheme": self.scheme, **dict(self.settings)}


def candidates(
    device: str | None,
    config: str | None,
    schemes: Sequence[str] | None,
    settings: Pairs,
    vary: Mapping[str, Sequence[str]],
) -> tuple[dict[Candidate, dict[str, Any]], dict[str, str]]:
    """All that there is to choose from, each with its configuration, and why some schemes cannot be had.

    Of each scheme that the device can have (or of `schemes`): its defaults; and each word of each parameter, and
    several sizes of one in bytes, alone. `vary` has more settings with values, of which every combination is tried;
    of those that a scheme cannot have, and of values without effect, the second part says why. Raises InputError for a
    value that none can have, and if there is nothing to choose from.
    """
    known = {each["name"]: each for each in json.loads(_native.schemes(None))}
    refused: dict[str, str] = {}
    if schemes is None:
        schemes, refused = possible(device, config, settings)
    for scheme in schemes:
        known_name("scheme", scheme, known)
    for key in (bare(key) for key, _ in settings):
        if key in parameters_of() and not any(key in parameters_of(scheme) for scheme in schemes):
            raise InputError(f"{key}: not allowed here: no scheme to choose from has it")
    given = {bare(key) for key, _ in settings} | set(vary)
    tried_in_vain: dict[str, str] = {}
    found: dict[tuple[str, str], tuple[Candidate, dict[str, Any]]] = {}
    possible_values: set[tuple[str, str]] = set()
    without_effect: dict[tuple[str, str], str] = {}
    for scheme in schemes:
        own_settings = own_of(scheme, settings)
        for own in _of(known[scheme], given):
            for more in product(*([(key, value) for value in values] for key, values in vary.items())):
                candidate = Candidate(scheme, (*own, *more))
                told = [*own_settings, *candidate.settings]
                try:
                    detail = configuration(device, scheme, config, told)
                except InputError as error:
                    if not own:
                        tried_in_vain[candidate.name] = str(error)
                    continue
                possible_values.update(more)
                # What changes nothing is the same candidate.
                idle = {each["key"]: each["text"] for each in detail["idle"]}
                if not idle.keys() & {key for key, _ in candidate.settings}:
                    found.setdefault((scheme, json.dumps(detail["config"])), (candidate, detail))
                without_effect |= {(key, value): idle[key] for key, value in more if key in idle}
    if not found:
        reasons = [*tried_in_vain.values(), *without_effect.values(), "none is named"]
        raise InputError(f"no candidate is left: {reasons[0]}")
    for key, values in vary.items():
        for value in values:
            if (key, value) not in possible_values:
                why = next(why for name, why in tried_in_vain.items() if f"{key}={value}" in name.split(" "))
                raise InputError(f"no scheme can have {key} = {value}: {why}")
    tried = {setting for candidate, _ in found.values() for setting in candidate.settings}
    untried = {f"{key}={value}": why for (key, value), why in without_effect.items() if (key, value) not in tried}
    return dict(found.values()), refused | tried_in_vain | untried


def _of(scheme: Mapping[str, Any], given: set[str]) -> Iterator[tuple[tuple[str, str], ...]]:
    """The parameters that a scheme is tried with: none, then each value of each one that nobody gave."""
    yield ()
    for parameter in scheme["parameters"]:
        name, default = parameter["name"], parameter["default"]
        if name in given:
            continue
        values = [word for word in parameter["choices"] if word != default]
        if parameter["unit"] == "bytes":
            values = [str(int(size * int(default))) for size in SIZES]
        for value in values:
            yield ((name, value),)
