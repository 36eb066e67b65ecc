//! Hybrid log-block mapping (SPEC 6.3): data blocks whose pages lie at their own offsets, and a few log blocks for what is overwritten.
//!
//! Each space domain, one plane, is an instance of its own. The page maps stay the truth; this says where a page may go. A *logical block* is as
//! many neighbouring local pages as a block holds; planes take them in turn. Its page goes to its offset in the data block if that is erased,
//! else to a log block: of its own (BAST), or the next page of the shared ones (FAST), where a run of pages from offset 0 on goes to a block
//! apart. When there is no page a *merge* makes room (`collection::merge`).
//!
//! A promise is for one page of one logical block, whose operation then holds it until it ends. A logical block is *active* while one of its pages
//! is promised or pending, and only inactive ones are merged; so a merge waits for operations that have all they need in this instance, and, as all
//! ask in the order of members, never for one that waits for it.
//!
//! Blocks needed: the logical ones, the log blocks, and one erased block as the target of full merges. With so many there always is one for
//! a logical block that has none yet.

use super::blocks::{NONE, State};
use super::space::NIL;
use crate::nand::records::Record;
use crate::{Flash, Settings};
use flashraid_vocabulary::{LocalPage, MemberId, MemberPage, Ppn, Version};

/// A logical block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Logical {
    /// Its data block, `NONE` before its first page.
    pub(crate) data: u16,
    /// Under BAST its log block, if it has one.
    pub(crate) log: u16,
    /// Pages of log blocks promised and not taken.
    promised_log: u16,
    /// Promises that were made before a failure took the plane: their pages are still to be found.
    owed: u16,
    /// Pages promised, and programmed pages whose operation has not ended.
    pub(crate) active: u16,
    /// A merge runs: no page of it is given out.
    pub(crate) merging: bool,
}

const EMPTY: Logical = Logical { data: NONE, log: NONE, promised_log: 0, owed: 0, active: 0, merging: false };

/// The mapping of one space domain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instance {
    member: u32,
    /// Which of the member's planes it is, in the order in which logical blocks go round them.
    position: u32,
    /// Log blocks in use, those to be erased included.
    pub(crate) logs: u32,
    /// Ends of the list of log blocks, but for the sequential one: by last write (BAST), or by age (FAST).
    pub(crate) oldest: u16,
    newest: u16,
    /// FAST: the log block of pages in sequence.
    pub(crate) sequential: u16,
    /// FAST: the offset that would continue its sequence.
    sequential_next: u16,
    /// FAST: pages promised and not taken in the other log blocks.
    promised_random: u32,
    /// Somebody waits for a page.
    pub(crate) starved: bool,
}

/// Where a page may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// To its offset in its data block, or in the sequential log block.
    Offset(u16),
    /// To its offset in a new data block.
    NewData,
    /// To its offset, the first, in a new sequential log block.
    NewSequential,
    /// To the next page of its log block, or of the shared ones.
    Log,
    /// To the first page of a new log block of its own.
    NewLog,
}

/// Where a page belongs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    pub(crate) domain: u32,
    /// Number of its logical block among those of all instances.
    pub(crate) logical: u32,
    /// Its offset in that.
    pub(crate) offset: u16,
}

/// Everything about hybrid mapping.
#[derive(Clone, Debug)]
pub(crate) struct Hybrid {
    /// Log blocks of each instance.
    most_logs: u32,
    /// FAST.
    pub(crate) shared: bool,
    /// Logical blocks of each instance.
    pub(crate) per_instance: u32,
    pub(crate) logical: Vec<Logical>,
    pub(crate) instances: Vec<Instance>,
    /// Offsets of data blocks and of sequential log blocks that are programmed or promised, as bits, and those that are promised alone.
    taken: Vec<u64>,
    promised: Vec<u64>,
    words: usize,
    /// The logical block that a data block or log block serves (not those that FAST shares).
    pub(crate) owner: Vec<u32>,
    /// Log blocks of which each page so far was programmed at its own offset.
    pub(crate) in_order: Vec<bool>,
    /// Merges of each instance.
    pub(crate) merges: Vec<crate::collection::merge::Merge>,
    /// Instances whose merge found a semivalid page that could not be committed.
    pub(crate) left: Vec<u32>,
    /// Programs without a page: only after failures.
    waiting: Vec<u32>,
}

impl Hybrid {
    /// All erased.
    pub(crate) fn new(settings: &Settings, domains: usize, blocks: usize) -> Self {
        let pages_per_block = settings.geometry.pages_per_block;
        let planes = settings.geometry.planes_per_die * settings.geometry.dies_per_chip;
        let planes = planes * if settings.member_is_chip { 1 } else { settings.geometry.chips_per_channel };
        let per_instance = settings.pages_per_member.div_ceil(pages_per_block).div_ceil(planes);
        let words = pages_per_block.div_ceil(64) as usize;
        Self {
            most_logs: settings.log_blocks,
            shared: settings.shared_logs,
            per_instance,
            logical: vec![EMPTY; domains * per_instance as usize],
            instances: vec![Instance::new(NIL, 0); domains],
            taken: vec![0; blocks * words],
            promised: vec![0; blocks * words],
            words,
            owner: vec![NIL; blocks],
            in_order: vec![false; blocks],
            merges: vec![Default::default(); domains],
            left: Vec::new(),
            waiting: Vec::new(),
        }
    }

    fn bit(&self, block: usize, offset: u16) -> (usize, u64) {
        (block * self.words + usize::from(offset) / 64, 1 << (offset % 64))
    }

    fn is_taken(&self, block: usize, offset: u16) -> bool {
        let (word, bit) = self.bit(block, offset);
        self.taken[word] & bit != 0
    }

    pub(crate) fn take(&mut self, block: usize, offset: u16) {
        let (word, bit) = self.bit(block, offset);
        self.taken[word] |= bit;
    }

    fn is_promised(&self, block: usize, offset: u16) -> bool {
        let (word, bit) = self.bit(block, offset);
        self.promised[word] & bit != 0
    }

    fn promises_in(&self, block: usize) -> u32 {
        self.promised[block * self.words..][..self.words].iter().map(|word| word.count_ones()).sum()
    }

    pub(crate) fn forget_block(&mut self, block: usize) {
        self.taken[block * self.words..][..self.words].fill(0);
        self.promised[block * self.words..][..self.words].fill(0);
        (self.owner[block], self.in_order[block]) = (NIL, false);
    }
}

impl Instance {
    fn new(member: u32, position: u32) -> Self {
        Self {
            member,
            position,
            logs: 0,
            oldest: NONE,
            newest: NONE,
            sequential: NONE,
            sequential_next: 0,
            promised_random: 0,
            starved: false,
        }
    }
}

impl Flash {
    // ---- where pages belong ----

    /// Names the planes of each member's instances.
    pub(crate) fn form_instances(&mut self) {
        let planes = self.static_planes.len() as u32;
        for (member, position) in (0..self.members).flat_map(|member| (0..planes).map(move |position| (member, position))) {
            let domain = self.static_plane(MemberPage { member: MemberId(member as u16), page: LocalPage(position) });
            self.hybrid_mut().instances[domain as usize] = Instance::new(member, position);
        }
    }

    pub(crate) fn hybrid(&self) -> &Hybrid {
        self.hybrid.as_ref().expect("a device with log blocks")
    }

    pub(crate) fn hybrid_mut(&mut self) -> &mut Hybrid {
        self.hybrid.as_mut().expect("a device with log blocks")
    }

    /// The instance in which a page of this logical block of a member goes.
    pub(crate) fn domain_of_block(&self, address: MemberPage) -> u32 {
        self.static_plane(MemberPage { page: LocalPage(address.page.0 / self.pages_per_block), ..address })
    }

    fn spot(&self, slot: u32) -> Spot {
        let address = self.address(slot);
        let (block, offset) = (address.page.0 / self.pages_per_block, (address.page.0 % self.pages_per_block) as u16);
        let domain = self.domain_of_block(address);
        Spot { domain, logical: domain * self.hybrid().per_instance + block / self.static_planes.len() as u32, offset }
    }

    pub(crate) fn logical_of(&self, slot: u32) -> u32 {
        self.spot(slot).logical
    }

    /// The slot of a page of a logical block, if there is one.
    pub(crate) fn slot_in(&self, logical: u32, offset: u32) -> Option<u32> {
        let per_instance = self.hybrid().per_instance;
        let Instance { member, position, .. } = self.hybrid().instances[(logical / per_instance) as usize];
        let page = (logical % per_instance * self.static_planes.len() as u32 + position) * self.pages_per_block + offset;
        (page < self.settings.pages_per_member).then(|| page * self.members + member)
    }

    // ---- promises ----

    /// Where a page may go now.
    fn place_for(&self, Spot { domain, logical, offset }: Spot) -> Option<Place> {
        let hybrid = self.hybrid();
        let Logical { data, log, promised_log, merging, .. } = hybrid.logical[logical as usize];
        let instance = &hybrid.instances[domain as usize];
        let plane = self.domains[domain as usize].plane;
        let index = |block: u16| self.blocks.index(plane, block);
        let left = |block: u16| self.pages_per_block - u32::from(self.blocks.blocks[index(block)].written);
        if merging {
            return None;
        }
        if data == NONE {
            return Some(Place::NewData);
        }
        if !hybrid.is_taken(index(data), offset) {
            return Some(Place::Offset(data));
        }
        if !hybrid.shared {
            return match log {
                NONE if instance.logs < hybrid.most_logs => Some(Place::NewLog),
                NONE => None,
                log => (u32::from(promised_log) < left(log)).then_some(Place::Log),
            };
        }
        let sequential = instance.sequential;
        if offset == 0 {
            // The former one may still have to be erased.
            return (sequential == NONE && !self.is_collecting(plane)).then_some(Place::NewSequential);
        }
        if sequential != NONE && hybrid.owner[index(sequential)] == logical && instance.sequential_next == offset {
            return Some(Place::Offset(sequential));
        }
        let open = if instance.newest == NONE { 0 } else { left(instance.newest) };
        let erased = hybrid.most_logs.saturating_sub(instance.logs + u32::from(sequential == NONE));
        let room = open + erased * self.pages_per_block;
        (room > instance.promised_random).then_some(Place::Log)
    }

    #[cold]
    pub(crate) fn promise(&mut self, slot: u32) -> bool {
        let spot = self.spot(slot);
        let Spot { domain, logical, offset } = spot;
        if !self.domain_is_alive(domain) {
            return false;
        }
        let Some(place) = self.place_for(spot) else {
            self.hybrid_mut().instances[domain as usize].starved = true;
            self.make_room_for(spot);
            return false;
        };
        let plane = self.domains[domain as usize].plane;
        let block = match place {
            Place::Offset(block) => block,
            Place::NewData => {
                let data = self.open_block(plane, State::Data, logical);
                self.hybrid_mut().logical[logical as usize].data = data;
                data
            }
            Place::NewSequential => {
                let block = self.open_block(plane, State::Log, logical);
                let instance = &mut self.hybrid_mut().instances[domain as usize];
                (instance.sequential, instance.sequential_next, instance.logs) = (block, 0, instance.logs + 1);
                block
            }
            Place::NewLog => {
                let log = self.open_log(domain, logical);
                self.hybrid_mut().logical[logical as usize].log = log;
                NONE
            }
            Place::Log => NONE,
        };
        let index = self.blocks.index(plane, block);
        let hybrid = self.hybrid.as_mut().expect("a device with log blocks");
        let (instance, state) = (&mut hybrid.instances[domain as usize], &mut hybrid.logical[logical as usize]);
        state.active += 1;
        if block == NONE {
            state.promised_log += 1;
            instance.promised_random += u32::from(hybrid.shared);
        } else {
            instance.sequential_next += u16::from(block == instance.sequential);
            let (word, bit) = hybrid.bit(index, offset);
            hybrid.taken[word] |= bit;
            hybrid.promised[word] |= bit;
        }
        true
    }

    /// The block at an offset of which a page is promised.
    fn promised_block(&self, Spot { domain, logical, offset }: Spot) -> Option<u16> {
        let hybrid = self.hybrid();
        let plane = self.domains[domain as usize].plane;
        let blocks = [hybrid.logical[logical as usize].data, hybrid.instances[domain as usize].sequential];
        blocks.into_iter().find(|block| {
            let index = self.blocks.index(plane, *block);
            *block != NONE && hybrid.owner[index] == logical && hybrid.is_promised(index, offset)
        })
    }

    /// A promise will not be used.
    pub(crate) fn break_promise(&mut self, slot: u32) {
        let spot = self.spot(slot);
        let (plane, block) = (self.domains[spot.domain as usize].plane, self.promised_block(spot));
        let index = block.map(|block| self.blocks.index(plane, block));
        let hybrid = self.hybrid.as_mut().expect("a device with log blocks");
        let state = &mut hybrid.logical[spot.logical as usize];
        match index {
            Some(index) => {
                let (word, bit) = hybrid.bit(index, spot.offset);
                hybrid.taken[word] &= !bit;
                hybrid.promised[word] &= !bit;
                hybrid.in_order[index] = false; // of a sequential log block
            }
            None if state.owed > 0 => {
                state.owed -= 1;
                return;
            }
            None => {
                state.promised_log -= 1;
                hybrid.instances[spot.domain as usize].promised_random -= u32::from(hybrid.shared);
            }
        }
        self.less_active(spot);
    }

    /// An operation holds one page less of a logical block.
    fn less_active(&mut self, Spot { domain, logical, .. }: Spot) {
        let hybrid = self.hybrid_mut();
        let active = &mut hybrid.logical[logical as usize].active;
        *active -= 1;
        if *active == 0 && hybrid.instances[domain as usize].starved {
            self.wake(domain);
        }
    }

    /// Whoever waits for a page of the domain may try again.
    pub(crate) fn wake(&mut self, domain: u32) {
        self.hybrid_mut().instances[domain as usize].starved = false;
        self.freed.push(domain);
        if !self.hybrid().waiting.is_empty() {
            self.place_waiting(domain);
        }
    }

    // ---- pages ----

    /// Takes the promised page of a slot, for a program that starts. It stays pending.
    #[cold]
    pub(crate) fn take_promised(&mut self, slot: u32) -> Ppn {
        let spot = self.spot(slot);
        let Spot { domain, logical, offset } = spot;
        let plane = self.domains[domain as usize].plane;
        let (block, page) = match self.promised_block(spot) {
            Some(block) => {
                let index = self.blocks.index(plane, block);
                let (word, bit) = self.hybrid().bit(index, offset);
                self.hybrid_mut().promised[word] &= !bit;
                (block, offset)
            }
            None => {
                let log = self.log_page(domain, logical);
                let index = self.blocks.index(plane, log);
                let page = self.blocks.blocks[index].written;
                self.hybrid_mut().in_order[index] &= page == offset;
                (log, page)
            }
        };
        let index = self.blocks.index(plane, block);
        let entry = &mut self.blocks.blocks[index];
        entry.written += 1;
        entry.pending += 1;
        Ppn(self.first_ppn(index).0 + u32::from(page))
    }

    /// The log block that takes a page now.
    fn log_page(&mut self, domain: u32, logical: u32) -> u16 {
        let hybrid = self.hybrid_mut();
        hybrid.logical[logical as usize].promised_log -= 1;
        if !hybrid.shared {
            let log = hybrid.logical[logical as usize].log;
            self.remove_log(domain, log);
            self.append_log(domain, log); // the most recently used
            return log;
        }
        hybrid.instances[domain as usize].promised_random -= 1;
        let (plane, newest) = (self.domains[domain as usize].plane, self.hybrid().instances[domain as usize].newest);
        if newest != NONE && u32::from(self.blocks.blocks[self.blocks.index(plane, newest)].written) < self.pages_per_block {
            return newest;
        }
        self.open_log(domain, NIL)
    }

    fn open_log(&mut self, domain: u32, owner: u32) -> u16 {
        let log = self.open_block(self.domains[domain as usize].plane, State::Log, owner);
        self.append_log(domain, log);
        self.hybrid_mut().instances[domain as usize].logs += 1;
        log
    }

    /// Takes an erased block.
    pub(crate) fn open_block(&mut self, plane: u32, state: State, owner: u32) -> u16 {
        let block = self.blocks.take_free(plane, state);
        let index = self.blocks.index(plane, block);
        let hybrid = self.hybrid_mut();
        (hybrid.owner[index], hybrid.in_order[index]) = (owner, true);
        block
    }

    fn append_log(&mut self, domain: u32, log: u16) {
        let plane = self.domains[domain as usize].plane;
        let instance = &mut self.hybrid.as_mut().expect("a device with log blocks").instances[domain as usize];
        let last = std::mem::replace(&mut instance.newest, log);
        match last {
            NONE => instance.oldest = log,
            last => self.blocks.of_plane(plane)[usize::from(last)].next = log,
        }
        let entry = &mut self.blocks.of_plane(plane)[usize::from(log)];
        (entry.previous, entry.next) = (last, NONE);
    }

    pub(crate) fn remove_log(&mut self, domain: u32, log: u16) {
        let plane = self.domains[domain as usize].plane;
        let blocks = self.blocks.of_plane(plane);
        let (previous, next) = (blocks[usize::from(log)].previous, blocks[usize::from(log)].next);
        let instance = &mut self.hybrid.as_mut().expect("a device with log blocks").instances[domain as usize];
        match previous {
            NONE => instance.oldest = next,
            block => blocks[usize::from(block)].next = next,
        }
        match next {
            NONE => instance.newest = previous,
            block => blocks[usize::from(block)].previous = previous,
        }
    }

    /// The operation of a programmed page has ended, or its page counts for nothing.
    #[cold]
    pub(crate) fn page_settled(&mut self, slot: u32, ppn: Ppn) {
        // What a failure took was forgotten with its plane.
        if self.blocks.blocks[self.block_of(ppn)].state != State::Retired {
            self.less_active(self.spot(slot));
        }
    }

    // ---- failures ----

    /// Nothing of the instance lives: what was promised in it is owed.
    pub(crate) fn forget_instance(&mut self, domain: u32, plane: u32) {
        let Instance { member, position, sequential, .. } = self.hybrid().instances[domain as usize];
        let first = domain * self.hybrid().per_instance;
        let in_sequence = if sequential == NONE { NIL } else { self.hybrid().owner[self.blocks.index(plane, sequential)] };
        for logical in first..first + self.hybrid().per_instance {
            let Logical { data, promised_log, owed, .. } = self.hybrid().logical[logical as usize];
            let promises = |block: u16| if block == NONE { 0 } else { self.hybrid().promises_in(self.blocks.index(plane, block)) as u16 };
            let promised = promises(data) + if logical == in_sequence { promises(sequential) } else { 0 } + promised_log;
            self.hybrid_mut().logical[logical as usize] = Logical { owed: owed + promised, ..EMPTY };
        }
        for block in 0..self.blocks.planes[plane as usize].blocks as u16 {
            let index = self.blocks.index(plane, block);
            self.hybrid_mut().forget_block(index);
        }
        let hybrid = self.hybrid_mut();
        hybrid.instances[domain as usize] = Instance::new(member, position);
        hybrid.merges[domain as usize] = Default::default();
    }

    /// Whether a program that is about to be queued has its page. One whose promise a failure broke gets another, or waits for it.
    pub(crate) fn keeps_promise(&mut self, id: u32) -> bool {
        let spot = self.spot(self.records[id as usize].slot);
        if self.promised_block(spot).is_some() {
            return true;
        }
        let owed = &mut self.hybrid_mut().logical[spot.logical as usize].owed;
        if *owed == 0 {
            return true;
        }
        *owed -= 1;
        let is_promised = self.promise(self.records[id as usize].slot);
        if !is_promised {
            self.hybrid_mut().waiting.push(id);
        }
        is_promised
    }

    /// A failed program is to have another page.
    pub(crate) fn owe_page(&mut self, slot: u32) {
        let logical = self.logical_of(slot);
        self.hybrid_mut().logical[logical as usize].owed += 1;
    }

    #[cold]
    fn place_waiting(&mut self, domain: u32) {
        let waiting = std::mem::take(&mut self.hybrid_mut().waiting);
        for id in waiting {
            let Record { slot, domain: of, .. } = self.records[id as usize];
            if of == domain && self.promise(slot) {
                self.bind_program(id);
            } else {
                self.hybrid_mut().waiting.push(id);
            }
        }
    }

    /// Takes the programs that wait without a page in a domain; each is owed one.
    pub(crate) fn take_waiting(&mut self, domain: u32) -> Vec<u32> {
        let waiting = std::mem::take(&mut self.hybrid_mut().waiting);
        let (taken, left) = waiting.into_iter().partition(|id| self.records[*id as usize].domain == domain);
        self.hybrid_mut().waiting = left;
        for &id in &taken {
            self.owe_page(self.records[id as usize].slot);
        }
        taken
    }

    // ---- checks ----

    /// What must hold of every instance.
    pub(crate) fn check_hybrid(&self) -> Result<(), String> {
        let hybrid = self.hybrid();
        for (domain, instance) in hybrid.instances.iter().enumerate().filter(|(_, instance)| instance.member != NIL) {
            let plane = self.domains[domain].plane;
            let state = &self.blocks.planes[plane as usize];
            let fault = |what: String| Err(format!("instance {domain} {instance:?}: {what}"));
            let is_merging = self.is_collecting(plane);
            let count = |state: State| {
                (0..self.blocks.planes[plane as usize].blocks as u16)
                    .filter(|block| self.blocks.blocks[self.blocks.index(plane, *block)].state == state)
                    .count() as u32
            };
            if state.dead {
                continue;
            }
            let logical = &hybrid.logical[domain * hybrid.per_instance as usize..][..hybrid.per_instance as usize];
            let has_bases = (0..state.blocks as u16).any(|block| self.blocks.blocks[self.blocks.index(plane, block)].bases > 0);
            // Nothing would tell whoever waits for a page to try again, though nothing is in the way of a merge.
            let is_forgotten = instance.starved && !is_merging && !has_bases && logical.iter().all(|logical| logical.active == 0);
            if is_forgotten && !self.freed.contains(&(domain as u32)) {
                return fault("somebody waits for a page, and nothing is merged".into());
            }
            let (mut data_blocks, mut held, mut pending) = (0, 0, 0);
            for (number, logical) in (0..).zip(&hybrid.logical[domain * hybrid.per_instance as usize..][..hybrid.per_instance as usize]) {
                let number = domain as u32 * hybrid.per_instance + number;
                let mut promised = u32::from(logical.promised_log);
                if logical.data != NONE {
                    let index = self.blocks.index(plane, logical.data);
                    data_blocks += 1;
                    promised += hybrid.promises_in(index);
                    if hybrid.owner[index] != number || !matches!(self.blocks.blocks[index].state, State::Data) {
                        return fault(format!("data block of {number} {logical:?} is {:?}", self.blocks.blocks[index]));
                    }
                    let taken: u32 = hybrid.taken[index * hybrid.words..][..hybrid.words].iter().map(|word| word.count_ones()).sum();
                    if taken != u32::from(self.blocks.blocks[index].written) + hybrid.promises_in(index) {
                        return fault(format!("{taken} offsets of {:?} are taken", self.blocks.blocks[index]));
                    }
                }
                let sequential = instance.sequential;
                if sequential != NONE && hybrid.owner[self.blocks.index(plane, sequential)] == number {
                    promised += hybrid.promises_in(self.blocks.index(plane, sequential));
                }
                if u32::from(logical.active) < promised || (logical.merging && (!is_merging || logical.active > 0)) {
                    return fault(format!("logical block {number} {logical:?}"));
                }
                held += u32::from(logical.active) - promised;
                for offset in 0..self.pages_per_block {
                    let Some(slot) = self.slot_in(number, offset) else { continue };
                    let Some(ppn) = self.maps.get(Version::Current, slot).filter(|ppn| *ppn != self.faults.lost) else { continue };
                    let block = self.block_of(ppn);
                    let at_offset = ppn.0 % self.pages_per_block == offset;
                    let (of, entry) = (hybrid.owner[block], &self.blocks.blocks[block]);
                    let fits = entry.state == State::Retired || (of == number && (at_offset || entry.state != State::Data)) || of == NIL;
                    if !fits || u64::from(number) != u64::from(self.logical_of(slot)) {
                        return fault(format!("page {offset} of logical block {number} is at {ppn:?} in {entry:?} of {of}"));
                    }
                }
            }
            for block in 0..state.blocks as u16 {
                pending += u32::from(self.blocks.blocks[self.blocks.index(plane, block)].pending);
            }
            // The page that a merge is programming is pending too, and so is no logical block's.
            if pending != held && !(is_merging && pending == held + 1) {
                return fault(format!("{pending} pages are pending, and logical blocks hold {held}"));
            }
            let (mut listed, mut log) = (u32::from(instance.sequential != NONE), instance.oldest);
            while log != NONE {
                listed += 1;
                log = self.blocks.blocks[self.blocks.index(plane, log)].next;
            }
            if (!is_merging && listed != instance.logs) || instance.logs > hybrid.most_logs {
                return fault(format!("{listed} log blocks"));
            }
            let idle_blocks = (count(State::Data), count(State::Log));
            if !is_merging && (idle_blocks != (data_blocks, listed) || state.free_blocks == 0) {
                return fault(format!(
                    "{idle_blocks:?} data and log blocks, known {data_blocks} and {listed}, {} are free",
                    state.free_blocks
                ));
            }
        }
        Ok(())
    }
}
