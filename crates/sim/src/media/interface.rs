//! The traits of media: every question and order of the engine, and the words in which they are put.

use super::{About, Completion, Counts, Done, Examine, FlashFault, GcQuery, MapEvent, Overwrites, Slice};
use flashraid_vocabulary::{
    Cause, Change, DeviceFault, Health, MemberId, MemberPage, Observer, PageOperation, Part, Persistent, Ppn, SemivalidAction, Version,
    View,
};

/// See `media`.
pub trait Media:
    Clocked + Reserving + Serving + Preparing + Failing + Counting + View + Examine + Persistent + Clone + Send + Sync + 'static
{
}

/// Time, and what has happened.
pub trait Clocked {
    /// When the next event is, `u64::MAX` if nothing is in flight.
    fn next_event_ns(&self) -> u64;
    /// Whether nothing is in flight. There may still be an event: a device waits until it counts as idle.
    fn is_at_rest(&self) -> bool;
    /// Tells the time, which no event precedes.
    fn set_now(&mut self, now_ns: u64);
    /// Processes the next event. What happened must be taken before the next call.
    fn advance<O: Observer>(&mut self, observer: &mut O);
    /// Processes the events of buses that wait for others at this time, as long as nothing has happened that must be taken.
    /// None, where each is an event of its own.
    fn serve_due_buses(&mut self) {}
    /// Page operations that made progress, in order. The engine empties the list.
    fn completions(&mut self) -> &mut Vec<Completion>;
    /// Lists, or does not list, page operations that are started.
    fn list_started(&mut self, lists: bool);
    /// Page operations that were started, if they are listed: the operation, its physical page, its entry. The engine empties the list.
    fn started(&mut self) -> &mut Vec<(u32, Ppn, u32)>;
    /// Takes a version that a read has found to be lost, though nothing had failed.
    fn take_unreadable(&mut self) -> Option<(MemberPage, Version)>;
    /// Whether either of the following two has something.
    fn has_news(&self) -> bool;
    /// Takes a domain that gained space; when there is none left, a flush that an SSD is done with; an SSD that is worn out; then a question of GC, to which
    /// `answer` must follow in the same instant.
    fn take_news(&mut self) -> Option<News>;
    /// Takes what GC did to the map, in order, and leaves the empty list. Only asked of an SSD that stores its map on flash.
    fn swap_map_events(&mut self, _news: &mut Vec<MapEvent>) {
        unreachable!("no map is on flash");
    }
    /// Tells GC what it asked for or waits for.
    fn answer(&mut self, answer: Answer<'_>);
}

/// Free space.
pub trait Reserving {
    /// The domain from which a program of this version takes its page. Grows with the member.
    fn domain_of(&self, page: MemberPage, version: Version) -> u32;
    /// Reserves a page for a program, if there is one; else starts what frees space.
    fn reserve(&mut self, page: MemberPage, version: Version) -> bool;
    /// Releases what `reserve` has reserved.
    fn release(&mut self, page: MemberPage, version: Version);
    /// Whether anything of the domain lives, full or not.
    fn domain_is_alive(&self, domain: u32) -> bool;
    /// Whether failures have taken pages of the domain for good.
    fn domain_has_losses(&self, domain: u32) -> bool;
}

/// Page operations and versions.
pub trait Serving {
    /// Queues a page operation of the plan of `owner`: a read of what is there now, or a program for which a page is reserved. Returns its record, or
    /// `None` for a read of a version that is not there.
    fn submit(&mut self, operation: &PageOperation, owner: u32) -> Option<u32>;
    /// What a record is about.
    fn about(&self, record: u32) -> About;
    /// What a program makes, and whether it has a page.
    fn program(&self, record: u32) -> Program;
    /// The record after this one in a list that the engine keeps of programs that have ended.
    fn next_in_list(&mut self, record: u32) -> &mut u32;
    /// A flush, with this number: returns how many SSDs have to program something first. Each of them tells it (`News::Flushed`).
    fn flush(&mut self, flush: u32) -> u32;
    /// Frees the record of a read that has ended.
    fn forget(&mut self, record: u32);
    /// A program counts from now on: its page is the version that it made, and what was this version before is garbage, or the base.
    fn commit(&mut self, record: u32);
    /// A program that has ended or failed counts for nothing.
    fn abort(&mut self, record: u32);
    /// Queues a program again that has failed, or whose page was lost.
    fn repeat(&mut self, record: u32) -> Repeated;
    /// The record of a program that gets no page, and was not submitted: as if it had failed.
    fn unallocated(&mut self, operation: &PageOperation, owner: u32) -> u32;
    /// A program that has failed for good may be committed all the same: its version will be lost.
    fn leave_unplaced(&mut self, record: u32);
    /// The physical page of a version.
    fn lookup(&self, page: MemberPage, version: Version) -> Option<Ppn>;
    /// The first entry from `entry` on, before `end`, that has a current version.
    fn next_mapped(&self, entry: u32, end: u32) -> Option<u32>;
    /// Changes the map as a plan says. What NVRAM alone holds is none of its changes.
    fn apply(&mut self, change: &Change);
    /// Asks the processor for memory that will be touched.
    fn prefetch(&self, ahead: Ahead);
}

/// Work in no simulated time: fill, precondition, first touch.
pub trait Preparing {
    /// Whether work in no simulated time is going on: then GC does not start by itself.
    fn set_untimed(&mut self, untimed: bool);
    /// Such work has begun, nothing has been written yet, and it writes about so many pages, each once: until it ends, or does anything else. With `overwrites` it writes
    /// exactly those pages, and leaves them where uniform random writes would have: then it returns how many pages are programmed, those of GC included, while each page
    /// with data is overwritten once, or `None` if nothing is spare.
    fn begin_fill(&mut self, pages: u64, overwrites: Option<&mut Overwrites<'_>>) -> Option<f64>;
    /// From now on each plane first takes some pages, a number of its own below those of a block. Returns how many these are together.
    fn begin_phases(&mut self, random: &mut dyn FnMut() -> u64) -> u64;
    /// Whether a plane in which this page may be placed is still to take pages.
    fn is_to_advance(&self, page: MemberPage) -> bool;
    /// What planes have not taken is forgotten.
    fn end_phases(&mut self);
    /// Programs and commits a page for which one is reserved.
    fn place(&mut self, page: MemberPage, version: Version) -> Ppn;
    /// Programs and commits a page, and collects until there is one for it. Returns its plane and its number; `collect_low_now` must follow once
    /// the content is noted.
    fn place_untimed<O: Observer>(
        &mut self,
        page: MemberPage,
        version: Version,
        keep_base: bool,
        cause: Cause,
        observer: &mut O,
    ) -> (u32, Ppn);
    /// Collects a victim of the plane if it is short, as after a program into it.
    fn collect_low_now<O: Observer>(&mut self, plane: u32, observer: &mut O);
    /// No programs will come: GC runs that wait for some go on to their ends.
    fn finish_gc(&mut self);
    /// Programs all flash pages that are not full. Nothing is in flight.
    fn empty_memory(&mut self);
    /// Work in no simulated time is over: collects where nothing else would start that.
    fn relieve_now<O: Observer>(&mut self, observer: &mut O);
}

/// Failures, and deliberate faults.
pub trait Failing {
    /// A part fails, or a page operation will.
    fn fail(&mut self, failure: &DeviceFault);
    /// Puts spares in the places of what the failure of this part, of this SSD of an array, has killed. Returns whether it has killed something, and
    /// all of it is replaced.
    fn replace(&mut self, device: Option<u32>, part: &Part) -> bool;
    /// A spare SSD of an array has a task from now on, as the member that it is: to take the place of the SSD `old`.
    fn use_spare(&mut self, new: MemberId, old: MemberId);
    /// The SSD that is a member of an array changes its state. One that is disabled loses what it holds.
    fn set_health(&mut self, member: MemberId, health: Health);
    /// The SSD that is this member of an array, or that will be, as a spare one.
    fn device_of(&self, member: MemberId) -> Option<u32>;
    /// The rebuild has ended: mirror chips take copies again, and spare chips that have replaced others are chips like them.
    fn rebuilt(&mut self);
    /// If nothing is in flight, programs that wait for pages fail, for good. Returns whether there were any.
    fn fail_stuck(&mut self) -> bool;
    /// Whether it makes this fault; never but in tests of the checkers.
    fn makes(&self, fault: FlashFault) -> bool;
    /// Makes a fault from now on.
    #[cfg(feature = "mutants")]
    fn make(&mut self, fault: FlashFault);
}

/// What was done.
pub trait Counting {
    /// What was started.
    fn counted(&self) -> Counted;
    /// Page operations started, by action and cause.
    fn counts(&self) -> Counts {
        self.counted().pages
    }
    /// What was done so far in no simulated time.
    fn untimed(&self) -> Untimed;
    /// Counts a completed host request, for the members' mean of blocked requests.
    fn request_completed(&mut self);
    /// Completed host requests.
    fn requests_completed(&self) -> u64;
    /// Sum over completed host requests of the page operations that were queued at the member.
    fn blocked_sum(&self, member: u32) -> u64;
    /// Begins to record what starts from now on, or ends it.
    fn record(&mut self, what: Recording, records: bool);
    /// Takes what was recorded, in order, and leaves the empty lists.
    fn swap_recorded(&mut self, slices: &mut Vec<Slice>, done: &mut Vec<Done>);
    /// What a LUN is and has.
    fn lun(&self, lun: u32) -> Lun;
}

/// What the engine should know before the next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// This domain gained space.
    Freed(u32),
    /// An SSD has programmed what this flush waits for.
    Flushed(u32),
    /// The erases that this SSD of an array endures are spent.
    WornOut(u32),
    /// GC wants to know something.
    Asked(GcQuery),
}

/// What GC is told.
#[derive(Clone, Copy)]
pub enum Answer<'a> {
    /// Collect the cheapest block of this plane: the function gives reads and programs of committing a semivalid page.
    Victim(u32, &'a dyn Fn(MemberPage) -> (u32, u32)),
    /// In this plane, how a semivalid page is handled.
    Semivalid(u32, MemberPage, SemivalidAction),
    /// The commit that GC in this plane waited for has ended, or failed.
    Committed(u32),
}

/// What a program makes, and whether it has a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// The page.
    pub page: MemberPage,
    /// Which version of it.
    pub version: Version,
    /// Whether that will be lost.
    pub is_unallocated: bool,
    /// Whether it has ended, and its page is lost since then.
    pub has_lost_its_page: bool,
}

/// What was started.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// Page operations, by action and cause: with pages of the map.
    pub pages: Counts,
    /// The same of flash pages, of which each may hold several.
    pub flash_pages: Counts,
    /// Padding: pages of the map of which flash pages hold none.
    pub padded: u64,
    /// Flash pages that the memory in an SSD held, and that were lost because failures had left no space for them.
    pub given_up: u64,
}

/// What was done so far in no simulated time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Untimed {
    /// Pages programmed, moves included.
    pub programs: u64,
    /// Victims collected.
    pub victims: u64,
}

/// A program that was to be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// Its record: another one than before if something replaced the flash that it was for.
    pub record: u32,
    /// Whether there may ever be a page for it; if not, `abort` or `leave_unplaced` must follow.
    pub is_queued: bool,
}

/// What media may record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// Slices of buses and LUNs.
    Slices,
    /// Page operations.
    Done,
}

/// A LUN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lun {
    /// The member that it is part of; `None` for a spare that is not in use.
    pub member: Option<u32>,
    /// Its erased blocks.
    pub free_blocks: u64,
}

/// What is about to be touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ahead {
    /// By a request to this page.
    Request(MemberPage),
    /// When the current version of this entry is superseded.
    Superseded(u32),
    /// When this program, which has ended, is looked at.
    Record(u32),
    /// When this program is committed.
    Commit(u32),
    /// When this program supersedes the version before it.
    Successor(u32),
}
