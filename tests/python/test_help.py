"""The help of each command: complete, with an example that can be copied."""

import re
import shlex

import click
import pytest

from flashraid.command.app import flashraid

# What runs without a trace, and writes nothing.
EXECUTED = ("explain", "devices", "schemes", "trace profiles")


def commands(group, path=()):
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


COMMANDS = dict(commands(flashraid))


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


def test_help_has_headings_in_order(command):
    text = command("run", "--help").stdout
    headings = re.findall(r"^.. ([A-Z][a-z ]+) ", text, re.MULTILINE)
    assert headings[:2] == ["Arguments", "Options"]
    assert headings[-1] == "Help"
    assert "Show this message" in command("trace", status=2).stdout


def test_an_unknown_command_is_refused_with_the_nearest(command):
    message = "error: no such command compre; the nearest is compare: run, compare, sweep, advise, report, "
    assert command("compre", status=2).stderr.startswith(message)
    assert command("trace", "inf", status=2).stderr.startswith("error: no such command inf; the nearest is info: ")
