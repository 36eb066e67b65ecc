"""Other simulators beside flashraid, pair by pair: processor seconds of whole processes, start and reading included.

    python benches/peers.py --mqsim MQSim/MQSim --ssdsim ssdsim/ssd
    python benches/peers.py --mqsim-tlc MQSim/MQSim

The paths name programs that you have built: MQSim (CMU-SAFARI/MQSim) and SSDsim 2.1 (huaicheng/ssdsim), with -O2 at
least. Configurations are written here, for the device `ssd1`, a page map, no buffer, and no GC; nothing is filled
before. Each program replays the trace in a folder of its own. Ratios of one pair compare; seconds of different machines
do not. Exit status 1 if a program did not do all requests.

With --mqsim-tlc it is response times that are compared: those of MQSim, changed as docs/validation.md says, on a drive
of TLC with those that `tests/validation/tlc.py` records of it. Exit status 1 if they are not the same.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

sys.path.append(str(Path(__file__).parents[1] / "tests"))  # so that it runs as a script

from run import COMMAND, FULL_EFFORT, WrongCount, end, trace
from validation import tlc

PAIRS = 5
CHANGED = "is it changed as docs/validation.md says (Suspension)?"
REQUESTS = 1_000_000
# Flash page reads and programs for the host.
PAGES = {"a": (0, 1_000_000), "b": (1_749_350, 750_600)}

CHANNELS, CHIPS, DIES, PLANES, BLOCKS, PAGES_PER_BLOCK, PAGE_BYTES = 4, 4, 2, 2, 4096, 64, 4096
PARTS = ("Channel", "Chip", "Die", "Plane")
READ_NS, PROGRAM_NS, ERASE_NS = 20_000, 200_000, 1_500_000


@dataclass(frozen=True)
class Spent:
    """What a process took."""

    seconds: float  # of the processor, user and system
    output: str


def spend(line: Sequence[str | Path], folder: Path, stdin: str = "", success: int = 0) -> Spent:
    """Runs a program to its end, which it reports by this exit status."""
    before = os.times()
    try:
        done = subprocess.run(
            list(map(str, line)), cwd=folder, input=stdin, capture_output=True, text=True, errors="replace", check=False
        )
    except OSError as error:
        raise WrongCount(f"{line[0]}: cannot be run: {error.strerror}") from None
    after = os.times()
    if done.returncode != success:
        said = " ".join((done.stderr or done.stdout)[-500:].split())
        raise WrongCount(f"{line[0]}: exit status {done.returncode}, not {success}: {said or 'it says nothing'}")
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return Spent(used, done.stdout)


def flashraid(workload: str, _program: Path | None, folder: Path) -> float:
    """A run for its result alone. Pages that were never written are there when they are read, as in the others."""
    line: list[str | Path] = [
        COMMAND,
        "run",
        trace(workload, FULL_EFFORT),
        "--device",
        "ssd1",
        "--scheme",
        "raid0",
        "--format",
        "ssdsim",
    ]
    spent = spend([*line, "--set", "unwritten=prefill", "--json", "-", "--quiet"], folder)
    operations = json.loads(spent.output)["flash_ops"]
    found = operations["reads"]["host"], operations["programs"]["host"]
    if found != PAGES[workload]:
        raise WrongCount(f"flashraid: {found} reads and programs for the host, not {PAGES[workload]}")
    return spent.seconds


# ---- MQSim


def mqsim(workload: str, program: Path | None, folder: Path) -> float:
    """MQSim without its cache."""
    (folder / "ssd.xml").write_text(mqsim_device())
    (folder / "workload.xml").write_text(mqsim_workload(trace(workload, FULL_EFFORT)))
    spent = spend([program or "", "-i", "ssd.xml", "-w", "workload.xml"], folder)
    count = re.search(r"<Request_Count>(\d+)</Request_Count>", written(folder / "workload_scenario_1.xml", "MQSim"))
    if count is None or int(count[1]) != REQUESTS:
        raise WrongCount(f"MQSim: {count and count[1]} requests of {REQUESTS}")
    return spent.seconds


def xml(name: str, values: Mapping[str, object]) -> str:
    """An element with elements that have texts."""
    inside = "".join(
        str(value) if key.startswith("<") else f"<{key}>{escape(str(value))}</{key}>\n" for key, value in values.items()
    )
    return f"<{name}>\n{inside}</{name}>\n"


def mqsim_device(changes: Mapping[str, object] | None = None) -> str:
    """The execution parameters, with these changed."""
    host: dict[str, object] = {
        "PCIe_Lane_Bandwidth": "1.0",
        "PCIe_Lane_Count": 4,
        "SATA_Processing_Delay": 400_000,
        "Enable_ResponseTime_Logging": "false",
        "ResponseTime_Logging_Period_Length": 1_000_000,
    }
    flash: dict[str, object] = {
        "Flash_Technology": "SLC",
        "CMD_Suspension_Support": "NONE",
        **{f"Page_Read_Latency_{page}": READ_NS for page in ("LSB", "CSB", "MSB")},
        **{f"Page_Program_Latency_{page}": PROGRAM_NS for page in ("LSB", "CSB", "MSB")},
        "Block_Erase_Latency": ERASE_NS,
        "Block_PE_Cycles_Limit": 10_000,
        "Suspend_Erase_Time": 700_000,
        "Suspend_Program_Time": 100_000,
        "Die_No_Per_Chip": DIES,
        "Plane_No_Per_Die": PLANES,
        "Block_No_Per_Plane": BLOCKS,
        "Page_No_Per_Block": PAGES_PER_BLOCK,
        "Page_Capacity": PAGE_BYTES,
        "Page_Metadat_Capacity": 128,
    }
    device: dict[str, object] = {
        "Seed": 321,
        "Enabled_Preconditioning": "false",
        "Memory_Type": "FLASH",
        "HostInterface_Type": "NVME",
        "IO_Queue_Depth": 65_535,
        "Queue_Fetch_Size": 512,
        "Caching_Mechanism": "ADVANCED",
        "Data_Cache_Sharing_Mode": "SHARED",
        "Data_Cache_Capacity": 268_435_456,
        "Data_Cache_DRAM_Row_Size": 8192,
        "Data_Cache_DRAM_Data_Rate": 100,
        "Data_Cache_DRAM_Data_Busrt_Size": 1,
        **{f"Data_Cache_DRAM_{name}": 13 for name in ("tRCD", "tCL", "tRP")},
        "Address_Mapping": "PAGE_LEVEL",
        "Ideal_Mapping_Table": "true",
        "CMT_Capacity": 2_097_152,
        "CMT_Sharing_Mode": "SHARED",
        "Plane_Allocation_Scheme": "CWDP",
        "Transaction_Scheduling_Policy": "PRIORITY_OUT_OF_ORDER",
        "Overprovisioning_Ratio": 0.07,
        "GC_Exec_Threshold": 0.05,
        "GC_Block_Selection_Policy": "GREEDY",
        "Use_Copyback_for_GC": "false",
        "Preemptible_GC_Enabled": "false",
        "GC_Hard_Threshold": 0.005,
        "Dynamic_Wearleveling_Enabled": "true",
        "Static_Wearleveling_Enabled": "false",
        "Static_Wearleveling_Threshold": 100,
        "Preferred_suspend_erase_time_for_read": 700_000,
        "Preferred_suspend_erase_time_for_write": 700_000,
        "Preferred_suspend_write_time_for_read": 100_000,
        "Flash_Channel_Count": CHANNELS,
        "Flash_Channel_Width": 1,
        "Channel_Transfer_Rate": 40,
        "Chip_No_Per_Channel": CHIPS,
        "Flash_Comm_Protocol": "NVDDR2",
    }
    for key, value in (changes or {}).items():
        (group,) = (group for group in (host, flash, device) if key in group)
        group[key] = value
    device["<flash>"] = xml("Flash_Parameter_Set", flash)
    inside = {"<host>": xml("Host_Parameter_Set", host), "<device>": xml("Device_Parameter_Set", device)}
    return '<?xml version="1.0" encoding="us-ascii"?>\n' + xml("Execution_Parameter_Set", inside)


def mqsim_workload(
    path: Path, shape: Sequence[int] = (CHANNELS, CHIPS, DIES, PLANES), caching: str = "TURNED_OFF"
) -> str:
    """One flow that replays the trace on all of a device of this shape."""

    def numbers(count: int) -> str:
        return ",".join(map(str, range(count)))

    flow = {
        "Priority_Class": "HIGH",
        "Device_Level_Data_Caching_Mode": caching,
        **{f"{part}_IDs": numbers(count) for part, count in zip(PARTS, shape, strict=True)},
        "Initial_Occupancy_Percentage": 25,
        "File_Path": path.resolve(),
        "Percentage_To_Be_Executed": 100,
        "Relay_Count": 1,
        "Time_Unit": "NANOSECOND",
    }
    scenario = xml("IO_Scenario", {"<flow>": xml("IO_Flow_Parameter_Set_Trace_Based", flow)})
    return '<?xml version="1.0" encoding="us-ascii"?>\n' + xml("MQSim_IO_Scenarios", {"<scenario>": scenario})


def mqsim_responses_ns(replay: tlc.Replay, program: Path, folder: Path) -> list[int]:
    """MQSim's response time of each step of a replay, out of its log: a line for each request, when it completes."""
    changes = {**tlc.MQSIM, **replay.mqsim}
    caching = str(changes.pop("Device_Level_Data_Caching_Mode", "TURNED_OFF"))
    counts = ("Flash_Channel_Count", "Chip_No_Per_Channel", "Die_No_Per_Chip", "Plane_No_Per_Die")
    shape = [int(str(changes[key])) for key in counts]
    requests = [step.request for step in replay.steps]
    sectors = tlc.PAGE_BYTES // 512
    lines = [
        f"{each.arrival_ns} 0 {each.first_page * sectors} {each.pages * sectors} {int(each.is_read)}\n"
        for each in requests
    ]
    (folder / "t").write_text("".join(lines), encoding="ascii")
    (folder / "ssd.xml").write_text(mqsim_device(changes))
    (folder / "workload.xml").write_text(mqsim_workload(folder / "t", shape, caching))
    spend([program, "-i", "ssd.xml", "-w", "workload.xml"], folder, "\n")
    logged = written(folder / "workload.IO_Flow.No_0.log", "MQSim").splitlines()[1:]
    rows = [[int(number) for number in line.split()] for line in logged]
    responses = {end_ns - response_ns: response_ns for end_ns, response_ns, _ in rows}
    if len(rows) != len(requests) or responses.keys() != {each.arrival_ns for each in requests}:
        raise WrongCount(f"MQSim: {replay.name}: {len(rows)} requests of {len(requests)}: {CHANGED}")
    return [responses[each.arrival_ns] for each in requests]


def compare_tlc(program: Path) -> None:
    """Shows MQSim's figures, and those that are recorded of it."""
    different = 0
    for replay in tlc.REPLAYS:
        with tempfile.TemporaryDirectory() as folder:
            responses = mqsim_responses_ns(replay, program, Path(folder))
        for row in tlc.ROWS:
            if row.replay == replay:
                found = round(row.figure_ns(responses, tlc.mqsim_type))
                different += found != row.mqsim_ns
                print(f"{row.name:<44} {found:>15,} ns   recorded {row.mqsim_ns:>15,} ns", flush=True)
    if different:
        raise WrongCount(f"MQSim: {different} of {len(tlc.ROWS)} figures are not those recorded: {CHANGED}")


# ---- SSDsim

SSDSIM = {
    "dram capacity": 0,
    **{f"chip number[{channel}]": CHIPS if channel < CHANNELS else 0 for channel in range(19)},
    "channel number": CHANNELS,
    "chip number": CHANNELS * CHIPS,
    "die number": DIES,
    "plane number": PLANES,
    "block number": BLOCKS,
    "page number": PAGES_PER_BLOCK,
    "subpage page": 8,
    "page capacity": PAGE_BYTES,
    "subpage capacity": 512,
    "t_PROG": PROGRAM_NS,
    "t_BERS": ERASE_NS,
    "t_R": READ_NS,
    "t_WC": 25,
    "t_RC": 25,
    "t_WB": 100,
    "erase limit": 100_000,
    "address mapping": 1,
    "wear leveling": 1,
    "gc": 1,
    "overprovide": 0.10,
    "gc threshold": 0.30,
    "buffer management": 0,
    "scheduling algorithm": 1,
    "gc hard threshold": 0.30,
    "allocation": 0,
    "static_allocation": 2,
    "dynamic_allocation": 0,
    "advanced command": 0,
    "advanced command priority": 0,
    "greed CB command": 0,
    "greed MPW command": 1,
    "aged": 0,
    "aged ratio": 0.7,
    "queue_length": 100_000,
}


def ssdsim(workload: str, program: Path | None, folder: Path) -> float:
    """SSDsim with dynamic allocation."""
    (folder / "page.parameters").write_text("".join(f"{key} = {value};\n" for key, value in SSDSIM.items()))
    text = trace(workload, FULL_EFFORT).read_text(encoding="ascii")
    last_ns = int(text.rstrip().rpartition("\n")[2].split()[0])
    # It never does what stands in the last lines of a file: these are a late read, and a line that it does not finish.
    (folder / "t").write_text(f"{text}{last_ns + 10**9} 1 0 8 1\n{last_ns + 2 * 10**9} 1 0 8 1", encoding="ascii")
    spent = spend([program or ""], folder, "t\n", success=1)
    result = written(folder / "statistic10.dat", "SSDsim")
    found = [int(number) for number in re.findall(r"^(?:read|write) request count: *(\d+)", result, re.M)]
    if not REQUESTS <= sum(found) <= REQUESTS + 2:
        raise WrongCount(f"SSDsim: {found} requests of {REQUESTS}")
    return spent.seconds


def written(result: Path, name: str) -> str:
    """What the simulator of this name has written."""
    if not result.is_file():
        raise WrongCount(f"{name}: it wrote no {result.name}: is the program {name}?")
    return result.read_text(encoding="ascii", errors="replace")


# ---- pairs

PEERS: dict[str, Callable[[str, Path | None, Path], float]] = {"mqsim": mqsim, "ssdsim": ssdsim}


def pairs(name: str, program: Path, workload: str, count: int) -> None:
    """Runs both, one after the other, several times; shows each pair and the medians."""
    ratios = []
    for _ in range(count):
        seconds = []
        for run, path in ((PEERS[name], program), (flashraid, None)):
            with tempfile.TemporaryDirectory() as folder:
                seconds.append(run(workload, path, Path(folder)))
        ratios.append(seconds[0] / seconds[1])
        print(
            f"{name:<8} ({workload}) {seconds[0]:8.2f} s   flashraid {seconds[1]:6.2f} s   {ratios[-1]:6.1f} x",
            flush=True,
        )
    middle = statistics.median(ratios)
    print(
        f"{name:<8} ({workload}) median of {count}: {middle:.1f} times the processor seconds of flashraid\n", flush=True
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in PEERS:
        parser.add_argument(f"--{name}", metavar="PROGRAM", type=Path, help=f"the program {name}, which you have built")
    parser.add_argument(
        "--mqsim-tlc", metavar="PROGRAM", type=Path, help="MQSim changed as docs/validation.md says, on a drive of TLC"
    )
    parser.add_argument("--pairs", metavar="N", type=int, default=PAIRS, help=f"pairs of runs, by default {PAIRS}")
    given = parser.parse_args()
    programs = {name: path for name in PEERS if (path := getattr(given, name)) is not None}
    tlc_program: Path | None = given.mqsim_tlc
    if not programs and tlc_program is None:
        parser.error(
            f"no simulator: allowed is at least one of {', '.join(f'--{name}' for name in PEERS)}, --mqsim-tlc"
        )
    if given.pairs < 1:
        parser.error(f"--pairs {given.pairs}: allowed is 1 or more")
    for name, path in (programs if tlc_program is None else programs | {"mqsim-tlc": tlc_program}).items():
        if not (path.is_file() and os.access(path, os.X_OK)):
            parser.error(f"--{name} {path}: allowed is a program")
    if tlc_program is not None:
        compare_tlc(tlc_program.resolve())
    FULL_EFFORT.folder.mkdir(parents=True, exist_ok=True)
    for workload in PAGES:
        for name, path in programs.items():
            pairs(name, path.resolve(), workload, given.pairs)
    return 0


if __name__ == "__main__":
    end(main)
