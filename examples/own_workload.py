"""A workload of your own: a trace written as CSV, from which a profile is fitted, as its synthetic twin.

    python examples/own_workload.py

Bursts of small updates to a hot region, between them large sequential writes (synthetic).
"""

import random
import tempfile
from pathlib import Path

import flashraid as fr

KIB, MIB = 1 << 10, 1 << 20
draw = random.Random(7)
# The columns of flashraid's own format; flags and latency_us may be empty (docs/traces.md).
lines = ["ts_us,op,offset,size,flags,latency_us"]
time_us, end = 0, 64 * MIB
for burst in range(100):
    time_us += 40_000
    for _ in range(20):
        time_us += draw.randrange(50, 400)
        lines.append(f"{time_us},{draw.choice('RWW')},{draw.randrange(4 * MIB // (4 * KIB)) * 4 * KIB},{4 * KIB},,")
    time_us += 5_000
    lines.append(f"{time_us},W,{end},{256 * KIB},,")
    end = 64 * MIB + (burst + 1) * 256 * KIB % (16 * MIB)

with tempfile.TemporaryDirectory() as folder:
    trace, profile = Path(folder) / "bursts.csv", Path(folder) / "twin.toml"
    trace.write_text("\n".join(lines) + "\n")
    info = fr.trace_info(trace)
    print(f"{info.requests} requests, {info.write_share:.0%} writes, bursts: {info.burstiness.bursts.count}")
    for scheme in ("raid5", "ppc"):
        result = fr.run(trace, device="ssd1", scheme=scheme, fill=0.1)
        print(f"{scheme}: write p99 {result.latency.write.p99 / 1e3:.0f} us, WA {result.write_amplification:.2f}")
    fitted = fr.fit(trace, profile)
    print(f"twin: {fitted.beyond} of {len(fitted.figures)} figures differ by more than 5 %")
    twin = fr.run(profile, device="ssd1", scheme="raid5", fill=0.1)
    print(f"raid5 on the twin: write p99 {twin.latency.write.p99 / 1e3:.0f} us")
