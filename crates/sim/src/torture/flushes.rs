//! What flushes promise: a write that was submitted before a flush survives, once the flush has completed, the loss of everything but flash and NVRAM.

use crate::engine::Engine;
use crate::engine::tags::Tags;
use flashraid_vocabulary::Lpn;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What a page has held since what the latest flush promises of it: the number of the request that made it so, counted from 1, and its content.
type Versions = VecDeque<(u64, u64)>;

/// The versions of all pages that flushes may promise.
#[derive(Default)]
pub struct Flushes {
    pages: BTreeMap<u64, Versions>,
    /// Pages of which a write has failed: what flash holds of them is promised by nobody, until it is what was submitted last.
    doubted: BTreeSet<u64>,
    /// The newest flush that has completed: what was submitted before it is promised.
    flushed: u64,
}

/// What is there of a page when only flash and NVRAM are left.
fn kept(engine: &Engine<Tags>, lpn: u64) -> u64 {
    let on_flash = engine.content.durable(Lpn(lpn));
    match engine.holds_safely(Lpn(lpn)) {
        true => engine.read_now(Lpn(lpn), on_flash, |tags, content, shares| tags.with_buffer(Lpn(lpn), content, shares)),
        false => on_flash,
    }
}

impl Flushes {
    /// Before a request changes these pages.
    pub fn before(&mut self, engine: &Engine<Tags>, pages: impl Iterator<Item = u64>) {
        for lpn in pages.filter(|lpn| !self.doubted.contains(lpn)) {
            self.pages.entry(lpn).or_insert_with(|| VecDeque::from([(0, engine.content.newest(Lpn(lpn)))]));
        }
    }

    /// Request `sequence` has been submitted, which changes these pages.
    pub fn after(&mut self, engine: &Engine<Tags>, sequence: u64, pages: impl Iterator<Item = u64>) {
        for lpn in pages {
            if let Some(versions) = self.pages.get_mut(&lpn) {
                versions.push_back((sequence + 1, engine.content.newest(Lpn(lpn))));
            }
        }
    }

    /// Request `sequence`, a flush, has completed.
    pub fn completed(&mut self, sequence: u64) {
        self.flushed = self.flushed.max(sequence);
    }

    /// Writes of these pages have failed.
    pub fn doubt(&mut self, pages: Vec<u64>) {
        for lpn in pages {
            self.pages.remove(&lpn);
            self.doubted.insert(lpn);
        }
    }

    /// A page that is older on flash, or in NVRAM, than a flush has promised. Looks at all pages written that are not known to be there.
    pub fn broken(&mut self, engine: &Engine<Tags>) -> Option<Lpn> {
        self.doubted.retain(|lpn| engine.content.is_in_doubt(Lpn(*lpn)) || kept(engine, *lpn) != engine.content.newest(Lpn(*lpn)));
        let (mut broken, flushed) = (None, self.flushed);
        self.pages.retain(|lpn, versions| {
            while versions.get(1).is_some_and(|(number, _)| *number <= flushed) {
                versions.pop_front();
            }
            let content = kept(engine, *lpn);
            if !versions.iter().any(|(_, promised)| *promised == content) {
                broken = broken.or(Some(Lpn(*lpn)));
            }
            versions.len() > 1 || versions.front().is_some_and(|(_, newest)| *newest != content)
        });
        broken
    }
}
