//! What becomes of blocks when pages of them are settled, superseded or lost, and what is due then.

use super::Space;
use super::blocks::{Block, BlockState, TakenOf};
use super::streams::WriteStream;
use flashraid_nand::Nand;
use flashraid_vocabulary::{NIL, Ppn, WearLeveling};

/// What is to be looked at after a change of blocks, by who can start work: the change itself starts none.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Nothing.
    Nothing,
    /// Whether this plane has to be collected: something there became garbage, or cannot be programmed any more.
    Collection(u32),
    /// Whether this plane has to be collected after a program into it, so that a program starts at most one GC run.
    Program(u32),
    /// Whether a doomed block of this plane can be emptied.
    Draining(u32),
}

impl Space {
    // ---- pages ----

    /// A program of the page starts.
    #[inline]
    pub(crate) fn note_program(&self, nand: &mut Nand, ppn: Ppn) {
        let now_ns = nand.now_ns();
        if let Some(levels) = nand.levels_mut() {
            let block = self.shape.block_of(ppn);
            let first = self.blocks.first_offset(self.shape.plane_of(ppn));
            if ppn.0 == self.shape.first_ppn(block).0 + first {
                levels.note_first_program(block, now_ns);
            }
        }
    }

    /// A programmed page of the block is pending no more; a full block without pending pages can become a victim.
    #[inline]
    pub(crate) fn settle(&mut self, block: usize) -> Due {
        let entry = &mut self.blocks.blocks[block];
        entry.pending -= 1;
        if entry.pending == 0 && matches!(entry.state, BlockState::Closed | BlockState::Doomed) {
            return self.list(block);
        }
        Due::Nothing
    }

    /// A page of the block, which others keep pending, is garbage from the start.
    pub(crate) fn settle_padding(&mut self, ppn: Ppn) {
        let entry = &mut self.blocks.blocks[self.shape.block_of(ppn)];
        entry.pending -= 1;
        debug_assert!(entry.pending > 0, "its flash page is in the memory");
    }

    /// The block, which is full, can be a victim from now on; or it is emptied, if a program in it has failed.
    pub(crate) fn list(&mut self, block: usize) -> Due {
        let (plane, number) = self.blocks.place(block);
        if self.blocks.blocks[block].state == BlockState::Doomed {
            return Due::Draining(plane);
        }
        if self.blocks.is_slc(block) {
            self.blocks.note_full_slc(plane, number);
            return Due::Collection(plane);
        }
        self.victims.close(plane, number, self.blocks.of_plane(plane));
        if self.settings.given.wear_leveling == WearLeveling::Static {
            self.cold.note(plane, number, &self.blocks);
        }
        Due::Collection(plane)
    }

    /// A live page becomes garbage.
    #[inline(always)]
    pub(crate) fn invalidate(&mut self, ppn: Ppn) -> Due {
        let block = self.shape.block_of(ppn);
        let entry = &mut self.blocks.blocks[block];
        if !entry.listed {
            if ppn != self.lost {
                entry.live -= 1;
            }
            return Due::Nothing;
        }
        let (plane, number) = self.blocks.place(block);
        self.victims.change(plane, number, self.blocks.of_plane(plane), |block| block.live -= 1);
        Due::Collection(plane)
    }

    /// A page of the block became a base, or is one no more. Only who commits bases needs to know.
    #[inline]
    pub(crate) fn count_base(&mut self, ppn: Ppn, change: i32) -> Due {
        if self.settings.moves_bases || ppn == self.lost {
            return Due::Nothing;
        }
        let block = self.shape.block_of(ppn);
        let (plane, number) = self.blocks.place(block);
        let count = |block: &mut Block| block.bases = block.bases.wrapping_add_signed(change);
        if !self.blocks.blocks[block].listed {
            count(&mut self.blocks.blocks[block]);
            return Due::Nothing;
        }
        self.victims.change(plane, number, self.blocks.of_plane(plane), count);
        // One page less to move. (Of a base that goes the page is still to be counted off.)
        if change > 0 { Due::Collection(plane) } else { Due::Nothing }
    }

    /// A live page is at another place now: the block that it was in has one less, and the other one more.
    pub(crate) fn count_moved(&mut self, from: usize, to: usize, is_base: bool) {
        let bases = u32::from(is_base && !self.settings.moves_bases);
        let old = &mut self.blocks.blocks[from];
        old.live -= 1;
        old.bases -= bases;
        let new = &mut self.blocks.blocks[to];
        new.live += 1;
        new.bases += bases;
    }

    // ---- pages for what GC moves ----

    /// Takes the next page of one of the plane's GC streams. There always is one, unless failures took from what is kept for that (`is_scarce`). For a block that is
    /// retired in the end (`retires`) there may be none either: it gives nothing back, so what is taken for its pages is no loan, and leaves the reserve alone.
    pub(crate) fn take_move_page(
        &mut self,
        nand: &mut Nand,
        plane: u32,
        stream: WriteStream,
        is_scarce: bool,
        retires: bool,
    ) -> Option<Ppn> {
        let TakenOf { block, offset, .. } = match is_scarce {
            false => self.blocks.take(plane, stream),
            true => self.take_scarce_move_page(nand, plane, stream, retires)?,
        };
        Some(Ppn(block as u32 * self.shape.pages_per_block + offset))
    }

    #[cold]
    fn take_scarce_move_page(&mut self, nand: &mut Nand, plane: u32, stream: WriteStream, retires: bool) -> Option<TakenOf> {
        let needed = if retires { self.settings.given.gc_reserve_blocks } else { 1 };
        if self.blocks.left(plane, stream) == 0 && self.blocks.planes[plane as usize].free_blocks < needed {
            return None;
        }
        Some(self.change_space(nand, plane, |blocks| {
            let debt = blocks.planes[plane as usize].debt;
            let taken = blocks.take(plane, stream);
            if retires {
                blocks.planes[plane as usize].debt = debt;
            }
            taken
        }))
    }

    // ---- blocks ----

    /// GC's run ends without an erase: the loan of its plane is none any more.
    pub(crate) fn forget_loan(&mut self, nand: &mut Nand, plane: u32) {
        self.change_space(nand, plane, |blocks| blocks.planes[plane as usize].debt = false);
    }

    /// A block of a superblock, of which this is a page, was erased.
    pub(crate) fn lane_erased(&mut self, ppn: Ppn) {
        let Self { shape, blocks, news, .. } = self;
        let index = shape.block_of(ppn) * shape.lanes as usize + shape.lane_of(ppn) as usize;
        blocks.note_slc_erased(shape.block_of(ppn));
        blocks.lane_erases.as_mut().expect("blocks have lanes").counts[index] += 1;
        blocks.total_erases += 1;
        if blocks.total_erases == blocks.endurance {
            news.wear_out();
        }
    }

    /// The block takes no more programs.
    pub(crate) fn close(&mut self, nand: &mut Nand, plane: u32, number: u16, state: BlockState) {
        self.unlist(plane, number);
        self.change_space(nand, plane, |blocks| blocks.close(plane, number, state));
    }

    /// All blocks of the plane are out of use.
    pub(crate) fn close_plane(&mut self, nand: &mut Nand, plane: u32) {
        let (blocks, domain) = (self.blocks.planes[plane as usize].blocks, self.domain_of_plane(plane));
        (0..blocks as u16).for_each(|number| self.unlist(plane, number));
        self.blocks.planes[plane as usize].dead = true;
        if domain != NIL {
            self.domains[domain as usize].living_planes -= u32::from(blocks > 0);
        }
        self.change_space(nand, plane, |all| (0..blocks as u16).for_each(|number| all.close(plane, number, BlockState::Retired)));
    }

    /// Pages that failures have driven out of their places are looked at anew: none waits in a domain. Returns the domains in which some have waited.
    pub(crate) fn forget_rescues(&mut self) -> Vec<u32> {
        let waited = (0..).zip(&self.domains).filter(|(_, domain)| domain.to_rescue > 0).map(|(id, _)| id).collect();
        self.domains.iter_mut().for_each(|domain| domain.to_rescue = 0);
        waited
    }

    /// So many pages of the domain are to become padding before others are reserved.
    pub(crate) fn owe_padding(&mut self, domain: u32, pages: u32) {
        let owed = std::mem::replace(&mut self.domains[domain as usize].owed, pages.into());
        if owed > 0 && pages == 0 {
            self.news.free(domain);
        }
    }

    /// A plane of a spare chip takes the place of one of a chip that is dead.
    pub(crate) fn replace_plane(&mut self, nand: &mut Nand, old: u32, new: u32) {
        let id = self.domain_of_plane(old);
        self.domain_of_plane[new as usize] = id;
        let domain = &mut self.domains[id as usize];
        if domain.plane == old {
            domain.plane = new;
        }
        self.blocks.total_erases = self.blocks.total_erases - self.blocks.erases_of_plane(old) + self.blocks.erases_of_plane(new);
        self.domain_of_plane[old as usize] = NIL;
        self.blocks.set_in_use(old, false);
        self.join_domain(nand, new);
        self.news.free(id);
    }
}
