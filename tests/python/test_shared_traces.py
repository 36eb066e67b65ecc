"""Real traces beside the repository: each runs, verified, on a device that fits it. Skipped where they are absent.

What their requests are is compared with published counts in crates/workload/tests/suite/shared_traces.rs.
"""

import math

import pytest
from conftest import PROVE, ROOT, some_of, write_device

import flashraid as fr

SHARED = ROOT.parent / "shared"
FOLDERS = (SHARED / "traces", SHARED / "traces-captured")
TRACES = sorted(path for folder in FOLDERS for path in folder.glob("*") if path.suffix in (".xz", ".gz"))
FORMATS = {"ycsb": "blkparse"}  # names that fit two formats
LIMIT = 0 if PROVE else 1000
PLANES = 4 * 4 * 2 * 2
MOST_BYTES = 20 << 40


def fitting_device(folder, space_bytes):
    """Four channels, pages of 4 KiB or, for a terabyte and more, of 64 KiB; a third more flash than the space."""
    page_bytes = 4096 if space_bytes < 1 << 40 else 65_536
    pages_per_plane = math.ceil(space_bytes / page_bytes / PLANES * 4 / 3 / 0.9 * 1.05)
    pages_per_block = min(1024, max(64, 2 ** math.ceil(math.log2(pages_per_plane / 30_000 + 1))))
    return write_device(
        folder,
        chips_per_channel=4,
        dies_per_chip=2,
        planes_per_die=2,
        blocks_per_plane=max(64, math.ceil(pages_per_plane / pages_per_block)),
        pages_per_block=pages_per_block,
        page_bytes=page_bytes,
        over_provisioning=0.1,
        gc_threshold=0.05,
    )


def devices_that_fit(info):
    """The devices of a trace in groups, each within what one simulated device can hold."""
    groups, end = [[]], 0
    for device in info.device_list:
        end += device.end_bytes
        if end > MOST_BYTES:
            groups, end = [*groups, []], device.end_bytes
        groups[-1].append(device.name)
    return groups


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.skipif(not TRACES, reason=f"no traces beside the repository ({SHARED.name}/)")
@pytest.mark.parametrize("trace", some_of(TRACES, 0, 3), ids=lambda path: path.name)
@pytest.mark.parametrize("scheme", ["raid5", "cr5m"] if PROVE else ["cr5m"])
def test_runs_verified_on_a_device_that_fits(tmp_path, trace, scheme):
    reading = {"format": next((name for word, name in FORMATS.items() if word in trace.name), "auto")}
    groups = devices_that_fit(fr.trace_info(trace, **reading))
    if not PROVE and (len(groups) > 1 or "webserver" in trace.name):
        pytest.skip("make prove: devices of terabytes")
    for names in groups:
        if len(groups) > 1:
            reading["device_filter"] = ",".join(names)
        share = 4 / 3 if scheme == "cr5m" else 1  # of flash, as copies take some
        space_bytes = fr.trace_info(trace, **reading).max_address_bytes * share
        device = fitting_device(tmp_path, space_bytes)
        result = fr.run(trace, device=device, scheme=scheme, limit=LIMIT, verify=True, engine=False, **reading)
        work, requests = result.workload, result.requests
        assert (work.wrapped, work.left_out, work.skipped) == (0, 0, 0)
        assert requests.completed == work.requests > 0
        assert (result.verify.mismatches, result.verify.pages_lost) == (0, 0)
        assert result.verify.reads_checked > 0 or work.reads == 0
