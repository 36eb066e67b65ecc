//! Which log block is merged, and when.

use crate::mapping::hybrid::Spot;
use crate::space::blocks::NONE;
use crate::{Flash, FlashFault, GcQuery};
use flashraid_vocabulary::{MemberId, MemberPage, Ppn, Version};

impl Flash {
    /// Starts the merge that frees space for a page, unless one runs or what it takes is in use.
    pub(crate) fn start_merge_for(&mut self, Spot { domain, logical, offset }: Spot) {
        let plane = self.space.domains[domain as usize].plane;
        if self.is_collecting(plane) || !self.is_collectable() {
            return;
        }
        let hybrid = self.hybrid();
        let own = match hybrid.shared {
            false => hybrid.logical[logical as usize].log,
            true if offset == 0 => hybrid.instances[domain as usize].sequential,
            true => NONE,
        };
        let member = MemberId(self.nand.member_of_lun(self.nand.lun_of_plane(plane)).expect("an instance has a member") as u16);
        if own != NONE {
            let owner = hybrid.owner[self.space.blocks.index(plane, own)];
            if hybrid.logical[owner as usize].active == 0 {
                self.begin_merge(plane, own);
            }
        } else if self.settings.commit_aware && !hybrid.shared && self.held(member).bases > 0 && !self.untimed.is_on {
            let query = GcQuery::Victim(plane);
            if !self.gc.queries.contains(&query) {
                self.gc.queries.push(query);
            }
        } else {
            self.choose_log(plane, &|_| (0, 0));
        }
    }

    /// Merges a log block: the least recently used one; if commits count, the cheapest one, by the copies and commits of its merge; under FAST
    /// the oldest. Only those of inactive logical blocks.
    pub(in crate::gc) fn choose_log(&mut self, plane: u32, commit_cost: &dyn Fn(MemberPage) -> (u32, u32)) {
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
            log = self.space.blocks.blocks[self.space.blocks.index(plane, log)].next;
        }
        if let Some((_, log)) = best {
            self.begin_merge(plane, log);
        }
    }

    fn may_merge(&self, plane: u32, log: u16) -> bool {
        let index = self.space.blocks.index(plane, log);
        let is_active = |logical: u32| self.hybrid().logical[logical as usize].active > 0 && !self.nand.makes(FlashFault::MergeActive);
        if !self.hybrid().shared {
            return !is_active(self.hybrid().owner[index]);
        }
        let entry = &self.space.blocks.blocks[index];
        u32::from(entry.written) == self.shape.pages_per_block && entry.pending == 0 && !self.logicals_in(index).any(is_active)
    }

    /// Logical blocks of the valid pages of a log block, page by page.
    pub(super) fn logicals_in(&self, block: usize) -> impl Iterator<Item = u32> {
        let (first, entry) = (self.shape.first_ppn(block).0, &self.space.blocks.blocks[block]);
        let live = (first..first + u32::from(entry.written)).filter_map(|ppn| self.maps.live(Ppn(ppn)));
        live.filter(|(version, _)| *version == Version::Current).map(|(_, slot)| self.logical_of(slot))
    }

    pub(super) fn is_in_order(&self, plane: u32, log: u16) -> bool {
        let index = self.space.blocks.index(plane, log);
        let entry = &self.space.blocks.blocks[index];
        self.hybrid().in_order[index] && entry.bases == 0 && entry.live == entry.written && entry.written > 0
    }

    fn merge_cost_ns(&self, plane: u32, log: u16, commit_cost: &dyn Fn(MemberPage) -> (u32, u32)) -> u64 {
        let owner = self.hybrid().owner[self.space.blocks.index(plane, log)];
        let data = self.hybrid().logical[owner as usize].data;
        let valid = |block: u16| {
            let entry = &self.space.blocks.blocks[self.space.blocks.index(plane, block)];
            u32::from(entry.live - entry.bases)
        };
        let copies = valid(data) + if self.is_in_order(plane, log) { 0 } else { valid(log) };
        let cost_ns = |(reads, programs): (u32, u32)| self.settings.cell.mean_cost_ns(reads.into(), programs.into());
        let bases = [data, log].into_iter().flat_map(|block| self.bases_in(plane, block));
        cost_ns((copies, copies)) + bases.map(|slot| cost_ns(commit_cost(self.address(slot)))).sum::<u64>()
    }
}
