"""Speed and memory on the workloads and the 64 GB device on which other simulators were measured. Run it alone.

Every figure is the median of three runs, each in a process of its own. `--json FILE` writes all of it. Exit status 1 if
a count is wrong; a target missed is marked, as it depends on the machine: the targets were set where a dependent random
read in 128 MiB takes 172 ns.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import flashraid as fr

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "target" / "bench"
COMMAND = Path(sys.executable).with_name("flashraid")
RUNS = 3
MOST_FILL_NS = 25
MOST_BYTES_PER_PAGE, MOST_BYTES_PER_PAGE_VERIFIED, MOST_FIXED_BYTES = 16, 40, 100_000_000
TARGET_LATENCY_NS = 172
PAGE_BYTES = 4096

# Addresses and sizes in pages. The hashes are those of the traces on which the other simulators ran.
SPACE_PAGES = 4_194_304  # 16 GiB
SPREAD_PAGES = 16_777_216 * 8 // 10  # of 64 GiB
MIXED = {"read_share": 0.7, "max_pages": 4, "seed": 2}
WORKLOADS: dict[str, dict[str, Any]] = {
    "a": {"space": SPACE_PAGES, "interval_ns": 100_000, "sha256": "51ffadd97b62"},
    "b": {"space": SPACE_PAGES, "interval_ns": 100_000, "sha256": "50206cfac57c", **MIXED},
    "a400": {"space": SPACE_PAGES, "interval_ns": 400_000, "sha256": "1ddb0706669e"},
    "writes-64G": {"space": SPREAD_PAGES, "interval_ns": 100_000},
    "writes-1T": {"space": 16 * SPREAD_PAGES, "interval_ns": 25_000},  # four times the channels
    "mixed-64G": {"space": SPREAD_PAGES, "interval_ns": 100_000, **MIXED},
    "mixed-1T": {"space": 16 * SPREAD_PAGES, "interval_ns": 25_000, **MIXED},
}
REQUESTS = 1_000_000
LARGE = ["--set", "channels=16", "--set", "chips_per_channel=16"]  # 1 TiB
PPC = ["--set", "page_bytes=4096", "--set", "blocks_per_plane=32768"]  # 40 GiB, without collection
FILL = ["--fill", "0.5"]
FULL = ["--fill", "0.9", "--set", "gc_threshold=0.05"]  # every address of the spread; too little is written to collect


@dataclass(frozen=True)
class Case:
    """A configuration to measure."""

    name: str
    workload: str
    scheme: str
    options: tuple[str, ...] = ()
    target_rate: int | None = None  # requests a second
    peers_rate: str = ""  # what other simulators reach, in millions a second
    against: str = ""  # name of a case: the time for a flash operation is compared with it
    most_ratio: float | None = None
    reads: int | None = None  # flash reads for the host, which the run must count
    device: str = "ssd1"


CASES = (
    Case("raid0 a", "a", "raid0", target_rate=2_700_000, peers_rate="0.27-0.29"),
    Case("raid0 b", "b", "raid0", (*FILL,), target_rate=1_600_000, peers_rate="0.17", reads=1_749_350),
    Case("raid5 a400", "a400", "raid5", (*FILL,), target_rate=800_000, peers_rate="0.11"),
    Case("raid5 a, overload", "a", "raid5", (*FILL, "--speed", "2"), against="raid5 a400", most_ratio=1.1),
    Case("cr5m a400", "a400", "cr5m", (*FILL,), target_rate=800_000),
    Case("sirf1 a", "a", "sirf1", target_rate=1_000_000, device="sirf-8c128"),
    Case("ppc a400", "a400", "ppc", (*FILL, *PPC), target_rate=1_000_000, device="ppc-4p1"),
    Case("raid0 b, verify", "b", "raid0", (*FILL, "--verify"), against="raid0 b", most_ratio=2, reads=1_749_350),
    Case("raid5 a400, verify", "a400", "raid5", (*FILL, "--verify"), against="raid5 a400", most_ratio=2),
    Case("raid0 writes, 64 GB", "writes-64G", "raid0"),
    Case("raid0 writes, 1 TB", "writes-1T", "raid0", (*LARGE,), against="raid0 writes, 64 GB", most_ratio=2),
    Case("raid0 mixed, 64 GB", "mixed-64G", "raid0", (*FULL,)),
    Case("raid0 mixed, 1 TB", "mixed-1T", "raid0", (*FULL, *LARGE), against="raid0 mixed, 64 GB", most_ratio=2),
)
INSTRUCTIONS = ("raid0 a", "raid0 b", "raid5 a400", "cr5m a400", "sirf1 a", "ppc a400")
INSTRUCTION_LIMITS = (50_000, 150_000)


class WrongCount(Exception):
    """A run did not do what it should have done."""


def trace(name: str) -> Path:
    """The workload's trace, generated once."""
    path = FOLDER / f"{name}.ssdsim"
    parameters = dict(WORKLOADS[name])
    sha256, space_pages = parameters.pop("sha256", ""), parameters.pop("space")
    if not path.exists():
        written = path.with_suffix(".part")
        fr.synth(written, requests=REQUESTS, format="ssdsim", space_bytes=space_pages * PAGE_BYTES, **parameters)
        written.rename(path)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if not found.startswith(sha256):
        raise WrongCount(f"{path}: its SHA-256 begins with {found[:12]}, that of the published workload with {sha256}")
    return path


def measure(case: Case) -> dict[str, Any]:
    """The medians of three runs."""
    runs = [run(case) for _ in range(RUNS)]
    return {key: statistics.median(each[key] for each in runs) for key in runs[0]} | {
        "requests_per_second_of_each": [round(each["requests_per_second"]) for each in runs]
    }


def run(case: Case) -> dict[str, float]:
    """One run in a process of its own, checked."""
    line = [str(COMMAND), "run", str(trace(case.workload)), "--format", "ssdsim", "--device", case.device]
    line += ["--scheme", case.scheme, *case.options, "--json", "-", "--quiet"]
    began = time.perf_counter()
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    process_seconds = time.perf_counter() - began
    if done.returncode != 0:
        raise WrongCount(f"{case.name}: exit status {done.returncode}: {done.stderr.strip()}")
    result = json.loads(done.stdout)
    if result["requests"]["completed"] != REQUESTS:
        raise WrongCount(f"{case.name}: {result['requests']['completed']} requests completed of {REQUESTS}")
    if case.reads is not None and result["flash_ops"]["reads"]["host"] != case.reads:
        raise WrongCount(f"{case.name}: {result['flash_ops']['reads']['host']} reads for the host, not {case.reads}")
    device, engine = result["config"]["device"], result["engine"]
    placed_pages = result["capacity"]["placed_pages"]
    operations = sum(result["flash_ops"][action]["total"] for action in ("reads", "programs", "erases"))
    pages = result["capacity"]["raw_bytes"] // device["page_bytes"]
    verified = result["config"]["run"]["verify"]
    per_page = MOST_BYTES_PER_PAGE_VERIFIED if verified else MOST_BYTES_PER_PAGE
    return {
        "requests_per_second": engine["host_requests_per_second"],
        "flash_ops_per_second": operations / engine["wall_seconds"],
        "ns_per_flash_op": 1e9 * engine["wall_seconds"] / operations,
        "wall_seconds": engine["wall_seconds"],
        "process_seconds": process_seconds,
        "fill_seconds": engine["fill_seconds"],
        "fill_ns_per_page": 1e9 * engine["fill_seconds"] / placed_pages if placed_pages else 0.0,
        "rss_bytes": engine["peak_rss_bytes"],
        "most_rss_bytes": pages * per_page + MOST_FIXED_BYTES,
        "offered_load": result["workload"]["offered_load"],
    }


def verdicts(case: Case, found: dict[str, Any], others: dict[str, dict[str, Any]]) -> list[str]:
    """What the targets say."""
    texts = []
    if case.target_rate is not None:
        share = found["requests_per_second"] / case.target_rate
        found["of_target"] = share
        texts.append(f"{share:.2f} of {case.target_rate / 1e6:.1f} M/s{'' if share >= 1 else ' MISSED'}")
    if case.against and case.most_ratio is not None:
        ratio = found["ns_per_flash_op"] / others[case.against]["ns_per_flash_op"]
        found["ratio"] = ratio
        texts.append(
            f"{ratio:.2f} x {case.against} (most {case.most_ratio}){'' if ratio <= case.most_ratio else ' MISSED'}"
        )
    if found["fill_ns_per_page"] > MOST_FILL_NS and "--verify" not in case.options:
        texts.append(f"fill above {MOST_FILL_NS} ns MISSED")
    if found["rss_bytes"] > found["most_rss_bytes"]:
        texts.append("memory MISSED")
    if case.peers_rate:
        texts.append(f"others {case.peers_rate} M/s")
    return texts


HEADER = (
    "case",
    "M req/s",
    "M ops/s",
    "ns/op",
    "engine s",
    "process s",
    "fill s",
    "ns/page",
    "MiB",
    "most MiB",
    "load",
)
WIDTHS = (20, 8, 8, 6, 9, 10, 7, 8, 6, 9, 5)


def show(cells: tuple[str, ...], note: str) -> None:
    """One line of the table."""
    first, *rest = (cell.rjust(width) for cell, width in zip(cells, WIDTHS, strict=True))
    print(f"{first.strip():<{WIDTHS[0]}} {' '.join(rest)}  {note}", flush=True)


def row(case: Case, found: dict[str, Any]) -> tuple[str, ...]:
    """The case's cells."""
    return (
        case.name,
        f"{found['requests_per_second'] / 1e6:.3f}",
        f"{found['flash_ops_per_second'] / 1e6:.2f}",
        f"{found['ns_per_flash_op']:.0f}",
        f"{found['wall_seconds']:.3f}",
        f"{found['process_seconds']:.3f}",
        f"{found['fill_seconds']:.2f}",
        f"{found['fill_ns_per_page']:.1f}" if found["fill_ns_per_page"] else "-",
        f"{found['rss_bytes'] / 2**20:.0f}",
        f"{found['most_rss_bytes'] / 2**20:.0f}",
        f"{found['offered_load']:.2f}",
    )


def cargo(*arguments: str) -> str:
    """Standard output of a cargo command."""
    return subprocess.run(["cargo", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def random_read_ns() -> float:
    """Time of a dependent random read in 128 MiB on this machine."""
    return float(cargo("run", "-q", "--release", "-p", "flashraid-sim", "--example", "latency"))


def instructions(case: Case) -> float:
    """Instructions for each request: the difference of two runs that differ in the number of requests."""
    replay = ROOT / "target" / "release" / "examples" / "replay"
    fill = ["fill=0.5"] if "--fill" in case.options else []
    counts = []
    for limit in INSTRUCTION_LIMITS:
        line = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={os.devnull}", str(replay)]
        line += [str(trace(case.workload)), case.device, case.scheme, "format=ssdsim", f"limit={limit}", *fill]
        done = subprocess.run(line, capture_output=True, text=True, check=True)
        found = re.search(r"Collected : (\d+)", done.stderr)
        if found is None:
            raise WrongCount(f"valgrind tells no count: {done.stderr[-500:]}")
        counts.append(int(found[1]))
    return (counts[1] - counts[0]) / (INSTRUCTION_LIMITS[1] - INSTRUCTION_LIMITS[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every figure")
    target = parser.parse_args().json
    FOLDER.mkdir(parents=True, exist_ok=True)
    print("Building, and generating the workloads ...", flush=True)
    cargo("build", "-q", "--release", "-p", "flashraid-sim", "--examples")
    for name in WORKLOADS:
        trace(name)
    report: dict[str, Any] = {"version": fr.__version__, "load_average": os.getloadavg()[0], "runs": RUNS}
    if os.getloadavg()[0] > 1.2:  # 1 is what the generation itself leaves behind
        print(
            f"warning: the load average is {os.getloadavg()[0]:.1f}: something else runs, and the figures will be low"
        )
    latency_ns = report["random_read_ns"] = random_read_ns()
    print(f"dependent random read in 128 MiB: {latency_ns:.0f} ns ({TARGET_LATENCY_NS} where the targets were set)\n")
    show(HEADER, "targets")
    found: dict[str, dict[str, Any]] = {}
    report["cases"] = found
    for case in CASES:
        found[case.name] = measure(case)
        show(row(case, found[case.name]), "; ".join(verdicts(case, found[case.name], found)))
    print("\nns/page is for each flash page that the fill programs; MiB is the most resident, Python included")
    print("\nReaders, from the file's bytes to requests, SHA-256 included:")
    report["readers"] = cargo(
        "bench", "-q", "-p", "flashraid-workload", "--bench", "readers", "--", "plain"
    ).splitlines()
    print("\n".join(report["readers"]))
    if shutil.which("valgrind") is None:
        print("\nInstructions for each request: not counted, as there is no valgrind")
    else:
        print("\nInstructions for each request (the hash of the trace, the same in all runs, is not in it):")
        report["instructions_per_request"] = {}
        for case in CASES:
            if case.name in INSTRUCTIONS:
                report["instructions_per_request"][case.name] = instructions(case)
                print(f"{case.name:<20} {report['instructions_per_request'][case.name]:8.0f}", flush=True)
    if target is not None:
        target.write_text(json.dumps(report, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except WrongCount as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
