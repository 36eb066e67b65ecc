"""The wheel, as users install it: into an environment that has nothing, used from another folder.

What the base lacks is tried with the base's packages alone, without an installation.
"""

import json
import os
import re
import struct
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from importlib import metadata

import pytest
from conftest import PROVE, ROOT, SAMPLE
from packaging.requirements import Requirement

from flashraid import _native, extras

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OPTIONAL = PROJECT["optional-dependencies"]
# The C library that docs/install.md promises to be enough.
GLIBC = tuple(map(int, re.findall(r"glibc (\d+)\.(\d+)", (ROOT / "docs/install.md").read_text())[0]))


def name_of(requirement):
    return Requirement(requirement).name


def installed(requirements):
    """The distributions that these need, themselves included."""
    found, left = {}, list(map(Requirement, requirements))
    while left:
        needed = left.pop()
        if needed.name not in found and (needed.marker is None or needed.marker.evaluate({"extra": ""})):
            found[needed.name] = metadata.distribution(needed.name)
            left += map(Requirement, found[needed.name].requires or ())
    return found.values()


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A folder with the packages of the base, and those that they need, and no others."""
    folder = tmp_path_factory.mktemp("base")
    for distribution in installed(PROJECT["dependencies"]):
        for file in distribution.files:
            first = file.parts[0]
            if first not in ("..", "__pycache__") and not (folder / first).exists():
                (folder / first).symlink_to(distribution.locate_file(first))
    return folder


# Calls of the command, one after the other in one process: arguments, exit status, and what standard error must say.
CALL = """
import contextlib, io, json, sys
sys.path[:0] = json.loads(sys.argv[1])
from flashraid.command import run
found = []
for arguments in json.loads(sys.argv[2]):
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        status = run(arguments)
    found.append([status, errors.getvalue()])
print(json.dumps(found))
"""


def with_base(base, folder, calls):
    paths = [str(ROOT / "python"), str(base)]
    line = [sys.executable, "-I", "-S", "-c", CALL, json.dumps(paths), json.dumps(calls)]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


RUN = [str(SAMPLE), "--device", "tiny", "--limit", "50", "--fill", "0.1", "--fit", "compact"]
PLAN = (
    f'[fixed]\ntrace = "{SAMPLE}"\ndevice = "tiny"\nlimit = 50\nfit = "compact"\n[grid]\nscheme = ["raid0", "raid5"]\n'
)


def test_the_base_is_enough_for_all_that_needs_no_figure_and_no_cluster(base, tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    run = ["run", *RUN, "--scheme", "raid5"]
    outputs = ["--log-latency", "l.parquet", "--series", "s.csv", "--timeline", "t.json", "--save-drive", "d.drive"]
    calls = [
        [*run, "--json", "r.json", *outputs],
        ["run", str(SAMPLE), "--drive", "d.drive", "--limit", "50", "--fit", "compact"],
        ["compare", *RUN, "--schemes", "raid0,raid5", "--seeds", "2", "--json", "c.json"],
        ["sweep", "plan.toml", "--jobs", "2"],
        ["torture", "--scheme", "raid5", "--kills", "1"],
        ["devices"],
        ["devices", "tiny"],
        ["schemes", "raid5"],
        ["explain", "gc_threshold"],
        ["init", "--device", "tiny", "--scheme", "raid5"],
        ["reproduce"],
        ["trace", "info", str(SAMPLE), "--limit", "50"],
        ["trace", "convert", str(SAMPLE), "-o", "t.iolog", "--to", "fio", "--limit", "50"],
        ["trace", "synth", "-o", "w.csv", "--requests", "10", "--space", "1MiB", "--interval-ns", "1000"],
        ["trace", "anonymise", "w.csv", "-o", "a.csv", "--seed", "1"],
        ["trace", "fit", str(SAMPLE), "-o", "f.toml", "--limit", "50"],
        ["trace", "profiles"],
        *[[name, "--help"] for name in ("report", "sweep", "advise", "calibrate", "reproduce")],
    ]
    for call, (status, said) in zip(calls, with_base(base, tmp_path, calls), strict=True):
        assert status == 0, (call, said)


def test_what_needs_an_extra_says_how_to_install_it(base, tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    run = ["run", *RUN, "--scheme", "raid5", "--json", "r.json"]
    plot = "altair and jinja2 and matplotlib: pip install 'flashraid[plot]'"
    sweep = "distributed: pip install 'flashraid[sweep]'"
    calls = {
        ("run", *run[1:], "--report", "r.html"): f"--report needs {plot}",
        ("run", *run[1:], "--figures", "figures"): f"--figures needs {plot}",
        ("compare", *RUN, "--schemes", "raid0", "--report", "r.html"): f"--report needs {plot}",
        ("report", "r.json", "-o", "r.html"): f"-o needs {plot}",
        ("sweep", "plan.toml", "--jobs", "1", "--report", "r.html"): f"--report needs {plot}",
        ("sweep", "plan.toml", "--scheduler", "tcp://127.0.0.1:1"): f"--scheduler needs {sweep}",
        ("reproduce", "cr5m", "--report", "r.html"): f"--report needs {plot}",
    }
    found = with_base(base, tmp_path, list(calls))
    for (call, expected), (status, said) in zip(calls.items(), found, strict=True):
        assert (status, said) == (2, f"error: {expected}\n"), call
    assert not list(tmp_path.glob("r.*"))


def test_extras_have_the_packages_that_messages_name():
    for extra, packages in extras.EXTRAS.items():
        assert sorted(map(name_of, OPTIONAL[extra])) == sorted(packages)
    assert set(OPTIONAL) == {*extras.EXTRAS, "dashboard", "all", "docs", "test"}
    assert OPTIONAL["all"] == ["flashraid[plot,sweep,dashboard]"]
    assert list(map(name_of, PROJECT["dependencies"])) == ["polars", "rich-click"]


def versions_needed(library):
    """The versions of the C library that an ELF file of 64 bits asks for: its section .gnu.version_r."""
    (sections_at,) = struct.unpack_from("<Q", library, 0x28)
    size, count = struct.unpack_from("<HH", library, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", library, sections_at + size * number) for number in range(count)]
    (needs,) = [section for section in sections if section[1] == 0x6FFFFFFE]
    names_at, at, found = sections[needs[6]][4], needs[4], []
    for _ in range(needs[7]):
        _, entries, _, first, following = struct.unpack_from("<HHIII", library, at)
        entry = at + first
        for _ in range(entries):
            _, _, _, name, step = struct.unpack_from("<IHHII", library, entry)
            found.append(library[names_at + name : library.index(b"\0", names_at + name)].decode())
            entry += step
        at += following
    return found


def glibc_needed(library):
    """The newest version of glibc that it asks for."""
    numbers = [re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", name) for name in versions_needed(library)]
    return max(tuple(map(int, number.groups())) for number in numbers if number)


def test_the_document_names_the_c_library_that_wheels_are_made_for():
    """That the wheel needs no newer one is a test below, of `make prove`; here, that the ELF file is read rightly."""
    text, makefile = (ROOT / "docs/install.md").read_text(), (ROOT / "Makefile").read_text()
    assert set(re.findall(r"manylinux_(\d+)_(\d+)", text)) == {tuple(map(str, GLIBC))}
    assert GLIBC == (2, 17)  # manylinux2014
    assert re.findall(r"--compatibility (\S+)", makefile) == ["manylinux2014"]
    with open(_native.__file__, "rb") as file:
        library = file.read()
    listed = re.findall(rb"\0GLIBC_(\d+)\.(\d+)(?=[.\0])", library)
    assert glibc_needed(library) == max(tuple(map(int, version)) for version in listed)


def test_a_tag_makes_what_the_makefile_makes():
    made = re.findall(r"(?m)^\s+- run: make (.*)$", (ROOT / ".github/workflows/release.yml").read_text())
    assert made == ["wheel sdist"]
    targets = re.search(r"(?m)^\.PHONY: (.*)$", (ROOT / "Makefile").read_text())[1].split()
    assert {"wheel", "sdist"} <= set(targets)


def test_the_sources_have_all_that_the_engine_is_compiled_with(tmp_path):
    """Files that Rust code includes from outside its crate, and the links of the package as files."""
    maturin = sysconfig.get_path("scripts") + "/maturin"
    line = [maturin, "sdist", "--out", tmp_path]
    subprocess.run(line, cwd=ROOT, check=True, capture_output=True, env=os.environ | {"CARGO_NET_OFFLINE": "true"})
    (path,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2]: archive.getmember(name) for name in archive.getnames()}
    wanted = {f"devices/{preset['name']}.toml" for preset in json.loads(_native.devices())}
    wanted |= {f"profiles/{profile['name']}.toml" for profile in json.loads(_native.profiles())}
    wanted |= {"python/flashraid/report/vega.js.gz", "python/flashraid/docs/glossary.md", "Cargo.lock", "LICENSE"}
    assert wanted <= set(names)
    assert all(names[name].isfile() for name in wanted)


USE = """
import json, sys
import flashraid as fr
result = fr.run(sys.argv[1], device="ssd1", scheme="raid5", limit=100, fill=0.1, verify=True)
print(json.dumps([fr.__file__, fr.__version__, result.requests.completed, result.verify.mismatches]))
"""


@pytest.mark.skipif(not PROVE, reason="make prove: a whole release build, and an environment to fill")
def test_a_wheel_works_in_an_empty_environment(tmp_path):
    wheel = subprocess.run(
        ["make", "-s", "wheel"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()[-1]
    assert wheel.endswith(f"-cp311-abi3-manylinux2014_x86_64.manylinux_{GLIBC[0]}_{GLIBC[1]}_x86_64.whl")
    with zipfile.ZipFile(ROOT / wheel) as archive:
        (library,) = (name for name in archive.namelist() if name.endswith(".so"))
        assert glibc_needed(archive.read(library)) <= GLIBC
    venv.create(tmp_path / "empty", with_pip=True)
    binaries = tmp_path / "empty" / "bin"
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}  # without Rust

    def call(*line, status=0):
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, env=environment)
        assert done.returncode == status, done.stderr
        return done

    call(binaries / "pip", "install", "-q", ROOT / wheel)
    listed = json.loads(call(binaries / "pip", "list", "--format", "json").stdout)
    assert not {"altair", "jinja2", "matplotlib", "distributed", "numpy"} & {each["name"].lower() for each in listed}
    file, version, completed, mismatches = json.loads(call(binaries / "python", "-I", "-c", USE, SAMPLE).stdout)
    assert file.startswith(str(tmp_path))
    assert (completed, mismatches) == (100, 0)
    run = ["run", SAMPLE, "--device", "ssd1", "--scheme", "raid5", "--limit", "100"]
    for arguments in (
        ["--version"],
        run,
        ["reproduce"],
        ["explain", "commit"],  # of settings, the schema of results, and documents that are in the package
        ["explain", "read_p99_ns"],
        ["explain", "flash-operations"],
        ["devices", "tiny", "--toml"],
    ):
        done = call(binaries / "flashraid", *arguments)
        assert arguments != ["--version"] or done.stdout.split()[-1] == version
    report = [*run, "--report", "report.html"]
    assert "pip install 'flashraid[plot]'" in call(binaries / "flashraid", *report, status=2).stderr
    call(binaries / "pip", "install", "-q", f"{ROOT / wheel}[all]")
    call(binaries / "flashraid", *report)
    assert "vegaEmbed" in (tmp_path / "report.html").read_text()
