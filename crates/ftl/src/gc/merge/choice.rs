//! Which log block is merged, and when.

use super::Merging;
use crate::gc::state::Next;
use crate::mapping::hybrid::Spot;
use crate::space::blocks::NONE;
use crate::{FlashFault, GcQuery};
use flashraid_vocabulary::{MemberId, MemberPage, Ppn, Version};

impl Merging<'_> {
    /// Starts the merge that frees space for a page in this plane, unless one runs or what it takes is in use.
    pub(crate) fn start_for(&mut self, plane: u32, Spot { domain, logical, offset }: Spot) -> Next {
        if self.gc.is_collecting(plane) || !self.gc.is_collectable() {
            return Next::Waits;
        }
        let hybrid = &self.hybrid;
        let own = match hybrid.shared {
            false => hybrid.logical[logical as usize].log,
            true if offset == 0 => hybrid.instances[domain as usize].sequential,
            true => NONE,
        };
        let member = MemberId(self.nand.member_of_lun(self.nand.places().lun_of_plane(plane)).expect("an instance has a member") as u16);
        if own != NONE {
            let owner = hybrid.owner[self.index(plane, own)];
            return if hybrid.logical[owner as usize].active == 0 { self.begin(plane, own) } else { Next::Waits };
        }
        let weighs_commits = self.store.space.settings.commit_aware && !hybrid.shared;
        if weighs_commits && self.store.maps.held(member).bases > 0 && !self.gc.is_untimed {
            self.store.space.news.ask(GcQuery::Victim(plane));
            return Next::Waits;
        }
        self.merge_cheapest(plane, &|_| (0, 0))
    }

    /// Merges a log block: the least recently used one; if commits count, the cheapest one, by the copies and commits of its merge; under FAST
    /// the oldest. Only those of inactive logical blocks.
    pub(crate) fn merge_cheapest(&mut self, plane: u32, commit_cost: &dyn Fn(MemberPage) -> (u32, u32)) -> Next {
        let weighs_commits = self.store.space.settings.commit_aware && !self.hybrid.shared;
        let mut log = self.hybrid.instances[self.domain_of(plane)].oldest;
        let mut best: Option<(u64, u16)> = None;
        while log != NONE {
            if self.may_merge(plane, log) {
                let cost_ns = if weighs_commits { self.cost_ns(plane, log, commit_cost) } else { 0 };
                if best.is_none_or(|(least, _)| cost_ns < least) {
                    best = Some((cost_ns, log));
                }
                if cost_ns == 0 {
                    break;
                }
            }
            log = self.store.space.blocks.blocks[self.index(plane, log)].next;
        }
        best.map_or(Next::Waits, |(_, log)| self.begin(plane, log))
    }

    fn may_merge(&self, plane: u32, log: u16) -> bool {
        let index = self.index(plane, log);
        let is_active = |logical: u32| self.hybrid.logical[logical as usize].active > 0 && !self.nand.makes(FlashFault::MergeActive);
        if !self.hybrid.shared {
            return !is_active(self.hybrid.owner[index]);
        }
        let entry = &self.store.space.blocks.blocks[index];
        entry.written == self.store.space.shape.pages_per_block && entry.pending == 0 && !self.logicals_in(index).any(is_active)
    }

    /// Logical blocks of the valid pages of a log block, page by page.
    pub(super) fn logicals_in(&self, block: usize) -> impl Iterator<Item = u32> {
        let space = &self.store.space;
        let (first, entry) = (space.shape.first_ppn(block).0, &space.blocks.blocks[block]);
        let live = (first..first + entry.written).filter_map(|ppn| self.store.maps.live(Ppn(ppn)));
        live.filter(|(version, _)| *version == Version::Current).map(|(_, slot)| self.hybrid.logical_of(slot, space))
    }

    pub(super) fn is_in_order(&self, plane: u32, log: u16) -> bool {
        let index = self.index(plane, log);
        let entry = &self.store.space.blocks.blocks[index];
        self.hybrid.in_order[index] && entry.bases == 0 && entry.live == entry.written && entry.written > 0
    }

    fn cost_ns(&self, plane: u32, log: u16, commit_cost: &dyn Fn(MemberPage) -> (u32, u32)) -> u64 {
        let owner = self.hybrid.owner[self.index(plane, log)];
        let data = self.hybrid.logical[owner as usize].data;
        let valid = |block: u16| self.store.space.blocks.blocks[self.index(plane, block)].to_move();
        let copies = valid(data) + if self.is_in_order(plane, log) { 0 } else { valid(log) };
        let cost_ns = |(reads, programs): (u32, u32)| self.store.space.settings.cell.mean_cost_ns(reads.into(), programs.into());
        let bases = [data, log].into_iter().flat_map(|block| self.store.bases_in(plane, block));
        cost_ns((copies, copies)) + bases.map(|slot| cost_ns(commit_cost(self.store.maps.address(slot)))).sum::<u64>()
    }
}
