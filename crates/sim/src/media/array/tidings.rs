//! What the SSDs of an array have told and the engine has not taken yet.

use crate::media::Completion;
use flashraid_vocabulary::Ppn;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Tidings {
    pub(super) completions: Vec<Completion>,
    pub(super) started: Vec<(u32, Ppn, u32)>,
    /// Domains that gained space, in order.
    pub(super) freed: Vec<u32>,
    /// Flushes that an SSD is done with, once for each.
    pub(super) flushed: Vec<u32>,
    /// SSDs that are worn out since now.
    pub(super) worn_out: Vec<u32>,
    /// The SSD of each question of GC that is not taken, in order, and how many of them are of each SSD.
    asking: Vec<u32>,
    asked_by: Vec<usize>,
}

impl Tidings {
    pub(super) fn new(ssds: usize) -> Self {
        Self {
            completions: Vec::new(),
            started: Vec::new(),
            freed: Vec::new(),
            flushed: Vec::new(),
            worn_out: Vec::new(),
            asking: Vec::new(),
            asked_by: vec![0; ssds],
        }
    }

    /// Whether there is anything beside page operations.
    #[inline]
    pub(super) fn has_news(&self) -> bool {
        !self.freed.is_empty() || !self.asking.is_empty() || !self.worn_out.is_empty() || !self.flushed.is_empty()
    }

    /// So many questions of GC wait in this SSD.
    #[inline]
    pub(super) fn note_questions(&mut self, ssd: usize, waiting: usize) {
        self.asking.extend((self.asked_by[ssd]..waiting).map(|_| ssd as u32));
        self.asked_by[ssd] = waiting;
    }

    /// The SSD that has asked last. It may have a question no more: questions about what was released meanwhile are not asked.
    pub(super) fn take_asking(&mut self) -> Option<usize> {
        let ssd = self.asking.pop()? as usize;
        self.asked_by[ssd] = self.asked_by[ssd].saturating_sub(1);
        Some(ssd)
    }
}
