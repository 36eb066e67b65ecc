"""The engine driven request by request: a closed loop of one request, in which a chip fails halfway.

    python examples/drive_a_simulation.py

Random reads and writes of single pages (synthetic).
"""

import random

import flashraid as fr

PAGE = 4096
sim = fr.Simulation(device="ssd1", scheme="raid5", space_bytes="64MiB", fill=1, verify=True)
pages = sim.space_bytes // PAGE
draw = random.Random(1)
latencies_us: list[float] = []
for number in range(2000):
    if number == 1000:
        sim.fail_chip(channel=0, chip=1)  # the spare chip of the channel takes its place, and a rebuild begins
    sim.submit(draw.choice(["read", "write"]), offset_bytes=draw.randrange(pages) * PAGE, size_bytes=PAGE)
    while not (done := sim.take_completions()):
        sim.advance_until(sim.next_event_time() or sim.now_ns)
    latencies_us.append(done[0].latency_ns / 1e3)
sim.finish()

for name, part in (("before", latencies_us[:1000]), ("after", latencies_us[1000:])):
    print(f"{name} the failure: mean {sum(part) / len(part):.1f} us, longest {max(part):.1f} us")
result = sim.result()
rebuild = result.rebuild[0]
print(f"rebuilt {rebuild.pages} of {rebuild.pages_lost} lost pages; host pages lost: {result.losses.host_pages}")
print(f"reads with wrong content: {sim.verify().mismatches}")
