"""An interrupt ends every command within seconds, whatever it waits for, and leaves nothing half done."""

import os
import signal
import subprocess
import sys
import time

from conftest import COMMAND, HEADER, write_trace, writes

# Each waits for a pipe that is open and gives nothing: in the engine, in a thread of it, in Python, before and after
# the first bytes. PIPE stands for it.
WAITING = [
    (["run", "PIPE", "--device", "tiny", "--scheme", "raid5", "--json", "out.json"], b""),
    (["run", "PIPE", "--device", "tiny", "--scheme", "raid5", "--quiet"], HEADER.encode() + b"0,W,0,4096,,\n"),
    (["run", "trace.csv", "--config", "PIPE"], b""),
    (["compare", "PIPE", "--device", "tiny", "--schemes", "raid0"], b""),
    (["trace", "convert", "PIPE", "-o", "converted.csv", "--format", "flashraid"], HEADER.encode() + b"0,W,0,4096,,\n"),
    (["trace", "info", "PIPE"], b""),
    (["report", "PIPE", "-o", "report.html"], b"{"),
    (["sweep", "PIPE", "--out", "dataset"], b"[fixed]\n"),
]


def test_a_pipe_that_gives_nothing(tmp_path):
    write_trace(tmp_path, writes(3))
    began = []
    try:
        for number, (arguments, first) in enumerate(WAITING):
            pipe = str(tmp_path / f"pipe-{number}")
            os.mkfifo(pipe)
            line = [COMMAND, *(pipe if each == "PIPE" else each for each in arguments)]
            streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
            began.append((subprocess.Popen(line, cwd=tmp_path, text=True, **streams), pipe, first))
        held = [_opened(pipe) for _, pipe, _ in began]
        for descriptor, (_, _, first) in zip(held, began, strict=True):
            os.write(descriptor, first)
        time.sleep(0.5)
        before = time.monotonic()
        for process, _, _ in began:
            assert process.poll() is None, process.communicate()
            process.send_signal(signal.SIGTERM)
        for process, pipe, _ in began:
            _, said = process.communicate(timeout=30)
            assert time.monotonic() - before < 5, pipe
            assert process.returncode == 130, (pipe, said)
            assert said.splitlines()[-1:] == ["interrupted"], (pipe, said)
        names = {path.name for path in tmp_path.iterdir() if not path.name.startswith("pipe-")}
        assert names == {"trace.csv"}
    finally:
        for process, _, _ in began:
            process.kill()
            process.wait()


def _opened(pipe):
    """The end that writes, as soon as somebody reads."""
    deadline = time.monotonic() + 120
    while True:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            assert time.monotonic() < deadline, pipe
            time.sleep(0.05)


def test_a_thread_that_nothing_wakes_holds_nobody_up(tmp_path):
    script = (
        "import sys, threading\n"
        "from flashraid import command\n"
        "threading.Thread(target=threading.Event().wait).start()\n"
        "sys.argv = ['flashraid', 'torture', '--scheme', 'raid5', '--kills', '100000000']\n"
        "print('here', flush=True)\n"
        "command.main()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "here\n"
    time.sleep(0.5)
    before = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    assert time.monotonic() - before < 5


def test_who_ends_a_command_by_force_says_what_the_command_would_have_said(tmp_path):
    script = (
        "import signal, sys, time\n"
        "from flashraid import interrupts\n"
        "signal.signal(signal.SIGINT, lambda *_: None)\n"
        "interrupts.LAST_SECONDS = 0.2\n"
        "interrupts.end_in_time()\n"
        "interrupts.last_words.text = 'interrupted: the rest is kept'\n"
        "if sys.argv[1:]: interrupts.last_words.say()\n"
        "print('here', flush=True)\n"
        "time.sleep(100)\n"
    )
    for said_before in ([], ["said before"]):
        line = [sys.executable, "-c", script, *said_before]
        process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "here\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30)[1] == "interrupted: the rest is kept\n", "once"
        assert process.returncode == 130
