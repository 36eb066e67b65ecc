//! No heap allocation a request once the engine is warm, with GC on.

#[allow(unused)] // most of it is for the suite
mod support;

use flashraid_redundancy::{SCHEMES, find};
use flashraid_sim::Config;
use flashraid_sim::assemble::Assembled;
use flashraid_sim::engine::Engine;
use flashraid_sim::engine::content::Untracked;
use flashraid_sim::media::{Flash, Media, SsdArray};
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{Action, Cause, HostOp};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use support::{config, engine_on, pages, proving, some_of};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Counts what each thread allocates.
struct Counting;

// SAFETY: everything is handed on to the system's allocator; the counter is a plain cell of the thread, which never allocates.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promised.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Random requests of one to eight pages, of which so many may be outstanding.
fn replay<M: Media>(engine: &mut Engine<Untracked, M>, random: &mut SplitMix64, requests: u64, outstanding: u64) {
    for _ in 0..requests {
        while engine.outstanding() >= outstanding {
            engine.advance().unwrap();
        }
        let op = [HostOp::Write, HostOp::Write, HostOp::Read, HostOp::Trim][(random.next_u64() % 4) as usize];
        let count = 1 + random.next_u64() % 8;
        let first = random.next_u64() % (engine.space_pages() - count);
        // Arrivals while others are under way, and pauses now and then, in which everything ends.
        let pause_ns = if random.next_u64().is_multiple_of(64) { 50_000_000 } else { random.next_u64() % 20_000 };
        engine.advance_until(engine.now_ns() + pause_ns).unwrap();
        engine.submit(&pages(op, first, count), true);
        engine.front_end.completed.clear();
    }
}

fn allocations(config: &Config) -> u64 {
    if config.array.is_single() { allocations_on::<Flash>(config) } else { allocations_on::<SsdArray>(config) }
}

fn allocations_on<M: Assembled>(config: &Config) -> u64 {
    let mut engine: Engine<_, M> = engine_on(config, config.build_scheme().expect("a legal scheme"), Untracked);
    engine.fill(engine.space_pages());
    // Of each of the four parts. Asked before anything is counted: the variable that it looks at is a string on the heap.
    let requests = proving(100_000, 40_000);
    let mut random = SplitMix64::new(1);
    // Tables and lists grow to their longest: the rarest of them late. What leaves a buffer by itself waits in them beside the requests, so that a first part
    // with more of these makes them longer than the others need.
    [32, 16, 16].into_iter().for_each(|outstanding| replay(&mut engine, &mut random, requests, outstanding));
    let before = (ALLOCATIONS.get(), engine.executor.media.counts()[Action::Program as usize][Cause::Gc as usize]);
    replay(&mut engine, &mut random, requests, 16);
    let moves = engine.executor.media.counts()[Action::Program as usize][Cause::Gc as usize] - before.1;
    assert!(moves > requests / 10, "only {moves} pages were moved");
    ALLOCATIONS.get() - before.0
}

/// A small drive whose queues are long enough to be filled to their longest while it warms up.
fn small(scheme: &str, pairs: &[(&str, &str)]) -> Config {
    let mut all = vec![("blocks_per_plane", "32"), ("pages_per_block", "32"), ("over_provisioning", "0.25")];
    if find(scheme).is_some_and(|entry| entry.mirror_chips > 0) {
        all.push(("chips_per_channel", "2"));
    }
    all.extend(pairs);
    config("tiny", scheme, &all)
}

#[test]
fn a_warm_engine_allocates_nothing() {
    for entry in some_of(SCHEMES, 2, 3) {
        assert_eq!(allocations(&small(entry.name, &[])), 0, "{}", entry.name);
    }
}

#[test]
fn nor_with_early_answers_and_static_wear_leveling() {
    let pairs =
        [("write_completes", "data_in"), ("parity_in_response", "false"), ("wear_leveling", "static"), ("wear_leveling_threshold", "5")];
    for entry in some_of(SCHEMES, 0, 3) {
        assert_eq!(allocations(&small(entry.name, &pairs)), 0, "{}", entry.name);
    }
}

#[test]
fn nor_with_a_data_buffer() {
    let nvram = |victim| vec![("nvram_buffer_bytes", "1048576"), ("nvram_victim", victim)];
    let buffers = [vec![("buffer_bytes", "1048576")], nvram("oldest_write"), nvram("largest_group")];
    for (row, entry) in some_of(SCHEMES, 1, 3).enumerate() {
        for buffer in some_of(&buffers, row, buffers.len()) {
            assert_eq!(allocations(&small(entry.name, buffer)), 0, "{}, {buffer:?}", entry.name);
        }
    }
}

#[test]
fn the_counter_counts() {
    let before = ALLOCATIONS.get();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(ALLOCATIONS.get() - before, 1);
}
