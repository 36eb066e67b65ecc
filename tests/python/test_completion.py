"""What shells complete: by the protocol of typer's scripts, as bash, zsh and fish ask."""

import os
import subprocess

import pytest
from conftest import COMMAND, PROVE, SCHEMES

from flashraid.command import completion


def completed(*words, shell="fish"):
    """What is proposed for the last word, and nothing on standard error."""
    text = " ".join(["flashraid", *words])
    asked = {
        "bash": {"COMP_WORDS": text, "COMP_CWORD": str(len(words))},
        "zsh": {"_TYPER_COMPLETE_ARGS": text},
        "fish": {"_TYPER_COMPLETE_ARGS": text, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }[shell]
    environment = os.environ | asked | {"_FLASHRAID_COMPLETE": f"complete_{shell}"}
    done = subprocess.run([COMMAND], env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if line]


@pytest.mark.parametrize(
    ("complete", "begun", "expected"),
    [
        (completion.complete_devices, "array-", ["array-5x", "array-8x"]),
        (completion.complete_scheme_list, "al", ["all"]),
        (completion.complete_scheme_list, "raid0,raid1,raid", ["raid0,raid1,raid4", "raid0,raid1,raid5"]),
        (completion.complete_settings, "gc_pol", ["gc_policy="]),
        (completion.complete_settings, "device.gc_policy=gre", ["device.gc_policy=greedy"]),
        (completion.complete_settings, "ppc_update=", ["ppc_update=paper", "ppc_update=min"]),
        (completion.complete_settings, "unknown=", []),
        (completion.complete_option("rebuild"), "do", ["dor"]),
        (completion.complete_traces, "profile:sirf1-f", ["profile:sirf1-fin1", "profile:sirf1-fin2"]),
        (completion.complete_profiles, "sirf1-f", ["sirf1-fin1", "sirf1-fin2"]),
        (completion.complete_scheme_or_all, "al", ["all"]),
        (completion.complete_scheme_list, "ca-ppc,pp", ["ca-ppc,ppc"]),
        (completion.complete_traces, "", []),  # files, which the shell completes by itself
        (completion.complete_papers, "hot", ["hotswap"]),
        (completion.complete_papers, "cr5m.figure8", ["cr5m.figure8"]),
        (completion.complete_papers, "unknown.", []),
        (completion.complete_keys, "latency_ns.read.p99_9", ["latency_ns.read.p99_9", "latency_ns.read.p99_99"]),
    ],
)
def test_names_are_completed(complete, begun, expected):
    assert complete(begun) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["run", "x", "--device", "ssd"], ["ssd1", "ssd2", "ssd3"]),
        (["compare", "x", "--set", "gc_pol"], ["gc_policy="]),
        (["run", "samples/"], []),
    ],
)
def test_options_and_arguments_are_completed(words, expected):
    assert completed(*words) == expected


def test_each_shell_gets_its_own_form():
    assert completed("run", "x", "--scheme", "raid", shell="bash") == [name for name in SCHEMES if name[:4] == "raid"]
    assert completed("init", "--scheme", "sirf", shell="zsh") == ["_arguments '*: :((\"sirf1\"))'"]


def test_scripts_are_shown(command):
    # Otherwise the shell is that from which the tests were started: of make's there are no completions.
    named = os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    for shell in ("bash", "zsh", "fish"):
        assert "_FLASHRAID_COMPLETE" in command("--show-completion", shell, env=named).stdout


@pytest.mark.skipif(not PROVE, reason="make prove: times, which other tests disturb")
def test_it_is_fast():
    """The time of the processor, as others may use it too; and the best of several, with everything in the cache."""

    def seconds():
        before = os.times()
        completed("run", "x", "--set", "gc_pol", shell="bash")
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    assert min(seconds() for _ in range(5)) < 0.3
