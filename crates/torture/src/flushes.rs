//! What flushes promise: a write that was submitted before a flush survives, once the flush has completed, the loss of everything but flash and NVRAM. Where
//! requests may overtake each other on their way to the engine, so does a write that was decided before the flush was submitted.

use flashraid_sim::engine::Engine;
use flashraid_sim::engine::tags::{Tags, ZERO};
use flashraid_sim::media::Media;
use flashraid_vocabulary::{Lpn, Version};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What a page has held since what the latest flush promises of it: the number of the request that made it so, counted from 1, and its content, which
/// is not known of a request that was not decided when it was submitted.
type Versions = VecDeque<(u64, Option<u64>)>;

/// The versions of all pages that flushes may promise.
#[derive(Default)]
pub struct Flushes {
    pages: BTreeMap<u64, Versions>,
    /// Pages of which a write has failed, and the number of the request that changed them last: what flash holds of them is guaranteed by nobody,
    /// until it is known to be what was submitted last.
    doubted: BTreeMap<u64, u64>,
    /// Pages that requests change which are not decided yet, as they wait in the host, are on their way, or wait for the end of a replacement; and these
    /// requests, with those of the same pages that were submitted since.
    held: BTreeMap<u64, Vec<u64>>,
    /// Requests below this number are guaranteed by a flush that has completed.
    flushed: u64,
}

/// What is there of a page when only flash and NVRAM are left.
fn kept<M: Media>(engine: &Engine<Tags, M>, lpn: u64) -> u64 {
    let on_flash = engine.executor.content.durable(Lpn(lpn));
    match engine.front_end.holds_safely(Lpn(lpn)) {
        true => engine.front_end.shares_now(Lpn(lpn), |shares| engine.executor.content.with_buffer(Lpn(lpn), on_flash, shares)),
        false => on_flash,
    }
}

/// Whether the version of a page that counts is in the memory of an SSD alone, and gone if power is lost now. (So is what a rebuild or a replacement programs,
/// for which the other pages of its stripe are there; and what leaves a buffer in NVRAM: SPEC 8.1 (d).)
fn is_at_risk<M: Media>(engine: &Engine<Tags, M>, lpn: u64) -> bool {
    let media = &engine.executor.media;
    let leaves_nvram = engine.survey().buffer.is_some_and(|buffer| buffer.survives_power_loss());
    let page = media.lookup(engine.scheme().locate(Lpn(lpn)), Version::Current);
    !media.has_failures() && engine.scheme().replacing().is_none() && !leaves_nvram && page.is_some_and(|ppn| media.is_at_risk(ppn))
}

impl Flushes {
    /// Before a request changes these pages.
    pub fn before<M: Media>(&mut self, engine: &Engine<Tags, M>, pages: impl Iterator<Item = u64>) {
        for lpn in pages.filter(|lpn| !self.doubted.contains_key(lpn)) {
            self.pages.entry(lpn).or_insert_with(|| VecDeque::from([(0, Some(engine.executor.content.newest(Lpn(lpn))))]));
        }
    }

    /// Request `sequence` has been submitted, which changes these pages.
    pub fn after<M: Media>(&mut self, engine: &Engine<Tags, M>, sequence: u64, pages: impl Iterator<Item = u64>) {
        let is_undecided = engine.front_end.undecided().any(|number| number == sequence);
        for lpn in pages {
            let is_held = is_undecided || self.held.contains_key(&lpn);
            if is_held {
                self.held.entry(lpn).or_default().push(sequence);
            }
            if let Some(versions) = self.pages.get_mut(&lpn) {
                versions.push_back((sequence + 1, (!is_held).then(|| engine.executor.content.newest(Lpn(lpn)))));
            } else if let Some(number) = self.doubted.get_mut(&lpn) {
                *number = sequence + 1;
            }
        }
    }

    /// Requests that waited may be decided now: if all of a page are, it is known what they make of it.
    pub fn decided<M: Media>(&mut self, engine: &Engine<Tags, M>) {
        if self.held.is_empty() {
            return;
        }
        let (undecided, pages): (BTreeSet<u64>, _) = (engine.front_end.undecided().collect(), &mut self.pages);
        self.held.retain(|lpn, sequences| {
            let waits = sequences.iter().any(|sequence| undecided.contains(sequence));
            if !waits && let Some((_, content)) = pages.get_mut(lpn).and_then(VecDeque::back_mut) {
                content.get_or_insert_with(|| engine.executor.content.newest(Lpn(*lpn)));
            }
            waits
        });
    }

    /// Requests below this number are what a flush promises that is submitted as number `sequence`.
    pub fn promised<M: Media>(engine: &Engine<Tags, M>, sequence: u64) -> u64 {
        let first_undecided = engine.front_end.undecided().min().unwrap_or(sequence);
        if engine.front_end.keeps_order() { sequence } else { first_undecided.min(sequence) }
    }

    /// A flush has completed that promises so many requests.
    pub fn completed(&mut self, promised: u64) {
        self.flushed = self.flushed.max(promised);
    }

    /// Writes of these pages have failed.
    pub fn doubt(&mut self, pages: Vec<u64>) {
        for lpn in pages {
            let versions = self.pages.remove(&lpn);
            let latest = versions.and_then(|versions| versions.back().map(|(number, _)| *number));
            self.doubted.entry(lpn).or_insert(latest.unwrap_or_default());
        }
    }

    /// A page that is older on flash, or in NVRAM, than a flush guarantees. Looks at all pages written that are not known to be there.
    pub fn broken<M: Media>(&mut self, engine: &Engine<Tags, M>) -> Option<Lpn> {
        let (mut broken, flushed) = (None, self.flushed);
        self.doubted.retain(|lpn, number| {
            let (content, newest) = (kept(engine, *lpn), engine.executor.content.newest(Lpn(*lpn)));
            // A write has a content of its own. Zeroes may be those of an earlier discard, and a write between them still in flight.
            let is_newest = content == newest && (content != ZERO || *number <= flushed);
            // Of a request that waits the newest content knows nothing.
            engine.executor.content.is_in_doubt(Lpn(*lpn)) || self.held.contains_key(lpn) || !is_newest
        });
        self.pages.retain(|lpn, versions| {
            while versions.get(1).is_some_and(|(number, _)| *number <= flushed) {
                versions.pop_front();
            }
            let (content, is_at_risk) = (kept(engine, *lpn), is_at_risk(engine, *lpn));
            let is_promised_at_risk =
                is_at_risk && versions.front().is_some_and(|(number, it)| (1..=flushed).contains(number) && *it == Some(content));
            if is_promised_at_risk || !versions.iter().any(|(_, reserved)| reserved.is_none_or(|reserved| reserved == content)) {
                broken = broken.or(Some(Lpn(*lpn)));
            }
            is_at_risk || versions.len() > 1 || versions.front().is_some_and(|(_, newest)| *newest != Some(content))
        });
        broken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashraid_sim::Config;
    use flashraid_sim::assemble;
    use flashraid_sim::media::{Flash, SsdArray};
    use flashraid_vocabulary::{HostOp, HostRequest};

    /// Page 0 of a small device, zeroed, in a stripe with others. A discard of it takes its time, as the parity changes.
    struct Page<M: Media = Flash> {
        engine: Engine<Tags, M>,
        flushes: Flushes,
    }

    impl Page {
        fn new() -> Self {
            let config = Config::assemble(Some("tiny"), Some("raid5"), None, &[]).expect("a preset");
            let tags = Tags::new;
            let mut engine = assemble::engine(&config, tags).expect("a legal device");
            engine.fill(64);
            let mut page = Self { engine, flushes: Flushes::default() };
            page.submit(HostOp::Trim);
            page.engine.finish().expect("no stall");
            assert_eq!((page.broken(), kept(&page.engine, 0)), (None, ZERO));
            page
        }
    }

    impl<M: Media> Page<M> {
        fn submit(&mut self, op: HostOp) -> u64 {
            let size_bytes = if op == HostOp::Flush { 0 } else { 4096 };
            let page = || if op == HostOp::Flush { 0..0 } else { 0..1 };
            self.flushes.before(&self.engine, page());
            let sequence = self.engine.submit(&HostRequest { arrival_ns: 0, offset_bytes: 0, size_bytes, op, stream: 0, source: 0 }, true);
            self.flushes.after(&self.engine, sequence, page());
            sequence
        }

        /// Lets the device work until flash holds something else of the page.
        fn go_on(&mut self) {
            let before = kept(&self.engine, 0);
            while kept(&self.engine, 0) == before {
                assert!(self.engine.advance().expect("no stall"), "nothing changes");
            }
        }

        fn broken(&mut self) -> Option<Lpn> {
            self.flushes.broken(&self.engine)
        }
    }

    /// Flash holds zeroes, a write of the page is in flight and a discard behind it, which makes zeroes again: they are not those on flash.
    #[test]
    fn zeroes_of_an_earlier_discard_end_no_doubt() {
        let mut page = Page::new();
        page.submit(HostOp::Write);
        page.flushes.doubt(vec![0]); // as if that write had failed
        page.submit(HostOp::Trim);
        assert_eq!((page.broken(), kept(&page.engine, 0)), (None, ZERO));
        page.go_on();
        page.submit(HostOp::Trim);
        assert_eq!(page.broken(), None, "flash holds the write, which nobody has promised to discard");
        page.engine.finish().expect("no stall");
        assert_eq!((page.broken(), page.flushes.doubted.len()), (None, 1));
        let flush = page.submit(HostOp::Flush);
        page.flushes.completed(flush);
        assert_eq!((page.broken(), page.flushes.doubted.len()), (None, 0), "the flush knows of nothing under way");
        // What a flush promises of the page counts again.
        let write = page.submit(HostOp::Write);
        page.flushes.completed(write + 1);
        assert_eq!(page.broken(), Some(Lpn(0)), "the write has not ended");
    }

    /// A write that waits for the end of a replacement is not known to flash, nor to what is newest: the doubt lasts until it has been served.
    #[test]
    fn a_write_that_waits_keeps_the_doubt() {
        let array = [("devices", "5"), ("spare_devices", "1"), ("channels", "1"), ("buffer_bytes", "8192")];
        let array = array.map(|(key, value)| (key.to_string(), value.to_string()));
        let config = Config::assemble(Some("tiny"), Some("offline-diff-raid"), None, &array).expect("legal settings");
        let mut engine: Engine<Tags, SsdArray> = assemble::engine(&config, Tags::new).expect("a legal array");
        engine.fill(64);
        let mut page = Page { engine, flushes: Flushes::default() };
        page.flushes.doubt(vec![0]);
        page.engine.replace(0).expect("a spare SSD");
        page.submit(HostOp::Write);
        assert_eq!(page.engine.front_end.undecided().count(), 1);
        assert_eq!((page.broken(), page.flushes.doubted.len()), (None, 1));
        page.engine.finish().expect("no stall");
        page.flushes.decided(&page.engine);
        // The buffer in DRAM has the page, flash its predecessor: no flush promises anything of it, also if it is written again.
        page.submit(HostOp::Write);
        assert_eq!((page.broken(), page.flushes.doubted.len()), (None, 1));
    }

    /// A flush that overtakes a write on its way to the engine promises nothing of it.
    #[test]
    fn a_write_on_its_way_is_not_promised() {
        let slow = [("host_write_ps_per_byte".to_string(), "10000".to_string())];
        let config = Config::assemble(Some("tiny"), Some("raid5"), None, &slow).expect("legal settings");
        let mut engine: Engine<Tags, Flash> = assemble::engine(&config, Tags::new).expect("a legal device");
        engine.fill(64);
        let mut page = Page { engine, flushes: Flushes::default() };
        let write = page.submit(HostOp::Write);
        let flush = page.submit(HostOp::Flush);
        assert_eq!(page.engine.front_end.completed.iter().map(|completed| completed.sequence).collect::<Vec<_>>(), [flush]);
        assert_eq!(Flushes::promised(&page.engine, flush), write);
        while page.engine.front_end.undecided().next().is_some() {
            assert!(page.engine.advance().expect("no stall"));
        }
        page.flushes.decided(&page.engine);
        page.flushes.completed(write);
        assert_eq!(page.broken(), None);
        page.flushes.completed(flush);
        assert_eq!(page.broken(), Some(Lpn(0)), "were it promised, it would be missed");
        page.engine.finish().expect("no stall");
        assert_eq!(page.broken(), None);
    }

    /// What a write makes of a page is nothing that it ever was before.
    #[test]
    fn a_write_on_flash_ends_the_doubt() {
        let mut page = Page::new();
        page.submit(HostOp::Write);
        page.flushes.doubt(vec![0]);
        assert_eq!((page.broken(), page.flushes.doubted.len()), (None, 1));
        page.go_on();
        assert_eq!((page.broken(), page.flushes.doubted.len()), (None, 0));
    }
}
