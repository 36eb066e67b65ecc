"""No command listens on any port unless it is asked to: whoever reaches one could read names, or have code run."""

import contextlib
import glob
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from conftest import COMMAND
from sweep_cases import write_plan

# Long enough to be looked at; TRACE stands for a long trace, PLAN for a plan.
ARGUMENTS = [
    ["sweep", "PLAN", "--jobs", "2"],
    ["advise", "TRACE", "--device", "tiny", "--fit", "wrap", "--schemes", "raid0,raid5", "--jobs", "2"],
    ["compare", "TRACE", "--device", "tiny", "--fit", "wrap", "--schemes", "raid0,raid5", "--jobs", "2"],
    ["reproduce", "ppc"],
]


def listening(process):
    """The addresses at which a process, and what it has started, listens to others, TCP and UDP."""
    family, found = [process], []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(status.read_text().rpartition(")")[2].split()[1]) == process:
                family.append(int(status.parent.name))
    for each in family:
        own = set()
        for link in glob.glob(f"/proc/{each}/fd/*"):
            with contextlib.suppress(OSError):
                own.add(os.readlink(link))
        for table, state in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
            for line in Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == state and f"socket:[{fields[9]}]" in own:
                    found.append(f"{table} {fields[1]}")
    return found


@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="the system has no /proc/net")
def test_no_command_listens(tmp_path, long_trace):
    with socket.socket() as port:
        port.bind(("127.0.0.1", 0))
        port.listen()
        assert f"tcp 0100007F:{port.getsockname()[1]:04X}" in listening(os.getpid()), "what listens is seen"
    plan = str(write_plan(tmp_path, long_trace, "fit = 'wrap'"))
    began = []
    try:
        for arguments in ARGUMENTS:
            line = [str(COMMAND), *({"PLAN": plan, "TRACE": str(long_trace)}.get(each, each) for each in arguments)]
            environment = os.environ | {"FLASHRAID_CACHE": str(tmp_path / "cache")}
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            began.append(subprocess.Popen(line, cwd=tmp_path, env=environment, **quiet))
        at_work, deadline = set(), time.monotonic() + 150
        while len(at_work) < len(began) and time.monotonic() < deadline:
            for process, arguments in zip(began, ARGUMENTS, strict=True):
                assert process.poll() is None, arguments
                assert listening(process.pid) == [], arguments
                # A command has loaded all of itself and works.
                fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
                if (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") > 1:
                    at_work.add(arguments[0])
            time.sleep(0.1)
        assert len(at_work) == len(began)
    finally:
        for process in began:
            process.send_signal(signal.SIGKILL)
            process.wait()
