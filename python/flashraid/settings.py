"""Settings as pairs of key and text for the engine, which alone defines their meaning and allowed values."""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from . import _native
from ._native import InputError
from .keys import said_at
from .sizes import filled_pages

Pairs = list[tuple[str, str]]
Path = str | os.PathLike[str]
# Called about ten times a second with the stage (counting, preconditioning, replaying, ageing, verifying), the pages or
# requests done, or SSDs worn out, and the share of the trace or of the ageing that they are; returning False stops the
# run.
Progress = Callable[[str, int, float | None], object]
# A setting as it was said: key, value, and what to call it in a message.
Said = tuple[str, str, str]


class Share(NamedTuple):
    """The settings of a comparison that apply to one scheme, and warnings about those that do not."""

    settings: Pairs
    notes: list[str]


def pairs(settings: Mapping[str, object], scheme: str | None = None) -> Pairs:
    """Keyword arguments that are not None as pairs of key and text. `scheme` is the argument of that name."""
    found = {key: text_of(value) for key, value in settings.items() if value is not None}
    check_texts(**found)
    said = [(key, value, f"{key} = {value}") for key, value in found.items()]
    named = [] if scheme is None else [("scheme.name", scheme, f"scheme = {scheme}")]
    full, bare = ([each for each in said if ("." in each[0]) is is_full] for is_full in (True, False))
    refuse_contradictions(named + bare, full)
    return list(found.items())


def refuse_contradictions(named: Iterable[Said], others: Iterable[Said]) -> None:
    """Refuses a setting with one value as an option or argument, and another as `KEY=VALUE`."""
    last = {bare(key): (value, text) for key, value, text in others}
    for key, value, text in named:
        other, called = last.get(bare(key), (value, ""))
        if not _native.same_value(key, value, other):
            raise InputError(f"{text} and {called} contradict each other: give one of them")


def bare(key: str) -> str:
    """The key without its table; only `name` keeps it."""
    return key if key.endswith(".name") else key.rpartition(".")[2]


def path_text(path: Path, name: str) -> str:
    """A path as text; errors call it `name`."""
    try:
        text = os.fspath(path)
    except TypeError:
        text = None
    if not isinstance(text, str):
        raise InputError(f"{name} = {path!r}: allowed is a path as text or as pathlib.Path")
    if "\0" in text:
        raise InputError(f"{name} = {text!r}: allowed is a name without NUL")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise InputError(f"{name} = {text!r}: allowed is a name that the file system can have") from None
    return text


def utf8_path(path: Path | None, name: str) -> str | None:
    """The same for a path that is passed to the engine as text."""
    text = None if path is None else path_text(path, name)
    if text is not None and not _is_utf8(text):
        raise InputError(f"{name} = {text!r}: allowed is a name in UTF-8")
    return text


def _is_utf8(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def given(**values: object) -> dict[str, Any]:
    """The arguments that are not None."""
    return {name: value for name, value in values.items() if value is not None}


# Names that fit into a line.
MOST_LISTED = 60


def known_name(what: str, name: str, known: Iterable[str]) -> str:
    """The name, if it is known; else raises InputError with the nearest, and with all there are if these are few."""
    known = list(known)
    if name not in known:
        near = _native.meant(name, known)
        ours = None if near else _native.called(name)
        hint = f"; the nearest is {near[0]}" if near else ""
        hint = f"; it is called {ours}, which is not possible there (flashraid explain {ours})" if ours else hint
        others = f"; there are {', '.join(known)}" if 0 < len(known) <= MOST_LISTED else ""
        raise InputError(f"{said_at(what, name)} {name}: there is none{hint}{others}")
    return name


def check_texts(**values: object) -> None:
    """Refuses values that are not UTF-8 text; the error names the value."""
    for name, value in values.items():
        if not (isinstance(value, str) and _is_utf8(value)):
            raise InputError(f"{name} = {value!r}: allowed is a text in UTF-8")


def texts(name: str, values: object) -> list[str]:
    """A list of texts, each named by its number in errors; a single text is refused."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InputError(f"{name} = {values!r}: allowed is a list of texts")
    found = list(values)
    check_texts(**{f"{name}[{index}]": value for index, value in enumerate(found)})
    return found


def check_flags(**values: object) -> None:
    """Refuses values other than True and False."""
    for name, value in values.items():
        if not isinstance(value, bool):
            raise InputError(f"{name} = {value!r}: allowed is True or False")


def check_progress(progress: object) -> None:
    """Refuses a progress argument that is neither a function nor None."""
    if progress is not None and not callable(progress):
        raise InputError(f"progress = {progress!r}: allowed is a function, or None")


def device_and_config(device: Path | None, config: Path | None) -> tuple[str | None, str | None]:
    """The device (preset or file) and the configuration file, as the engine takes them."""
    return utf8_path(device, "device"), None if config is None else path_text(config, "config")


def drive_file(settings: Pairs) -> str | None:
    """The file of the drive that the settings name."""
    name = next((value for key, value in reversed(settings) if bare(key) == "drive"), "")
    return re.sub(r"@[0-9a-fA-F]{64}$", "", name) or None


def list_text(values: Iterable[object]) -> str:
    """A list as the engine takes it."""
    return ",".join(str(value) for value in values)


def text_of(value: object) -> str:
    """A value as the engine takes it."""
    # Only lists of texts or of numbers are such that a key takes; of others, the engine says what it does.
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return list_text(value)
    if isinstance(value, list | tuple):
        return f"[{list_text(value)}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def configuration(device: str | None, scheme: str | None, config: str | None, settings: Pairs) -> dict[str, Any]:
    """The complete configuration and what it comes to: `config`, `user_bytes`, `space_bytes`, `idle`, `is_random`."""
    return json.loads(_native.configuration(device, scheme, config, settings))  # type: ignore[no-any-return]


def with_effect(device: str | None, scheme: str, settings: Pairs, config: str | None = None) -> Pairs:
    """The settings, from those merged for many runs, that can have effect in this run."""
    idle = {each["key"] for each in configuration(device, scheme, config, settings)["idle"]}
    return [(key, value) for key, value in settings if bare(key) not in idle]


# What is the same for all schemes of a comparison: the logical space and the filled bytes, or the filled share of the
# space that each has.
EQUAL = SPACE, FILL = "space", "fill"


def for_each(
    device: str | None, schemes: Sequence[str], config: str | None, settings: Pairs, equal: str = SPACE
) -> list[Share]:
    """The settings of a comparison, separately for each scheme.

    All schemes get the same logical space (the one given, else the smallest of their capacities) and filled bytes; with
    `equal` = fill each has its own capacity as its space, and the same share of it is filled. A parameter applies to
    the schemes that have it, a setting to those under which it can have effect; it is refused if there are none.
    """
    if not schemes:
        raise InputError("no schemes: give at least one")
    for scheme in schemes:
        if schemes.count(scheme) > 1:
            raise InputError(f"scheme {scheme} is listed twice: allowed is once")
    if any(key == "scheme.name" for key, _ in settings):
        raise InputError("scheme.name: not allowed in a comparison, which takes a list of schemes")
    each_own = [own_of(scheme, settings, schemes) for scheme in schemes]
    found = [configuration(device, scheme, config, own) for scheme, own in zip(schemes, each_own, strict=True)]
    shares = _shares(each_own, [{each["key"]: each["text"] for each in detail["idle"]} for detail in found])
    if equal == FILL:
        for key in ("space_bytes", "fill_bytes"):
            if found[0]["config"]["run"][key]:
                raise InputError(f"{key}: not allowed with equal fill, where each scheme has its own logical space")
        return [Share(own, notes) for own, notes in shares]
    space_bytes, fill_bytes = common_space(found)
    common = [("space_bytes", str(space_bytes)), ("fill", "0"), ("fill_bytes", str(fill_bytes))]
    # Nothing is left to refuse: the common space and fill were checked with the scheme of the smallest capacity. To
    # build the schemes of a large array once more would take seconds.
    return [Share(own + common, notes) for own, notes in shares]


def common_space(found: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """The logical space and the filled bytes that all these configurations get, to be compared.

    They are those given, else those of the smallest capacity; the first configuration has what was given.
    """
    run, page_bytes = found[0]["config"]["run"], found[0]["config"]["device"]["page_bytes"]
    space_bytes = run["space_bytes"] or min(each["user_bytes"] for each in found)
    fill_bytes = run["fill_bytes"] or filled_pages(run["fill"], space_bytes // page_bytes) * page_bytes
    return space_bytes, fill_bytes


def possible(
    device: str | None, config: str | None, settings: Pairs, among: Sequence[str] | None = None
) -> tuple[list[str], dict[str, str]]:
    """The schemes, of `among` or of all, that the device can have under these settings, and why it cannot have others.

    Parameters of schemes are left to `for_each`, which refuses wrong ones. If no scheme is possible, the first refusal
    is raised: it is of the device or the settings.
    """
    schemes = [scheme["name"] for scheme in json.loads(_native.schemes(None))]
    if among is not None:
        schemes = [known_name("scheme", scheme, schemes) for scheme in among]
    common = own_of(None, settings)
    refused: dict[str, str] = {}
    for scheme in schemes:
        try:
            configuration(device, scheme, config, common)
        except InputError as error:
            refused[scheme] = str(error)
    if len(refused) == len(schemes):
        raise InputError(next(iter(refused.values()), "no schemes: give at least one"))
    return [scheme for scheme in schemes if scheme not in refused], refused


def _shares(each_own: list[Pairs], idle: list[dict[str, str]]) -> list[Share]:
    """Each scheme's settings that can have effect under it, and why others cannot; refused if none can under any."""
    counting = {
        bare(key) for own, without in zip(each_own, idle, strict=True) for key, _ in own if bare(key) not in without
    }
    for without in idle:
        for key, text in without.items():
            if key not in counting:
                raise InputError(text)
    return [
        Share([(key, value) for key, value in own if bare(key) not in without], list(without.values()))
        for own, without in zip(each_own, idle, strict=True)
    ]


@cache
def parameters_of(scheme: str | None = None) -> frozenset[str]:
    """The parameters of a scheme, or of all; none of one that does not exist, which is refused later."""
    schemes = json.loads(_native.schemes(None))
    return frozenset(
        parameter["name"] for each in schemes if scheme in (None, each["name"]) for parameter in each["parameters"]
    )


def own_of(scheme: str | None, settings: Pairs, among: Sequence[str] | None = None) -> Pairs:
    """The settings without the parameters that only other schemes have, of those in `among` or of all.

    Of no scheme, without all parameters.
    """
    known = parameters_of() if among is None else frozenset[str]().union(*map(parameters_of, among))
    others = known if scheme is None else known - parameters_of(scheme)
    return [(key, value) for key, value in settings if key.removeprefix("scheme.") not in others]


def entry_of(name: str) -> dict[str, Any]:
    """What the registry says of a scheme."""
    return json.loads(_native.schemes(name))[0]  # type: ignore[no-any-return]
