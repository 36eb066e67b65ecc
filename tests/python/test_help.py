"""The help of each command: complete, with an example that can be copied."""

import re
import shlex

import pytest
import typer
from typer.main import get_command

from flashraid.command.app import app

# What runs without a trace, and writes nothing.
EXECUTED = ("explain", "devices", "schemes", "trace profiles")


def commands(group, path=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


COMMANDS = dict(commands(get_command(app)))


@pytest.mark.parametrize("name", COMMANDS)
def test_everything_is_explained(name):
    command = COMMANDS[name]
    assert command.help
    for parameter in command.params:
        assert getattr(parameter, "help", None), f"{name} {parameter.name}"


@pytest.mark.parametrize("name", COMMANDS)
def test_there_is_an_example(name, command):
    found = re.findall(r"flashraid [^;\n]*", " ".join(COMMANDS[name].help.split()).partition("Example")[2])
    assert found
    options = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    for line in found:
        words = shlex.split(line.partition(" > ")[0])
        path, rest = words[1 : 1 + len(name.split())], words[1 + len(name.split()) :]
        assert " ".join(path) == name
        ours = rest[: rest.index("--")] if "--" in rest else rest
        assert {word for word in ours if word.startswith("-")} <= options
        if name in EXECUTED:
            assert command(*words[1:]).stdout


def test_all_commands_are_tried():
    assert {"run", "compare", "init", "explain", "trace info", "reproduce"} <= set(COMMANDS)
    assert isinstance(app, typer.Typer)
