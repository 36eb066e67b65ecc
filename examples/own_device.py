"""A device of your own: the file of a preset, with faster flash, beside the preset.

    python examples/own_device.py

`flashraid devices NAME --toml` prints the file of a preset; each setting is explained in docs/configuration.md.
"""

import tempfile
from pathlib import Path

import flashraid as fr

DEVICE = """
[device]
name = "mine"
channels = 8
chips_per_channel = 2
dies_per_chip = 2
planes_per_die = 2
blocks_per_plane = 256
pages_per_block = 128
page_bytes = "16KiB"
read_ns = "45us"
program_ns = "350us"
erase_ns = "3ms"
bus_ps_per_byte = 833        # 1,200 MB/s
read_command_ns = 100
program_command_ns = 100
erase_command_ns = 100
over_provisioning = 0.15
gc_threshold = 0.05
multi_plane = true
"""
trace = Path(__file__).parents[1] / "samples" / "postmark-transactions.csv.gz"
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "mine.toml"
    file.write_text(DEVICE)
    mine = fr.devices(file, scheme="raid5")
    print(
        f"{mine.name}: {mine.raw_bytes >> 30} GiB of flash, {mine.schemes['raid5'].user_bytes >> 30} GiB for the host"
    )
    for device in ("ssd1", file):
        result = fr.run(trace, device=device, scheme="raid5", fill=0.4)
        print(f"{result.device}: read p99 {result.latency.read.p99 / 1e3:.0f} us")
