//! Nanoseconds of a dependent random read in 128 MiB on this machine: what the speed of a simulator of large devices rests on.
//! `make bench` prints it beside its figures. `latency quick` walks through 1 MiB, to see that it runs.

use std::hint::black_box;
use std::time::Instant;

const WORDS: u32 = 32 << 20;
const READS: u32 = 10_000_000;
const QUICK: u32 = 128;

fn main() {
    let part = if std::env::args().any(|word| word == "quick") { QUICK } else { 1 };
    let (words, reads) = (WORDS / part, READS / part);
    // One cycle through all words in random order (Sattolo's algorithm), so that each read tells where the next one is.
    let mut next: Vec<u32> = (0..words).collect();
    let mut state = 1_u64;
    for word in (1..words).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        next.swap(word as usize, (((state >> 32) * u64::from(word)) >> 32) as usize);
    }
    let best = (0..3).map(|_| {
        #[expect(clippy::disallowed_methods, reason = "it measures real time")]
        let began = Instant::now();
        let mut word = 0;
        for _ in 0..reads {
            word = next[word as usize];
        }
        black_box(word);
        began.elapsed()
    });
    println!("{:.1}", best.min().unwrap_or_default().as_nanos() as f64 / f64::from(reads));
}
