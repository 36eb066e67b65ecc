"""What the shell completes behind options and arguments. Where nothing is returned, it completes file names."""

import json
from collections.abc import Callable, Iterable

from .. import _native

# What is proposed for a word that is begun.
Completer = Callable[[str], list[str]]

PROFILE = "profile:"


def _named(text: str) -> list[str]:
    return [each["name"] for each in json.loads(text)]


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def complete_devices(incomplete: str) -> list[str]:
    """Device presets."""
    return _beginning(_named(_native.devices()), incomplete)


def complete_schemes(incomplete: str) -> list[str]:
    """Schemes."""
    return _beginning(_named(_native.schemes(None)), incomplete)


def complete_scheme_or_all(incomplete: str) -> list[str]:
    """Schemes, and the word for all of them."""
    return _beginning(["all", *_named(_native.schemes(None))], incomplete)


def complete_scheme_list(incomplete: str) -> list[str]:
    """A list of schemes: the last one, of those that the list does not have yet."""
    before, comma, last = incomplete.rpartition(",")
    if not comma:
        return complete_scheme_or_all(last)
    return [before + comma + name for name in complete_schemes(last) if name not in before.split(",")]


def complete_profiles(incomplete: str) -> list[str]:
    """Shipped profiles."""
    return _beginning(_named(_native.profiles()), incomplete)


def complete_traces(incomplete: str) -> list[str]:
    """Profiles in the place of a trace, once `p` is there; else files."""
    return _beginning([PROFILE + name for name in _named(_native.profiles())], incomplete) if incomplete else []


def complete_settings(incomplete: str) -> list[str]:
    """Keys of settings and of the schemes' parameters, and behind `KEY=` the words that the key takes."""
    # A number stands in the place of K.
    words = {
        each["key"]: [word["name"].removesuffix("K") if ":" in word["name"] else word["name"] for word in each["words"]]
        for each in json.loads(_native.settings())
    }
    for scheme in json.loads(_native.schemes(None)):
        words |= {each["name"]: each["choices"] for each in scheme["parameters"]}
    key, equals, value = incomplete.partition("=")
    if not equals:
        return [f"{name}=" for name in _beginning(words, key)]
    return [f"{key}={word}" for word in _beginning(words.get(key.rpartition(".")[2], []), value)]


def complete_option(key: str) -> Completer:
    """The words of a setting, for its option."""

    def complete(incomplete: str) -> list[str]:
        return [word.removeprefix(f"{key}=") for word in complete_settings(f"{key}={incomplete}")]

    return complete


def complete_papers(incomplete: str) -> list[str]:
    """Papers, and behind `PAPER.` its experiments."""
    from ..reproduce.papers import find, names

    paper, dot, _ = incomplete.partition(".")
    if not dot:
        return _beginning(["all", *names()], incomplete)
    return _beginning([f"{paper}.{name}" for name in find(paper).experiments], incomplete) if paper in names() else []


def complete_parts(incomplete: str) -> list[str]:
    """Parts of recordings that papers replayed."""
    from ..searching import part_names

    return _beginning(part_names(), incomplete)


def complete_keys(incomplete: str) -> list[str]:
    """Everything that `explain` explains."""
    from ..explain import names

    return _beginning(names(), incomplete)
