"""Speed and memory on the workloads and the 64 GB device on which other simulators were measured. Run it alone.

Every figure is the median of three runs, each in a process of its own. `--json FILE` writes all of it. Exit status 1 if
a count is wrong; a target missed is marked, as it depends on the machine: the targets were set where a dependent random
read in 128 MiB takes 172 ns. `--quick` does all of it once on small devices and short traces with unoptimized programs:
whether it runs to its end, not how fast.

`--instructions` only counts the instructions for each request, and compares them with the least of
`benches/history.csv`: exit status 1 if a case takes above 3 % more than that, counted with the same compiler. Without
valgrind nothing is counted, and nothing fails. `--record RELEASE` measures all of it and adds a line; with
`--accept WHY` lines before it bind no more, as what they counted did less.
"""

import argparse
import csv
import hashlib
import io
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import flashraid as fr
from flashraid.files import NewFile

ROOT = Path(__file__).parents[1]
COMMAND = Path(sys.executable).with_name("flashraid")
BLOCKS = {
    "ssd1": 4096,
    "sirf-8c128": 1024,
    "ppc-4p1": 4096,
    "array-5x": 1024,
    "array-8x": 1024,
}  # a plane, of the presets
MOST_FILL_NS = 20
MOST_BYTES_PER_PAGE, MOST_BYTES_PER_PAGE_VERIFIED, MOST_FIXED_BYTES = 12, 36, 60_000_000
TARGET_LATENCY_NS = 172
HISTORY = Path(__file__).with_name("history.csv")
MOST_REGRESSION = 1.03
MOST_DECISION_NS = 100
PAGE_BYTES = 4096
# Of a page operation: bytes of state that no cache holds, and reads of it that wait for memory (docs/performance.md).
TOUCHED = {"reads": (4 + 16, 2.0), "programs": (4 + 16 + 4, 2 + 1 / 16), "erases": (16, 1.0)}
OVERLAPPING = 4  # such reads at a time, of operations that do not depend on each other

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
    # The same share of 16 TiB, in pages of 16 KiB, whose transfers take four times as long.
    "writes-16T": {"space": 256 * SPREAD_PAGES, "interval_ns": 50_000, "page_bytes": 4 * PAGE_BYTES},
    "mixed-64G": {"space": SPREAD_PAGES, "interval_ns": 100_000, **MIXED},
    "array-5x": {"space": 131_072, "interval_ns": 3_000_000, "read_share": 0.2},  # of the hot-swapping paper
    "array-8x": {"space": 131_072 * 2_000, "interval_ns": 50_000, "read_share": 0.2},
    "mixed-1T": {"space": 16 * SPREAD_PAGES, "interval_ns": 25_000, **MIXED},
}
Settings = Mapping[str, str]
LARGE: dict[str, str] = {"channels": "16", "chips_per_channel": "16"}  # 1 TiB
LARGEST = LARGE | {"spare_chips": "0", "blocks_per_plane": "16383", "page_bytes": "16384"}  # 16 TiB, nearly 2^30 pages
PPC: dict[str, str] = {"page_bytes": "4096", "blocks_per_plane": "32768"}  # 40 GiB, without collection
FILL: dict[str, str] = {"fill": "0.5"}
FULL: dict[str, str] = {
    "fill": "0.9",
    "gc_threshold": "0.05",
}  # every address of the spread; too little is written to collect
# Five SSDs at the limit at which they age in seconds, until all spare ones are in use.
AGEING: dict[str, str] = {"fill": "1", "space_bytes": "536870912", "pe_limit": "20", "ages": "0.85,0.7,0.5,0.3"}
ONE_REPLACED: dict[str, str] = {"replace": "device:3@50%"}
VERIFY: dict[str, str] = {"verify": "true"}


@dataclass(frozen=True)
class Effort:
    """How much work is done."""

    runs: int = 3
    requests: int = 1_000_000
    instruction_limits: tuple[int, int] = (50_000, 150_000)
    shrink: int = 1  # workloads and planes are so many times smaller
    cargo: tuple[str, ...] = ("-q", "--profile", "release", "-p", "flashraid-sim", "-p", "flashraid-workload")
    programs: Path = ROOT / "target" / "release" / "examples"
    words: tuple[str, ...] = ()  # told to the programs
    counted: tuple[str, ...] = ("raid0 a", "raid0 b", "raid5 a400", "adaptive a400", "cr5m a400", "sirf1 a", "ppc a400")
    # Where traces are: those of the whole work are kept, and known by their digests.
    folder: Path = ROOT / "target" / "bench"


FULL_EFFORT = Effort()
# What `cargo test --workspace --all-features` has compiled is not compiled again.
DEV = ("-q", "--profile", "dev", "--workspace", "--all-features")
QUICK = Effort(
    1, 2_000, (200, 600), 32, DEV, ROOT / "target" / "debug" / "examples", ("quick",), ("raid0 a", "ppc a400")
)


@dataclass(frozen=True)
class Case:
    """A configuration to measure."""

    name: str
    workload: str
    scheme: str
    settings: Settings = field(default_factory=dict)
    target_rate: int | None = None  # requests a second
    most_instructions: int | None = None  # a request
    target_ops_rate: int | None = None  # flash operations a second
    peers_rate: str = ""  # what other simulators reach, in millions a second
    against: str = ""  # name of a case: the time for a flash operation is compared with it
    most_ratio: float | None = None
    reads: int | None = None  # flash reads for the host, which the run must count
    device: str = "ssd1"
    most_gigabytes: float | None = None  # of memory

    def arguments(self, effort: Effort) -> list[str]:
        """The settings of its runs, whatever program does them."""
        settings = dict(self.settings)
        if effort.shrink > 1:
            sizes = {"blocks_per_plane": str(BLOCKS[self.device])} | {
                key: size for key, size in settings.items() if key in ("blocks_per_plane", "space_bytes")
            }
            settings |= {key: str(int(size) // effort.shrink) for key, size in sizes.items()}
        return [f"{key}={value}" for key, value in {"format": "ssdsim", **settings}.items()]


CASES = (
    Case("raid0 a", "a", "raid0", {}, 5_600_000, 3_200, peers_rate="0.27-0.29"),
    Case("raid0 b", "b", "raid0", FILL, 2_600_000, 6_800, peers_rate="0.17", reads=1_749_350),
    Case("raid5 a400", "a400", "raid5", FILL, 2_200_000, 9_500, peers_rate="0.11"),
    Case("adaptive a400", "a400", "adaptive", FILL, against="raid5 a400", most_ratio=1.4),
    Case("raid5 a, overload", "a", "raid5", FILL | {"speed": "2"}, against="raid5 a400", most_ratio=1.2),
    Case("cr5m a400", "a400", "cr5m", FILL, 1_600_000, 8_000),
    Case("sirf1 a", "a", "sirf1", {}, 2_000_000, 6_000, device="sirf-8c128"),
    Case("ppc a400", "a400", "ppc", FILL | PPC, 1_200_000, 10_000, device="ppc-4p1"),
    Case("raid0 b, verify", "b", "raid0", FILL | VERIFY, against="raid0 b", most_ratio=1.5, reads=1_749_350),
    Case("raid5 a400, verify", "a400", "raid5", FILL | VERIFY, against="raid5 a400", most_ratio=1.5),
    Case("raid0 writes, 64 GB", "writes-64G", "raid0"),
    Case("raid0 writes, 1 TB", "writes-1T", "raid0", LARGE, against="raid0 writes, 64 GB", most_ratio=1.5),
    Case(
        "raid0 writes, 16 TB",
        "writes-16T",
        "raid0",
        LARGEST,
        against="raid0 writes, 64 GB",
        most_ratio=1.5,
        most_gigabytes=16,
    ),
    Case("raid0 mixed, 64 GB", "mixed-64G", "raid0", FULL),
    Case("hotswap ageing", "array-5x", "hotswap", AGEING, target_ops_rate=2_000_000, device="array-5x"),
    Case("hotswap, 8 TB", "array-8x", "hotswap", FILL | ONE_REPLACED, device="array-8x", most_gigabytes=12),
    Case("raid0 mixed, 1 TB", "mixed-1T", "raid0", FULL | LARGE, against="raid0 mixed, 64 GB", most_ratio=1.5),
)


class WrongCount(Exception):
    """A run did not do what it should have done."""


def trace(name: str, effort: Effort) -> Path:
    """The workload's trace, generated once."""
    path = effort.folder / f"{name}.ssdsim"
    parameters = dict(WORKLOADS[name])
    sha256, space_pages = parameters.pop("sha256", ""), parameters.pop("space") // effort.shrink
    if not path.exists():
        print(f"generating {path.name} ...", flush=True)
        fr.synth(path, requests=effort.requests, format="ssdsim", space_bytes=space_pages * PAGE_BYTES, **parameters)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if effort.shrink == 1 and not found.startswith(sha256):
        raise WrongCount(f"{path}: its SHA-256 begins with {found[:12]}, that of the published workload with {sha256}")
    return path


def measure(case: Case, effort: Effort) -> dict[str, Any]:
    """The medians of all runs."""
    runs = [run(case, effort) for _ in range(effort.runs)]
    return {key: statistics.median(each[key] for each in runs) for key in runs[0]} | {
        "requests_per_second_of_each": [round(each["requests_per_second"]) for each in runs]
    }


def run(case: Case, effort: Effort) -> dict[str, float]:
    """One run in a process of its own, checked."""
    line = [str(COMMAND), "run", str(trace(case.workload, effort)), "--device", case.device, "--scheme", case.scheme]
    line += [f"--set={setting}" for setting in case.arguments(effort)] + ["--json", "-", "--quiet"]
    began = time.perf_counter()
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    process_seconds = time.perf_counter() - began
    if done.returncode != 0:
        raise WrongCount(f"{case.name}: exit status {done.returncode}: {done.stderr.strip()}")
    result = json.loads(done.stdout)
    if result["requests"]["completed"] != effort.requests:
        raise WrongCount(f"{case.name}: {result['requests']['completed']} requests completed of {effort.requests}")
    if effort.shrink == 1 and case.reads is not None and result["flash_ops"]["reads"]["host"] != case.reads:
        raise WrongCount(f"{case.name}: {result['flash_ops']['reads']['host']} reads for the host, not {case.reads}")
    device, engine = result["config"]["device"], result["engine"]
    placed_pages = result["capacity"]["placed_pages"]
    operations = sum(result["flash_ops"][action]["total"] for action in ("reads", "programs", "erases"))
    pages = result["capacity"]["raw_bytes"] // device["page_bytes"]
    verified = result["config"]["run"]["verify"]
    per_page = MOST_BYTES_PER_PAGE_VERIFIED if verified else MOST_BYTES_PER_PAGE
    shares = {action: result["flash_ops"][action]["total"] / operations for action in TOUCHED}
    return {
        "requests_per_second": engine["host_requests_per_second"],
        "flash_ops_per_second": operations / engine["wall_seconds"],
        "ns_per_flash_op": 1e9 * engine["wall_seconds"] / operations,
        "touched_bytes_per_op": sum(shares[action] * touched for action, (touched, _) in TOUCHED.items()),
        "waits_per_op": sum(shares[action] * waits for action, (_, waits) in TOUCHED.items()),
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
    if case.target_ops_rate is not None:
        share = found["flash_ops_per_second"] / case.target_ops_rate
        found["of_target"] = share
        texts.append(f"{share:.2f} of {case.target_ops_rate / 1e6:.1f} M ops/s{'' if share >= 1 else ' MISSED'}")
    if case.most_gigabytes is not None and found["rss_bytes"] > case.most_gigabytes * 1e9:
        texts.append(f"more than {case.most_gigabytes:.0f} GB MISSED")
    if case.against and case.most_ratio is not None:
        ratio = found["ns_per_flash_op"] / others[case.against]["ns_per_flash_op"]
        found["ratio"] = ratio
        texts.append(
            f"{ratio:.2f} x {case.against} (most {case.most_ratio}){'' if ratio <= case.most_ratio else ' MISSED'}"
        )
    if found["fill_ns_per_page"] > MOST_FILL_NS and "verify" not in case.settings:
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
    "floor",
    "B/op",
    "engine s",
    "process s",
    "fill s",
    "ns/page",
    "MiB",
    "most MiB",
    "load",
)
WIDTHS = (20, 8, 8, 6, 6, 5, 9, 10, 7, 8, 6, 9, 5)


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
        f"{found['floor_ns']:.0f}",
        f"{found['touched_bytes_per_op']:.0f}",
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
    return rust("cargo", *arguments)


def rust(program: str, *arguments: str) -> str:
    """Standard output of a program of Rust's toolchain, which says itself why it fails."""
    try:
        return subprocess.run([program, *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    except FileNotFoundError:
        raise fr.InputError(f"{program}: there is none in PATH: needed is Rust's toolchain") from None
    except subprocess.CalledProcessError as error:
        raise fr.InputError(f"{program} {arguments[0]}: exit status {error.returncode}") from None


def nanoseconds(program: str, effort: Effort) -> float:
    """What a program of crates/sim/examples measures."""
    line = [str(effort.programs / program), *effort.words]
    return float(subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True).stdout)


def instructions(case: Case, effort: Effort) -> float:
    """Instructions for each request: the difference of two runs that differ in the number of requests."""
    counts = []
    for limit in effort.instruction_limits:
        line = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={os.devnull}", str(effort.programs / "replay")]
        line += [str(trace(case.workload, effort)), case.device, case.scheme, *case.arguments(effort), f"limit={limit}"]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        found = re.search(r"Collected : (\d+)", done.stderr)
        if done.returncode != 0 or found is None:
            raise WrongCount(f"{case.name}: valgrind: exit status {done.returncode}: {done.stderr[-500:].strip()}")
        counts.append(int(found[1]))
    return (counts[1] - counts[0]) / (effort.instruction_limits[1] - effort.instruction_limits[0])


def all_instructions(effort: Effort) -> dict[str, float]:
    """The instructions of each case that is counted, beside its target and the least of the history."""
    least = least_instructions() if effort.shrink == 1 else {}
    if not least:
        print(f"(no comparison: rustc {compiler()}, with little work or without a line in {HISTORY.name})")
    found = {}
    for case in (each for each in CASES if each.name in effort.counted):
        count = found[case.name] = instructions(case, effort)
        texts = []
        if case.name in least:
            before, release = least[case.name]
            texts.append(f"{count / before - 1:+.1%} of {release}")
        if case.most_instructions is not None and effort.shrink == 1:
            texts.append(f"target {case.most_instructions:,}{' MISSED' if count > case.most_instructions else ''}")
        print(f"{case.name:<20} {count:8.0f}  {'; '.join(texts)}", flush=True)
    return found


def least_instructions() -> dict[str, tuple[int, str]]:
    """The least instructions of each case since the last line of the history that accepts more, counted with this
    compiler, and the release that had them.
    """
    lines = history()
    since = max((at for at, line in enumerate(lines) if line["accepts"]), default=0)
    lines = [line for line in lines[since:] if line["rustc"] == compiler()]
    known = {
        case.name: [(int(line[case.name]), line["release"]) for line in lines if line.get(case.name)] for case in CASES
    }
    return {name: min(counts) for name, counts in known.items() if counts}


def refuse_growth(found: Mapping[str, float]) -> None:
    """Refuses counts above the least ones by more than what counts as none."""
    least = least_instructions()
    grown = [
        f"{name} (of {least[name][1]})"
        for name, count in found.items()
        if name in least and count > MOST_REGRESSION * least[name][0]
    ]
    if grown:
        raise WrongCount(f"{', '.join(grown)}: more instructions than the least by over {MOST_REGRESSION - 1:.0%}")


def history() -> list[dict[str, str]]:
    """Lines of the history: a release, its compiler, the machine's random read, and the instructions of each case."""
    with HISTORY.open(newline="") as file:
        return list(csv.DictReader(file))


def record(release: str, accepts: str, report: dict[str, Any]) -> None:
    """Adds a line to the history, which may say why more instructions than before are accepted."""
    lines = history()
    counts = {name: str(round(count)) for name, count in report["instructions_per_request"].items()}
    line = {
        "release": release,
        "rustc": compiler(),
        "random_read_ns": str(round(report["random_read_ns"])),
        **counts,
        "accepts": accepts,
    }
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows([*lines, line])
    file = NewFile(HISTORY, "the history")
    try:
        file.write(text.getvalue())
    finally:
        file.discard()


def compiler() -> str:
    """The version of the Rust compiler."""
    return rust("rustc", "--version").split()[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every figure")
    parser.add_argument("--quick", action="store_true", help="all of it with little work: whether it runs to its end")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--instructions", action="store_true", help="only count instructions, and compare them")
    what.add_argument("--record", metavar="RELEASE", help="add a line to benches/history.csv")
    parser.add_argument("--accept", metavar="WHY", default="", help="with --record: lines before this one bind no more")
    given = parser.parse_args()
    if given.accept and given.record is None:
        parser.error("--accept says why the line of --record may have more instructions: it is missing")
    if given.record is not None and given.quick:
        parser.error("--record: a line holds figures of all the work: allowed without --quick")
    if given.record is not None and shutil.which("valgrind") is None:
        parser.error("--record needs valgrind, which counts the instructions")
    if given.instructions and shutil.which("valgrind") is None:
        if given.json is not None:
            parser.error("--json: nothing is counted without valgrind")
        print("Instructions for each request: not counted and not compared, as there is no valgrind")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return bench(given, replace(QUICK, folder=Path(folder)) if given.quick else FULL_EFFORT)


def bench(given: argparse.Namespace, effort: Effort) -> int:
    """What was asked for."""
    file = None if given.json is None else NewFile(given.json, "--json")
    try:
        report = counted(effort) if given.instructions else measured(effort)
        if file is not None:
            file.write(json.dumps(report, indent=2) + "\n")
    finally:
        if file is not None:
            file.discard()
    if effort.shrink == 1:
        refuse_growth(report.get("instructions_per_request", {}))
    if given.record is not None:
        record(given.record, given.accept, report)
    return 0


def counted(effort: Effort) -> dict[str, Any]:
    """Counts instructions alone."""
    build(effort, (case.workload for case in CASES if case.name in effort.counted))
    return {"version": fr.__version__, "instructions_per_request": all_instructions(effort)}


def build(effort: Effort, workloads: Iterable[str]) -> None:
    """Compiles the programs, and generates the traces of these workloads."""
    effort.folder.mkdir(parents=True, exist_ok=True)
    print("building ...", flush=True)
    cargo("build", *effort.cargo, "--examples")
    for name in workloads:
        trace(name, effort)


def measured(effort: Effort) -> dict[str, Any]:
    """Measures all of it and shows it."""
    build(effort, WORKLOADS)
    report: dict[str, Any] = {"version": fr.__version__, "load_average": os.getloadavg()[0], "runs": effort.runs}
    if effort.shrink == 1 and os.getloadavg()[0] > 1.2:  # 1 is what the generation itself leaves behind
        print(
            f"warning: the load average is {os.getloadavg()[0]:.1f}: something else runs, and the figures will be low"
        )
    latency_ns = report["random_read_ns"] = nanoseconds("latency", effort)
    print(f"dependent random read in 128 MiB: {latency_ns:.0f} ns ({TARGET_LATENCY_NS} where the targets were set)\n")
    show(HEADER, "targets")
    found: dict[str, dict[str, Any]] = {}
    report["cases"] = found
    for case in CASES:
        found[case.name] = measure(case, effort)
        found[case.name]["floor_ns"] = found[case.name]["waits_per_op"] * latency_ns / OVERLAPPING
        said = "; ".join(verdicts(case, found[case.name], found))
        show(row(case, found[case.name]), said if effort.shrink == 1 else "")
    print("\nfloor: ns that a page operation waits for memory, at least; B/op: what it touches (docs/performance.md)")
    print("ns/page: of each flash page that the fill programs; MiB: the most resident, Python included")
    decision_ns = report["decision_ns"] = nanoseconds("decision", effort)
    missed = " MISSED" if effort.shrink == 1 and decision_ns > MOST_DECISION_NS else ""
    print(f"\nadaptive, one decision among eight busy channels: {decision_ns:.0f} ns (most {MOST_DECISION_NS}){missed}")
    print("\nReaders, from the file's bytes to requests, SHA-256 included:")
    readers = cargo("bench", *effort.cargo, "--bench", "readers", "--", "plain", *effort.words)
    report["readers"] = readers.splitlines()
    print("\n".join(report["readers"]))
    if shutil.which("valgrind") is None:
        print("\nInstructions for each request: not counted, as there is no valgrind")
    else:
        print("\nInstructions for each request (the hash of the trace, the same in all runs, is not in it):")
        report["instructions_per_request"] = all_instructions(effort)
    return report


def end(main: Callable[[], int]) -> None:
    """Runs a program, and exits with its status."""
    try:
        sys.exit(main())
    except (WrongCount, fr.InputError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1 if isinstance(error, WrongCount) else 2)


if __name__ == "__main__":
    end(main)
