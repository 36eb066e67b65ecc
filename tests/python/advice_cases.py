"""A question of the advisor on a small drive, for the tests of its answers."""

from flashraid import advisor

DEVICE = {"device": "tiny", "fill": 0.5, "fit": "wrap", "jobs": 1}
SOME = ["raid0", "raid1", "raid5", "ppc"]


def bursts(count):
    """Bursts of reads and writes of different sizes, on a few places again and again."""
    return [
        (at // 4 * 6000 + at % 4, "R" if at % 5 < 2 else "W", (at * at % 977) * 4096, (1 + at % 3) * 4096)
        for at in range(count)
    ]


def asked(trace, settings=(), **more):
    musts = ("max_p99_read", "max_p99_write", "max_p99_flush", "min_capacity", "max_nvram")
    nothing = dict.fromkeys(("schemes", "survives", "survives_failures", *musts))
    nothing |= {"min_dwpd": None, "years": None, "fault": None, "vary": {}, "prefer": [], "tail": "p99", "seeds": 1}
    return advisor.asked(str(trace), "tiny", None, list(settings), **nothing | more)
