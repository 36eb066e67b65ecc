//! Chunks (SPEC 8.1 (b)): units that follow each other on one member.

use crate::support::{clean_result, config, pages};
use flashraid_sim::{Config, RunResult, Simulation};
use flashraid_vocabulary::{HostOp, HostRequest, SplitMix64};

type Pairs<'a> = &'a [(&'a str, &'a str)];

fn device(scheme: &str, pairs: Pairs) -> Config {
    let drive: Pairs = &[("channels", "5"), ("over_provisioning", "0.3"), ("verify", "true")];
    config("tiny", scheme, &[drive, pairs].concat())
}

/// Submits requests one after the other, and ends.
fn run(scheme: &str, pairs: Pairs, requests: impl IntoIterator<Item = HostRequest>) -> RunResult {
    let mut simulation = Simulation::new(device(scheme, pairs), |_| true).unwrap();
    for (number, request) in (0..).zip(requests) {
        simulation.submit(&HostRequest { arrival_ns: number * 1_000_000_000, ..request }).unwrap();
    }
    simulation.finish().unwrap();
    clean_result(&mut simulation, &format!("{pairs:?}"))
}

fn programs(result: &RunResult) -> Vec<u64> {
    result.members.iter().map(|member| member.programs).collect()
}

/// Three pages of a chunk of four are on one member, and the next one is where the next chunk begins.
#[test]
fn a_chunk_is_on_one_member() {
    let writes = |first, count| [pages(HostOp::Write, first, count)];
    let chunk = &[("chunk_units", "4")];
    assert_eq!(programs(&run("raid0", chunk, writes(0, 4))), [4, 0, 0, 0, 0]);
    assert_eq!(programs(&run("raid0", chunk, writes(2, 4))), [2, 2, 0, 0, 0]);
    assert_eq!(programs(&run("raid0", chunk, writes(19, 2))), [1, 0, 0, 0, 1]);
    assert_eq!(programs(&run("raid0", chunk, writes(0, 45))), [12, 9, 8, 8, 8]);
    assert_eq!(programs(&run("raid0", &[], writes(2, 4))), [1, 0, 1, 1, 1]);
}

/// Whatever the layout: as md has it, all of a chunk is on one member, and so are the parities of a row of chunks.
#[test]
fn parities_lie_in_chunks() {
    for layout in ["left_asymmetric", "left_symmetric", "right_asymmetric", "right_symmetric", "last_member"] {
        let pairs: Pairs = &[("fill", "1"), ("update", "rmw"), ("chunk_units", "4"), ("layout", layout)];
        for chunk in 0..20 {
            let result = run("raid5", pairs, [pages(HostOp::Write, 4 * chunk, 4)]);
            let mut members = programs(&result);
            members.sort_unstable();
            assert_eq!(members, [0, 0, 0, 4, 4], "{layout}, chunk {chunk}");
        }
    }
}

/// Both parities too, each on a member of its own, whichever chunk of the row is written.
#[test]
fn both_parities_lie_in_chunks() {
    let mut written = [0; 5];
    for chunk in 0..15 {
        let programs = programs(&run("raid6", &[("fill", "1"), ("chunk_units", "4")], [pages(HostOp::Write, 4 * chunk, 4)]));
        let mut members = programs.clone();
        members.sort_unstable();
        assert_eq!(members, [0, 0, 4, 4, 4], "chunk {chunk}");
        written.iter_mut().zip(programs).for_each(|(sum, count)| *sum += count);
    }
    // Five rows of three chunks: a member has data in three rows, and a parity of three chunks in the other two.
    assert_eq!(written, [36; 5]);
}

/// Four data pages a stripe: a write of a chunk is a part of four stripes, and one of a whole row of chunks is four stripes.
#[test]
fn a_chunk_decides_how_many_stripes_a_write_is_on() {
    let counts = |pairs, first, count| {
        let fill = [pairs, &[("fill", "1"), ("update", "rmw")][..]].concat();
        let result = run("raid5", &fill, [pages(HostOp::Write, first, count)]);
        let ops = &result.flash_ops;
        (ops.programs.host, ops.programs.parity, ops.reads.pre_read, result.parity_updates.full_stripe, result.parity_updates.rmw)
    };
    let chunks: Pairs = &[("chunk_units", "4")];
    assert_eq!(counts(chunks, 0, 4), (4, 4, 8, 0, 4));
    assert_eq!(counts(&[], 0, 4), (4, 1, 0, 1, 0));
    assert_eq!(counts(chunks, 0, 16), (16, 4, 0, 4, 0));
    // Half of the first chunk, a whole row, and a page: two, four and one stripe.
    assert_eq!(counts(chunks, 14, 19), (19, 7, 6, 4, 3));
}

/// Whatever is written, discarded and read, and through a buffer or not, contents are right; and all is as without chunks on one member.
#[test]
fn contents_are_right() {
    for pairs in [
        &[("chunk_units", "3")][..],
        &[("chunk_units", "16"), ("buffer_bytes", "65536"), ("partial_writes", "read_if_used"), ("fill", "0.3")],
        &[("chunk_units", "2"), ("page_bytes", "16384"), ("mapping_unit_bytes", "4096"), ("power_loss_protection", "true")],
    ] {
        let config = device("raid5", pairs);
        let space = config.space_bytes(&*config.build_scheme().unwrap());
        let mut random = SplitMix64::new(5);
        let requests = (0..2_000).map(|_| {
            let op = [HostOp::Write, HostOp::Write, HostOp::Read, HostOp::Trim, HostOp::WriteZeroes][random.next_below(5) as usize];
            let offset_bytes = random.next_below(space / 512) * 512;
            let size_bytes = ((1 + random.next_below(200)) * 512).min(space - offset_bytes);
            HostRequest { op, offset_bytes, size_bytes, ..pages(op, 0, 1) }
        });
        let result = run("raid5", pairs, requests);
        assert_eq!((result.requests.completed, result.verify.unwrap().found.mismatches), (2_000, 0), "{pairs:?}");
    }
}

/// Discards and zeroes concern the pages that the host names.
#[test]
fn host_pages_are_discarded_by_their_numbers() {
    for op in [HostOp::Trim, HostOp::WriteZeroes] {
        let unmapped = |reads: &[(u64, u64)]| {
            let reads = reads.iter().map(|(first, count)| pages(HostOp::Read, *first, *count));
            let requests = [pages(op, 2, 27)].into_iter().chain(reads);
            run("raid0", &[("chunk_units", "4"), ("fill", "1")], requests).requests.unmapped_reads
        };
        assert_eq!(unmapped(&[(2, 27)]), 27, "{op:?}");
        assert_eq!(unmapped(&[(0, 2), (29, 11)]), 0, "{op:?}");
    }
}

/// A host page is what the host calls it, also where it fails, and where a fill ends.
#[test]
fn host_pages_keep_their_numbers() {
    let reads = |pairs: Pairs| {
        let pairs = [&[("chunk_units", "4")], pairs].concat();
        let mut simulation = Simulation::new(device("raid0", &pairs), |_| true).unwrap();
        let reads = |page| HostRequest { arrival_ns: 1_000_000_000 + page, ..pages(HostOp::Read, page, 1) };
        (0..40).for_each(|page| _ = simulation.submit(&reads(page)).unwrap());
        simulation.finish().unwrap();
        let failed = simulation.take_completed().iter().filter(|read| !read.ok).map(|read| read.sequence).collect::<Vec<_>>();
        let result = simulation.result(&Default::default(), false, None).unwrap();
        let filled = result.capacity.filled_bytes;
        (failed, result.requests.unmapped_reads, if filled == result.capacity.user_bytes { u64::MAX } else { filled / 4096 })
    };
    assert_eq!(reads(&[("fill", "1"), ("fail", "page:lpn=7@0s")]), (vec![7], 0, u64::MAX));
    // A row of chunks has twenty pages, and is filled as a whole.
    assert_eq!(reads(&[("fill_bytes", "4096")]), (vec![], 20, 20));
    assert_eq!(reads(&[("fill_bytes", "86016")]), (vec![], 0, 40));
}

/// What can have no chunks is refused.
#[test]
fn refusals_say_what_is_allowed() {
    let refused = |scheme: &str, pairs: Pairs| {
        let pairs: Vec<_> = pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        Config::assemble(Some("tiny"), Some(scheme), None, &pairs).unwrap_err().to_string()
    };
    assert_eq!(
        refused("diff-raid", &[("chunk_units", "4")]),
        "diff-raid on tiny: chunk_units = 4: each stripe has its parity where the shares put it: allowed is 1"
    );
}
