"""Recordings made up in the shapes in which originals are published: formats, names, folders; not their requests."""

import gzip
import random

# What a made-up trace has: small figures that stand for those of a paper's table.
REQUESTS = 400
WRITE_SHARE = 0.75
WRITE_BYTES = 8192


def requests(seed, gap_us=500.0, count=REQUESTS, pages=64):
    """Times in us, whether they write, offsets and sizes: three of four are writes of 8 KiB to a few pages."""
    draw = random.Random(seed)
    at = 0.0
    for number in range(count):
        at += gap_us * (1 if number % 4 else 3)
        yield at, number % 4 != 0, draw.randrange(pages) * 4096, WRITE_BYTES if number % 4 else 4096


def alibaba(seed, device=419, begin_us=1577808144360767, **more):
    """A volume of the Alibaba block traces: no header."""
    return "".join(
        f"{device},{'W' if writes else 'R'},{offset},{size},{begin_us + round(at)}\n"
        for at, writes, offset, size in requests(seed, **more)
    )


def msr(seed, host="hm", **more):
    """A volume of MSR Cambridge: no header, ticks of 100 ns since 1601."""
    return "".join(
        f"{128166385295514663 + round(10 * at)},{host},0,{'Write' if writes else 'Read'},{offset},{size},2833\n"
        for at, writes, offset, size in requests(seed, **more)
    )


def systor(seed, lun=4, **more):
    """A LUN of Systor 2017: a header, seconds, an address that is beyond those of a drive."""
    rows = [
        f"{1456095145 + at / 1e6:.9f},0.000806000,{'W' if writes else 'R'},{lun},{(4 << 40) + offset},{size}\n"
        for at, writes, offset, size in requests(seed, **more)
    ]
    return "Timestamp,Response,IOType,LUN,Offset,Size\n" + "".join(rows)


def packed(path, text):
    """Writes a file compressed with gzip, and returns its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    return path


def folder_of_luns(path, count=62, **more):
    """A folder of Systor 2017 as it is published: an hour and a LUN in each name."""
    names = [f"20160216{hour:02}-LUN{lun}" for hour in range(12, 24) for lun in (0, 1, 2, 3, 4, 6)]
    for seed, name in enumerate(names[:count]):
        packed(path / f"{name}.csv.gz", systor(seed, **more))
    return path
