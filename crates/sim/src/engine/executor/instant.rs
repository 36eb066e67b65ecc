//! Work in no simulated time: operations of the fill and the precondition, and pages placed at their first touch. Plans and placement are those of the
//! timed engine; only the clock does not advance, and GC runs to its end where it starts.

use super::state::Executor;
use crate::engine::content::{Content, FILL};
use crate::media::Media;
use flashraid_redundancy::{Claim, Decisions, Extent, IdleWork, Operation, Outcomes, Step};
use flashraid_vocabulary::{Action, HostOp, Lpn, PageOperation, Version, Wave, Weights};

impl<C: Content, M: Media> Executor<C, M> {
    /// Performs an operation at once. It must not need what it cannot have: a lock or space. Uses operation slot 0 of the contents,
    /// which nothing else uses while the clock does not advance, before the workload.
    pub(in crate::engine) fn perform(&mut self, mut operation: Operation, sequence: u64, wave: &mut Wave) {
        const SLOT: u32 = 0;
        if self.claims
            && let Claim::After(commit) | Claim::Behind(commit) = self.scheme.claim(&mut operation, true, &self.media)
        {
            self.perform(commit, sequence, wave);
        }
        let tracked = C::TRACKED;
        if tracked {
            self.content.begin(SLOT, &operation, self.scheme.parity_of(operation.first), sequence, &[]);
        }
        if self.moves_strips {
            self.scheme.place(&mut operation, &self.media);
        }
        let mut reads = 0;
        // Programs of waves before the last: what they supersede may still be read.
        let mut pending: Vec<(PageOperation, Option<Weights>)> = Vec::new();
        loop {
            wave.clear();
            let step = self.scheme.step(&mut operation, Outcomes::default(), &self.media, wave);
            // Nor does a pause take time.
            let is_last = !matches!(step, Step::Wave | Step::Pause(_));
            if is_last {
                pending.iter().for_each(|(program, weights)| self.place_program(SLOT, &operation, program, weights.as_ref()));
            }
            for page_operation in &wave.operations {
                match page_operation.action {
                    Action::Read => {
                        let PageOperation { address, version, .. } = *page_operation;
                        let ppn = self.media.lookup(address, version).expect("schemes read what is written");
                        if tracked {
                            self.content.read_submitted(SLOT, reads, page_operation.strip);
                            self.content.delivered(SLOT, &operation, SLOT, ppn);
                        }
                        reads += 1;
                    }
                    Action::Program => {
                        let weights = Weights::named(&wave.weights, page_operation.sources.weights);
                        if is_last {
                            self.place_program(SLOT, &operation, page_operation, weights);
                        } else {
                            pending.push((*page_operation, weights.cloned()));
                        }
                    }
                }
            }
            if is_last {
                break;
            }
        }
        for change in &wave.changes {
            self.apply(SLOT, &operation, *change);
        }
        self.scheme.ended(&operation);
    }

    /// A program of an operation that is performed at once.
    #[inline(always)]
    fn place_program(&mut self, slot: u32, operation: &Operation, program: &PageOperation, weights: Option<&Weights>) {
        let PageOperation { address, version, cause, keep_base, sources, .. } = *program;
        if C::TRACKED {
            self.content.program(slot, operation, sources, weights, slot);
        }
        let (plane, ppn) = self.media.place_untimed(address, version, keep_base, cause, &mut self.content);
        if C::TRACKED {
            self.content.programmed(slot, ppn);
        }
        self.media.collect_low_now(plane, &mut self.content);
    }

    /// As `perform`, and then what the scheme wants to do in the background, and in idle time: there is enough of that.
    fn perform_all(&mut self, operation: Operation, sequence: u64, wave: &mut Wave) {
        self.perform(operation, sequence, wave);
        if wave.background {
            while let Some(operation) = self.scheme.deferring_mut().and_then(|deferring| deferring.background(&self.media)) {
                self.perform(operation, u64::MAX, wave);
            }
        }
        while let Some(worker) = self.scheme.when_idle()
            && let IdleWork::Start(operation) = worker.idle(&self.media)
        {
            self.perform(operation, u64::MAX, wave);
        }
    }

    pub(in crate::engine) fn overwrite(&mut self, lpn: Lpn, sequence: u64, decisions: &mut Decisions, wave: &mut Wave) {
        let page_bytes = self.shape.page_bytes;
        let extent = Extent { op: HostOp::Write, first: lpn, pages: 1, first_bytes: page_bytes, last_bytes: page_bytes, covered: false };
        decisions.operations.clear();
        self.scheme.decide(&extent, &self.media, decisions);
        for operation in &decisions.operations {
            self.perform_all(*operation, sequence, wave);
        }
        // Merges in no simulated time cannot wait for commits: no page stays semivalid from one overwrite to the next. Nor do pages of a scheme that
        // commits in idle time: it waits for space where it is short, which in no simulated time only a program makes.
        while (self.shape.has_log_blocks || self.exposure.is_some())
            && let Some(commit) = self.scheme.deferring_mut().and_then(|deferring| deferring.drain())
        {
            self.perform_all(commit, FILL, wave);
        }
        if C::TRACKED {
            self.content.filled(lpn, sequence);
        }
    }

    /// The workload starts with clean counts.
    pub(in crate::engine) fn forget_counts(&mut self) {
        self.media.set_untimed(true);
        self.media.relieve_now(&mut self.content);
        if let Some(translation) = &mut self.translation {
            translation.place_all(&mut self.media, &mut self.content, &self.shape);
        }
        self.media.set_untimed(false);
        if let Some(deferring) = self.scheme.deferring_mut() {
            deferring.prepared();
        }
        self.begin_exposure();
        self.statistics = crate::statistics::Statistics::new(self.shape.members as usize);
        while self.media.take_news().is_some() {}
    }

    /// Before a read: its unwritten pages appear, with what their stripe's redundancy has of them, as pages of zeroes. They change
    /// no parity, as zero is what an unwritten strip counts for.
    pub(super) fn place_unwritten(&mut self, id: u32) {
        for lpn in self.operations.operation(id).host_pages() {
            if self.media.lookup(self.scheme.locate(lpn), Version::Current).is_none() {
                self.place_page(lpn);
            }
        }
    }

    /// The page and what its redundancy needs of it appear, unless there is no space.
    pub(in crate::engine) fn place_page(&mut self, lpn: Lpn) {
        let mut pages = std::mem::take(&mut self.pages);
        pages.clear();
        self.scheme.create(lpn);
        self.scheme.redundancy_of(lpn, &mut pages);
        pages.push(self.scheme.locate(lpn));
        pages.retain(|&address| self.media.lookup(address, Version::Current).is_none());
        if let Some(translation) = &self.translation {
            translation.add_pages(&mut pages, &self.shape, &self.operations.locks);
        }
        // All or none: a page without its redundancy would be lost by the next failure.
        let reserved = pages.iter().take_while(|&&address| self.media.reserve(address, Version::Current)).count();
        if reserved < pages.len() {
            pages[..reserved].iter().for_each(|&address| self.media.release(address, Version::Current));
        } else {
            for &address in &pages {
                let ppn = self.media.place(address, Version::Current);
                match self.note_placed(address) {
                    Some(stamp) => self.content.placed_stamp(ppn, stamp),
                    None => {
                        self.content.placed_zero(ppn);
                        self.statistics.prefilled_pages += 1;
                    }
                }
                if self.media.is_lost(address, Version::Current) {
                    self.ended_unplaced(address);
                }
            }
        }
        self.pages = pages;
        self.note_exposed(self.scheme.stripe_of(lpn));
    }
}
