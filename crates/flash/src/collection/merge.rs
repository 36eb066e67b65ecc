//! Merges of hybrid mapping (SPEC 6.3): a log block becomes a data block (*switch*), after the pages behind its own are copied to it (*partial*), or the
//! newest versions of all pages are copied to an erased block (*full*); what is left over is erased.
//!
//! A merge is the collection of its plane, in the same two phases: first every stripe with a semivalid page in a block to be erased is committed, until
//! there is none; then copies and erases, with the units blocked. From the choice of the log block on, no page of its logical blocks is given out.

use super::collector::{Collection, Stage};
use crate::mapping::blocks::{NONE, State};
use crate::mapping::hybrid::Spot;
use crate::mapping::space::NIL;
use crate::mutants::FlashFault;
use crate::nand::records::Work;
use crate::{Flash, Question};
use flashraid_vocabulary::{MemberId, MemberPage, Observer, Ppn, Version};

/// How a logical block is merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MergeKind {
    /// The log block, full and in order, becomes the data block.
    Switch,
    /// The log block, in order as far as it goes, becomes the data block when the other pages are copied to it.
    Partial,
    /// All pages are copied to an erased block.
    #[default]
    Full,
}

/// The merge of one instance, beside what every collection has: its victim is the log block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Merge {
    /// Logical blocks that have a valid page in the log block.
    logicals: Vec<u32>,
    /// Which of them is being merged.
    current: usize,
    kind: MergeKind,
    /// Where its pages are copied to; `NONE` before the first one of a full merge.
    target: u16,
    /// The offset looked at next.
    offset: u32,
    /// Blocks to be erased before the next logical block's turn, the last first, and whether they are log blocks.
    erase: Vec<(u16, bool)>,
    /// The log block is still to be erased.
    keeps_log: bool,
    /// Copies and erases have begun.
    begun: bool,
    /// A semivalid page cannot be committed now.
    refused: bool,
    /// Bases of the plane that were released since it began.
    released: u32,
    /// How many these were when its semivalid pages were last asked about, and when that was.
    asked: Option<(u32, u64)>,
}

impl Flash {
    fn domain_of_merge(&self, plane: u32) -> usize {
        self.domain_of_plane(plane) as usize
    }

    fn merge(&self, plane: u32) -> &Merge {
        &self.hybrid().merges[self.domain_of_merge(plane)]
    }

    fn merge_mut(&mut self, plane: u32) -> &mut Merge {
        let domain = self.domain_of_merge(plane);
        &mut self.hybrid_mut().merges[domain]
    }

    // ---- choice ----

    /// Starts the merge that makes room for a page, unless one runs or what it takes is in use.
    pub(crate) fn make_room_for(&mut self, Spot { domain, logical, offset }: Spot) {
        let plane = self.domains[domain as usize].plane;
        if self.is_collecting(plane) {
            return;
        }
        let hybrid = self.hybrid();
        let own = match hybrid.shared {
            false => hybrid.logical[logical as usize].log,
            true if offset == 0 => hybrid.instances[domain as usize].sequential,
            true => NONE,
        };
        let member = MemberId(self.member_of_unit(self.unit_of_plane(plane)).expect("an instance has a member") as u16);
        if own != NONE {
            let owner = hybrid.owner[self.blocks.index(plane, own)];
            if hybrid.logical[owner as usize].active == 0 {
                self.begin_merge(plane, own);
            }
        } else if self.settings.commit_aware && !hybrid.shared && self.held(member).bases > 0 && !self.without_time {
            let question = Question::Victim(plane);
            if !self.questions.contains(&question) {
                self.questions.push(question);
            }
        } else {
            self.choose_log(plane, &|_| (0, 0));
        }
    }

    /// Merges a log block: the least recently used one; if commits count, the cheapest one, by the copies and commits of its merge; under FAST
    /// the oldest. Only those of inactive logical blocks.
    pub(crate) fn choose_log(&mut self, plane: u32, commit_cost: &dyn Fn(MemberPage) -> (u32, u32)) {
        let mut log = self.hybrid().instances[self.domain_of_merge(plane)].oldest;
        let mut best: Option<(u64, u16)> = None;
        while log != NONE {
            if self.may_merge(plane, log) {
                let cost_ns =
                    if self.settings.commit_aware && !self.hybrid().shared { self.merge_cost_ns(plane, log, commit_cost) } else { 0 };
                if best.is_none_or(|(least, _)| cost_ns < least) {
                    best = Some((cost_ns, log));
                }
                if cost_ns == 0 {
                    break;
                }
            }
            log = self.blocks.blocks[self.blocks.index(plane, log)].next;
        }
        if let Some((_, log)) = best {
            self.begin_merge(plane, log);
        }
    }

    fn may_merge(&self, plane: u32, log: u16) -> bool {
        let index = self.blocks.index(plane, log);
        let is_active = |logical: u32| self.hybrid().logical[logical as usize].active > 0 && !self.makes(FlashFault::MergeActive);
        if !self.hybrid().shared {
            return !is_active(self.hybrid().owner[index]);
        }
        let entry = &self.blocks.blocks[index];
        u32::from(entry.written) == self.pages_per_block && entry.pending == 0 && !self.logicals_in(index).any(is_active)
    }

    /// Logical blocks of the valid pages of a log block, page by page.
    fn logicals_in(&self, block: usize) -> impl Iterator<Item = u32> {
        let (first, entry) = (self.first_ppn(block).0, &self.blocks.blocks[block]);
        let live = (first..first + u32::from(entry.written)).filter_map(|ppn| self.maps.live(Ppn(ppn)));
        live.filter(|(version, _)| *version == Version::Current).map(|(_, slot)| self.logical_of(slot))
    }

    fn is_in_order(&self, plane: u32, log: u16) -> bool {
        let index = self.blocks.index(plane, log);
        let entry = &self.blocks.blocks[index];
        self.hybrid().in_order[index] && entry.bases == 0 && entry.live == entry.written && entry.written > 0
    }

    fn merge_cost_ns(&self, plane: u32, log: u16, commit_cost: &dyn Fn(MemberPage) -> (u32, u32)) -> u64 {
        let owner = self.hybrid().owner[self.blocks.index(plane, log)];
        let data = self.hybrid().logical[owner as usize].data;
        let valid = |block: u16| {
            let entry = &self.blocks.blocks[self.blocks.index(plane, block)];
            u32::from(entry.live - entry.bases)
        };
        let copies = valid(data) + if self.is_in_order(plane, log) { 0 } else { valid(log) };
        let cell = self.settings.cell;
        let cost_ns = |(reads, programs): (u32, u32)| u64::from(reads) * cell.read_ns + u64::from(programs) * cell.program_ns;
        let bases = [data, log].into_iter().flat_map(|block| self.bases_in(plane, block));
        cost_ns((copies, copies)) + bases.map(|slot| cost_ns(commit_cost(self.address(slot)))).sum::<u64>()
    }

    // ---- first phase ----

    fn begin_merge(&mut self, plane: u32, log: u16) {
        let index = self.blocks.index(plane, log);
        let domain = self.domain_of_merge(plane);
        let mut logicals = std::mem::take(&mut self.merge_mut(plane).logicals);
        logicals.clear();
        match self.hybrid().owner[index] {
            NIL => {
                for logical in self.logicals_in(index) {
                    let takes_more = logicals.is_empty() || !self.makes(FlashFault::MergeFirstLogical);
                    if takes_more && !logicals.contains(&logical) {
                        logicals.push(logical);
                    }
                }
            }
            owner => logicals.push(owner),
        }
        for &logical in &logicals {
            self.hybrid_mut().logical[logical as usize].merging = true;
        }
        let erase = std::mem::take(&mut self.merge_mut(plane).erase);
        self.hybrid_mut().merges[domain] = Merge { logicals, erase, target: NONE, keeps_log: true, ..Merge::default() };
        self.collections[plane as usize] = Collection::of(log, self.now_ns);
        self.load_of_plane(plane).collections += 1;
        if !self.without_time {
            self.commit_or_go_on(plane);
        }
    }

    /// Blocks that the merge is to erase.
    fn doomed_blocks(&self, plane: u32) -> Vec<u16> {
        let Merge { logicals, erase, begun, .. } = self.merge(plane);
        if *begun {
            return erase.iter().map(|(block, _)| *block).collect();
        }
        let sequential = self.hybrid().instances[self.domain_of_merge(plane)].sequential;
        let mut blocks = vec![self.collections[plane as usize].victim];
        if self.makes(FlashFault::CommitLogOnly) {
            return blocks;
        }
        blocks.extend(logicals.iter().map(|logical| self.hybrid().logical[*logical as usize].data).filter(|data| *data != NONE));
        if sequential != NONE && sequential != blocks[0] && logicals.contains(&self.hybrid().owner[self.blocks.index(plane, sequential)]) {
            blocks.push(sequential);
        }
        blocks
    }

    /// Asks about the semivalid pages of the blocks to be erased, or goes on if there are none.
    fn commit_or_go_on(&mut self, plane: u32) {
        let blocks = self.doomed_blocks(plane);
        let bases: u16 = blocks.iter().map(|block| self.blocks.blocks[self.blocks.index(plane, *block)].bases).sum();
        let Merge { begun, refused, released, asked, .. } = *self.merge(plane);
        if bases == 0 {
            self.collections[plane as usize].stage = Stage::Moving;
            self.block_units(plane, true);
            return if begun { self.erase_next(plane) } else { self.start_copies(plane) };
        }
        // Asking again at once would not help, unless other pages are in the way now.
        if refused || asked == Some((released, self.now_ns)) {
            if !begun {
                return self.leave_merge(plane);
            }
            let state = &mut self.collections[plane as usize];
            (state.stage, state.uncommitted) = (Stage::Committing, 0);
            return;
        }
        let now_ns = self.now_ns;
        let merge = self.merge_mut(plane);
        (merge.refused, merge.asked) = (false, Some((released, now_ns)));
        let state = &mut self.collections[plane as usize];
        (state.stage, state.uncommitted) = (Stage::Committing, bases);
        for block in blocks.into_iter().rev() {
            let asked: Vec<_> = self.bases_in(plane, block).map(|slot| Question::Semivalid(plane, self.address(slot))).collect();
            self.questions.extend(asked.into_iter().rev());
        }
    }

    /// All questions about semivalid pages are answered, and the commits have ended.
    pub(crate) fn merge_settled(&mut self, plane: u32) {
        self.commit_or_go_on(plane);
    }

    /// A base was released; a merge that could not get it committed goes on, and one that was put off may begin.
    pub(crate) fn base_of_merge_released(&mut self, plane: u32) {
        let Collection { victim, stage, uncommitted, .. } = self.collections[plane as usize];
        if victim == NONE {
            let domain = self.domain_of_plane(plane);
            if domain != NIL && self.hybrid().instances[domain as usize].starved {
                self.wake(domain);
            }
            return;
        }
        self.merge_mut(plane).released += 1;
        if stage == Stage::Committing && uncommitted == 0 && self.merge(plane).begun {
            self.merge_mut(plane).refused = false;
            self.commit_or_go_on(plane);
        }
    }

    /// Whether a failure undid what work of a merge was to do: if the page that it copies is lost now, the copy counts for nothing, and the merge gives
    /// the page up.
    #[cold]
    pub(crate) fn is_merge_disturbed(&mut self, plane: u32, work: Work, ppn: Ppn) -> bool {
        if work == Work::Erase || !self.is_lost_page(Ppn(self.collections[plane as usize].moving)) {
            return false;
        }
        if work != Work::MoveRead {
            self.settle(self.block_of(ppn));
        }
        self.merge_mut(plane).offset -= 1;
        self.continue_merge(plane);
        true
    }

    /// A semivalid page of a merge cannot be committed.
    pub(crate) fn merge_refused(&mut self, plane: u32) {
        self.merge_mut(plane).refused = true;
    }

    /// The merge is put off: another one, or an operation that ends, may change what is in its way.
    #[cold]
    fn leave_merge(&mut self, plane: u32) {
        self.end_merge(plane);
        let domain = self.domain_of_plane(plane);
        self.hybrid_mut().left.push(domain);
        self.hybrid_mut().instances[domain as usize].starved = true;
    }

    /// Nothing is merged in the plane any more.
    fn end_merge(&mut self, plane: u32) {
        self.load_of_plane(plane).collections -= 1;
        self.collections[plane as usize] = Collection::IDLE;
        let logicals = std::mem::take(&mut self.merge_mut(plane).logicals);
        for &logical in &logicals {
            self.hybrid_mut().logical[logical as usize].merging = self.makes(FlashFault::KeepMerging);
        }
        self.merge_mut(plane).logicals = logicals;
    }

    // ---- second phase ----

    fn start_copies(&mut self, plane: u32) {
        self.merge_mut(plane).begun = true;
        if self.merge(plane).logicals.is_empty() { self.after_erase(plane) } else { self.go_on_merging(plane) }
    }

    /// Begins the merge of the current logical block.
    fn prepare_logical(&mut self, plane: u32) {
        let log = self.collections[plane as usize].victim;
        let index = self.blocks.index(plane, log);
        let Merge { logicals, current, .. } = self.merge(plane);
        let is_own = self.hybrid().owner[index] == logicals[*current];
        let written = self.blocks.blocks[index].written;
        let kind = match is_own && self.is_in_order(plane, log) {
            true if u32::from(written) == self.pages_per_block => MergeKind::Switch,
            true => MergeKind::Partial,
            false => MergeKind::Full,
        };
        if kind != MergeKind::Full {
            (0..written).for_each(|offset| self.hybrid_mut().take(index, offset));
        }
        let merge = self.merge_mut(plane);
        (merge.kind, merge.target, merge.offset) = (kind, if kind == MergeKind::Full { NONE } else { log }, 0);
    }

    /// The next page of the current logical block that is elsewhere than in the target.
    fn next_copy(&mut self, plane: u32) -> Option<Ppn> {
        loop {
            let Merge { logicals, current, target, offset, .. } = self.merge(plane);
            let (logical, target, offset) = (logicals[*current], *target, *offset);
            if offset + u32::from(self.makes(FlashFault::MergeShort)) == self.pages_per_block {
                return None;
            }
            self.merge_mut(plane).offset += 1;
            let Some(ppn) = self.slot_in(logical, offset).and_then(|slot| self.maps.get(Version::Current, slot)) else { continue };
            let is_logged = || self.block_of(ppn) == self.blocks.index(plane, self.collections[plane as usize].victim);
            if self.makes(FlashFault::MergeDataOnly) && is_logged() {
                continue;
            }
            if ppn == self.faults.lost || (target != NONE && self.block_of(ppn) == self.blocks.index(plane, target)) {
                continue;
            }
            if self.has_failures() && self.is_lost_page(ppn) {
                self.give_up(ppn);
                continue;
            }
            return Some(ppn);
        }
    }

    /// The page of the target at the offset of the page that is copied. It stays pending until the map has followed.
    pub(crate) fn merge_page(&mut self, plane: u32) -> Ppn {
        if self.merge(plane).target == NONE {
            let Merge { logicals, current, .. } = self.merge(plane);
            let target = self.open_block(plane, State::Data, logicals[*current]);
            self.merge_mut(plane).target = target;
        }
        let Merge { target, offset, .. } = *self.merge(plane);
        let index = self.blocks.index(plane, target);
        self.hybrid_mut().take(index, offset as u16 - 1);
        let entry = &mut self.blocks.blocks[index];
        entry.written += 1;
        entry.pending += 1;
        Ppn(self.first_ppn(index).0 + offset - 1)
    }

    /// Begins the next logical block, and copies its first page.
    fn go_on_merging(&mut self, plane: u32) {
        self.prepare_logical(plane);
        self.continue_merge(plane);
    }

    /// Copies the next page, or erases what is left over.
    pub(crate) fn continue_merge(&mut self, plane: u32) {
        match self.next_copy(plane) {
            Some(from) => {
                let state = &mut self.collections[plane as usize];
                (state.stage, state.moving) = (Stage::Moving, from.0);
                let work = if self.settings.copyback { Work::CopyBack } else { Work::MoveRead };
                self.collection_work(plane, work, from.0);
            }
            None => {
                self.logical_merged(plane);
                self.erase_next(plane);
            }
        }
    }

    /// All pages of the current logical block are in its new data block.
    fn logical_merged(&mut self, plane: u32) {
        let domain = self.domain_of_merge(plane);
        let log = self.collections[plane as usize].victim;
        let Merge { logicals, current, kind, target, .. } = self.merge(plane);
        let (logical, kind, target) = (logicals[*current], *kind, *target);
        let sequential = self.hybrid().instances[domain].sequential;
        let is_own = |block: u16| self.hybrid().owner[self.blocks.index(plane, block)] == logical;
        // Pages in sequence of the same logical block are garbage now.
        let also = sequential != NONE && sequential != log && (is_own(sequential) || self.makes(FlashFault::EraseForeignLog));
        if is_own(log) {
            if log == sequential {
                self.hybrid_mut().instances[domain].sequential = NONE;
            } else {
                self.remove_log(domain as u32, log);
            }
            self.merge_mut(plane).keeps_log = false;
            if kind == MergeKind::Full {
                self.merge_mut(plane).erase.push((log, true));
            } else {
                let index = self.blocks.index(plane, log);
                self.blocks.blocks[index].state = State::Data;
                self.hybrid_mut().instances[domain].logs -= 1;
            }
        }
        if also {
            self.hybrid_mut().instances[domain].sequential = NONE;
            self.merge_mut(plane).erase.push((sequential, true));
        }
        let state = &mut self.hybrid_mut().logical[logical as usize];
        let old = std::mem::replace(&mut state.data, target);
        state.log = NONE;
        if old != NONE {
            self.merge_mut(plane).erase.push((old, false));
        }
        self.merge_mut(plane).current += 1;
        if !self.without_time {
            self.collected.merges[kind as usize] += 1;
        }
    }

    /// Erases the next block that is left over.
    pub(crate) fn erase_next(&mut self, plane: u32) {
        let Some(&(block, _)) = self.merge(plane).erase.last() else { return self.after_erase(plane) };
        let index = self.blocks.index(plane, block);
        if self.blocks.blocks[index].bases > 0 && !self.makes(FlashFault::CommitLogOnly) {
            // A discard has left a page that recovery needs: it is committed as the others were.
            self.block_units(plane, false);
            return self.commit_or_go_on(plane);
        }
        self.blocks.blocks[index].state = State::Victim;
        if self.blocks.blocks[index].reads > 0 && !self.makes(FlashFault::EraseUnderRead) {
            self.collections[plane as usize].stage = Stage::Reads;
            self.block_units(plane, false);
            return;
        }
        self.collections[plane as usize].stage = Stage::Erasing;
        self.collection_work(plane, Work::Erase, self.first_ppn(index).0);
    }

    /// A block that was left over is erased.
    pub(crate) fn merge_erased<O: Observer>(&mut self, plane: u32, observer: &mut O) {
        self.erased_block(plane, observer);
        self.erase_next(plane);
    }

    fn erased_block<O: Observer>(&mut self, plane: u32, observer: &mut O) {
        let (block, is_log) = self.merge_mut(plane).erase.pop().expect("it was erased");
        let domain = self.domain_of_merge(plane);
        self.hybrid_mut().instances[domain].logs -= u32::from(is_log);
        let index = self.blocks.index(plane, block);
        let first = self.first_ppn(index);
        observer.erased(first, self.pages_per_block);
        if self.has_failures() {
            self.faults.readable_again(first, self.pages_per_block);
        }
        if !self.makes(FlashFault::KeepTaken) {
            self.hybrid_mut().forget_block(index);
        }
        self.blocks.erased(plane, block);
    }

    /// Nothing is left to be erased: the next logical block, or the log block that they shared, or the end.
    fn after_erase(&mut self, plane: u32) {
        let Merge { logicals, current, keeps_log, .. } = self.merge(plane);
        if *current < logicals.len() {
            return self.go_on_merging(plane);
        }
        if *keeps_log {
            self.give_log(plane);
            return self.erase_next(plane);
        }
        self.collected.collections += 1;
        self.collected.time_ns += self.now_ns - self.collections[plane as usize].since_ns;
        self.end_merge(plane);
        self.block_units(plane, false);
        self.wake(self.domain_of_plane(plane));
        while let Some(left) = self.hybrid_mut().left.pop() {
            self.wake(left);
        }
    }

    /// No page of the shared log block is valid any more.
    fn give_log(&mut self, plane: u32) {
        let log = self.collections[plane as usize].victim;
        self.remove_log(self.domain_of_plane(plane), log);
        let merge = self.merge_mut(plane);
        merge.keeps_log = false;
        merge.erase.push((log, true));
    }

    // ---- without time ----

    /// Programs and commits a page at once (`place_now`), after what merges that takes.
    pub(crate) fn place_merging<O: Observer>(
        &mut self,
        domain: u32,
        address: MemberPage,
        version: Version,
        keep_base: bool,
        observer: &mut O,
    ) -> (u32, Ppn) {
        while !self.promise(self.slot(address)) {
            let plane = self.domains[domain as usize].plane;
            assert!(self.is_collecting(plane), "plane {plane} has no space and nothing to merge");
            self.merge_now(plane, observer);
        }
        self.programmed_now += 1;
        self.place_in(domain, address, version, keep_base)
    }

    /// Does the merge that was begun at once. There must be no semivalid page in its way.
    pub(crate) fn merge_now<O: Observer>(&mut self, plane: u32, observer: &mut O) {
        self.victims_now += 1;
        self.merge_mut(plane).begun = true;
        loop {
            while self.merge(plane).current < self.merge(plane).logicals.len() {
                self.prepare_logical(plane);
                while let Some(from) = self.next_copy(plane) {
                    let to = self.merge_page(plane);
                    self.switch_moved(from, to, observer);
                    self.programmed_now += 1;
                }
                self.logical_merged(plane);
                self.erase_now(plane, observer);
            }
            if !self.merge(plane).keeps_log {
                break;
            }
            self.give_log(plane);
            self.erase_now(plane, observer);
        }
        self.end_merge(plane);
    }

    fn erase_now<O: Observer>(&mut self, plane: u32, observer: &mut O) {
        while !self.merge(plane).erase.is_empty() {
            self.erased_block(plane, observer);
        }
    }
}
