"""What is measured of a run: figures by hand from made-up results."""

import pytest

import flashraid as fr
from flashraid.reproduce.metrics import METRICS, measured, with_requests


def test_old_versions_are_a_share_of_one_for_each_data_strip_of_each_entry():
    guard = {"most_old_pages": 40, "most_entries": 20}
    assert METRICS["old_share"].of({"members": [0] * 5, "guard": guard}) == 50.0
    assert METRICS["old_share"].of({"members": [0] * 5}) == 0.0


def test_totals_are_those_of_all_requests_of_the_trace():
    latency = {kind: {"total": total} for kind, total in (("all", 3e12), ("write", 2e12))}
    chi_square = {"statistic": 500.0, "requests": 1000}
    result = {"workload": {"requests": 900}, "latency_ns": latency, "blocked_chi_square": chi_square}
    names = ("io_ks", "write_ks", "chi_square_of_trace", "chi_square")
    assert measured(result, names, lambda run: 9000) == dict(zip(names, (30.0, 20.0, 4500.0, 500.0), strict=True))
    assert measured(result, names) == dict(zip(names, (3.0, 2.0, 450.0, 500.0), strict=True))
    assert measured({**result, "blocked_chi_square": None}, names[2:]) == dict.fromkeys(names[2:], 0.0)


def test_a_tail_has_eighths_of_decades_as_far_as_its_requests_go():
    def of(points):
        """A distribution with so many points, the latency of each being its number in us."""
        return {"distribution": [{"latency_ns": 1000 * each} for each in range(points)], "max": 1000 * (points - 1)}

    names = ("p99_44", "p99_68", "p99_82", "p99_97", "p99_99", "longest")
    whole = measured({"latency_ns": {"all": of(42)}}, names)
    assert whole == dict(zip(names, (18, 20, 22, 28, 32, 41), strict=True))
    assert measured({"latency_ns": {"all": of(22)}}, names)["p99_82"] == 21


def test_the_most_congested_channel_is_that_of_the_longest_queue():
    quantiles = ("p99_ns", "p99_9_ns", "p99_99_ns", "max_ns")
    members = [
        {"mean_blocked": blocked} | {key: 1000 * first * (1 + each) for each, key in enumerate(quantiles)}
        for blocked, first in ((0.5, 10), (2.0, 40), (0.1, 20))
    ]
    names = ("congested_p99", "others_p99", "congested_max", "others_max", "congested_tail")
    found = measured({"members": members}, names)
    assert found == dict(zip(names, (40.0, 15.0, 160.0, 60.0, 166.67), strict=True))


REBUILT = {
    "started_ns": 1_000_000_000,
    "finished_ns": 3_000_000_000,
    "window_of_vulnerability_ns": 2_000_000_000,
    "pages": 8,
    "pages_copied": 2,
    "pages_xored": 6,
    "bytes_per_second": 16384.0,
    "mean_latency_ns": 1500.0,
}


def test_figures_of_a_rebuild():
    operations = {"reads": {"rebuild": 20}, "programs": {"rebuild": 8}}
    names = ("rebuild_seconds", "rebuild_mean", "copied_share", "pages_xored", "operations_per_page")
    found = measured({"rebuild": [REBUILT], "flash_ops": operations}, names)
    assert found == dict(zip(names, (2, 1.5, 25, 6, 3.5), strict=True))


@pytest.mark.parametrize("rebuilds", [[], [REBUILT, REBUILT], [REBUILT | {"finished_ns": None}]])
def test_figures_of_a_rebuild_need_one_that_ended(rebuilds):
    with pytest.raises(fr.DefectError, match="of one rebuild that ends"):
        measured({"rebuild": rebuilds}, ("rebuild_pages",))


def replaced(seconds, mean_ns, **more):
    latency = {"mean": mean_ns, "stddev": 300.0, "p99_9": 4000, "max": 5000}
    given = {"outcome": "replaced", "duration_ns": seconds * 10**9, "latency_ns": latency, "shadow_reads_after": 7}
    return given | {"read_latency_after_ns": {"mean": 2 * mean_ns if mean_ns else None}} | more


def test_figures_of_replacements():
    names = ("replacement_mean", "replacement_deviation", "replacement_p99_9", "replacement_max", "replacement_seconds")
    assert measured({"replacements": [replaced(20, 1500.0)]}, names) == dict(
        zip(names, (1.5, 0.3, 4, 5, 20), strict=True)
    )
    several = {"replacements": [replaced(20, 1500.0), replaced(10, 1000.0)]}
    assert measured(several, ("replacement_seconds", "read_after", "shadow_reads")) == {
        "replacement_seconds": 15,
        "read_after": 2,
        "shadow_reads": 7,
    }
    assert measured({"replacements": [replaced(1, None)]}, ("replacement_mean", "read_after")) == {
        "replacement_mean": 0,
        "read_after": 0,
    }
    none = {"replacements": [], "latency_ns": {"all": {"mean": 2500.0}}, "requests": {"completed": 7}}
    assert measured(none, ("replacement_mean", "replacement_requests", "replacement_seconds")) == {
        "replacement_mean": 2.5,
        "replacement_requests": 7,
        "replacement_seconds": 0,
    }
    with pytest.raises(fr.DefectError, match="of one replacement"):
        measured(several, ("replacement_mean",))
    with pytest.raises(fr.DefectError, match="of replacements that end"):
        measured({"replacements": [replaced(1, 1.0, outcome="given_up")]}, ("replacement_seconds",))


def test_figures_of_part_of_the_requests_come_with_their_number():
    of = {
        "rebuild_requests": ["rebuild_mean"],
        "replacement_requests": [f"replacement_{each}" for each in ("mean", "deviation", "p99_9", "max")],
        "reads_after": ["read_after"],
    }
    for requests, names in of.items():
        for name in names:
            assert with_requests([name]) == (name, requests)
    assert with_requests(["mean", "rebuild_requests"]) == ("mean", "rebuild_requests")


def test_figures_of_programs():
    programs = {"host": 10, "parity": 10, "gc": 4, "rebuild": 3, "migration": 2, "total": 29}
    names = ("programs_per_page", "moved_per_page", "gc_per_page", "first_parity_share", "first_data_share")
    first = {"flash_ops": {"programs": {"host": 1, "parity": 3, "gc": 9}}}
    result = {"flash_ops": {"programs": programs}, "devices": [first], "members": [{"parity_share": 0.8}]}
    assert measured(result, names) == dict(zip(names, (2.9, 0.5, 0.4, 80, 25), strict=True))
    assert measured({"flash_ops": {"programs": {"host": 0, "gc": 1}}}, ("gc_per_page",)) == {"gc_per_page": 0}


RESULT = {
    "config": {"device": {"read_ns": 50_000, "program_ns": 300_000}},
    "requests": {"completed": 40},
    "workload": {"writes": 25},
    "capacity": {"user_bytes": 3 * 2**30, "raw_bytes": 4 * 2**30},
    "latency_ns": {"all": {"total": 5_700_000}},
    "parity_updates": {"mirrored": 10, "rmw": 14, "rcw": 6, "adjusted": 5},
    "flash_ops": {"reads": {"total": 30}, "programs": {"host": 60, "parity": 40, "total": 100}},
    "buffer": {"hits": 30, "misses": 10, "mean_victim_pages": 2.5},
    "bandwidth": {"write_bytes_per_second": 100_000_000, "busy_write_bytes_per_second": 250_000_000},
    "guard": {"misses": 15, "gc_commit_share": 0.125},
    "members": [{"reads": reads, "programs": programs} for reads, programs in ((7, 60), (5, 40), (4, 50), (3, 55))],
    # Four dies, of which those of the second half of the channels collect twice as long as those of the first.
    "dies": [{"busy_ns": {"gc": seconds * 10**9}} for seconds in (0, 2, 3, 1)],
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gc_first_half", 1.0),
        ("gc_second_half", 2.0),
        ("gc_halves_spread", 100.0),
        ("gc_die_seconds", 1.5),
        ("gc_commit_share", 12.5),
        ("group_difference", 5),  # 12 less 7
        ("channel_spread", 50.0),  # 60 for 40
        ("adjusted_share", 25.0),  # of 20
        ("decision_share", 2.0),  # 20 times 5.7 us, of 5.7 ms
        ("mirrored_share", 33.33),  # 10 of 30
        ("mirrored_per_request", 0.25),
        ("parity_per_write", 1.6),
        ("cell_us", 525.0),  # 30 x 50 us and 100 x 300 us, for 60 pages
        ("buffer_hits", 75.0),
        ("page_hit_rate", 75.0),  # 45 of 60 pages
        ("victim_pages", 2.5),
        ("bandwidth", 100.0),
        ("busy_bandwidth", 250.0),
        ("user_share", 75.0),
        ("user_capacity", 3.0),
    ],
)
def test_a_figure_is_what_its_name_says(name, value):
    assert measured(RESULT, (name,)) == {name: value}


def test_what_did_not_happen_is_zero():
    nothing = {"parity_updates": {"adjusted": 0, "rmw": 0, "rcw": 0}, "buffer": {"hits": 0, "misses": 0}}
    nothing["buffer"]["mean_victim_pages"] = None
    names = ("adjusted_share", "buffer_hits", "victim_pages")
    assert measured(nothing, names) == dict.fromkeys(names, 0.0)
    unguarded = {"flash_ops": {"programs": {"host": 60}}}
    names = ("page_hit_rate", "gc_commit_share")
    assert measured(unguarded, names) == dict.fromkeys(names, 0.0)
