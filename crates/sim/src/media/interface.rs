//! The trait of media: every question and order of the engine.

use super::{About, Completion, Counts, Done, FlashFault, MapNews, Question, Shape, Slice, Untimed};
use flashraid_vocabulary::{Fault, MemberId, MemberPage, Observer, PageOperation, Ppn, Ruling, Version, View};

/// See `media`.
pub trait Media: View + Clone + Send {
    /// What never changes.
    fn shape(&self) -> Shape;
    /// The entry of a page in the map.
    fn entry(&self, page: MemberPage) -> u32;
    /// The inverse of `entry`.
    fn page(&self, entry: u32) -> MemberPage;

    // ---- time ----

    /// When the next event is, `u64::MAX` if nothing is under way.
    fn next_event_ns(&self) -> u64;
    /// Tells the time, which no event precedes.
    fn set_now(&mut self, now_ns: u64);
    /// Processes the next event. What happened must be taken before the next call.
    fn advance<O: Observer>(&mut self, observer: &mut O);

    // ---- what happened ----

    /// Page operations that made progress since they were last forgotten, in order.
    fn completions(&self) -> &[Completion];
    /// See `completions`.
    fn forget_completions(&mut self);
    /// Takes a page operation that was started: its operation, its physical page, its entry.
    fn take_started(&mut self) -> Option<(u32, Ppn, u32)>;
    /// Whether any of the following three has something.
    fn has_news(&self) -> bool;
    /// Takes a domain that gained space.
    fn take_freed(&mut self) -> Option<u32>;
    /// Takes a question of GC: answered in the same instant by `choose_victim` or `rule`.
    fn take_question(&mut self) -> Option<Question>;
    /// Takes what GC did to the map, in order, and leaves the empty list.
    fn swap_map_news(&mut self, news: &mut Vec<MapNews>);

    // ---- answers to GC ----

    /// GC collects the cheapest block of the plane: `commit_cost` gives reads and programs of committing a semivalid page.
    fn choose_victim(&mut self, plane: u32, commit_cost: &dyn Fn(MemberPage) -> (u32, u32));
    /// What becomes of a semivalid page.
    fn rule(&mut self, plane: u32, page: MemberPage, ruling: Ruling);
    /// The commit that GC in this plane waited for has ended, or failed.
    fn committed(&mut self, plane: u32);

    // ---- space ----

    /// The domain from which a program of this version takes its page. Grows with the member.
    fn domain_of(&self, page: MemberPage, version: Version) -> u32;
    /// Promises a page to a program, if there is one; else starts what makes room.
    fn reserve(&mut self, page: MemberPage, version: Version) -> bool;
    /// Gives back what `reserve` has promised.
    fn release(&mut self, page: MemberPage, version: Version);
    /// Whether anything of the domain lives, full or not.
    fn domain_is_alive(&self, domain: u32) -> bool;
    /// Whether failures have taken pages of the domain for good.
    fn domain_has_losses(&self, domain: u32) -> bool;

    // ---- page operations ----

    /// Queues a page operation of the plan of `owner`: a read of what is there now, or a program for which a page is promised. Returns its record, or
    /// `None` for a read of a version that is not there.
    fn submit(&mut self, operation: &PageOperation, owner: u32) -> Option<u32>;
    /// What a record is about.
    fn about(&self, record: u32) -> About;
    /// Which version of which page a program makes.
    fn programmed(&self, record: u32) -> (MemberPage, Version);
    /// The record after this one in a list that the engine keeps of programs that have ended.
    fn next_in_list(&self, record: u32) -> u32;
    /// See `next_in_list`.
    fn set_next_in_list(&mut self, record: u32, next: u32);
    /// Frees the record of a read that has ended.
    fn forget(&mut self, record: u32);
    /// A program counts from now on: its page is the version that it made, and what was this version before is garbage, or the base.
    fn commit(&mut self, record: u32);
    /// A program that has ended or failed counts for nothing.
    fn abort(&mut self, record: u32);
    /// Queues a program again that has failed, or whose page was lost. Returns whether there may ever be a page for it; if not, `abort` or
    /// `leave_unplaced` must follow.
    fn repeat(&mut self, record: u32) -> bool;
    /// The record of a program that finds no page, and was not submitted: as if it had failed.
    fn unplaced(&mut self, operation: &PageOperation, owner: u32) -> u32;
    /// A program that has failed for good may be committed all the same: its version will be lost.
    fn leave_unplaced(&mut self, record: u32);
    /// Whether the version that a program makes will be lost.
    fn is_unplaced(&self, record: u32) -> bool;
    /// Whether a program has ended, and its page is lost since then.
    fn has_lost_its_page(&self, record: u32) -> bool;

    // ---- versions ----

    /// The physical page of a version.
    fn lookup(&self, page: MemberPage, version: Version) -> Option<Ppn>;
    /// The first entry from `entry` on, before `end`, that has a current version.
    fn next_mapped(&self, entry: u32, end: u32) -> Option<u32>;
    /// The page does not have this version any more.
    fn unmap(&mut self, page: MemberPage, version: Version);
    /// The page does not have a current version any more: that becomes the base, if there is none.
    fn retire(&mut self, page: MemberPage);
    /// The current version is lost: it counts as written, and can be read no more.
    fn lose(&mut self, page: MemberPage);

    // ---- without time: fill, precondition, first touch ----

    /// Whether work without time is going on: then GC does not start by itself.
    fn set_without_time(&mut self, without_time: bool);
    /// Programs and commits a page for which one is promised.
    fn place(&mut self, page: MemberPage, version: Version) -> Ppn;
    /// Programs and commits a page, and collects until there is one for it. Returns its plane and its number; `collect_low_now` must follow once
    /// the content is noted.
    fn place_now<O: Observer>(&mut self, page: MemberPage, version: Version, keep_base: bool, observer: &mut O) -> (u32, Ppn);
    /// Collects a victim of the plane if it is short, as after a program into it.
    fn collect_low_now<O: Observer>(&mut self, plane: u32, observer: &mut O);
    /// Work without time is over: collects where nothing else would start that.
    fn relieve_now<O: Observer>(&mut self, observer: &mut O);
    /// What was done so far.
    fn untimed(&self) -> Untimed;

    // ---- failures ----

    /// A part fails, or a page operation will.
    fn fail(&mut self, fault: &Fault);
    /// Puts spares in the places of what is dead. Returns whether something was dead, and all of it is replaced.
    fn replace_dead(&mut self) -> bool;
    /// The member's copies are rebuilt: it takes copies again.
    fn resume_copies(&mut self, member: MemberId);
    /// If nothing is under way, programs that wait for pages fail, for good. Returns whether there were any.
    fn fail_stuck(&mut self) -> bool;
    /// Versions that are lost. Looks at all.
    fn lost_versions(&self) -> u64;

    // ---- what was done ----

    /// Page operations started, by action and cause.
    fn counts(&self) -> &Counts;
    /// Counts a completed host request, for the members' mean of blocked requests.
    fn request_completed(&mut self);
    /// Begins to record slices, or ends it.
    fn record_slices(&mut self, records: bool);
    /// Begins to record page operations that start from now on, or ends it.
    fn record_done(&mut self, records: bool);
    /// What was recorded since it was last forgotten.
    fn recorded(&self) -> (&[Slice], &[Done]);
    /// See `recorded`.
    fn forget_recorded(&mut self);
    /// The member of an array unit, and how many of its blocks are free; `None` for a spare that is not in use.
    fn member_of_unit(&self, unit: u32) -> Option<u32>;
    /// Erased blocks of an array unit.
    fn free_blocks_of_unit(&self, unit: u32) -> u64;

    // ---- look-ahead ----

    /// Asks the processor for what a request to this page touches first.
    fn prefetch_map(&self, page: MemberPage);
    /// Asks the processor for the block of an entry's current version.
    fn prefetch_block(&self, entry: u32);
    /// Asks the processor for a program that has ended.
    fn prefetch_record(&self, record: u32);
    /// Asks the processor for what the commit of this program touches first. Returns the entry.
    fn prefetch_commit(&self, record: u32) -> u32;

    // ---- deliberate faults ----

    /// Whether it makes this fault; never but in tests of the checkers.
    fn makes(&self, fault: FlashFault) -> bool;
    /// When the unit of a page began with what it did last.
    #[cfg(feature = "mutants")]
    fn began_ns(&self, ppn: Ppn) -> u64;
    /// Makes a fault from now on.
    #[cfg(feature = "mutants")]
    fn make(&mut self, fault: FlashFault);
}
