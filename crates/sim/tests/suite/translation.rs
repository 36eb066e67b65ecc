//! DFTL (SPEC 6.2): its delays to the nanosecond, its counts against a model that knows no time, and that a table with room for everything
//! is page mapping. What GC does to it is in the property tests.

use crate::support::{config, engine, pages, request, tags};
use flashraid_sim::Config;
use flashraid_sim::engine::Engine;
use flashraid_sim::engine::content::{Content, Untracked};
use flashraid_sim::engine::translation::TranslationCounts;
use flashraid_sim::verify;
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{Action, Cause, Fault, HostOp, Lpn, MemberPage, Part};

/// On ssd1 (`timing.rs`).
const READ: u64 = 122_575;
const PROGRAM: u64 = 302_575;
const PAUSE_NS: u64 = 100_000_000;

/// Submits one request to an idle device and returns its latency.
fn alone<C: Content>(engine: &mut Engine<C>, op: HostOp, first: u64, count: u64) -> u64 {
    let start_ns = engine.now_ns() + PAUSE_NS;
    engine.advance_until(start_ns).unwrap();
    engine.front_end.completed.clear();
    engine.submit(&pages(op, first, count), true);
    engine.finish().unwrap();
    assert!(engine.front_end.completed.len() == 1 && engine.front_end.completed[0].ok);
    engine.front_end.completed[0].completed_ns - start_ns
}

fn counts<C: Content>(engine: &Engine<C>) -> TranslationCounts {
    engine.survey().translation.unwrap().counts
}

/// Reads and programs of translation pages.
fn metadata<C: Content>(engine: &Engine<C>) -> (u64, u64) {
    let of = |action: Action| engine.executor.media.nand().counts()[action as usize][Cause::Metadata as usize];
    (of(Action::Read), of(Action::Program))
}

fn dftl(scheme: &str, cmt_entries: &str, pairs: &[(&str, &str)]) -> Config {
    config("ssd1", scheme, &[&[("mapping", "dftl"), ("cmt_entries", cmt_entries), ("blocks_per_plane", "64")], pairs].concat())
}

/// One entry of the map in RAM: each lookup of another page evicts it.
#[test]
fn what_a_lookup_takes() {
    let mut engine = engine(&dftl("raid0", "1", &[]), Untracked);
    engine.fill(64);
    assert_eq!(metadata(&engine), (0, 0), "the fill costs nothing");
    // A clean miss: the translation page is read first. A hit costs nothing.
    assert_eq!(alone(&mut engine, HostOp::Read, 0, 1), 2 * READ);
    assert_eq!(alone(&mut engine, HostOp::Read, 0, 1), READ);
    assert_eq!(metadata(&engine), (1, 0));
    // The write changes the entry in RAM alone.
    assert_eq!(alone(&mut engine, HostOp::Write, 0, 1), PROGRAM);
    assert_eq!(metadata(&engine), (1, 0));
    // A dirty miss: the victim's translation page is read and programmed on two members side by side, then the wanted one is read.
    assert_eq!(alone(&mut engine, HostOp::Read, 1, 1), READ + PROGRAM + READ + READ);
    assert_eq!(metadata(&engine), (3, 2));
    // The victim was clean this time.
    assert_eq!(alone(&mut engine, HostOp::Write, 0, 1), READ + PROGRAM);
    assert_eq!(counts(&engine), TranslationCounts { hits: 2, misses: 3, evictions: 2, dirty_evictions: 1, in_hand: 0 });
    // A discard changes the map too: a hit takes no time, a miss waits for both the victim's page and its own.
    assert_eq!(alone(&mut engine, HostOp::Trim, 0, 1), 0);
    assert_eq!(alone(&mut engine, HostOp::Trim, 1, 1), READ + PROGRAM + READ);
}

/// What no translation page says yet needs none.
#[test]
fn an_unwritten_translation_page_is_not_read() {
    let mut engine = engine(&dftl("raid0", "2", &[]), Untracked);
    assert_eq!(alone(&mut engine, HostOp::Write, 0, 1), PROGRAM);
    assert_eq!(alone(&mut engine, HostOp::Write, 1, 1), PROGRAM);
    assert_eq!(metadata(&engine), (0, 0));
    // The dirty victim's page is programmed without a read, as there was none.
    assert_eq!(alone(&mut engine, HostOp::Write, 2, 1), PROGRAM + PROGRAM);
    assert_eq!(metadata(&engine), (0, 2));
    assert_eq!(alone(&mut engine, HostOp::Read, 2, 1), READ);
}

/// What a first touch leaves on flash without time is on flash in the map too: a later lookup reads it there.
#[test]
fn a_first_touch_leaves_its_map_on_flash() {
    let mut engine = engine(&dftl("raid0", "1", &[("unwritten", "prefill")]), Untracked);
    for page in [0, 1] {
        alone(&mut engine, HostOp::Read, page, 1);
    }
    let (reads, programs) = metadata(&engine);
    assert_eq!(alone(&mut engine, HostOp::Read, 0, 1), 2 * READ);
    assert_eq!(metadata(&engine), (reads + 1, programs));
    // Nothing of member 2 was touched: none of its translation pages is there, so none is read.
    assert_eq!(alone(&mut engine, HostOp::Write, 2, 1), PROGRAM);
    assert_eq!(metadata(&engine), (reads + 1, programs));
}

/// All dirty entries of the victim's translation page are written at once.
#[test]
fn dirty_entries_are_written_together() {
    let mut engine = engine(&dftl("raid0", "4", &[]), tags(&dftl("raid0", "4", &[])));
    engine.fill(64);
    // Four pages of member 0, whose entries are in one translation page.
    (0..4).for_each(|page| {
        alone(&mut engine, HostOp::Write, 4 * page, 1);
    });
    let (reads, programs) = metadata(&engine);
    // Each of four others evicts one of them; the first has them all written.
    let times = [1, 5, 9, 13].map(|page| alone(&mut engine, HostOp::Read, page, 1));
    assert_eq!(times, [READ + PROGRAM + READ + READ, 2 * READ, 2 * READ, 2 * READ]);
    assert_eq!(metadata(&engine), (reads + 5, programs + 2));
    assert_eq!(counts(&engine).dirty_evictions, 1);
    assert!(verify::stored(&engine).is_clean());
}

/// The mirror table is in translation pages of its own (SPEC 6.2).
#[test]
fn mirror_tables_are_looked_up_too() {
    /// Two transfers over one bus (`mirroring.rs`).
    const MIRRORED: u64 = PROGRAM + 102_575;
    let config = dftl("cr5m", "100", &[("mw_limit", "1000")]);
    let mut engine = engine(&config, tags(&config));
    engine.fill(63);
    // The entry of the page is read. Nothing is in the mirror table yet, so its new entry needs no read.
    assert_eq!(alone(&mut engine, HostOp::Write, 0, 1), READ + MIRRORED);
    assert_eq!((counts(&engine).misses, metadata(&engine)), (2, (1, 0)));
    // Both are cached now.
    assert_eq!(alone(&mut engine, HostOp::Write, 0, 1), MIRRORED);
    assert_eq!((counts(&engine).hits, counts(&engine).misses), (2, 2));
    // The other pages of the stripe on members 1 and 2 change last, so that their write reads page 0, programs the parity (member 3), and
    // gives the entry of the mirror table back.
    assert_eq!(alone(&mut engine, HostOp::Write, 1, 2), READ + READ + PROGRAM);
    assert_eq!((counts(&engine).hits, counts(&engine).misses), (4, 5));
    // The next copy takes the same entry again.
    assert_eq!(alone(&mut engine, HostOp::Write, 3, 1), MIRRORED + READ);
    assert_eq!((counts(&engine).hits, counts(&engine).misses), (5, 6));
    assert!(verify::stored(&engine).is_clean());
}

/// DFTL in lists, for requests that never overlap: entries newest first, each with whether it is dirty.
#[derive(Default)]
struct Model {
    capacity: usize,
    members: u64,
    entries_per_page: u64,
    probationary: Vec<(MemberPage, bool)>,
    protected: Vec<(MemberPage, bool)>,
    on_flash: std::collections::BTreeSet<u64>,
    counts: TranslationCounts,
    reads: u64,
    programs: u64,
}

impl Model {
    fn page_of(&self, entry: MemberPage) -> u64 {
        u64::from(entry.page.0) / self.entries_per_page * self.members + u64::from(entry.member.0)
    }

    fn write(&mut self, page: u64) {
        self.reads += u64::from(!self.on_flash.insert(page));
        self.programs += 2;
        let (members, per_page) = (self.members, self.entries_per_page);
        let page_of = |entry: &MemberPage| u64::from(entry.page.0) / per_page * members + u64::from(entry.member.0);
        for (entry, dirty) in self.probationary.iter_mut().chain(&mut self.protected) {
            *dirty &= page_of(entry) != page;
        }
    }

    /// Entries that one operation needs, in order, and whether it changes them.
    fn operation(&mut self, entries: &[(MemberPage, bool)]) {
        let mut pinned: Vec<(MemberPage, bool, bool)> = Vec::new();
        let (mut written, mut read, mut leaving) = (Vec::new(), Vec::new(), Vec::new());
        for (entry, _) in entries {
            if pinned.iter().any(|pin| pin.0 == *entry) {
                continue;
            }
            let mut found = None;
            for list in [&mut self.probationary, &mut self.protected] {
                if let Some(index) = list.iter().position(|cached| cached.0 == *entry) {
                    found = Some(list.remove(index).1);
                }
            }
            // A dirty entry that is to leave is still there until its page is written.
            if let Some(index) = leaving.iter().position(|left| left == entry) {
                leaving.remove(index);
                found = Some(true);
            }
            if let Some(dirty) = found {
                self.counts.hits += 1;
                pinned.push((*entry, dirty, true));
                continue;
            }
            self.counts.misses += 1;
            while self.probationary.len() + self.protected.len() + pinned.len() >= self.capacity {
                let Some((victim, dirty)) = self.probationary.pop().or_else(|| self.protected.pop()) else { break };
                self.counts.evictions += 1;
                if dirty {
                    self.counts.dirty_evictions += 1;
                    written.push(self.page_of(victim));
                    leaving.push(victim);
                }
            }
            pinned.push((*entry, false, false));
            read.push(self.page_of(*entry));
        }
        written.sort_unstable();
        written.dedup();
        for page in written {
            self.write(page);
            for pin in &mut pinned {
                pin.1 &= u64::from(pin.0.page.0) / self.entries_per_page * self.members + u64::from(pin.0.member.0) != page;
            }
        }
        read.sort_unstable();
        read.dedup();
        self.reads += read.into_iter().filter(|page| self.on_flash.contains(page)).count() as u64;
        for (entry, dirty, is_again) in pinned {
            let dirty = dirty || entries.iter().any(|(changed, is_change)| *changed == entry && *is_change);
            if !is_again {
                self.probationary.insert(0, (entry, dirty));
                continue;
            }
            self.protected.insert(0, (entry, dirty));
            while self.protected.len() > self.capacity * 80 / 100 {
                let oldest = self.protected.pop().unwrap();
                self.probationary.insert(0, oldest);
            }
        }
    }
}

/// One page a request, so that each request is one operation: under raid0 of its page, under raid5 of its page and its parity.
#[test]
fn counts_are_those_of_a_model_without_time() {
    for (scheme, capacity) in [("raid0", 1), ("raid0", 7), ("raid0", 60), ("raid5", 1), ("raid5", 5), ("raid5", 40)] {
        let text = capacity.to_string();
        let pairs = [("page_bytes", "512"), ("over_provisioning", "0.5"), ("update", "rmw")];
        let config = dftl(scheme, &text, if scheme == "raid5" { &pairs } else { &pairs[..2] });
        let mut engine = engine(&config, Untracked);
        engine.fill(engine.space_pages() / 2);
        let members = u64::from(config.device.members());
        let mut model = Model { capacity, members, entries_per_page: 128, ..Model::default() };
        let mut redundancy = Vec::new();
        for lpn in 0..engine.space_pages() / 2 {
            redundancy.clear();
            engine.scheme().redundancy_of(Lpn(lpn), &mut redundancy);
            redundancy.push(engine.scheme().locate(Lpn(lpn)));
            redundancy.iter().for_each(|entry| {
                let page = model.page_of(*entry);
                model.on_flash.insert(page);
            });
        }
        let mut random = SplitMix64::new(capacity as u64);
        for _ in 0..500 {
            let reach = [20, 200, engine.space_pages() / 2][(random.next_u64() % 3) as usize];
            let lpn = random.next_u64() % reach;
            let op = [HostOp::Read, HostOp::Write][(random.next_u64() % 2) as usize];
            let own = engine.scheme().locate(Lpn(lpn));
            let mut entries = vec![(own, op == HostOp::Write)];
            if op == HostOp::Write {
                redundancy.clear();
                engine.scheme().redundancy_of(Lpn(lpn), &mut redundancy);
                entries.extend(redundancy.iter().map(|entry| (*entry, true)));
            }
            model.operation(&entries);
            let start_ns = engine.now_ns() + PAUSE_NS;
            engine.advance_until(start_ns).unwrap();
            engine.submit(&crate::support::request(op, lpn * 512, 512), true);
            engine.finish().unwrap();
            // Two misses of one operation may want a page that the other's victim has just had written: that alone depends on timing.
            let (found, (reads, programs)) = (counts(&engine), metadata(&engine));
            assert_eq!(TranslationCounts { in_hand: 0, ..found }, model.counts, "{scheme} {capacity}");
            assert_eq!((reads + found.in_hand, programs), (model.reads, model.programs), "{scheme} {capacity}");
            assert!(scheme == "raid5" || found.in_hand == 0);
        }
        assert_eq!(engine.executor.media.nand().counts()[2].iter().sum::<u64>(), 0, "no collection");
        assert!(model.counts.dirty_evictions > 50 && model.counts.hits > 0, "{:?}", model.counts);
    }
}

/// With room for all entries nothing is evicted, and once all are loaded each request takes the time that it takes under page mapping.
#[test]
fn a_table_of_all_entries_is_page_mapping() {
    for scheme in ["raid0", "raid1", "raid5"] {
        let mut on_flash = engine(&dftl(scheme, "100000000", &[("allocation", "static"), ("over_provisioning", "0.2")]), Untracked);
        let mut in_ram = engine(
            &config("ssd1", scheme, &[("blocks_per_plane", "64"), ("allocation", "static"), ("over_provisioning", "0.2")]),
            Untracked,
        );
        let space = 3000;
        let latencies = |engine: &mut Engine<Untracked>| {
            engine.fill(space);
            (0..space).step_by(8).for_each(|first| {
                alone(engine, HostOp::Read, first, 8);
                alone(engine, HostOp::Write, first, 8);
            });
            let misses = engine.survey().translation.map(|translation| (translation.counts.misses, translation.counts.evictions));
            let mut random = SplitMix64::new(3);
            let times: Vec<u64> = (0..500)
                .map(|_| {
                    let op = [HostOp::Read, HostOp::Write, HostOp::Write, HostOp::Trim][(random.next_u64() % 4) as usize];
                    alone(engine, op, random.next_u64() % (space - 16), 1 + random.next_u64() % 16)
                })
                .collect();
            let after = engine.survey().translation.map(|translation| (translation.counts.misses, translation.counts.evictions));
            assert_eq!(after, misses);
            assert!(misses.is_none_or(|(misses, evictions)| misses > 0 && evictions == 0));
            times
        };
        assert_eq!(latencies(&mut on_flash), latencies(&mut in_ram), "{scheme}");
        assert_eq!(metadata(&on_flash).1, 0, "nothing had to be written");
    }
}

/// A spare chip in the place of a mirror chip holds no translation pages: those of the member stay at the unit of its data chip.
#[test]
fn the_spare_of_a_mirror_chip_takes_no_translation_pages() {
    let pairs = [("mapping", "dftl"), ("cmt_entries", "4"), ("chips_per_channel", "2"), ("spare_chips", "1"), ("lun", "chip")];
    let config = config("tiny", "cr5m", &[&pairs[..], &[("blocks_per_plane", "40"), ("over_provisioning", "0.7")]].concat());
    let mut engine = engine(&config, tags(&config));
    engine.fill(engine.space_pages());
    engine.fail(Fault::Loss(Part::Chip { channel: 1, chip: 1 }));
    engine.finish().unwrap();
    engine.executor.media.checked().check().unwrap();
    for page in 0..engine.space_pages() {
        assert!(alone(&mut engine, HostOp::Write, page, 1) > 0);
    }
}

/// A GC run that a failure cuts short has moved pages: the map says so on flash all the same.
#[test]
fn moves_of_a_gc_that_is_cut_short_are_written() {
    let pairs = [("mapping", "dftl"), ("cmt_entries", "4"), ("blocks_per_plane", "24"), ("over_provisioning", "0.6"), ("spare_chips", "1")];
    let config = config("tiny", "raid1", &[&pairs[..], &[("gc_threshold", "0.5"), ("page_bytes", "512")]].concat());
    let mut engine = engine(&config, tags(&config));
    engine.fill(engine.space_pages());
    let (mut random, mut cut) = (SplitMix64::new(1), 0);
    while cut < 60 {
        let page = random.next_u64() % engine.space_pages();
        engine.submit(&pages(HostOp::Write, page, 1), true);
        for _ in 0..40 {
            engine.advance().unwrap();
        }
        if engine.executor.media.checked().gc_runs_under_way().of_data {
            let mut failing = engine.clone();
            failing.fail(Fault::Loss(Part::Channel(0)));
            failing.finish().unwrap();
            assert_eq!(verify::stored(&failing).mismatches, 0, "cut {cut}");
            cut += 1;
        }
    }
}

/// A copy may be released while a read of it waits for its entry: what is read then is the page itself, which the copy equalled.
#[test]
fn a_read_waits_for_the_entry_of_a_copy_that_is_released() {
    let more = [("over_provisioning", "0.5"), ("update", "rmw"), ("mw_limit", "1000")];
    let config = config("tiny", "cr5m", &[&[("mapping", "dftl"), ("cmt_entries", "4"), ("chips_per_channel", "2")], &more[..]].concat());
    let mut engine = engine(&config, tags(&config));
    engine.fill(engine.space_pages());
    let mut random = SplitMix64::new(1);
    let mut below = |bound: u64| random.next_u64() % bound;
    for _ in 0..3000 {
        let op = [HostOp::Write, HostOp::Read, HostOp::Read][below(3) as usize];
        engine.submit(&request(op, below(160) * 512, (1 + below(24)) * 512), true);
        engine.advance_until(engine.now_ns() + below(200_000)).unwrap();
    }
    engine.finish().unwrap();
    assert_eq!(engine.executor.content.mismatches, 0);
    assert!(verify::stored(&engine).is_clean());
}
