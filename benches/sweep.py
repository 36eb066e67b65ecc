"""What a sweep costs beside its runs: on the cores of this machine, and on a cluster of many simulated workers.

    python benches/sweep.py                    alone on the machine, a few minutes
    python benches/sweep.py --workers 1000     only the cluster, with so many threads that wait instead of simulating

The first part compares the rate of a sweep with that of bare engine processes side by side, one for each core. The
second has workers whose runs take a second of waiting; what the scheduler and the sweep cost for each run is the
processor time of both processes, and at the rate at which one of them is busy all the time more workers gain nothing.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import flashraid as fr
from flashraid import machine

ROOT = Path(__file__).parents[1]
COMMAND = Path(sys.executable).with_name("flashraid")
RUNS_OF_CORE = 80  # enough of them that the start of a cluster is a small part
ROUNDS = 3  # of both, one after the other: a virtual machine is not as fast all the time
REQUESTS = 1_000_000
SECONDS = 1.0  # of a simulated run
MOST_MS = 3.0  # for each run, of the scheduler
LEAST_SHARE = 0.95  # of what bare processes do


def plan(trace: Path, runs: int) -> dict[str, object]:
    """So many runs that differ in the speed."""
    fixed = {"trace": str(trace), "device": "ssd1", "scheme": "raid5"}
    return {"fixed": fixed, "grid": {"speed": {"from": 1.0, "to": 2.0, "points": runs}}}


def own_machine(folder: Path) -> None:
    """The sweep beside bare processes, which do the same runs."""
    trace, cores = folder / "trace.ssdsim", machine.cores()
    fr.synth(trace, requests=REQUESTS, format="ssdsim", space_bytes=1 << 30, interval_ns=400_000)
    runs = cores * RUNS_OF_CORE
    script = (
        "import sys, flashraid as fr\n"
        f"for at in range(int(sys.argv[2]), {runs}, {cores}):\n"
        f"    fr.run(sys.argv[1], device='ssd1', scheme='raid5', speed=1 + at / {runs - 1}, engine=False)\n"
    )
    lines = [[sys.executable, "-W", "ignore", "-c", script, str(trace), str(core)] for core in range(cores)]
    shares = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for process in [subprocess.Popen(line) for line in lines]:
            process.wait()
        bare = time.perf_counter() - began
        began = time.perf_counter()
        fr.sweep(plan(trace, runs))
        swept = time.perf_counter() - began
        shares.append(bare / swept)
        print(f"{cores} bare processes: {runs / bare:.2f} runs/s; sweep: {runs / swept:.2f} runs/s, start included")
    share = statistics.median(shares)
    print(f"share: {share:.3f}, the median (asked {LEAST_SHARE}){'' if share >= LEAST_SHARE else ' MISSED'}")


PRELOAD = """
import json, time
from flashraid.sweeping import elsewhere, job

def wait(each, *_):
    time.sleep(SECONDS)
    figures = {f"figure.{number}": number / 7 for number in range(320)}
    return job.line(job.row_of(each, "done", "", figures), "simulated", SECONDS)

elsewhere.done_or_failed = wait
"""


def processor_seconds(process: int) -> float:
    """What a process has used so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cluster(folder: Path, workers: int, seconds: float) -> None:
    """A scheduler, and so many threads that wait."""
    trace = folder / "short.csv"
    trace.write_text("ts_us,op,offset,size,flags,latency_us\n0,W,0,4096,,\n")
    preload = folder / "preload.py"
    preload.write_text(f"SECONDS = {seconds}\n{PRELOAD}")
    address = "tcp://127.0.0.1:18786"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    line = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "18786"]
    private = ["--host", "127.0.0.1", "--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
    started = [subprocess.Popen([*line, *private], **quiet)]
    threads = min(workers, 100)
    for _ in range(-(-workers // threads)):
        line = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", str(threads), "--no-nanny"]
        line += [*private, "--preload", str(preload), "--memory-limit", "0", "--local-directory", str(folder)]
        started.append(subprocess.Popen(line, **quiet))
    try:
        runs = 10 * workers
        before: list[list[float]] = []

        def now(done: int) -> list[float]:
            return [processor_seconds(started[0].pid), time.process_time(), time.perf_counter(), done]

        def watch(status: fr.SweepStatus) -> None:
            if not before and status.done:
                before.append(now(status.done))

        fr.sweep(plan(trace, runs), scheduler=address, progress=watch)
        scheduler, own, wall, done = (after - first for after, first in zip(now(runs), before[0], strict=True))
        print(f"{workers} simulated workers: {done:.0f} runs in {wall:.1f} s, {done / wall:.0f} runs/s")
        for name, seconds in (("scheduler", scheduler), ("sweep", own)):
            cost_ms = 1000 * seconds / done
            limit = f"{'' if cost_ms <= MOST_MS else ' MISSED'}" if name == "scheduler" else ""
            print(f"{name}: {cost_ms:.2f} ms a run{limit}; busy all the time at {1000 / cost_ms:,.0f} runs/s")
    finally:
        for process in started:
            process.kill()
            process.wait()


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, help="only the cluster, with so many workers")
    parser.add_argument("--quick", action="store_true", help="only whether it runs to its end")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.quick:
            cluster(Path(folder), 2, 0.01)
            return
        if given.workers is None:
            own_machine(Path(folder))
        for workers in (10, 100, 1000) if given.workers is None else (given.workers,):
            cluster(Path(folder), workers, SECONDS)


if __name__ == "__main__":
    main()
