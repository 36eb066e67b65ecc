//! Write streams (SPEC 8.13). One plane of 16 blocks of 8 program units of four pages.

use crate::support::{GIVEN, Host, ONE_PLANE, Random, operation, settings};
use flashraid_ftl::{Given, MemorySettings, Placement, Settings};
use flashraid_vocabulary::{Action, Fault, GcStreams, Geometry, MemberPage, PageOperation, Part, Version};
use std::collections::{BTreeMap, BTreeSet};

const BLOCK: u32 = 32;

fn drive(write_streams: u32, gc_streams: GcStreams) -> Settings {
    Settings {
        geometry: Geometry { blocks_per_plane: 16, pages_per_block: BLOCK, ..ONE_PLANE },
        units_per_page: 4,
        memory: MemorySettings { pages: 40, read_ns: 10, survives_power_loss: true, pad_after_ns: 0 },
        pages_per_member: 200,
        given: Given { write_streams, gc_streams, ..GIVEN },
        ..settings(Placement::Member)
    }
}

fn write(host: &mut Host, number: u32, stream: u8) {
    let program = operation(Action::Program, MemberPage::new(0, number), Version::Current, false);
    while !host.program(&PageOperation { stream, ..program }) {
        assert!(host.advance(), "page {number} of stream {stream} waits for ever");
    }
}

fn block_of(host: &Host, number: u32) -> u32 {
    host.flash.store().lookup(MemberPage::new(0, number), Version::Current).expect("it was written").0 / BLOCK
}

/// Writes in turn fill a block each. What names a stream that there is not goes with what names none.
#[test]
fn each_stream_fills_blocks_of_its_own() {
    let mut host = Host::new(drive(3, GcStreams::Shared));
    (0..96).for_each(|number| write(&mut host, number, [0, 1, 2, 7][number as usize % 4]));
    host.finish();
    let blocks: Vec<BTreeSet<u32>> = [[0, 3], [1, 1], [2, 2]]
        .map(|rests| (0..96).filter(|number| rests.contains(&(number % 4))).map(|number| block_of(&host, number)).collect())
        .into();
    assert_eq!(blocks.iter().map(BTreeSet::len).collect::<Vec<_>>(), [2, 1, 1]);
    assert_eq!(blocks.iter().flatten().collect::<BTreeSet<_>>().len(), 4, "{blocks:?}");
}

/// Two regions are overwritten in order, one eight times as fast as the other: apart, their blocks die as a whole, and GC has nothing to move.
#[test]
fn data_of_one_age_die_together() {
    let moved = |write_streams| {
        let mut host = Host::new(drive(write_streams, GcStreams::Shared));
        for number in 0..4000 {
            write(&mut host, number % 96, 1);
            if number % 8 == 0 {
                write(&mut host, 96 + number / 8 % 96, 2);
            }
        }
        host.finish();
        host.flash.nand().counts()[Action::Program as usize][flashraid_vocabulary::Cause::Gc as usize]
    };
    assert_eq!(moved(3), 0);
    assert!(moved(1) > 100, "{} pages are moved", moved(1));
}

/// Streams of pages in each block, once these have been moved many times over.
fn mixed_blocks(gc_streams: GcStreams) -> usize {
    let mut host = Host::new(drive(3, gc_streams));
    let mut random = Random(7);
    let stream = |number: u32| 1 + u8::from(number >= 100);
    (0..200).for_each(|number| write(&mut host, number, stream(number)));
    for _ in 0..5000 {
        let number = random.below(200) as u32;
        write(&mut host, number, stream(number));
    }
    host.finish();
    let erased: u32 = host.flash.nand().luns().iter().map(|lun| lun.operations[2].iter().sum::<u64>() as u32).sum();
    assert!(erased > 100, "{erased} blocks are collected");
    let mut streams: BTreeMap<u32, BTreeSet<u8>> = BTreeMap::new();
    (0..200).for_each(|number| _ = streams.entry(block_of(&host, number)).or_default().insert(stream(number)));
    streams.values().filter(|streams| streams.len() > 1).count()
}

#[test]
fn gc_keeps_streams_apart_or_mixes_them() {
    assert_eq!(mixed_blocks(GcStreams::Own), 0);
    assert!(mixed_blocks(GcStreams::Shared) > 1, "{}", mixed_blocks(GcStreams::Shared));
}

/// With as many streams as there are blocks to spare, programs go where there is a page, and all of the space can be used. A program fails now and then.
#[test]
fn a_stream_without_a_block_shares_that_of_another() {
    for (gc_streams, survives_power_loss) in [(GcStreams::Shared, true), (GcStreams::Shared, false), (GcStreams::Own, true)] {
        let settings = drive(8, gc_streams);
        let memory = MemorySettings { survives_power_loss, ..settings.memory };
        // 16 blocks, less a reserve of 2 and two to spare: 10 are left when two have failed, of which GC pads 3 pages each; or 5 beside 7 more that GC may have open.
        let pages_per_member = if gc_streams == GcStreams::Own { 160 } else { 290 };
        let mut host = Host::new(Settings { memory, pages_per_member, ..settings });
        let mut random = Random(11);
        for number in 0..6000 {
            let page = random.below(pages_per_member.into()) as u32;
            write(&mut host, page, random.below(8) as u8);
            if number % 997 == 500 && gc_streams == GcStreams::Shared && number < 2000 {
                host.fail(Fault::Program(Part::Channel(0)));
            }
            if number % 50 == 0 && !survives_power_loss {
                host.flash.flush(number);
                host.finish();
                assert_eq!(host.flash.store_mut().space_mut().news_mut().take_flushed(), Some(number));
            }
        }
        host.finish();
        assert_eq!(host.lost(0).0, 0);
    }
}

/// 8.13 (f): what is left in open blocks of GC's further streams is for no program of the host, and does not put off GC.
#[test]
fn pages_of_gc_streams_do_not_put_off_gc() {
    let mut host = Host::new(Settings { gc_threshold: 0.35, ..drive(3, GcStreams::Own) });
    let mut random = Random(7);
    let stream = |number: u32| 1 + u8::from(number >= 80);
    (0..160).for_each(|number| write(&mut host, number, stream(number)));
    let mut least = u64::MAX;
    for round in 0..1500 {
        let number = random.below(160) as u32;
        write(&mut host, number, stream(number));
        host.finish();
        if round > 500 {
            least = least.min(host.flash.store().space().free_blocks_of_lun(0, host.flash.nand().places()));
        }
    }
    assert_eq!(least, 4, "of 16 blocks 5.6 are the threshold, of which open ones have a part");
}
