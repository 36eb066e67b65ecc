"""Everything that the library offers says what it does."""

import inspect
import re

import flashraid as fr


def test_every_public_name_is_documented():
    undocumented = []
    for name in fr.__all__:
        value = getattr(fr, name)
        if isinstance(value, str):
            continue
        members = {name: value}
        if inspect.isclass(value):
            own = {
                key: each
                for base in value.__mro__
                if base.__module__.startswith("flashraid")
                for key, each in vars(base).items()
            }
            members |= {
                f"{name}.{key}": each
                for key, each in own.items()
                if key[0] != "_" and (inspect.isfunction(each) or isinstance(each, property | classmethod))
            }
        undocumented += [key for key, each in members.items() if not inspect.getdoc(each)]
    assert not undocumented


def explained(function, argument):
    """Whether the docstring names the argument, or refers to a function whose docstring does."""
    text = inspect.getdoc(function) or ""
    if f"`{argument}`" in text or f"`{argument}(" in text or f"{argument}=" in text:
        return True
    others = re.findall(r"those\s+of\s+`(\w+)`", text)
    return any(explained(getattr(fr, other), argument) for other in others)


def test_docstrings_explain_every_argument():
    unexplained = [
        f"{name}({argument.name})"
        for name in fr.__all__
        if inspect.isfunction(value := getattr(fr, name))
        for argument in inspect.signature(value).parameters.values()
        if argument.kind is not inspect.Parameter.VAR_KEYWORD and not explained(value, argument.name)
    ]
    assert not unexplained
