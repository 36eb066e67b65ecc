//! Hybrid mapping (SPEC 6.3): each kind of merge by hand, FAST beside a small model, reservations and merges under random work.

use crate::support::{GIVEN, Host, ONE_PLANE, Random, settings};
use flashraid_ftl::{GcQuery, Given, MergeKind, Placement, Settings};
use flashraid_vocabulary::{
    Cause, Fault, GcBlockingScope, Geometry, Lun, Member, MemberId, MemberPage, Part, Scheduling, SemivalidAction, Version, View,
    WriteCompletes,
};
use std::collections::VecDeque;

const GC: usize = Cause::Gc as usize;
const SWITCH: usize = MergeKind::Switch as usize;
const PARTIAL: usize = MergeKind::Partial as usize;
const FULL: usize = MergeKind::Full as usize;

/// One plane of `blocks` blocks of 4 pages, for `pages` logical ones.
fn one_plane(blocks: u32, pages: u32, log_blocks: u32, shared_logs: bool) -> Settings {
    Settings {
        geometry: Geometry { blocks_per_plane: blocks, ..ONE_PLANE },
        pages_per_member: pages,
        log_blocks,
        shared_logs,
        gc_threshold: 0.0,
        given: Given { gc_blocking_scope: GcBlockingScope::Chip, ..GIVEN },
        moves_bases: false,
        ..settings(Placement::Blocks)
    }
}

fn page(page: u32) -> MemberPage {
    MemberPage::new(0, page)
}

/// Writes pages one after the other, each when the one before has ended and what it needs is made.
fn write(host: &mut Host, pages: impl IntoIterator<Item = u32>) {
    for number in pages {
        let keep_base = false;
        while !host.write(page(number), Version::Current, keep_base) {
            assert!(host.end_commit() || host.advance(), "page {number} waits for ever");
        }
        host.finish();
    }
}

/// Merges by kind, pages copied, blocks erased.
fn done(host: &Host) -> ([u64; 3], u64, u64) {
    (host.flash.gc().counts().merges, host.flash.nand().counts()[1][GC], host.flash.nand().counts()[2][GC])
}

fn block_of(host: &Host, number: u32) -> u32 {
    host.flash.store().lookup(page(number), Version::Current).unwrap().0 / 4
}

fn offset_of(host: &Host, number: u32) -> u32 {
    host.flash.store().lookup(page(number), Version::Current).unwrap().0 % 4
}

/// Pages go to their own offsets, in whatever order they come; overwrites go to the log block of their logical block.
#[test]
fn pages_lie_at_their_offsets_until_they_are_overwritten() {
    for shared in [false, true] {
        let mut host = Host::new(one_plane(8, 16, 2, shared));
        write(&mut host, [6, 3, 5, 4, 7, 0]);
        for number in [0, 3, 4, 5, 6, 7] {
            assert_eq!(offset_of(&host, number), number % 4);
        }
        assert_eq!([0, 3, 4, 5, 6, 7].map(|number| block_of(&host, number)), [1, 1, 0, 0, 0, 0]);
        write(&mut host, [6, 5, 1]);
        assert_eq!([6, 5].map(|number| (block_of(&host, number), offset_of(&host, number))), [(2, 0), (2, 1)]);
        assert_eq!((block_of(&host, 1), offset_of(&host, 1)), (1, 1), "erased still");
        assert_eq!(done(&host), ([0; 3], 0, 0));
    }
}

/// A log block that is full and in order becomes the data block.
#[test]
fn a_switch_copies_nothing() {
    let mut host = Host::new(one_plane(8, 16, 1, false));
    write(&mut host, (0..4).chain(0..4));
    let log = block_of(&host, 0);
    assert_eq!(done(&host), ([0; 3], 0, 0));
    write(&mut host, [2]);
    assert_eq!(done(&host).0[SWITCH], 1);
    assert_eq!(done(&host), ([1, 0, 0], 0, 1));
    assert_eq!([0, 1, 3].map(|number| block_of(&host, number)), [log; 3]);
    assert_ne!(block_of(&host, 2), log);
}

/// A log block that is in order as far as it goes gets the pages behind, at their offsets.
#[test]
fn a_partial_merge_copies_what_lies_behind() {
    let mut host = Host::new(one_plane(8, 16, 1, false));
    write(&mut host, [0, 1, 3, 4, 0, 1]);
    let log = block_of(&host, 0);
    write(&mut host, [4]); // wants the only log block
    assert_eq!(done(&host).0[PARTIAL], 1);
    assert_eq!(done(&host), ([0, 1, 0], 1, 1));
    assert_eq!([0, 1, 3].map(|number| (block_of(&host, number), offset_of(&host, number))), [(log, 0), (log, 1), (log, 3)]);
    write(&mut host, [2]);
    assert_eq!((block_of(&host, 2), offset_of(&host, 2)), (log, 2), "page 2 was never written: its offset is erased");
    assert_eq!(done(&host).0, [0, 1, 0]);
}

/// Any other log block: the newest versions are copied to an erased block, and both old blocks erased.
#[test]
fn a_full_merge_copies_everything() {
    let mut host = Host::new(one_plane(8, 16, 1, false));
    write(&mut host, [0, 1, 2, 3, 4, 1, 1, 0]);
    let (data, log) = (block_of(&host, 2), block_of(&host, 0));
    write(&mut host, [4]);
    assert_eq!(done(&host).0[FULL], 1);
    assert_eq!(done(&host), ([0, 0, 1], 4, 2));
    let new = block_of(&host, 0);
    assert!(new != data && new != log);
    assert_eq!([0, 1, 2, 3].map(|number| (block_of(&host, number), offset_of(&host, number))), [0, 1, 2, 3].map(|offset| (new, offset)));
    // An INVALID page in the middle spoils the order too: page 0 is discarded after it was logged.
    write(&mut host, [0, 1]);
    assert_eq!(done(&host), ([0, 1, 1], 4, 2 + 1), "page 4 was in order, and alone");
    host.flash.unmap(page(0), Version::Current);
    write(&mut host, [4]);
    assert_eq!(done(&host), ([0, 1, 2], 4 + 3, 2 + 1 + 2));
}

/// A full log block is the victim itself; else the least recently used one is.
#[test]
fn victims_are_the_own_log_block_or_the_one_used_longest_ago() {
    let mut host = Host::new(one_plane(10, 16, 2, false));
    write(&mut host, (0..16).chain([0, 4, 0]));
    // Logical blocks 0 and 1 have log blocks; that of 1 was written before that of 0.
    write(&mut host, [8]);
    assert_eq!(done(&host), ([0, 1, 0], 3, 1), "block 1: one page in order");
    write(&mut host, [0, 0]);
    assert_eq!(done(&host).0, [0, 1, 0]);
    write(&mut host, [1]);
    assert_eq!(done(&host), ([0, 1, 1], 3 + 4, 1 + 2), "block 0: its own");
}

/// 4 pages of 1 read command, 10 in the array, 4096 out, 1 + 4096 in, 100 in the array; two erases of 1 + 1000.
#[test]
fn a_full_merge_takes_as_long_as_its_copies_and_erases() {
    let mut host = Host::new(one_plane(8, 16, 1, false));
    write(&mut host, [0, 1, 2, 3, 4, 1, 1, 0]);
    let begun_ns = host.flash.nand().now_ns();
    assert!(!host.write(page(4), Version::Current, false));
    assert!(host.read(page(4), Version::Current));
    let merge_ns = 4 * (1 + 10 + 4096 + 1 + 4096 + 100) + 2 * (1 + 1000);
    while host.completed[0] == 0 {
        assert!(host.advance());
    }
    assert_eq!(host.flash.nand().now_ns() - begun_ns, merge_ns + 1 + 10 + 4096, "the chip is blocked meanwhile");
    assert_eq!(host.flash.gc().counts().time_ns, merge_ns);
}

/// Before the data block is erased, its semivalid pages are committed; until none is left.
#[test]
fn semivalid_pages_are_committed_before_a_merge() {
    let mut host = Host::new(one_plane(8, 16, 1, false));
    write(&mut host, [0, 1, 2, 3, 4]);
    for number in [1, 3] {
        assert!(host.write(page(number), Version::Current, true));
        host.finish();
    }
    assert!(!host.write(page(4), Version::Current, false));
    assert_eq!((host.asked[0], host.commits.len()), (2, 2), "pages 1 and 3 have bases in the data block");
    assert_eq!(host.flash.nand().next_event_ns(), u64::MAX, "nothing is copied");
    assert!(!host.write(page(0), Version::Current, false), "nothing of the logical block is given out");
    assert!(host.flash.can_allocate(page(4)), "the merge makes room");
    assert!(host.read(page(0), Version::Current) && host.advance() && host.advance() && host.completed[0] == 1, "reads go on");
    host.end_commit();
    assert_eq!(host.flash.nand().next_event_ns(), u64::MAX);
    // This commit leaves page 3 semivalid: it is asked about again.
    host.end_commit();
    assert_eq!((host.asked[0], host.commits.len(), host.flash.nand().next_event_ns()), (3, 1, u64::MAX));
    host.end_commit();
    assert_eq!((host.asked[0], host.flash.nand().counts()[2][GC]), (3, 0));
    assert_eq!(host.flash.nand().loads()[MemberId(0)].gc_runs, 0, "put off: asking again at once does not help");
    assert_eq!((host.flash.store_mut().space_mut().news_mut().take_freed(), host.flash.checked().check()), (None, Ok(())));
    assert_eq!([4, 8].map(|number| host.flash.can_allocate(page(number))), [false, true], "page 8 has a block of its own");
    host.flash.unmap(page(3), Version::Base);
    assert!(host.flash.can_allocate(page(4)));
    assert_eq!(
        host.flash.store_mut().space_mut().news_mut().take_freed(),
        Some(0),
        "nothing else would tell who waits that the merge may begin"
    );
    assert!(!host.write(page(4), Version::Current, false));
    host.finish();
    assert_eq!(done(&host), ([0, 0, 1], 4, 2));
}

/// Between a question and its answer one base may go and another come, at one time: then the merge asks about that one.
#[test]
fn a_merge_asks_again_when_other_pages_are_in_its_way() {
    let mut host = Host::new(one_plane(8, 16, 1, false));
    write(&mut host, [0, 1, 2, 3, 4]);
    assert!(host.write(page(1), Version::Current, true));
    host.finish();
    assert!(!host.flash.reserve(page(4), Version::Current));
    host.flash.unmap(page(1), Version::Base);
    host.flash.retire(page(2));
    assert_eq!(host.flash.take_gc_query(), Some(GcQuery::Semivalid(0, page(2))));
    host.flash.rule(0, page(2), SemivalidAction::CommitFirst);
    host.flash.unmap(page(2), Version::Base);
    host.flash.committed(0);
    assert_eq!(host.flash.take_gc_query(), None);
    assert_ne!(host.flash.nand().next_event_ns(), u64::MAX, "pages are copied");
}

/// If commits count, the cheapest merge wins: two copies, or else a switch with two commits, before a full merge of three. Otherwise the log block
/// used longest ago.
#[test]
fn merges_weigh_copies_and_commits() {
    for (commit_aware, pages, asked, expected) in [
        (false, 2, [2, 0], ([1, 0, 0], 0, 1)),
        // Logical block 1: two commits that read 2 and 1 pages and program one: 230 ns, and no copy of its log block. Block 0: copies of 110 ns.
        (true, 2, [0, 1], ([0, 0, 1], 2, 2)),
        (true, 3, [2, 1], ([1, 0, 0], 0, 1)),
    ] {
        let mut host = Host::new(Settings { commit_aware, ..one_plane(10, 16, 2, false) });
        write(&mut host, (4..8).chain(0..pages).chain([8]));
        for (number, keep_base) in [(4, false), (5, true), (6, false), (7, true), (1, false), (0, false)] {
            assert!(host.write(page(number), Version::Current, keep_base));
            host.finish();
        }
        write(&mut host, [8]);
        assert_eq!((host.asked, done(&host)), (asked, expected), "{commit_aware} {pages}");
    }
}

/// FAST as a list of what is where: data blocks, a sequential log block, random log blocks oldest first.
struct Fast {
    data: Vec<[bool; 4]>,
    /// Logical block, pages in sequence, whether all of them are the newest.
    sequential: Option<(u32, u32)>,
    /// Pages in the random log blocks, stale ones included.
    random: VecDeque<Vec<u32>>,
    /// Where each page's newest version is: 0 nowhere, 1 data, 2 sequential, 3 random.
    newest: Vec<u8>,
    copies: u64,
    erases: u64,
    merges: [u64; 3],
    most_random: usize,
}

impl Fast {
    fn merge(&mut self, logical: u32, target: Option<u32>) {
        let pages = logical * 4..logical * 4 + 4;
        let from = target.unwrap_or(0);
        let kind = if target == Some(4) {
            SWITCH
        } else if target.is_some() {
            PARTIAL
        } else {
            FULL
        };
        self.merges[kind] += 1;
        let moved = pages.clone().skip(from as usize).filter(|page| self.newest[*page as usize] > 0).count() as u64;
        self.copies += moved;
        self.erases += 1;
        let of_sequential = self.sequential.is_some_and(|(owner, _)| owner == logical);
        if of_sequential {
            self.sequential = None;
            self.erases += u64::from(target.is_none());
        }
        for page in pages {
            if self.newest[page as usize] > 0 {
                self.newest[page as usize] = 1;
            }
            self.data[logical as usize][page as usize % 4] = self.newest[page as usize] > 0;
        }
    }

    fn write(&mut self, page: u32) {
        let (logical, offset) = (page / 4, page % 4);
        let taken = &mut self.data[logical as usize][offset as usize];
        if !std::mem::replace(taken, true) {
            self.newest[page as usize] = 1;
            return;
        }
        if offset == 0 {
            if let Some((owner, next)) = self.sequential {
                let in_order = (0..next).all(|offset| self.newest[(owner * 4 + offset) as usize] == 2);
                self.merge(owner, in_order.then_some(next));
                return self.write(page);
            }
            self.sequential = Some((logical, 1));
            self.newest[page as usize] = 2;
            return;
        }
        if let Some((owner, next)) = &mut self.sequential
            && (*owner, *next) == (logical, offset)
        {
            *next += 1;
            self.newest[page as usize] = 2;
            return;
        }
        if self.random.back().is_none_or(|last| last.len() == 4) {
            if self.random.len() == self.most_random {
                let victim = self.random.pop_front().unwrap();
                let mut logicals = Vec::new();
                for (index, page) in victim.iter().enumerate() {
                    let is_newest = self.newest[*page as usize] == 3
                        && !victim[index + 1..].contains(page)
                        && !self.random.iter().any(|log| log.contains(page));
                    if is_newest && !logicals.contains(&(page / 4)) {
                        logicals.push(page / 4);
                    }
                }
                logicals.into_iter().for_each(|logical| self.merge(logical, None));
                self.erases += 1;
                return self.write(page);
            }
            self.random.push_back(Vec::new());
        }
        self.random.back_mut().unwrap().push(page);
        self.newest[page as usize] = 3;
    }
}

#[test]
fn fast_does_what_a_small_model_does() {
    let mut all = [0; 3];
    for seed in 1..=60u64 {
        let logs = 2 + (seed % 3) as u32;
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut host = Host::new(one_plane(8 + logs + 1, 32, logs, true));
        host.checks = seed < 10;
        let mut model = Fast {
            data: vec![[false; 4]; 8],
            sequential: None,
            random: VecDeque::new(),
            newest: vec![0; 32],
            copies: 0,
            erases: 0,
            merges: [0; 3],
            most_random: logs as usize - 1,
        };
        for _ in 0..60 {
            let start = random.below(32) as u32;
            let run = if random.below(3) == 0 { 4 - start % 4 } else { 1 };
            let first = if random.below(3) == 0 { start / 4 * 4 } else { start };
            for number in first..first + run {
                write(&mut host, [number]);
                model.write(number);
                assert_eq!(done(&host), (model.merges, model.copies, model.erases), "seed {seed}, page {number}");
            }
        }
        host.flash.checked().check().unwrap();
        (0..3).for_each(|kind| all[kind] += model.merges[kind]);
    }
    assert!(all.iter().all(|count| *count > 20), "{all:?}");
}

/// Random devices, programs, reads, discards and failures: everything stays consistent, no promise is broken, nothing waits for ever.
#[test]
fn random_work_leaves_everything_consistent() {
    let (mut merges, mut refused, mut asked, mut replaced, mut completed) = ([0; 3], 0, [0; 2], 0, 0);
    for seed in 1..=120u64 {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        (0..10).for_each(|_| _ = random.below(2));
        let shared_logs = random.below(2) == 1;
        let log_blocks = 1 + u32::from(shared_logs) + random.below(2) as u32;
        let mut coin = || random.below(2) == 1;
        let member_is_chip = coin();
        let settings = Settings {
            given: Given {
                member: if member_is_chip { Member::Chip } else { Member::Channel },
                spare_chips: u32::from(coin()),
                lun: if coin() { Lun::Chip } else { Lun::Die },
                scheduling: if coin() { Scheduling::Fifo } else { Scheduling::ReadFirst },
                copyback: coin(),
                write_completes: if coin() { WriteCompletes::DataIn } else { WriteCompletes::ProgramEnd },
                gc_blocking_scope: [GcBlockingScope::None, GcBlockingScope::Lun, GcBlockingScope::Chip, GcBlockingScope::Channel]
                    [usize::from(coin()) * 2 + usize::from(coin())],
                ..GIVEN
            },
            // 8 blocks a plane: the rest is for logical blocks, one of them a target.
            pages_per_member: (7 - log_blocks) * 4 * if member_is_chip { 4 } else { 12 },
            log_blocks,
            shared_logs,
            gc_threshold: 0.0,
            moves_bases: false,
            commit_aware: coin(),
            ..settings(Placement::Blocks)
        };
        let (members, pages) = (settings.members() as u16, settings.pages_per_member);
        let (planes, mut run) = (if member_is_chip { 4 } else { 12 }, 0);
        let mut host = Host::new(settings.clone());
        for step in 0..2500 {
            let member = random.below(u64::from(members.min(3))) as u16;
            // Few planes, and runs of pages beside single ones.
            let block = random.below(u64::from(pages / 4 / planes)) as u32 * planes + random.below(2) as u32;
            run = if random.below(3) > 0 && run % 4 < 3 { run + 1 } else { block * 4 + random.below(2) as u32 * random.below(4) as u32 };
            let address = MemberPage::new(member, run);
            match random.below(20) {
                0..8 => refused += u32::from(!host.write(address, Version::Current, random.below(6) == 0)),
                8 if host.flash.reserve(address, Version::Current) => {
                    host.settle();
                    host.flash.release(address, Version::Current);
                    host.settle();
                }
                9..11 => _ = host.read(address, Version::Current),
                11 => {
                    host.flash.unmap(address, [Version::Base, Version::Current][random.below(2) as usize]);
                    host.settle();
                }
                12 if step > 1000 && random.below(12) == 0 => {
                    let geometry = settings.geometry;
                    let mut of = |count: u32| random.below(u64::from(count)) as u32;
                    let (channel, chip) = (of(geometry.channels), of(settings.chips_per_channel()));
                    let (die, plane) = (of(geometry.dies_per_chip), of(geometry.planes_per_die));
                    let (block, page) = (of(geometry.blocks_per_plane), of(geometry.pages_per_block));
                    let part = match of(20) {
                        0 => Part::Member(u32::from(address.member.0)),
                        1..4 => Part::Chip { channel, chip },
                        4 => Part::Die { channel, chip, die },
                        5 => Part::Plane { channel, chip, die, plane },
                        _ => Part::Page { channel, chip, die, plane, block, page },
                    };
                    host.fail(Fault::Loss(part));
                }
                13 if random.below(4) == 0 => {
                    for (channel, chip) in host.flash.parts().dead_chips() {
                        replaced += u32::from(host.flash.replace(channel, chip));
                        host.settle();
                    }
                }
                14 => _ = host.end_commit(),
                _ => _ = host.advance(),
            }
        }
        host.finish();
        (0..3).for_each(|kind| merges[kind] += host.flash.gc().counts().merges[kind]);
        asked = [asked[0] + host.asked[0], asked[1] + host.asked[1]];
        completed += host.completed[1];
    }
    assert!(merges.iter().all(|count| *count > 10) && completed > 10_000, "{merges:?} {completed}");
    assert!(refused > 1000 && asked[0] > 1000 && asked[1] > 50 && replaced > 3, "{refused} {asked:?} {replaced}");
}
