//! What pages hold: which physical page each version is, which pages of blocks are live, and what is lost. Maps and blocks are kept in step here.
//!
//! Nothing here starts work: who changes something is told what is due (`Due`).

use crate::GcQuery;
use crate::faults::{Faults, Parts};
use crate::mapping::maps::{Maps, Superseded};
use crate::memory::{Memory, TakenPage};
use crate::space::Space;
use crate::space::blocks::BlockState;
use crate::space::changes::Due;
use flashraid_nand::{CellOperation, NEVER, Nand, Record, WorkKind};
use flashraid_vocabulary::{Action, Cause, MemberId, MemberPage, NIL, PageOperation, Ppn, Priority, Sources, Transfer, Version, memory};

/// See the module.
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) maps: Maps,
    pub(crate) space: Space,
    pub(crate) faults: Faults,
    /// The memory of pages that wait for their flash page, if that has several.
    pub(crate) memory: Option<Box<Memory>>,
}

impl Store {
    // ---- what is where ----

    /// Free space, and how full and worn it is.
    #[inline]
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Free space.
    #[inline]
    pub fn space_mut(&mut self) -> &mut Space {
        &mut self.space
    }

    /// Which physical page each version names.
    #[inline]
    pub fn maps(&self) -> &Maps {
        &self.maps
    }

    /// The physical page of a version: only to label contents and to check them.
    #[inline]
    pub fn lookup(&self, address: MemberPage, version: Version) -> Option<Ppn> {
        self.maps.lookup(address, version)
    }

    /// `LoadView::busy_ns_at` at this time: until what the LUN of the version does now next changes its state, and for a page read, with its transfer, for each page
    /// operation queued at it (programs that any LUN may take wait elsewhere).
    pub fn busy_ns_at(&self, address: MemberPage, version: Version, now_ns: u64, nand: &Nand) -> u64 {
        let Some(ppn) = self.lookup(address, version) else { return 0 };
        let (id, settings) = (nand.places().lun_of(ppn), nand.settings());
        let read_ns = settings.read_command_ns + settings.cell.mean_ns(CellOperation::Read) + settings.page_transfer_ns();
        let left_ns = match nand.lun_event_ns(id) {
            NEVER => 0,
            time_ns => time_ns - now_ns,
        };
        left_ns + u64::from(nand.luns()[id as usize].queued()) * read_ns
    }

    /// Slots of the semivalid pages of a block.
    pub(crate) fn bases_in(&self, plane: u32, number: u16) -> impl Iterator<Item = u32> {
        let (space, block) = (&self.space, self.space.blocks.index(plane, number));
        let (first, count) = (space.shape.first_ppn(block).0, space.blocks.blocks[block].bases as usize);
        let live = (first..first + space.shape.pages_per_block).filter_map(|ppn| self.maps.live(Ppn(ppn)));
        live.filter(|(version, _)| *version == Version::Base).map(|(_, slot)| slot).take(count)
    }

    /// GC asks about the semivalid pages of a block, in order. Returns how many these are.
    pub(crate) fn ask_about_bases(&mut self, plane: u32, number: u16) -> u32 {
        let mut queries = self.space.news.lend_queries();
        let before = queries.len();
        queries.extend(self.bases_in(plane, number).map(|slot| GcQuery::Semivalid(plane, self.maps.address(slot))));
        queries[before..].reverse(); // the last is taken first
        let asked = queries.len() - before;
        self.space.news.give_back_queries(queries);
        asked as u32
    }

    /// The plane's cheapest block to collect, if any frees enough. `commit_cost` says how many pages the commit of a semivalid page's stripe reads and
    /// programs; a block has no two pages of one stripe. Of equally cheap ones, blocks without semivalid pages come first, then those that have had some for
    /// longest.
    pub(crate) fn cheapest_victim(&mut self, plane: u32, commit_cost: &dyn Fn(MemberPage) -> (u32, u32)) -> Option<u16> {
        let best = self.space.victim(plane);
        let space = &self.space;
        let cost_ns = |reads: u32, programs: u32| space.settings.cell.mean_cost_ns(reads.into(), programs.into());
        let block_of = |number: u16| space.blocks.blocks[space.blocks.index(plane, number)];
        let unpinned = best.map(|number| (block_of(number).live, number));
        let unpinned = unpinned.filter(|(live, _)| space.frees_enough(plane, *live));
        let mut best = unpinned.map(|(live, number)| (cost_ns(live, live), number));
        for &number in space.victims.pinned(plane) {
            let moves = block_of(number).to_move();
            if !space.frees_enough(plane, moves) {
                continue;
            }
            let mut cost = cost_ns(moves, moves);
            for slot in self.bases_in(plane, number) {
                if best.is_some_and(|(least, _)| cost >= least) {
                    break;
                }
                let (reads, programs) = commit_cost(self.maps.address(slot));
                cost += cost_ns(reads, programs);
            }
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, number));
            }
        }
        best.map(|(_, victim)| victim)
    }

    // ---- what is lost ----

    /// Whether anything has failed since the device was new.
    #[inline]
    pub fn has_failures(&self) -> bool {
        self.faults.any
    }

    /// Whether the page can be read no more. For programmed pages.
    pub fn is_lost_page(&self, ppn: Ppn) -> bool {
        self.faults.is_lost_place(ppn, &self.space) && !self.memory.as_ref().is_some_and(|memory| memory.holds(ppn))
    }

    /// Whether the page has this version, and it can be read no more.
    #[inline]
    pub fn is_lost(&self, address: MemberPage, version: Version) -> bool {
        self.faults.any && self.lookup(address, version).is_some_and(|ppn| self.is_lost_page(ppn))
    }

    /// Whether the page stands for versions that could not be allocated.
    pub fn is_unplaced_page(&self, ppn: Ppn) -> bool {
        ppn == self.space.lost
    }

    /// Whether a loss of power takes the page: the memory holds it alone, and is not protected.
    pub fn is_at_risk(&self, ppn: Ppn) -> bool {
        self.memory.as_ref().is_some_and(|memory| memory.is_at_risk(ppn))
    }

    /// Versions of the member's pages, translation pages included, that are lost. Looks at all that are written.
    pub fn lost_versions(&self, member: MemberId) -> u64 {
        let settings = &self.space.settings;
        let pages = if self.faults.any { settings.pages_per_member + settings.translation_pages } else { 0 };
        let versions = [Version::Current, Version::Base, Version::Copy];
        let lost = |page: u32| versions.iter().filter(|version| self.is_lost(MemberPage::new(member.0, page), **version)).count() as u64;
        let next = |page: u32| self.maps.next_written_page(page).filter(|page| *page < pages);
        std::iter::successors(next(0), |page| next(page + 1)).map(lost).sum()
    }

    /// Whether failures have taken pages of the domain for good.
    pub fn domain_has_losses(&self, domain: u32) -> bool {
        self.faults.any && self.space.has_losses(domain)
    }

    /// Pages of padding so far.
    pub fn padded(&self) -> u64 {
        self.memory.as_ref().map_or(0, |memory| memory.padded())
    }

    /// Flash pages given up so far that the memory held: there was nowhere to program them, and a flush waited for them.
    pub fn given_up(&self) -> u64 {
        self.memory.as_ref().map_or(0, |memory| memory.given_up())
    }

    /// Takes a version of a page that was found to be lost since this was last asked.
    pub fn take_unreadable(&mut self) -> Option<(MemberPage, Version)> {
        self.faults.untold.pop()
    }

    // ---- programs ----

    /// The record of a program that is not submitted yet.
    #[inline]
    pub(crate) fn program_record(&self, operation: &PageOperation, owner: u32, now_ns: u64) -> Record {
        let settings = &self.space.settings;
        Record {
            next: NIL,
            slot: self.maps.slot(operation.address),
            ppn: NIL,
            owner,
            lun: NIL,
            plane: NIL,
            domain: NIL,
            bytes: if settings.given.transfer == Transfer::Page { settings.geometry.page_bytes } else { operation.bytes },
            submitted_ns: now_ns,
            member: operation.address.member.0 as u8,
            stream: if operation.stream < self.space.blocks.stream_count() { operation.stream } else { 0 },
            work: WorkKind::Program,
            cause: operation.cause,
            priority: operation.priority,
            version: operation.version,
            keep_base: operation.keep_base,
            host_waits: operation.host_waits,
        }
    }

    /// The inverse, as far as is kept of it.
    pub fn program_of(&self, record: &Record) -> PageOperation {
        let Record { slot, version, cause, priority, host_waits, keep_base, bytes, stream, .. } = *record;
        let (address, sources, strip) = (self.maps.address(slot), Sources::default(), PageOperation::NO_STRIP);
        PageOperation { action: Action::Program, version, cause, priority, host_waits, keep_base, address, bytes, sources, strip, stream }
    }

    /// Whether the version that a program makes will be lost: it has failed for good, and may end all the same.
    pub fn is_unallocated(&self, program: &Record) -> bool {
        program.ppn == self.space.lost.0
    }

    /// Whether a program has ended, and its page is lost since then.
    pub fn has_lost_its_page(&self, program: &Record) -> bool {
        program.ppn != NIL && !self.is_unallocated(program) && self.is_lost_page(Ppn(program.ppn))
    }

    // ---- changes of versions ----

    /// The version is `ppn` now; what it named before becomes garbage, or the base.
    #[inline(always)]
    pub(crate) fn supersede(&mut self, version: Version, slot: u32, ppn: Ppn, keep_base: bool) -> Due {
        match self.maps.supersede(version, slot, ppn, keep_base) {
            Superseded::Nothing => Due::Nothing,
            Superseded::Garbage(old) => self.space.invalidate(old),
            Superseded::Base(old) => self.space.count_base(old, 1),
        }
    }

    /// The version names nothing any more. Returns what it named.
    pub(crate) fn clear(&mut self, address: MemberPage, version: Version) -> Option<(Ppn, Due)> {
        let old = self.maps.clear(version, self.maps.slot(address))?;
        if version == Version::Base {
            let due = self.space.count_base(old, -1);
            debug_assert_eq!(due, Due::Nothing);
        }
        Some((old, self.space.invalidate(old)))
    }

    /// The page has no current version any more: it becomes the base, if there is none.
    pub(crate) fn retire(&mut self, address: MemberPage) -> Due {
        let slot = self.maps.slot(address);
        if self.maps.get(Version::Base, slot).is_some() {
            return self.clear(address, Version::Current).map_or(Due::Nothing, |(_, due)| due);
        }
        let Some(old) = self.maps.clear(Version::Current, slot) else { return Due::Nothing };
        self.maps.becomes_base(slot, old);
        self.space.count_base(old, 1)
    }

    /// The current version of the page is lost: it counts as written, and can be read no more.
    pub(crate) fn lose(&mut self, address: MemberPage) -> Due {
        self.faults.any = true;
        let old = self.maps.set(Version::Current, self.maps.slot(address), self.space.lost);
        old.map_or(Due::Nothing, |old| self.space.invalidate(old))
    }

    /// The content of `from` is at `to` now: the map follows if it still names the old page. Returns which version that is.
    pub(crate) fn follow_move(&mut self, from: Ppn, to: Ppn) -> Option<(Version, u32)> {
        let (version, slot) = self.maps.live(from)?;
        self.maps.set(version, slot, to);
        self.maps.label(to, version, slot);
        let shape = &self.space.shape;
        self.space.count_moved(shape.block_of(from), shape.block_of(to), version == Version::Base);
        Some((version, slot))
    }

    /// A deliberate fault: the map names the new page even if it had named another one than the old page meanwhile.
    pub(crate) fn follow_stale_move(&mut self, from: Ppn, to: Ppn) {
        if self.maps.live(from).is_some() {
            return;
        }
        let (version, slot) = self.maps.labeled(from);
        if let Some(newer) = self.maps.get(version, slot) {
            let _ = self.space.invalidate(newer);
            self.maps.set(version, slot, to);
            self.maps.label(to, version, slot);
            self.space.blocks.blocks[self.space.shape.block_of(to)].live += 1;
        }
    }

    /// A live page cannot be read, so that it cannot be moved: its version is lost for good.
    #[cold]
    pub(crate) fn give_up(&mut self, ppn: Ppn) -> (Version, u32) {
        let (version, slot) = self.maps.live(ppn).expect("a live page");
        self.maps.set(version, slot, self.space.lost);
        // What is due is looked at by who gives up pages: a GC run, or what loses a part.
        if version == Version::Base {
            let _ = self.space.count_base(ppn, -1);
        }
        let _ = self.space.invalidate(ppn);
        (version, slot)
    }

    /// Of every version that a dead SSD held, nothing is left on this one, which is erased and takes its place, and pages reserved there are reserved here.
    /// Looks at all pages.
    pub fn take_over(&mut self, dead: &mut Store) {
        debug_assert!(self.space.domains.len() == dead.space.domains.len());
        self.faults.any = true;
        let pages = self.space.settings.pages_per_member.min(dead.space.settings.pages_per_member);
        for slot in 0..pages * self.space.members {
            for version in [Version::Current, Version::Base].into_iter().filter(|version| dead.maps.get(*version, slot).is_some()) {
                self.maps.inherit_loss(version, slot, self.space.lost);
            }
        }
        for (new, old) in self.space.domains.iter_mut().zip(&mut dead.space.domains) {
            new.reserved += std::mem::take(&mut old.reserved);
        }
    }

    // ---- changes of blocks ----

    /// Whether a page operation of a plan that ends now has failed, and what is due then.
    #[cold]
    pub(crate) fn has_failed(&mut self, operation: Record, nand: &mut Nand) -> (bool, Due) {
        let Record { work, ppn, .. } = operation;
        if self.is_lost_page(Ppn(ppn)) {
            return (true, Due::Nothing);
        }
        if work != WorkKind::Program || !self.fails_now(work, Ppn(ppn), nand) {
            return (false, Due::Nothing);
        }
        (true, self.doom(self.space.shape.block_of(Ppn(ppn)), nand))
    }

    /// Whether a program or erase of this page is to fail now; each fault happens once.
    pub(crate) fn fails_now(&mut self, work: WorkKind, ppn: Ppn, nand: &Nand) -> bool {
        self.faults.fails_now(work, ppn, &Parts { space: &self.space, nand })
    }

    /// A program in the block has failed: it takes no more, and is retired once its live pages are moved.
    pub(crate) fn doom(&mut self, block: usize, nand: &mut Nand) -> Due {
        let (plane, number) = self.space.blocks.place(block);
        if !matches!(self.space.blocks.blocks[block].state, BlockState::Open | BlockState::Closed) {
            return Due::Nothing;
        }
        self.space.close(nand, plane, number, BlockState::Doomed);
        self.lose_places(block..block + 1, false, nand);
        self.faults.doomed.push((plane, number));
        // Its last pages for host programs may have gone with the block.
        Due::Collection(plane)
    }

    /// The block takes no more programs until it is erased. Returns whether it took any.
    pub(crate) fn seal(&mut self, block: usize, nand: &mut Nand) -> bool {
        let (plane, number) = self.space.blocks.place(block);
        let is_open = self.space.blocks.blocks[block].state == BlockState::Open;
        if is_open {
            self.space.close(nand, plane, number, BlockState::Closed);
            self.lose_places(block..block + 1, false, nand);
        }
        is_open
    }

    /// The block is out of use for good, and what it holds is lost. Returns what it was.
    pub(crate) fn retire_block(&mut self, plane: u32, number: u16, nand: &mut Nand) -> BlockState {
        let block = self.space.blocks.index(plane, number);
        let state = self.space.blocks.blocks[block].state;
        if state == BlockState::Retired {
            return state;
        }
        self.space.close(nand, plane, number, BlockState::Retired);
        self.lose_places(block..block + 1, true, nand);
        self.faults.note_gone(plane, 1, &self.space, nand);
        self.faults.doomed.retain(|doomed| *doomed != (plane, number));
        self.faults.readable_again(self.space.shape.first_ppn(block), self.space.shape.pages_per_block);
        self.space.set_threshold(plane);
        state
    }

    /// A doomed block of the plane that can be emptied, with space that nobody else needs.
    pub(crate) fn doomed_victim(&self, plane: u32) -> Option<u16> {
        let fits = |number: &u16| {
            let block = &self.space.blocks.blocks[self.space.blocks.index(plane, *number)];
            block.pending == 0 && block.live <= self.space.spare_move_pages(plane, *number)
        };
        self.faults.doomed_of(plane).find(fits)
    }

    /// A flash page of a lane of the block is lost.
    pub(crate) fn lose_flash_page(&mut self, block: usize, lane: u32, page: u32, nand: &mut Nand) {
        let Self { space, faults, memory, .. } = self;
        if space.blocks.blocks[block].state == BlockState::Retired {
            return;
        }
        let units = space.settings.units_per_page;
        let first = space.shape.page_of_lane(block, lane, page * units).0;
        faults.unreadable.extend(first..first + units);
        if let Some(memory) = memory {
            memory.lose_place(Ppn(first), space, nand);
        }
    }

    // ---- flash pages with several pages ----

    /// Whether the program of a flash page that ends now has failed, and what is due then.
    #[cold]
    pub(crate) fn has_failed_program_unit(&mut self, first: Ppn, nand: &mut Nand) -> (bool, Due) {
        let fails = self.fails_now(WorkKind::PageProgram, first, nand);
        let due = if fails { self.doom(self.space.shape.block_of(first), nand) } else { Due::Nothing };
        let has_failed = fails || self.faults.is_lost_place(first, &self.space);
        if has_failed {
            nand.note_failed();
        }
        (has_failed, due)
    }

    fn memory_and_space(&mut self) -> (&mut Memory, &mut Space) {
        (self.memory.as_mut().expect("flash pages have several pages"), &mut self.space)
    }

    /// Takes the next page of the domain's write point for a stream of the host.
    pub(crate) fn take_unit(&mut self, domain: u32, stream: u8, class: (Cause, Priority), is_untimed: bool, nand: &mut Nand) -> TakenPage {
        let (memory, space) = self.memory_and_space();
        memory.take_page((domain, stream), None, class, is_untimed, space, nand)
    }

    /// The memory does not hold a flash page any more.
    pub(crate) fn leave_memory(&mut self, first: Ppn) -> Due {
        let (memory, space) = self.memory_and_space();
        memory.leave(first, space)
    }

    /// The domain of the oldest open flash page, which is due to be padded, if it is still open; `wait_to_pad` must follow.
    pub(crate) fn take_deadline(&mut self) -> Option<u32> {
        self.memory_and_space().0.take_deadline()
    }

    /// Sets when a flash page is padded next.
    pub(crate) fn wait_to_pad(&mut self, nand: &mut Nand) {
        self.memory_and_space().0.wait_to_pad(nand);
    }

    /// Nothing is needed any more of a flash page that cannot be programmed, or it is given up.
    pub(crate) fn leave_place(&mut self, page: u32) -> Due {
        let (memory, _) = self.memory_and_space();
        let ((pages, _), leaves) = (memory.pages_of(page), memory.forget_place(page));
        let first = Ppn(pages.start);
        // Programs that have ended and not been committed must find that theirs is not there.
        self.faults.unreadable.extend(pages);
        if leaves { self.leave_memory(first) } else { Due::Nothing }
    }

    /// Flash pages that wait in the memory for space elsewhere, if any page of them does: none does any more.
    pub(crate) fn take_rescues(&mut self) -> Vec<u32> {
        let waits = !self.space.forget_rescues().is_empty();
        let Some(memory) = self.memory.as_mut().filter(|_| waits) else { return Vec::new() };
        memory.give_up_what_must_move()
    }

    /// Flash pages of these blocks cannot be programmed there: see `Memory::lose_places`.
    pub(crate) fn lose_places(&mut self, blocks: std::ops::Range<usize>, are_lost: bool, nand: &mut Nand) {
        if let Some(memory) = &mut self.memory {
            memory.lose_places(blocks, are_lost, &mut self.space, nand);
        }
    }

    /// The page is read no more, and so are the others of its flash page.
    pub(crate) fn lose_readability(&mut self, ppn: Ppn) {
        self.faults.any = true;
        // Whoever reads it at the same time finds the same.
        let units = self.space.settings.units_per_page;
        let first = ppn.0 - ppn.0 % units;
        for ppn in (first..first + units).map(Ppn) {
            if self.faults.unreadable.insert(ppn.0)
                && let Some((version, slot)) = self.maps.live(ppn)
            {
                self.faults.untold.push((self.maps.address(slot), version));
            }
        }
    }

    /// Whether pages of the block cannot be corrected as soon as they are programmed.
    pub(crate) fn is_too_worn_to_read(&self, block: usize, nand: &Nand) -> bool {
        nand.levels().is_some_and(|levels| levels.is_worn_out(block, self.space.blocks.erases[block]))
    }

    /// Whether the erase of a block retires it: a page of it was lost, as all pages of it would be.
    pub(crate) fn is_too_worn(&self, first: Ppn, nand: &Nand) -> bool {
        self.is_too_worn_to_read(self.space.shape.block_of(first), nand)
            && self.faults.unreadable.range(first.0..first.0 + self.space.shape.pages_per_block).next().is_some()
    }

    // ---- what will be touched next ----

    /// Asks the processor for what a request to this page will touch first.
    #[inline(always)]
    pub fn prefetch_map(&self, address: MemberPage) {
        let slot = self.maps.slot(address);
        self.maps.prefetch(slot);
        if self.keeps_versions() {
            self.maps.prefetch_base(slot);
        }
        if self.space.settings.given.mirror_chips > 0 {
            self.maps.prefetch_copy(slot);
        }
    }

    /// Asks the processor for the block of a slot's current version; the map entry should be there already.
    #[inline(always)]
    pub fn prefetch_block(&self, slot: u32) {
        if let Some(ppn) = self.maps.get(Version::Current, slot) {
            memory::prefetch(&self.space.blocks.blocks, self.space.shape.block_of(ppn));
            if self.keeps_versions() {
                self.maps.prefetch_label(ppn);
            }
        }
    }

    /// Whether superseded pages become bases, as a rule: of schemes with copies, and of those that commit bases before they are erased.
    #[inline(always)]
    fn keeps_versions(&self) -> bool {
        self.space.settings.given.mirror_chips > 0 || !self.space.settings.moves_bases
    }

    /// Asks the processor for what the commit of this program will touch first: its block and its map entry.
    #[inline]
    pub fn prefetch_commit(&self, program: &Record) {
        memory::prefetch(&self.space.blocks.blocks, self.space.shape.block_of(Ppn(program.ppn)));
        self.maps.prefetch(program.slot);
    }
}
