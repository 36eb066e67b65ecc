//! Work in no simulated time: the fill, the precondition, and pages placed at their first touch. Plans and placement are those of the
//! timed engine; only the clock does not advance, and GC runs to its end where it starts.

use super::content::{Content, FILL};
use super::state::Engine;
use crate::media::Media;
use flashraid_redundancy::{Claim, Decisions, Extent, IdleWork, Operation, Outcomes, Step};
use flashraid_vocabulary::{Action, HostOp, Lpn, PageOperation, Version, Wave};
use serde::{Deserialize, Serialize};

/// What the precondition reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reached {
    /// Pages overwritten.
    pub overwritten_pages: u64,
    /// Pages programmed for each page overwritten, in the last round.
    pub write_amplification: f64,
    /// Whether the rounds had become steady.
    pub steady: bool,
}

/// Rounds that are compared to tell whether GC is steady, and the limits: SNIA's performance test specification for
/// solid state storage asks for a range of at most 20 % of the average and a slope of at most 10 % of it over 5 rounds.
const WINDOW: usize = 5;
const RANGE: f64 = 0.20;
const SLOPE: f64 = 0.10;

impl<C: Content, M: Media> Engine<C, M> {
    /// Writes the first `pages` pages of the logical space, stripe by stripe with their parity, where an idle device would have
    /// put them. Costs nothing: neither time nor counts.
    pub fn fill(&mut self, pages: u64) {
        debug_assert!(pages <= self.options.space_pages);
        self.media.set_untimed(true);
        self.media.begin_fill(pages);
        let mut wave = self.empty_wave();
        let mut filled = 0;
        for index in 0.. {
            if filled >= pages {
                break;
            }
            self.scheme.create(Lpn(filled));
            let mut operation = self.scheme.fill(index).expect("the space ends with the last stripe");
            let count = u64::from(operation.strips.count_ones()).min(pages - filled);
            // The last stripe may be partly beyond the space: its other strips stay unwritten.
            while u64::from(operation.strips.count_ones()) > count {
                operation.strips &= !(1 << (63 - operation.strips.leading_zeros()));
            }
            self.perform(operation, FILL, &mut wave);
            if C::TRACKED {
                operation.host_pages().for_each(|lpn| self.content.filled(lpn, FILL));
            }
            if let Some(buffer) = &mut self.buffer {
                operation.host_pages().for_each(|lpn| buffer.is_on_flash(lpn));
            }
            if let Some(valid) = &mut self.valid_sectors {
                operation.host_pages().for_each(|lpn| valid.fill(lpn));
            }
            filled += count;
        }
        self.wave = Some(wave);
        self.media.set_untimed(false);
        self.forget_counts();
    }

    /// Performs an operation at once. It must not need what it cannot have: a lock or space. Uses operation slot 0 of the contents,
    /// which nothing else uses while the clock does not advance, before the workload.
    fn perform(&mut self, mut operation: Operation, sequence: u64, wave: &mut Wave) {
        const SLOT: u32 = 0;
        if self.claims
            && let Claim::After(commit) = self.scheme.claim(&mut operation, true, &self.media)
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
        let mut pending: Vec<PageOperation> = Vec::new();
        loop {
            wave.clear();
            let step = self.scheme.step(&mut operation, Outcomes::default(), &self.media, wave);
            // Nor does a pause take time.
            let is_last = !matches!(step, Step::Wave | Step::Pause(_));
            if is_last {
                pending.iter().for_each(|page_operation| self.place_program(SLOT, &operation, page_operation));
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
                    Action::Program if is_last => self.place_program(SLOT, &operation, page_operation),
                    Action::Program => pending.push(*page_operation),
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
    fn place_program(&mut self, slot: u32, operation: &Operation, program: &PageOperation) {
        let PageOperation { address, version, keep_base, sources, .. } = *program;
        if C::TRACKED {
            self.content.program(slot, operation, sources, slot);
        }
        let (plane, ppn) = self.media.place_untimed(address, version, keep_base, &mut self.content);
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

    /// Overwrites random pages among the first `pages` (which must be filled), one at a time, until GC is steady or
    /// `most_overwrites` pages were written. With `phases` and steady GC, some more take each plane to a phase of its own. Costs no time and no counts.
    /// `random` gives uniform 64-bit numbers; `go_on` is called now and then and may stop it.
    pub fn precondition(
        &mut self,
        pages: u64,
        most_overwrites: u64,
        phases: bool,
        mut random: impl FnMut() -> u64,
        mut go_on: impl FnMut(u64) -> bool,
    ) -> Reached {
        self.media.set_untimed(true);
        let mut wave = self.empty_wave();
        let mut decisions = Decisions::default();
        let round = (pages / 4).max(1);
        let mut rounds: Vec<f64> = Vec::new();
        let mut overwritten = 0;
        let mut steady = false;
        let mut is_stopped = false;
        while overwritten < most_overwrites && !steady && !is_stopped {
            let before = self.media.untimed();
            let start = overwritten;
            while overwritten < (start + round).min(most_overwrites) && !is_stopped {
                let lpn = one_of(pages, random());
                // Contents differ from overwrite to overwrite, so that an old version is never taken for a newer one.
                self.overwrite(lpn, FILL - 1 - overwritten, &mut decisions, &mut wave);
                overwritten += 1;
                is_stopped = overwritten % 65_536 == 0 && !go_on(overwritten);
            }
            let now = self.media.untimed();
            rounds.push((now.programs - before.programs) as f64 / (overwritten - start) as f64);
            // Before GC has begun the rounds are all alike, and say nothing.
            steady = now.victims > before.victims && is_steady(&rounds);
        }
        if phases && steady {
            let most_draws = 2 * self.media.begin_phases(&mut random);
            for _ in 0..most_draws {
                let lpn = one_of(pages, random());
                if self.media.is_to_advance(self.scheme.locate(lpn)) {
                    self.overwrite(lpn, FILL - 1 - overwritten, &mut decisions, &mut wave);
                    overwritten += 1;
                }
            }
            self.media.end_phases();
        }
        self.wave = Some(wave);
        self.media.set_untimed(false);
        self.forget_counts();
        Reached { overwritten_pages: overwritten, write_amplification: rounds.last().copied().unwrap_or(1.0), steady }
    }

    fn overwrite(&mut self, lpn: Lpn, sequence: u64, decisions: &mut Decisions, wave: &mut Wave) {
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
    fn forget_counts(&mut self) {
        self.media.set_untimed(true);
        self.media.relieve_now(&mut self.content);
        self.place_translation_pages();
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
    pub(super) fn place_page(&mut self, lpn: Lpn) {
        let mut pages = std::mem::take(&mut self.pages);
        pages.clear();
        self.scheme.create(lpn);
        self.scheme.redundancy_of(lpn, &mut pages);
        pages.push(self.scheme.locate(lpn));
        pages.retain(|&address| self.media.lookup(address, Version::Current).is_none());
        self.add_translation_pages(&mut pages);
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
            }
        }
        self.pages = pages;
        self.note_exposed(self.scheme.stripe_of(lpn));
    }
}

/// One of so many pages. Multiply-shift maps 64 random bits to the range; its bias is below 2^-30 here.
fn one_of(pages: u64, random: u64) -> Lpn {
    Lpn(((u128::from(random) * u128::from(pages)) >> 64) as u64)
}

/// Whether the last rounds keep within the limits.
fn is_steady(rounds: &[f64]) -> bool {
    let Some(start) = rounds.len().checked_sub(WINDOW) else { return false };
    let window = &rounds[start..];
    let mean = window.iter().sum::<f64>() / WINDOW as f64;
    let (least, most) = window.iter().fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(*value), most.max(*value)));
    let middle = (WINDOW - 1) as f64 / 2.0;
    let (covariance, variance) = window.iter().enumerate().fold((0.0, 0.0), |(covariance, variance), (index, value)| {
        let x = index as f64 - middle;
        (covariance + x * (value - mean), variance + x * x)
    });
    let drift = (covariance / variance * (WINDOW - 1) as f64).abs();
    most - least <= RANGE * mean && drift <= SLOPE * mean
}
