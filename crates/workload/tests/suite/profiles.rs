//! Each shipped profile against its table in the papers: within 2 %.

use flashraid_vocabulary::HostOp;
use flashraid_workload::profile::{Arrivals, Profile, SHIPPED};
use flashraid_workload::{Figures, TraceStatistics};
use std::num::NonZeroU64;

/// Requests generated of a profile that has more, unless FLASHRAID_PROVE asks for all.
const QUICK: u64 = 250_000;

/// What a table says. Sizes in KiB, times between arrivals in ns at 20, 40, 60 and 80 %; 0 where it says nothing.
#[derive(Clone, Copy, Default)]
struct Published {
    requests: u64,
    write_share: f64,
    size_kib: f64,
    write_size_kib: f64,
    rate: f64,
    minutes: f64,
    update_share: f64,
    gaps_ns: [u64; 4],
    longest_gap_ns: u64,
}

fn published() -> Vec<(&'static str, Published)> {
    let table = |requests, write_share, rate, size_kib| Published { requests, write_share, size_kib, rate, ..Published::default() };
    // CR5M, Table 2, gives durations instead of counts.
    let timed = |write_share, size_kib, rate, minutes| Published { minutes, ..table(0, write_share, rate, size_kib) };
    // Adaptive, Tables III and IV.
    let adaptive = |requests, write_share, write_size_kib, update_share, gaps_us: [f64; 4], longest_us: f64| Published {
        requests,
        write_share,
        write_size_kib,
        update_share,
        gaps_ns: gaps_us.map(|gap| (gap * 1000.0) as u64),
        longest_gap_ns: (longest_us * 1000.0) as u64,
        ..Published::default()
    };
    vec![
        ("cr5m-fin2", timed(0.177, 2.0, 90.0, 683.0)),
        ("cr5m-build", timed(0.457, 6.5, 372.0, 15.0)),
        ("cr5m-exchange", timed(0.464, 12.5, 166.0, 15.0)),
        // Two have the figures of slices of recordings instead.
        ("cr5m-exchange-slice", table(33_241, 0.9045, 50.9, 28.27)),
        ("cr5m-radius", timed(0.885, 6.8, 57.0, 35.2)),
        ("cr5m-atto", timed(0.475, 23.1, 792.4, 2.5)),
        ("cr5m-uniform", table(100_000, 0.5, 100.0, 8.0)),
        ("sirf1-exchange", table(67_087, 0.697, 14.0, 12.0)),
        ("sirf1-build", table(209_020, 0.281, 28.0, 8.0)),
        ("sirf1-tpcc", table(368_606, 0.335, 301.0, 8.0)),
        ("sirf1-tpcc-shape", table(368_606, 0.335, 301.0, 8.1)),
        ("sirf1-fin1", table(5_334_948, 0.768, 123.0, 3.0)),
        ("sirf1-fin2", table(3_698_863, 0.177, 92.0, 4.0)),
        ("adaptive-hm_0", adaptive(3_993_316, 0.645, 8.3, 0.978, [0.1, 0.3, 1.9, 200.0], 900_000.0)),
        ("adaptive-lun0", adaptive(2_387_992, 0.141, 27.7, 0.793, [39.9, 385.8, 879.1, 2000.0], 11_400.0)),
        // The table has less at 100 % than at 80 % for these two: the longest is not compared.
        ("adaptive-lun1", adaptive(824_068, 0.454, 11.2, 0.798, [31.0, 397.1, 836.9, 4200.0], 0.0)),
        ("adaptive-lun2", adaptive(948_330, 0.356, 11.9, 0.811, [32.3, 433.9, 888.1, 4000.0], 0.0)),
        ("adaptive-ali_0", adaptive(623_524, 0.868, 13.4, 0.858, [1.0, 1.3, 1.5, 2.7], 9900.0)),
        ("adaptive-ali_1", adaptive(398_009, 0.908, 12.7, 0.874, [1.9, 2.2, 2.6, 4.9], 200_000.0)),
        ("ppc-osdb", Published::default()),
        ("ppc-financial", Published { write_share: 0.768, ..table(0, 0.0, 123.0, 3.0) }),
        ("ppc-iozone", Published::default()),
        ("ppc-postmark", Published::default()),
        ("hotswap-random", Published { write_share: 0.8, ..table(0, 0.0, 1000.0 / 3.0, 4.0) }),
        ("hotswap-reads", Published { write_share: 0.6, ..table(0, 0.0, 1000.0 / 3.0, 5.6) }),
        // What data sheets state, and the figures of recordings that the headers of these files name.
        ("random-write-4k", table(0, 1.0, 0.0, 4.0)),
        ("mixed-70-30-4k", table(0, 0.3, 0.0, 4.0)),
        ("database-flush", Published { requests: 0, ..table(0, (182.0 + 302.0) / (182.0 + 302.0 + 352.0), 6192.0, 0.0) }),
        ("cloud-block", Published { write_size_kib: 33.4, update_share: 0.866, ..table(0, 0.51, 0.0, 29.7) }),
    ]
}

fn figures(profile: &Profile) -> Figures {
    let mut statistics = TraceStatistics::new(NonZeroU64::new(4096).unwrap());
    profile.requests().unwrap().for_each(|request| statistics.add(&request));
    statistics.figures()
}

#[track_caller]
fn near(name: &str, what: &str, is: f64, should: f64) {
    if should != 0.0 {
        assert!((is / should - 1.0).abs() <= 0.02, "{name}: {what} is {is}, the table says {should}");
    }
}

#[test]
fn every_profile_meets_its_table() {
    let all = published();
    assert!(all.iter().map(|(name, _)| *name).collect::<std::collections::BTreeSet<_>>().into_iter().eq(SHIPPED.iter().map(|of| of.name)));
    for (name, table) in all {
        let mut profile = Profile::load(name).unwrap();
        let requests = profile.requests.unwrap();
        if table.requests > 0 {
            assert_eq!(requests, table.requests, "{name}");
        }
        if table.minutes > 0.0 {
            near(name, "minutes", requests as f64 / table.rate / 60.0, table.minutes);
        }
        if std::env::var_os("FLASHRAID_PROVE").is_none() {
            profile.requests = Some(requests.min(QUICK));
        }
        let figures = figures(&profile);
        near(name, "write share", figures.write_share.unwrap(), table.write_share);
        near(name, "mean size", figures.mean_bytes.unwrap() / 1024.0, table.size_kib);
        near(name, "mean size of writes", figures.mean_write_bytes.unwrap() / 1024.0, table.write_size_kib);
        near(name, "rate", figures.requests_per_second.unwrap(), table.rate);
        near(name, "updates", figures.update_request_share.unwrap(), table.update_share);
        if table.gaps_ns[0] > 0 {
            // By shares, as a rising table can have next to no values around a quantile; many are a bound itself, to the nanosecond.
            let arrivals_ns: Vec<u64> = profile.requests().unwrap().map(|request| request.arrival_ns).collect();
            let mut gaps_ns: Vec<u64> = arrivals_ns.windows(2).map(|pair| pair[1] - pair[0]).collect();
            gaps_ns.sort_unstable();
            let share = |count: usize| 100.0 * count as f64 / gaps_ns.len() as f64;
            for (percent, gap_ns) in [20.0, 40.0, 60.0, 80.0].into_iter().zip(table.gaps_ns) {
                let below = share(gaps_ns.partition_point(|each| *each < gap_ns));
                let up_to = share(gaps_ns.partition_point(|each| *each <= gap_ns));
                assert!(
                    below < percent + 0.5 && percent - 0.5 < up_to,
                    "{name}: {below} % of the times between arrivals are below {gap_ns} ns, {up_to} % at most that; the table has {percent} %"
                );
            }
        }
        let gaps = figures.interarrival_ns.as_ref().unwrap();
        near(name, "longest time between arrivals", gaps.get(100).unwrap() as f64, table.longest_gap_ns as f64);
    }
}

/// Adaptive says how long its traces were recorded: an hour each LUN, twelve hours those of Alibaba; of hm_0 its collection says a week. Of the last three
/// its times are shorter than recorded, as the longest ones show: by a factor that the heads of the profiles derive.
#[test]
fn traces_of_adaptive_are_as_long_as_recorded() {
    let hour_ns = 3.6e12;
    let durations_ns = [
        ("lun0", hour_ns),
        ("lun1", hour_ns),
        ("lun2", hour_ns),
        ("ali_0", 12.0 * hour_ns / 100.0),
        ("ali_1", 12.0 * hour_ns / 100.0),
        ("hm_0", 168.0 * hour_ns / 10.0),
    ];
    for (name, duration_ns) in durations_ns {
        let profile = Profile::load(&format!("adaptive-{name}")).unwrap();
        let Some(Arrivals::Table { gaps_ns }) = &profile.arrivals else { panic!("{name}: {:?}", profile.arrivals) };
        let ratio = gaps_ns.mean() * profile.requests.unwrap() as f64 / duration_ns;
        assert!((ratio - 1.0).abs() < 0.001, "{name}: {ratio} of its duration");
    }
}

/// The slice of Exchange has 8.9 requests a burst, 222 us apart, and a CV of 6.4; three of four requests of the excerpt of TPC-C begin 1 KiB into a page.
#[test]
fn what_was_measured_on_slices_is_in_their_profiles() {
    let exchange = figures(&Profile::load("cr5m-exchange-slice").unwrap());
    let burstiness = &exchange.burstiness;
    let bursts = &burstiness.bursts;
    assert!((bursts.mean_requests.unwrap() / 8.914 - 1.0).abs() < 0.05, "{bursts:?}");
    assert!((bursts.mean_gap_ns.unwrap() / 222_538.0 - 1.0).abs() < 0.03, "{bursts:?}");
    assert!(burstiness.interarrival_cv.unwrap() > 3.0, "{burstiness:?}");
    let requests: Vec<_> = Profile::load("sirf1-tpcc-shape").unwrap().requests().unwrap().take(20_000).collect();
    let share = |into: u64| requests.iter().filter(|request| request.offset_bytes % 4096 == into).count() as f64 / 20_000.0;
    assert!([(1024, 0.75), (3584, 0.11), (0, 0.14)].iter().all(|(into, should)| (share(*into) - should).abs() < 0.01));
}

/// Share of the writes that go on where one of the last eight requests ended.
fn going_on(profile: &Profile) -> f64 {
    let requests: Vec<_> = profile.requests().unwrap().collect();
    let is_next = |index: usize| {
        requests[index.saturating_sub(8)..index]
            .iter()
            .any(|before| before.offset_bytes + before.size_bytes == requests[index].offset_bytes)
    };
    let writes: Vec<_> = (0..requests.len()).filter(|index| requests[*index].op == HostOp::Write).collect();
    writes.iter().filter(|index| is_next(**index)).count() as f64 / writes.len() as f64
}

/// PPC says in words what its workloads are like.
#[test]
fn workloads_of_ppc_are_as_described() {
    let named = |name: &str| Profile { requests: Some(50_000), ..Profile::load(name).unwrap() };
    let of = |name: &str| figures(&named(name));
    let osdb = of("ppc-osdb");
    assert_eq!(osdb.write_sizes.as_ref().unwrap().top[0].bytes, 8192);
    assert!(osdb.write_sizes.unwrap().top[0].share > 0.85 && osdb.sequential_share.unwrap() < 0.1);
    let (financial, postmark) = (of("ppc-financial"), of("ppc-postmark"));
    assert!(financial.skew.unwrap().top_1_percent > 1.5 * postmark.skew.unwrap().top_1_percent);
    let [iozone, postmark] = ["ppc-iozone", "ppc-postmark"].map(|name| going_on(&named(name)));
    assert!(iozone > 0.75 && postmark < 0.5, "{iozone} {postmark}");
}

#[test]
fn heads_say_what_is_chosen() {
    for shipped in SHIPPED {
        assert!(shipped.text.starts_with("# Synthetic: ") && shipped.text.to_lowercase().contains("chosen:"), "{}", shipped.name);
        assert!(!Profile::load(shipped.name).unwrap().about.is_empty(), "{}", shipped.name);
    }
}
