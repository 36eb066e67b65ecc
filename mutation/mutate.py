"""Mutation testing: draws mutants of the engine, puts them into one build, and runs the tests against each.

mutate.py SEED [SIZE]      draws, runs and appends the result to samples.toml
mutate.py --survivors      runs the tests of today against survivors of samples.toml that are open or killed since
"""

import argparse
import fcntl
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import tomllib
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from math import comb
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RECORD = HERE / "samples.toml"
WORK = ROOT / "target" / "mutation"
TREE = WORK / "tree"  # the copy with the mutants in it

MUTATED = [
    "crates/redundancy/src",
    "crates/nand/src",
    "crates/ftl/src",
    "crates/sim/src/engine",
    "crates/sim/src/buffer",
]
PACKAGES = ["flashraid-redundancy", "flashraid-nand", "flashraid-ftl", "flashraid-sim", "flashraid-torture"]
# Its counts of kills are golden figures, which any change moves: they say nothing about who notices a fault.
LEFT_OUT = {"torture/mutants"}
# A test that compares whole results with those of the commit before: it says that something changed, not what is wrong.
GOLDENS = "sim/goldens"
GOLDEN_TEST = "results_are_those_of_every_build"
# Those that notice most come first, then those that take long, then goldens: what they alone notice is counted apart.
ORDER = ["redundancy/", "nand/", "ftl/", "sim/timing", "sim/flashraid_sim", "sim/", "torture/"]
SLOW = ("sim/effects", "sim/recompute", "sim/allocations", "sim/properties", "torture/")
# Programs that hold all tests of a crate, a file each.
TESTS_OF_CRATES = {"suite", "schemes"}
HOOK = "::flashraid_vocabulary::mutation::chosen"
BUILD = {"CARGO_PROFILE_DEV_DEBUG": "0", "CARGO_INCREMENTAL": "1"}
# What fails is not shrunk.
RUN = {"PROPTEST_MAX_SHRINK_ITERS": "0", "RUST_BACKTRACE": "0"}


# ---- mutants ----


def list_mutants():
    """All mutants, in the order of files and lines."""
    tracked = subprocess.check_output(["git", "ls-files", *MUTATED], cwd=ROOT, text=True).split()
    files = [name for name in tracked if name.endswith(".rs")]
    manifest = ["--manifest-path", str(HERE / "Cargo.toml"), "--target-dir", str(WORK / "list")]
    return json.loads(subprocess.check_output(["cargo", "run", "-q", *manifest, "--", *files], cwd=ROOT))


def order_of_draw(mutants, seed):
    """All mutants equally likely; those that do not build are replaced by the next ones."""
    return random.Random(seed).sample(mutants, len(mutants))


def instrument(source, mutants):
    """The text with the mutants beside the original, each under its number, and where each of them went."""
    source, ranges = source.encode(), {}

    def render(start, end, inside, offset):
        text, position = b"", start
        while inside:
            first, *rest = inside
            within = [mutant for mutant in rest if first["start"] <= mutant["start"] and mutant["end"] <= first["end"]]
            if first["start"] == first["end"]:
                within = []
            text += source[position : first["start"]]
            call = f"{HOOK}({first['number']})"
            before = first["before"].replace("{CHOSEN}", call).encode()
            at = offset + len(text)
            inner = render(first["start"], first["end"], within, at + len(before))
            changed = before + inner + first["after"].encode()
            ranges[first["number"]] = (at, at + len(changed))
            text += changed
            position, inside = first["end"], [mutant for mutant in rest if mutant not in within]
        return text + source[position:end]

    ordered = sorted(mutants, key=lambda mutant: (mutant["start"], mutant["end"] != mutant["start"], -mutant["end"]))
    return render(0, len(source), ordered, 0).decode(), ranges


# ---- the build ----


def write_tree(mutants):
    """The tracked files with these mutants; what has not changed keeps its time. Returns where each mutant went."""
    files = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    ranges = {}
    for name in files:
        if not (ROOT / name).is_file():
            continue
        content = (ROOT / name).read_bytes()
        inside = [mutant for mutant in mutants if mutant["file"] == name]
        if inside:
            text, ranges[name] = instrument(content.decode(), inside)
            content = text.encode()
        elif name == "crates/vocabulary/src/lib.rs":
            content += b"pub mod mutation;\n"
        write_changed(TREE / name, content)
    hook = "crates/vocabulary/src/mutation.rs"
    write_changed(TREE / hook, (HERE / "hook.rs").read_bytes())
    for path in (TREE / "crates").rglob("*"):
        if path.is_file() and str(path.relative_to(TREE)) not in {hook, *files}:
            path.unlink()
    return ranges


def write_changed(path, content):
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def cargo(*arguments):
    """Cargo's messages."""
    packages = [word for package in PACKAGES for word in ("-p", package)]
    command = [
        "cargo",
        *arguments,
        *packages,
        "--all-features",
        "--message-format=json",
        "--target-dir",
        str(WORK / "build"),
    ]
    done = subprocess.run(command, cwd=TREE, env=os.environ | BUILD, capture_output=True, text=True)
    messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if not messages:
        sys.exit(done.stderr)
    return done.returncode, messages


def that_do_not_build(mutants):
    """Checks the tree with these mutants: the numbers of those that the compiler refuses."""
    ranges = write_tree(mutants)
    status, messages = cargo("check", "--keep-going")
    refused, errors = set(), []
    for message in messages:
        if message["reason"] != "compiler-message" or message["message"]["level"] != "error":
            continue
        errors.append(message["message"]["rendered"])
        for span in message["message"]["spans"]:
            places = ranges.get(span["file_name"], {}).items()
            # The innermost around the error, else the nearest: of an arm that is missed, the match is reported.
            distances = [
                (max(start - span["byte_start"], span["byte_start"] - end, 0), end - start, number)
                for number, (start, end) in places
            ]
            if distances and span["is_primary"]:
                refused.add(min(distances)[2])
    if status and not refused:
        sys.exit("\n".join(errors))
    return refused


def build(draw, size):
    """The first `size` mutants of the draw that build, numbered, and the others that came before."""
    draw = iter([mutant | {"number": number} for number, mutant in enumerate(draw)])
    taken, refused = [], []
    while True:
        taken += islice(draw, size - len(taken))
        numbers = that_do_not_build(taken)
        if not numbers:
            break
        refused += [mutant for mutant in taken if mutant["number"] in numbers]
        taken = [mutant for mutant in taken if mutant["number"] not in numbers]
    status, messages = cargo("test", "--no-run", "--lib", "--tests")
    if status:
        errors = [message["message"] for message in messages if message["reason"] == "compiler-message"]
        sys.exit("\n".join(error["rendered"] for error in errors if error["level"] == "error"))
    suites = {}
    for message in messages:
        if message["reason"] == "compiler-artifact" and message["executable"] and message["profile"]["test"]:
            crate = Path(message["manifest_path"]).parent
            listed = subprocess.check_output([message["executable"], "--list"], cwd=crate, text=True)
            tests = re.findall(r"(?m)^(.*): test$", listed)
            for name, group in groups(crate.name, message["target"], tests).items():
                suites[name] = (message["executable"], crate, group)
    return taken, refused, suites


def groups(crate, target, tests):
    """The tests of a program by suite: of one that holds a crate's tests by their file, and goldens by themselves."""
    found = {}
    for test in tests:
        name = f"{crate}/{test.partition('::')[0] if target['name'] in TESTS_OF_CRATES else target['name']}"
        if test.endswith(GOLDEN_TEST):
            name = GOLDENS
        if name not in LEFT_OUT:
            found.setdefault(name, []).append(test)
    return found


# ---- the runs ----


class Run:
    """A suite, or some tests of it, until a test fails."""

    def __init__(self, suite, variables, tests=(), threads=1, cpu_seconds=3600):
        # A test that is killed leaves its folder.
        with tempfile.TemporaryDirectory(prefix="flashraid-") as folder:
            self.run(suite, variables | {"TMPDIR": folder}, tests, threads, cpu_seconds)

    def run(self, suite, variables, tests, threads, cpu_seconds):
        executable, crate, all_tests = suite
        command = [executable, f"--test-threads={threads}", "--exact", *(tests or all_tests)]
        environment = os.environ | RUN | {"CARGO_MANIFEST_DIR": str(crate)} | variables
        options = {"cwd": crate, "env": environment, "text": True, "start_new_session": True}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **options)
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
        resource.prlimit(process.pid, resource.RLIMIT_AS, (8 << 30, 8 << 30))
        late = threading.Timer(20 * cpu_seconds, lambda: os.killpg(process.pid, signal.SIGKILL))
        late.start()
        self.failed, running = None, ""
        for line in process.stdout:
            if found := re.match(r"test (\S+)", line):
                running = found[1]
            if re.match(r"test .* \.\.\. FAILED", line):
                self.failed = running
                os.killpg(process.pid, signal.SIGKILL)
                break
        _, status, usage = os.wait4(process.pid, 0)
        late.cancel()
        process.returncode = status
        self.cpu_seconds = usage.ru_utime + usage.ru_stime
        if status and not self.failed:
            is_late = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)
            self.failed = f"{running} ({'does not end' if is_late else 'aborts'})"


def reached_by(name, suite):
    """Runs a suite without a mutant: its seconds, and for each mutant the tests that come by it."""
    reached = {}
    with tempfile.NamedTemporaryFile("r", prefix="flashraid-") as file:
        run = Run(suite, {"FLASHRAID_REACHED": file.name}, threads=2)
        for line in file:
            number, _, test = line.rstrip("\n").partition(" ")
            reached.setdefault(int(number), set()).add(test)
    if run.failed:
        sys.exit(f"without a mutant {name} fails: {run.failed}")
    return run.cpu_seconds, reached


def run_all(mutants, suites, results):
    """The test that killed each mutant, or None: suite after suite, each with those that are left and that it comes by.

    `results` is a file that an interrupted run goes on from.
    """
    killed, done, seen = json.loads(results.read_text()) if results.exists() else ({}, [], [])
    rank = {name: next(place for place, start in enumerate(ORDER) if name.startswith(start)) for name in suites}
    for name in sorted(suites, key=lambda name: (name == GOLDENS, name.startswith(SLOW), rank[name], name)):
        if name in done:
            continue
        seconds, reached = reached_by(name, suites[name])
        seen += reached

        def run(mutant, name=name, seconds=seconds, reached=reached, seen=seen):
            tests = reached[mutant["number"]]
            # Threads that a test starts have no name; then all tests are run.
            named = sorted(tests) if tests.isdisjoint({"", "main"}) else []
            variables = {"FLASHRAID_MUTANT": str(mutant["number"])}
            failed = Run(suites[name], variables, named, cpu_seconds=int(10 + 4 * seconds)).failed
            if failed:
                killed[mutant["id"]] = f"{name} {failed}"
                results.write_text(json.dumps([killed, done, seen]))
                print(f"{mutant['id']}: {killed[mutant['id']]}", flush=True)

        left = [mutant for mutant in mutants if mutant["id"] not in killed]
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(run, [mutant for mutant in left if mutant["number"] in reached]))
        done.append(name)
        results.write_text(json.dumps([killed, done, seen]))
        alive = len(mutants) - len(killed)
        print(f"{name} ({seconds:.1f} s): {alive} of {len(mutants)} left", flush=True)
    for mutant in mutants:
        if mutant["id"] not in killed:
            print(f"survives{'' if mutant['number'] in seen else ' unseen'}: {mutant['id']}: {mutant['text']}")
    return {mutant["id"]: killed.get(mutant["id"]) for mutant in mutants}


# ---- the record ----


def text_of(sample):
    """A sample as it stands in the record. (Strings of JSON are strings of TOML.)"""
    quoted = json.dumps
    lines = ["", "[[sample]]"]
    lines += [f"{key} = {quoted(sample[key])}" for key in ("seed", "commit", "mutants", "size", "without")]
    lines += ["not_built = [", *[f"  {quoted(name)}," for name in sample["not_built"]], "]"]
    lines += ["killed = [", *[f"  [{quoted(name)}, {quoted(by)}]," for name, by in sample["killed"]], "]"]
    for mutant in sample["survivors"]:
        lines += ["", "[[sample.survivor]]", f"mutant = {quoted(mutant['id'])}", f"line = {quoted(mutant['text'])}"]
    return "\n".join(lines) + "\n"


def lower_bound(killed, size):
    """The lower end of the two-sided 95 % interval of Clopper and Pearson for the share of all mutants killed."""
    low, high = 0.0, killed / size
    for _ in range(60):
        share = (low + high) / 2
        tail = sum(comb(size, k) * share**k * (1 - share) ** (size - k) for k in range(killed, size + 1))
        low, high = (share, high) if tail < 0.025 else (low, share)
    return low


def without_goldens(sample):
    """How many kills of a sample a test makes that is no golden; in older samples a third word names it."""
    return sum(GOLDEN_TEST not in by or any(others) for _, by, *others in sample["killed"])


def table(samples):
    """The table of docs/faults.md."""
    heads = ["seed", "commit", "mutants", "drawn", "killed", "of all at least"]
    heads += ["killed without goldens", "of all at least", "survivors", "not run"]
    lines = [f"| {' | '.join(heads)} |", f"|{len(heads) * ' --- |'}"]
    for sample in samples:
        survivors = sample.get("survivor", [])
        fates = [("killed_by", "killed since"), ("equivalent", "equivalent"), ("open", "open")]
        counts = [(sum(key in survivor for survivor in survivors), name) for key, name in fates]
        counts.append((len(sample.get("unconfirmed", [])), "not confirmed"))
        fate = ", ".join(f"{count} {name}" for count, name in counts if count) or "none"
        size, cells = sample["size"], [sample["seed"], sample["commit"], f"{sample['mutants']:,}", sample["size"]]
        for killed in (len(sample["killed"]), without_goldens(sample)):
            cells += [killed, f"{100 * lower_bound(killed, size):.1f} %"]
        cells += [fate, ", ".join(sample["without"])]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def draw_sample(seed, size, without):
    if subprocess.check_output(["git", "status", "--porcelain", "crates"], cwd=ROOT):
        sys.exit("crates/ differs from the commit, which would then say nothing about what was sampled: commit first")
    commit = subprocess.check_output(["git", "log", "-1", "--format=%h", "--", "crates"], cwd=ROOT, text=True).strip()
    record = tomllib.loads(RECORD.read_text()) if RECORD.exists() else {"sample": []}
    if any(sample["seed"] == seed for sample in record["sample"]):
        sys.exit(f"seed {seed} has been drawn: no sample is drawn twice")
    mutants = list_mutants()
    taken, refused, suites = build(order_of_draw(mutants, seed), size)
    suites = {name: suite for name, suite in suites.items() if name not in without}
    found = run_all(taken, suites, WORK / f"seed-{seed}-{size}-{commit}.json")
    sample = {"seed": seed, "commit": commit, "mutants": len(mutants), "size": size, "without": sorted(without)}
    sample |= fates(taken, refused, found)
    with RECORD.open("a") as file:
        file.write(text_of(sample))
    print(f"{len(sample['killed'])} of {size} killed; {RECORD.relative_to(ROOT)} has the survivors")


def fates(taken, refused, found):
    """What became of the mutants of a sample: `found` has the test that killed each, or None."""
    killed = [(mutant["id"], found[mutant["id"]]) for mutant in taken if found[mutant["id"]]]
    survivors = [mutant for mutant in taken if not found[mutant["id"]]]
    return {"not_built": [mutant["id"] for mutant in refused], "killed": killed, "survivors": survivors}


def run_survivors(without):
    record = tomllib.loads(RECORD.read_text())
    survivors = [survivor for sample in record["sample"] for survivor in sample.get("survivor", [])]
    claimed = {survivor["mutant"] for survivor in survivors if "killed_by" in survivor}
    wanted = claimed | {survivor["mutant"] for survivor in survivors if "open" in survivor}
    mutants = [mutant for mutant in list_mutants() if mutant["id"] in wanted]
    taken, _, suites = build(mutants, len(mutants))
    results = WORK / "survivors.json"
    results.unlink(missing_ok=True)
    found = run_all(taken, {name: suite for name, suite in suites.items() if name not in without}, results)
    for name in sorted(wanted - found.keys()):
        print(f"is not in the sources any more: {name}")
    alive = [name for name in found if not found[name] and name in claimed]
    if alive:
        sys.exit("\n".join(["not killed:", *alive]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seed", type=int, nargs="?")
    parser.add_argument("size", type=int, nargs="?", default=30)
    parser.add_argument(
        "--survivors", action="store_true", help="those of all samples that are open or said to be killed"
    )
    parser.add_argument("--without", nargs="*", default=[], metavar="SUITE", help="suites for which there is no time")
    arguments = parser.parse_args()
    if (arguments.seed is None) != arguments.survivors:
        parser.error("a seed, or --survivors")
    WORK.mkdir(parents=True, exist_ok=True)
    with (WORK / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"another run has {WORK}: wait for its end")
        if arguments.survivors:
            run_survivors(arguments.without)
        else:
            draw_sample(arguments.seed, arguments.size, arguments.without)


if __name__ == "__main__":
    main()
