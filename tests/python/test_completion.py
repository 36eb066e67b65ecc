"""What shells complete: by the protocol of click's scripts, as bash, zsh and fish ask."""

import os
import shlex
import shutil
import subprocess

import pytest
from conftest import COMMAND, SCHEMES

from flashraid.command import completion


def completed(*words, shell="fish"):
    """What is proposed for the last word, and nothing on standard error; files are left to the shell."""
    text = " ".join(["flashraid", *words])
    asked = {"COMP_WORDS": text, "COMP_CWORD": words[-1] if shell == "fish" else str(len(words))}
    environment = os.environ | asked | {"_FLASHRAID_COMPLETE": f"{shell}_complete"}
    done = subprocess.run([COMMAND], env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    if shell == "fish":
        return [line.removeprefix("plain,") for line in done.stdout.splitlines() if not line.startswith("file,")]
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("complete", "begun", "expected"),
    [
        (completion.complete_devices, "array-", ["array-5x", "array-8x"]),
        (completion.complete_scheme_list, "al", ["all"]),
        (
            completion.complete_scheme_list,
            "raid0,raid1,raid",
            ["raid0,raid1,raid4", "raid0,raid1,raid5", "raid0,raid1,raid6", "raid0,raid1,raid10"],
        ),
        (completion.complete_settings, "gc_pol", ["gc_policy="]),
        (completion.complete_settings, "device.gc_policy=gre", ["device.gc_policy=greedy"]),
        (completion.complete_settings, "gc_policy=w", ["gc_policy=windowed:"]),
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
        (["zzz", "--he"], ["--help\tShow this message and exit."]),
        (["trace", "zzz", "--"], ["--help\tShow this message and exit."]),
    ],
)
def test_options_and_arguments_are_completed(words, expected):
    assert completed(*words) == expected


def test_each_shell_gets_its_own_form():
    of_raid = [f"plain,{name}" for name in SCHEMES if name[:4] == "raid"]
    assert completed("run", "x", "--scheme", "raid", shell="bash") == of_raid
    assert completed("init", "--scheme", "sirf", shell="zsh") == ["plain", "sirf1", "_"]
    assert completed("run", "samples/", shell="bash") == ["file,samples/"]


def of_bash(command, line):
    """What bash itself puts in the place of the last word of the line."""
    script = command("--show-completion", "bash").stdout
    asked = f"COMP_LINE={shlex.quote(line)} COMP_POINT=${{#COMP_LINE}}\n_flashraid_completion {COMMAND}"
    show = "printf '%s\\n' \"${COMPREPLY[@]}\""
    done = subprocess.run(["bash", "-c", f"{script}\n{asked}\n{show}"], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("flashraid run x --device ssd", ["ssd1", "ssd2", "ssd3"]),
        ("flashraid run x --set gc_pol", ["gc_policy="]),
        # Bash takes these for several words, and completes the last one.
        ("flashraid run x --set ppc_update=m", ["min"]),
        ("flashraid run x --set ppc_update=", ["paper", "min"]),
        ("flashraid run profile:sirf1-f", ["sirf1-fin1", "sirf1-fin2"]),
        (
            "flashraid compare x --schemes raid0,raid1,raid",
            ["raid0,raid1,raid4", "raid0,raid1,raid5", "raid0,raid1,raid6", "raid0,raid1,raid10"],
        ),
    ],
)
def test_bash_completes_the_last_word(command, line, expected):
    assert of_bash(command, line) == expected


def test_scripts_are_shown_and_installed(command, tmp_path):
    for shell, files in [
        ("bash", {".bashrc", ".flashraid-complete.bash"}),
        ("zsh", {".zshrc", ".flashraid-complete.zsh"}),
        ("fish", {".config/fish/completions/flashraid.fish"}),
    ]:
        shown = command("--show-completion", shell).stdout
        assert "_FLASHRAID_COMPLETE" in shown
        home = tmp_path / shell
        home.mkdir()
        (home / ".bashrc").write_text("echo mine")
        for _ in range(2):  # once is enough
            command("--install-completion", shell, env=os.environ | {"HOME": str(home)})
        written = {str(path.relative_to(home)): path.read_text() for path in home.rglob("*") if path.is_file()}
        assert set(written) - {".bashrc"} == files - {".bashrc"}
        assert shown.rstrip() in {text.rstrip() for text in written.values()}
        if shell == "bash":
            assert written[".bashrc"] == 'echo mine\n. "$HOME/.flashraid-complete.bash"\n'
    of_mine = command("--show-completion", env=os.environ | {"SHELL": "/bin/zsh"}).stdout
    assert of_mine.startswith("#compdef flashraid")
    refused = command("--show-completion", env=os.environ | {"SHELL": "/bin/csh"}, status=2).stderr
    assert refused == "error: --show-completion csh: allowed is bash, zsh, fish\n"


def test_it_loads_the_options_alone():
    """What takes long to load is loaded by the command that needs it: what completion takes is the time of loading."""
    environment = os.environ | {"_FLASHRAID_COMPLETE": "bash_complete", "COMP_WORDS": "flashraid run x --set gc_pol"}
    environment |= {"COMP_CWORD": "4", "PYTHONPROFILEIMPORTTIME": "1"}
    done = subprocess.run([COMMAND], env=environment, capture_output=True, text=True, check=True)
    assert "gc_policy" in done.stdout
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert {"click", "flashraid.command.options"} <= loaded
    assert not loaded & {"ssl", "polars", "numpy", "flashraid.comparison", "flashraid.summary", "flashraid.figures"}
