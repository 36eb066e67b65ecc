//! Which writes of parts of pages read the old page first (`partial_writes`): by hand, and for random requests beside a naive map, a set of the
//! numbers of sectors. The map hears of requests alone, and with a data buffer of what leaves it; what the engine reads is seen by a content that
//! notes which writes are given an old page.

mod probe;

use crate::support::{config, engine, engine_on, has_map_on_flash, proving, request, tags};
use flashraid_redundancy::{Redundancy, SCHEMES, find};
use flashraid_sim::Config;
use flashraid_sim::assemble::Assembled;
use flashraid_sim::config::{PartialWrites, Unwritten};
use flashraid_sim::engine::Engine;
use flashraid_sim::engine::content::{Content, Expected, FILL, Submitted, Untracked};
use flashraid_sim::engine::tags::Tags;
use flashraid_sim::media::{Flash, SsdArray};
use flashraid_sim::verify;
use flashraid_vocabulary::{Action, Cause, HostOp, HostRequest, Lpn};
use probe::{Naive, Probe, SECTOR, announce};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

/// A request before it is known how large the device is: operation, whether it is at one of a few pages, where, how long, and the time since the former one.
type Raw = (HostOp, bool, u32, u32, u32);

/// Half of the places and lengths are whole sectors or pages, the others any bytes.
fn place(raw: u32, unit: u32, reach: u64) -> u64 {
    let bytes = u64::from(raw >> 2) % reach.max(1);
    match raw & 3 {
        0 => bytes,
        1 => bytes / u64::from(unit) * u64::from(unit),
        _ => bytes / SECTOR * SECTOR,
    }
}

#[derive(Clone, Debug)]
struct Case {
    pairs: Vec<(&'static str, String)>,
    fill: f64,
    one_by_one: bool,
    raw: Vec<Raw>,
}

fn raw() -> impl Strategy<Value = Raw> {
    let op = prop_oneof![
        10 => Just(HostOp::Write), 5 => Just(HostOp::Read), 3 => Just(HostOp::Trim), 1 => Just(HostOp::WriteZeroes), 1 => Just(HostOp::Flush),
    ];
    let gap = prop_oneof![3 => Just(0u32), 2 => 0..=400_000u32];
    (op, prop_oneof![4 => Just(true), 1 => Just(false)], any::<u32>(), any::<u32>(), gap)
}

fn cases(scheme: &'static str) -> impl Strategy<Value = Case> {
    let word = |words: &'static [&'static str]| (0..words.len()).prop_map(move |index| words[index]);
    let settings = (
        word(&["read_if_needed", "read_if_used"]),
        word(&["zero", "prefill"]),
        word(&["4096", "16384", "4096", "65536", "512"]),
        word(&["none", "none", "buffer_bytes", "nvram_buffer_bytes"]),
        word(&["page", "page", "dftl", "bast", "fast"]),
        (word(&["program_end", "data_in"]), word(&["queued", "strict", "off"]), 1..8u64),
        any::<u8>(),
    );
    let fill = prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0];
    (settings, fill, any::<bool>(), vec(raw(), 1..200)).prop_map(move |(settings, fill, one_by_one, raw)| {
        let (rule, unwritten, page_bytes, buffer, mapping, (completes, serial, buffered_pages), choice) = settings;
        let entry = find(scheme).expect("a scheme");
        // A page of a buffer has 64 sectors at most.
        let page_bytes = if buffer != "none" && page_bytes == "65536" { "32768" } else { page_bytes };
        let has_own_space = entry.mirror_chips > 0 || entry.mirror_groups.is_some() || entry.replaces_devices;
        let mapping = match mapping {
            "dftl" if has_map_on_flash(entry) => "dftl",
            "bast" | "fast" if !has_own_space => mapping,
            _ => "page",
        };
        // Where pages have their places, there may be none for what is read.
        let unwritten = if ["bast", "fast"].contains(&mapping) { "zero" } else { unwritten };
        // When a page of a read of several pages appears depends on when that part of it starts.
        let serial = if unwritten == "prefill" { "off" } else { serial };
        let mut pairs: Vec<(&str, String)> = [
            ("partial_writes", rule),
            ("unwritten", unwritten),
            ("page_bytes", page_bytes),
            ("mapping", mapping),
            ("write_completes", completes),
            ("serial_subrequests", serial),
            ("blocks_per_plane", "32"),
            ("pages_per_block", "8"),
            ("over_provisioning", "0.6"),
            ("chips_per_channel", if entry.mirror_chips > 0 { "3" } else { "1" }),
        ]
        .map(|(key, value)| (key, value.to_string()))
        .into();
        if mapping != "page" {
            let own = if mapping == "dftl" { ("cmt_entries", "12") } else { ("log_blocks", "4") };
            pairs.push((own.0, own.1.into()));
        }
        if buffer != "none" {
            pairs.push((buffer, (buffered_pages * page_bytes.parse::<u64>().unwrap()).to_string()));
        }
        if entry.parity_cache.is_some() {
            pairs.push(("parity_cache_bytes", (3 * page_bytes.parse::<u64>().unwrap()).to_string()));
        }
        // Each scheme's own parameters that say how parities are made.
        for parameter in entry.parameters().filter(|parameter| ["update", "decide", "ppc_update", "read"].contains(&parameter.name)) {
            let drawn = parameter.drawn(4096);
            pairs.push((parameter.name, drawn[usize::from(choice) % drawn.len()].clone()));
        }
        Case { pairs, fill, one_by_one, raw }
    })
}

impl Case {
    fn config(&self, scheme: &str) -> Config {
        let pairs: Vec<(&str, &str)> = self.pairs.iter().map(|(key, value)| (*key, value.as_str())).collect();
        config("tiny", scheme, &pairs)
    }

    fn requests(&self, config: &Config, space_bytes: u64) -> Vec<HostRequest> {
        let page_bytes = config.device.page_bytes;
        // A page that a discard still takes away cannot appear meanwhile: what a write finds then depends on timing.
        let keeps_all = config.host.unwritten == Unwritten::Prefill && !self.one_by_one;
        let mut arrival_ns = 0;
        let of = |&(op, is_hot, at, length, gap_ns): &Raw| {
            arrival_ns += u64::from(gap_ns);
            let op = if keeps_all && matches!(op, HostOp::Trim | HostOp::WriteZeroes) { HostOp::Write } else { op };
            let reach = if is_hot { 6 * u64::from(page_bytes) } else { space_bytes };
            let most = if length & 1 == 0 { 2 } else { 9 } * u64::from(page_bytes);
            let offset_bytes = place(at, page_bytes, reach);
            let size_bytes = 1 + place(length, page_bytes, most.min(space_bytes - u64::from(page_bytes)));
            HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source: 0 }
        };
        self.raw.iter().map(of).collect()
    }

    /// Drives the requests through an engine; what its probe has seen, and reads of old pages for their own sake.
    fn run<M: Assembled>(&self, config: &Config) -> (Probe, u64) {
        let scheme = config.build_scheme().unwrap();
        let page_bytes = u64::from(config.device.page_bytes);
        let space_pages = config.space_bytes(&*scheme) / page_bytes;
        let mut engine: Engine<Probe, M> = engine_on(config, scheme, Probe::new(Naive::new(config, space_pages)));
        engine.fill((self.fill * space_pages as f64) as u64);
        for (sequence, request) in (0..).zip(self.requests(config, space_pages * page_bytes)) {
            engine.advance_until(request.arrival_ns.max(engine.now_ns())).unwrap();
            announce(&mut engine, sequence, &request);
            engine.submit(&request, true);
            engine.executor.content.zeroes = None;
            if self.one_by_one {
                engine.finish().unwrap();
            }
        }
        engine.finish().unwrap();
        assert!(engine.front_end.completed.iter().all(|completed| completed.ok), "nothing fails here");
        assert!(engine.executor.content.wrong.is_empty(), "{}", engine.executor.content.wrong[0]);
        assert!(
            engine.executor.content.courses.is_empty() && engine.executor.content.expected.values().all(Vec::is_empty),
            "every write has ended"
        );
        let update_reads = engine.executor.statistics.planned[Action::Read as usize][Cause::UpdateRead as usize];
        (engine.executor.content, update_reads)
    }
}

/// Under every scheme, with any setting that changes which pages leave or are on flash: each write reads the old pages that the naive map says.
#[test]
fn random_requests_under_every_scheme() {
    for entry in SCHEMES {
        let seed = entry.name.bytes().fold([7; 32], |mut seed: [u8; 32], byte| {
            seed[usize::from(byte) % 32] = seed[usize::from(byte) % 32].wrapping_mul(31).wrapping_add(byte);
            seed
        });
        let rules = ProptestConfig { cases: proving(600, 10), failure_persistence: None, ..ProptestConfig::default() };
        let mut runner = TestRunner::new_with_rng(rules, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
        let seen = std::cell::Cell::new((0, 0));
        let outcome = runner.run(&cases(entry.name), |case| {
            let config = case.config(entry.name);
            let (probe, update_reads) = if config.array.is_single() { case.run::<Flash>(&config) } else { case.run::<SsdArray>(&config) };
            // Where no read serves a parity too, the reads are as many.
            if entry.redundancy != Redundancy::Parity {
                prop_assert_eq!(update_reads, probe.needed);
            }
            prop_assert!(update_reads <= probe.needed);
            let (parts, needed) = seen.get();
            seen.set((parts + probe.parts, needed + probe.needed));
            Ok(())
        });
        outcome.unwrap_or_else(|error| panic!("{}: {error}", entry.name));
        let (parts, needed) = seen.get();
        println!("{}: {needed} of {parts} writes of parts of pages read them", entry.name);
        assert!(needed > parts / 20 && needed < parts, "{}: {needed} of {parts}", entry.name);
    }
}

// ---- by hand ----

/// raid0 on pages of eight sectors, with contents, and so many pages filled.
fn by_hand(rule: &str, filled: u64, more: &[(&str, &str)]) -> Engine<Tags> {
    let config = config("tiny", "raid0", &[&[("partial_writes", rule)], more].concat());
    let mut engine = engine(&config, tags(&config));
    engine.fill(filled);
    engine
}

/// Submits a request for sectors counted from the start; how many pages of writes are read for it until everything has ended.
fn reads_of(engine: &mut Engine<Tags>, op: HostOp, first: u64, count: u64) -> u64 {
    let before = update_reads(engine);
    engine.submit(&request(op, first * SECTOR, count * SECTOR), true);
    engine.finish().unwrap();
    let found = verify::stored(engine);
    assert!(found.is_clean() && engine.executor.content.mismatches == 0, "{found:?}");
    update_reads(engine) - before
}

fn update_reads(engine: &Engine<Tags>) -> u64 {
    engine.executor.statistics.planned[Action::Read as usize][Cause::UpdateRead as usize]
}

use HostOp::{Read, Trim, Write, WriteZeroes};

#[test]
fn a_write_reads_what_it_leaves() {
    let counts = |rule: &str| {
        let mut engine = by_hand(rule, 0, &[]);
        // Nothing there; the same sectors; more around them; others beside them; both; the rest of the page and of the next one.
        [(2, 2), (2, 2), (1, 4), (6, 1), (1, 6), (0, 9), (7, 2), (9, 6)].map(|(first, count)| reads_of(&mut engine, Write, first, count))
    };
    assert_eq!(counts("read"), [0, 1, 1, 1, 1, 0, 2, 1]);
    assert_eq!(counts("read_if_needed"), [0, 0, 0, 1, 0, 0, 1, 1]);
    assert_eq!(counts("read_if_used"), counts("read_if_needed"), "a device without fill");
}

#[test]
fn what_the_fill_wrote_is_valid_and_not_used() {
    let counts = |rule: &str| {
        let mut engine = by_hand(rule, 64, &[]);
        let steps =
            [(Write, 2, 2), (Write, 2, 2), (Read, 8, 4), (Write, 8, 4), (Write, 8, 3), (Read, 21, 1), (Write, 16, 5), (Write, 16, 6)];
        steps.map(|(op, first, count)| reads_of(&mut engine, op, first, count))
    };
    assert_eq!(counts("read_if_needed"), [1, 1, 0, 1, 1, 0, 1, 1]);
    // What was read counts, and what is left out is not there any more.
    assert_eq!(counts("read_if_used"), [0, 0, 0, 0, 1, 0, 1, 0]);
}

#[test]
fn discards_take_sectors_and_write_zeroes_writes_parts() {
    for rule in ["read_if_needed", "read_if_used"] {
        let mut engine = by_hand(rule, 0, &[]);
        let mut step = |op, first, count| reads_of(&mut engine, op, first, count);
        assert_eq!([step(Write, 0, 24), step(Trim, 4, 4)], [0, 0]);
        assert_eq!(step(Write, 0, 4), 0, "all that the discard left, {rule}");
        assert_eq!(step(Write, 4, 1), 1);
        assert_eq!([step(Trim, 8, 8), step(Write, 9, 1), step(Write, 9, 1)], [0, 0, 0], "a whole page");
        // The parts of the first and the last page are written, with zeroes; the page between is discarded.
        assert_eq!(step(WriteZeroes, 5, 13), 2);
        assert_eq!([step(Write, 0, 5), step(Write, 9, 1), step(Write, 18, 6)], [1, 0, 1]);
        assert_eq!([step(WriteZeroes, 32, 3), step(Write, 33, 1), step(Write, 32, 3)], [0, 1, 0], "in one page");
    }
}

/// A discard of bytes takes whole sectors; a write touches whole sectors.
#[test]
fn bytes_are_rounded_to_sectors() {
    let mut engine = by_hand("read_if_needed", 0, &[]);
    let mut step = |op, offset_bytes, size_bytes| {
        let before = update_reads(&engine);
        engine.submit(&request(op, offset_bytes, size_bytes), true);
        engine.finish().unwrap();
        update_reads(&engine) - before
    };
    assert_eq!([step(Write, 100, 500), step(Write, 0, 1024), step(Write, 0, 512)], [0, 0, 1]);
    assert_eq!([step(Trim, 511, 514), step(Write, 0, 512)], [0, 0], "of sectors 0, 1 and 2 the second one is covered");
    assert_eq!([step(Write, 600, 1), step(Trim, 0, 1023), step(Write, 512, 512)], [1, 0, 0]);
}

#[test]
fn what_is_read_was_there_under_prefill() {
    for (rule, unwritten, expected) in [
        ("read_if_needed", "zero", [0, 0, 0, 0, 0, 0]),
        ("read_if_needed", "prefill", [0, 1, 0, 0, 0, 1]),
        ("read_if_used", "prefill", [0, 1, 0, 0, 0, 1]),
        ("read", "prefill", [0, 1, 0, 1, 0, 1]),
    ] {
        let mut engine = by_hand(rule, 0, &[("unwritten", unwritten)]);
        // Part of what was read is replaced; all of it; a page that a write has begun.
        let steps = [(Read, 2, 2), (Write, 0, 3), (Read, 8, 2), (Write, 8, 4), (Read, 13, 1), (Write, 8, 4)];
        assert_eq!(steps.map(|(op, first, count)| reads_of(&mut engine, op, first, count)), expected, "{rule} {unwritten}");
    }
}

/// Two writes of a page at once: the later one waits for the earlier one, and finds its sectors.
#[test]
fn writes_in_flight_see_each_other_in_their_order() {
    for scheme in ["raid0", "raid1", "raid5", "cr5m"] {
        let chips = if scheme == "cr5m" { "3" } else { "1" };
        let config = config("tiny", scheme, &[("partial_writes", "read_if_needed"), ("chips_per_channel", chips)]);
        let mut engine = engine(&config, tags(&config));
        for (first, count) in [(0, 2), (2, 2), (0, 4), (0, 5)] {
            engine.submit(&request(Write, first * SECTOR, count * SECTOR), true);
        }
        engine.finish().unwrap();
        let pre_reads = engine.executor.statistics.planned[Action::Read as usize][Cause::PreRead as usize];
        assert!(update_reads(&engine) == 1 || update_reads(&engine) == 0 && pre_reads > 0, "{scheme}: of the second one");
        assert!(verify::stored(&engine).is_clean() && engine.executor.content.mismatches == 0);
    }
    // A discard of a part takes its place between the writes although it has nothing to do.
    let mut engine = by_hand("read_if_needed", 0, &[]);
    engine.submit(&request(Write, 0, 8 * SECTOR), true);
    engine.submit(&request(Trim, 4 * SECTOR, 4 * SECTOR), true);
    engine.submit(&request(Write, 0, 4 * SECTOR), true);
    assert_eq!(reads_of(&mut engine, Write, 1, 1), 1);
    assert_eq!(update_reads(&engine), 1);
}

/// A buffer from which a page leaves when the next one comes.
const ONE_PAGE: [(&str, &str); 3] = [("buffer_bytes", "4096"), ("destage", "when_full"), ("destage_unit", "page")];

/// Behind a buffer a sector is valid when it has left; a read takes what is buffered from there.
#[test]
fn evictions_read_what_they_leave() {
    let counts = |rule: &str, filled: u64| {
        let mut engine = by_hand(rule, filled, &ONE_PAGE);
        // Each write of another page makes the former one leave.
        let steps = [
            (Write, 0, 2),
            (Write, 8, 1),
            (Read, 8, 1),
            (Write, 2, 2),
            (Trim, 0, 1),
            (Read, 3, 1),
            (Write, 9, 1),
            (Write, 0, 4),
            (Write, 16, 8),
        ];
        steps.map(|(op, first, count)| reads_of(&mut engine, op, first, count))
    };
    assert_eq!(counts("read", 0), [0, 0, 0, 0, 0, 0, 1, 1, 0]);
    assert_eq!(counts("read_if_needed", 0), [0, 0, 0, 0, 0, 0, 1, 1, 0]);
    assert_eq!(counts("read", 64), [0, 1, 0, 1, 0, 0, 1, 1, 1]);
    assert_eq!(counts("read_if_needed", 64), [0, 1, 0, 1, 0, 0, 1, 1, 1]);
    assert_eq!(counts("read_if_used", 64), [0, 0, 0, 0, 0, 0, 1, 1, 0]);
}

/// What a page that leaves has left out is not on flash: a read of it finds zeroes, whether contents are tracked or not.
#[test]
fn what_was_left_out_is_not_read() {
    fn reads<C: Content>(content: impl Fn(&Config) -> C) -> [u64; 3] {
        let config = config("tiny", "raid0", &[&[("partial_writes", "read_if_used")], &ONE_PAGE[..]].concat());
        let mut engine = engine(&config, content(&config));
        engine.fill(64);
        // The second write makes the first page leave, with two sectors of eight.
        for (op, first, count) in [(Write, 0, 2), (Write, 8, 8), (Read, 2, 2), (Read, 1, 3)] {
            engine.submit(&request(op, first * SECTOR, count * SECTOR), true);
            engine.finish().unwrap();
        }
        let planned = &engine.executor.statistics.planned[Action::Read as usize];
        [planned[Cause::Host as usize], planned[Cause::UpdateRead as usize], engine.executor.statistics.unmapped_reads]
    }
    assert_eq!(reads(tags), [1, 0, 1], "sector 1 alone");
    assert_eq!(reads(|_| Untracked), [1, 0, 1]);
}

/// While a discard of its page is in flight a read finds nothing that was there from the start.
#[test]
fn a_read_behind_a_discard_makes_nothing_valid() {
    let mut engine = by_hand("read_if_needed", 64, &[&[("unwritten", "prefill")], &ONE_PAGE[..]].concat());
    // It waits until the page has left for which the second write makes no room.
    for (op, first) in [(Write, 0), (Write, 8), (Trim, 0)] {
        engine.submit(&request(op, first * SECTOR, 8 * SECTOR), true);
    }
    assert_eq!(reads_of(&mut engine, Read, 0, 2), 0);
    // The page leaves twice, with the same sector.
    let steps = [(4, 1), (8, 8), (4, 1), (16, 8)];
    assert_eq!(steps.map(|(first, count)| reads_of(&mut engine, Write, first, count)), [0; 4]);
}

/// A request may go on at the start of the space, and touch its first page again.
#[test]
fn a_page_that_a_request_touches_twice() {
    let mut engine = by_hand("read_if_needed", 0, &[]);
    let space = engine.space_pages() * 8;
    assert_eq!(reads_of(&mut engine, Write, 4, space), 1, "its second half, then its first half over it");
    assert_eq!(reads_of(&mut engine, Trim, 6, space - 4), 0);
    assert_eq!([reads_of(&mut engine, Write, 2, 4), reads_of(&mut engine, Write, 2, 1)], [0, 1], "sectors 2 to 5 are left");
    // Twice round the space: only its first page and its last one are touched in part, and these are one.
    assert_eq!(reads_of(&mut engine, Trim, 0, space), 0);
    assert_eq!([reads_of(&mut engine, Write, 0, 1), reads_of(&mut engine, Write, 12, 2 * space)], [0, 1]);
}

/// Pages of 64 KiB have more sectors than a word has bits; of those with one sector no part can be written.
#[test]
fn the_largest_pages_and_the_smallest() {
    let mut engine = by_hand("read_if_needed", 0, &[("page_bytes", "65536")]);
    let mut step = |op, first, count| reads_of(&mut engine, op, first, count);
    assert_eq!([step(Write, 60, 8), step(Write, 60, 8), step(Write, 64, 64), step(Write, 0, 127)], [0, 0, 1, 1]);
    assert_eq!([step(Trim, 100, 28), step(Write, 0, 100), step(Write, 100, 28), step(Trim, 0, 128), step(Write, 127, 1)], [0, 0, 1, 0, 0]);
    let mut engine = by_hand("read_if_used", 64, &[("page_bytes", "512")]);
    assert_eq!([reads_of(&mut engine, Read, 0, 3), reads_of(&mut engine, Write, 1, 4)], [0, 0]);
}

/// Contents hear of bytes, of which a read uses every sector that it touches, and a discard covers whole ones: an engine that errs by one is convicted.
#[cfg(feature = "mutants")]
#[test]
fn contents_hear_of_bytes() {
    use flashraid_sim::mutants::EngineFault;
    let convicts = |rule, filled, fault, before: &[(HostOp, u64, u64)], left: (u64, u64)| {
        let mut engine = by_hand(rule, filled, &[]);
        engine.inject(fault);
        let last = (Write, left.0 * SECTOR, left.1 * SECTOR);
        for (op, offset_bytes, size_bytes) in before.iter().copied().chain([last]) {
            engine.submit(&request(op, offset_bytes, size_bytes), true);
            engine.finish().unwrap();
        }
        engine.executor.content.mismatches > 0
    };
    // Parts of sector 1 are read: its end, its beginning.
    for read in [(Read, 612, 412), (Read, 512, 100)] {
        assert!(convicts("read_if_used", 64, EngineFault::ForgetUse, &[read], (2, 1)), "{read:?}");
        assert!(!convicts("read_if_used", 64, EngineFault::ForgetUse, &[read], (1, 1)), "{read:?}");
    }
    // Of sectors 0, 1 and 2 the second one is covered. The first one is left out, or the last.
    for (written, left) in [(8, (1, 7)), (3, (0, 2))] {
        let before = [(Write, 0, written * SECTOR), (Trim, 511, 514)];
        assert!(convicts("read_if_needed", 0, EngineFault::NeedNothing, &before, left), "{left:?}");
    }
    assert!(!convicts("read_if_needed", 0, EngineFault::NeedNothing, &[(Write, 0, 3 * SECTOR), (Trim, 511, 514)], (0, 3)));
}

/// Contents do not take the engine's word for what nobody needs.
#[test]
fn contents_know_what_is_needed() {
    let left_out = |rule: PartialWrites, filled: bool, prepare: &dyn Fn(&mut Tags)| {
        let (mut tags, page) = (Tags::new(10, 10), Lpn(3));
        if filled {
            tags.filled(page, FILL);
        }
        prepare(&mut tags);
        tags.submitted(9, page, Submitted::Part(0xFF));
        tags.left_with(page, 0xFF, Some(9), rule);
        tags.mismatches
    };
    use PartialWrites::{ReadIfNeeded, ReadIfUsed};
    let page = Lpn(3);
    // By no request: the page changes under whoever watches it.
    let mut tags = Tags::new(10, 10);
    tags.filled(page, FILL);
    tags.left_with(page, 0xFF, None, ReadIfUsed);
    assert_eq!((tags.mismatches, tags.take_doubts()), (0, vec![page.0]));
    assert_eq!([ReadIfNeeded, ReadIfUsed].map(|rule| left_out(rule, true, &|_| {})), [1, 0], "what the fill wrote");
    assert_eq!(left_out(ReadIfUsed, true, &|tags| tags.used(page, 0x80)), 0, "what is written anew");
    assert_eq!(left_out(ReadIfUsed, true, &|tags| tags.used(page, 0x180)), 1);
    let written = |tags: &mut Tags| tags.submitted(1, page, Submitted::Part(0x100));
    let discarded = |tags: &mut Tags| tags.discarded(page, 0b11 << 16);
    for rule in [ReadIfNeeded, ReadIfUsed] {
        assert_eq!(left_out(rule, false, &|_| {}), 0);
        assert_eq!(left_out(rule, false, &|tags| written(tags)), 1);
        let prepare = |tags: &mut Tags| {
            written(tags);
            discarded(tags);
        };
        assert_eq!(left_out(rule, false, &prepare), 0);
        assert_eq!(
            left_out(rule, false, &|tags| {
                prepare(tags);
                written(tags);
            }),
            1,
            "written anew"
        );
        assert_eq!(
            left_out(rule, false, &|tags| {
                written(tags);
                tags.discarded(page, 0b10 << 16);
            }),
            1,
            "half of it"
        );
    }
}
