//! GC policies: each beside a naive model, and what all of them promise.

use crate::support::Random;
use flashraid_ftl::space::blocks::Block;
use flashraid_ftl::space::victim::{Sizes, Victims};
use flashraid_ftl::{ChosenPolicy, policies};
use flashraid_vocabulary::Persistent;

const PAGES: u32 = 70; // more than a word of lists
const BLOCKS: u16 = 20;
const PLANES: u32 = 2;
const SIZES: Sizes = Sizes { planes: PLANES, blocks_per_plane: BLOCKS as u32, pages_per_block: PAGES };

/// A closed block of the model.
#[derive(Clone, Copy, Debug)]
struct Closed {
    /// In its plane.
    number: u16,
    /// Pages to move.
    moves: u32,
    has_garbage: bool,
    /// When that changed last.
    since: u64,
    /// How many blocks had been closed before: of a block that is closed again another number.
    order: u64,
    /// Pages programmed before it was closed.
    programmed: u64,
}

/// The closed blocks of a plane, the oldest first, unless the model of a policy reorders them.
type Plane = Vec<Closed>;

fn made(policy: &str) -> Victims {
    ChosenPolicy::of(policy).expect("a policy").make(SIZES, 0)
}

/// Closes, changes and takes blocks at random, and asks `check` after each step, with the policy, the model of a plane and the pages programmed so far.
fn drive(policy: &str, has_bases: bool, steps: u64, mut check: impl FnMut(&mut Victims, u32, &mut [Block], &mut Plane, u64)) {
    let mut random = Random(2);
    let mut victims = made(policy);
    let mut blocks = vec![vec![Block::default(); usize::from(BLOCKS)]; PLANES as usize];
    let mut planes = vec![Plane::new(); PLANES as usize];
    let (mut closed, mut programmed) = (0, 0);
    for time in 0..steps {
        let plane = random.below(u64::from(PLANES)) as u32;
        let number = random.below(u64::from(BLOCKS)) as u16;
        let (blocks, model) = (&mut blocks[plane as usize], &mut planes[plane as usize]);
        let known = model.iter().position(|each| each.number == number);
        let block = &mut blocks[usize::from(number)];
        match known {
            None => {
                // Every third block has no garbage yet.
                block.live = if random.below(3) == 0 { PAGES } else { random.below(u64::from(PAGES) + 1) as u32 };
                block.bases = if has_bases { random.below(u64::from(block.live.min(3)) + 1) as u32 } else { 0 };
                let (moves, has_garbage) = (block.live - block.bases, block.live < PAGES);
                model.push(Closed { number, moves, has_garbage, since: time, order: closed, programmed });
                closed += 1;
                victims.close(plane, number, blocks);
            }
            Some(at) if random.below(8) == 0 || block.live == 0 => {
                victims.take(plane, number, blocks);
                model.remove(at);
            }
            Some(at) => {
                let becomes_base = has_bases && block.bases < block.live && random.below(4) == 0;
                let loses_base = block.bases > 0 && random.below(2) == 0;
                victims.change(plane, number, blocks, |block| match (becomes_base, loses_base) {
                    (true, _) => block.bases += 1,
                    (_, true) => (block.bases, block.live) = (block.bases - 1, block.live - 1),
                    _ if block.bases == block.live => (block.bases, block.live) = (block.bases - 1, block.live - 1),
                    _ => block.live -= 1,
                });
                let block = blocks[usize::from(number)];
                let each = &mut model[at];
                (each.moves, each.has_garbage, each.since) = (block.live - block.bases, block.live < PAGES, time);
            }
        }
        for _ in 0..random.below(4) {
            victims.program();
            programmed += 1;
        }
        victims.check(plane, blocks).unwrap_or_else(|error| panic!("{policy} at {time}: {error}"));
        check(&mut victims, plane, blocks, model, programmed);
    }
}

/// The policy chooses what `expected` says of the model, which may reorder it.
fn agrees(policy: &str, has_bases: bool, mut expected: impl FnMut(&mut Plane, u64) -> Option<u16>) {
    let mut chosen = 0;
    drive(policy, has_bases, 20_000, |victims, plane, blocks, model, programmed| {
        let expected = expected(model, programmed);
        assert_eq!(victims.choose(plane, blocks), expected, "{policy}: {model:?}");
        chosen += u32::from(expected.is_some());
    });
    assert!(chosen > 10_000, "{policy}: {chosen} choices");
}

/// Greedy: fewest pages to move; ties by who reached the number first; never a block whose pages are all live.
#[test]
fn greedy_takes_the_emptiest_and_among_these_the_first() {
    for policy in ["auto", "greedy", "commit_aware"] {
        agrees(policy, false, |model, _| {
            let with_garbage = model.iter().filter(|each| each.has_garbage);
            with_garbage.min_by_key(|each| (each.moves, each.since)).map(|each| each.number)
        });
    }
}

/// Windowed greedy, written down once more: those of the window without garbage go to the end, and if none is left it moves on.
fn of_window(model: &mut Plane, window: usize) -> Option<u16> {
    if !model.iter().any(|each| each.has_garbage) {
        return None;
    }
    loop {
        let looked_at: Vec<Closed> = model.iter().take(window).copied().collect();
        let (with_garbage, without): (Vec<_>, Vec<_>) = looked_at.into_iter().partition(|each| each.has_garbage);
        model.retain(|each| !without.iter().any(|other| other.number == each.number));
        model.extend(without);
        // Of equal ones the first.
        if let Some(best) = with_garbage.iter().min_by_key(|each| each.moves) {
            return Some(best.number);
        }
    }
}

#[test]
fn fifo_takes_the_oldest() {
    agrees("fifo", false, |model, _| of_window(model, 1));
    agrees("fifo", true, |model, _| of_window(model, 1));
}

#[test]
fn windowed_greedy_takes_the_emptiest_of_the_oldest() {
    for window in [1, 2, 5, 19, 20, 1000] {
        agrees(&format!("windowed:{window}"), window % 2 == 0, |model, _| of_window(model, window));
    }
}

/// With far more draws than blocks, all of them are drawn.
#[test]
fn many_draws_find_the_emptiest_and_among_these_the_oldest() {
    for has_bases in [false, true] {
        agrees("d:1000", has_bases, |model, _| {
            let with_garbage = model.iter().filter(|each| each.has_garbage);
            with_garbage.min_by_key(|each| (each.moves, each.order)).map(|each| each.number)
        });
    }
}

/// One draw takes each block with garbage as often; two, by how many have fewer pages to move: of n blocks the i-th with (2 (n - i) + 1) / n^2.
#[test]
fn draws_are_even() {
    const TIMES: u32 = 40_000;
    for draws in [1, 2] {
        let mut victims = made(&format!("d:{draws}"));
        let mut blocks = vec![Block::default(); usize::from(BLOCKS)];
        for number in 0..BLOCKS {
            // The last two have none.
            blocks[usize::from(number)].live = PAGES.min(PAGES - u32::from(BLOCKS - 2) + u32::from(number));
            victims.close(1, number, &mut blocks);
        }
        let mut counts = [0; BLOCKS as usize];
        for _ in 0..TIMES {
            counts[usize::from(victims.choose(1, &mut blocks).unwrap())] += 1;
        }
        let candidates = f64::from(BLOCKS - 2);
        for (number, count) in counts.into_iter().enumerate() {
            let share = match (draws, number as u16) {
                (_, number) if number >= BLOCKS - 2 => 0.0,
                (1, _) => 1.0 / candidates,
                (_, number) => (2.0 * (candidates - f64::from(number)) - 1.0) / (candidates * candidates),
            };
            let mean = f64::from(TIMES) * share;
            assert!(
                (f64::from(count) - mean).abs() <= 4.0 * (mean * (1.0 - share)).sqrt(),
                "{draws} draws: block {number} {count} times, {mean}"
            );
        }
    }
}

#[test]
fn cost_benefit_weighs_garbage_and_age() {
    for has_bases in [false, true] {
        agrees("cost_benefit", has_bases, |model, programmed| {
            let with_garbage: Vec<_> = model.iter().filter(|each| each.has_garbage).collect();
            // Free of cost: the oldest.
            let free = with_garbage.iter().filter(|each| each.moves == 0);
            if let Some(oldest) = free.min_by_key(|each| each.order) {
                return Some(oldest.number);
            }
            let score = |each: &Closed| {
                let (freed, moved) = (u64::from(PAGES - each.moves), u64::from(each.moves));
                (freed * (programmed - each.programmed), moved)
            };
            // Fractions by their products; of equal ones the one that was closed first.
            let is_better = |one: &&&Closed, other: &&&Closed| {
                let ((gain, cost), (least_gain, least_cost)) = (score(one), score(other));
                (gain * least_cost).cmp(&(least_gain * cost)).then(other.order.cmp(&one.order))
            };
            with_garbage.iter().max_by(is_better).map(|each| each.number)
        });
    }
}

fn saved(victims: &Victims) -> Vec<u8> {
    let mut bytes = Vec::new();
    victims.save(&mut bytes).unwrap();
    bytes
}

/// All victims of a plane, one after the other.
fn collected(mut victims: Victims, blocks: &[Block]) -> Vec<u16> {
    let mut blocks = blocks.to_vec();
    let mut found = Vec::new();
    while let Some(victim) = victims.choose(0, &mut blocks) {
        victims.take(0, victim, &mut blocks);
        found.push(victim);
    }
    found
}

/// What every policy promises, also one that is added: a victim whenever there is garbage, and one that has some; the same again from what a drive keeps of it.
#[test]
fn every_policy_finds_garbage_wherever_there_is_some_and_is_kept() {
    for policy in policies() {
        let values: Vec<String> = match policy.most {
            None => vec![policy.form.into()],
            Some(most) => [1, 3, most].map(|number| format!("{}:{number}", policy.name())).into(),
        };
        for value in values {
            let mut step = 0;
            drive(&value, !policy.suits_merges, 6000, |victims, plane, blocks, model, _| {
                step += 1;
                if step % 50 == 0 && plane == 0 {
                    let mut restored = made(&value);
                    restored.restore(&mut &saved(victims)[..]).unwrap();
                    assert_eq!(collected(restored.clone(), blocks), collected(victims.clone(), blocks), "{value}: kept");
                    *victims = restored;
                }
                let chosen = victims.clone().choose(plane, &mut blocks.to_vec());
                assert_eq!(victims.choose(plane, blocks), chosen, "{value}: chosen anew");
                let garbage = |number: u16| model.iter().any(|each| each.number == number && each.has_garbage);
                assert_eq!(chosen.is_some(), model.iter().any(|each| each.has_garbage), "{value}: {model:?}");
                assert!(chosen.is_none_or(garbage), "{value} chose {chosen:?} of {model:?}");
                let numbers: Vec<u16> = blocks.iter().zip(0..).filter(|(block, _)| block.listed).map(|(_, number)| number).collect();
                assert_eq!(numbers.len(), model.len(), "{value}: closed blocks");
            });
        }
    }
}

#[test]
fn values_are_a_name_and_a_number() {
    for text in ["greedy", "auto", "commit_aware", "fifo", "cost_benefit", "d:1", "d:1000", "windowed:65534"] {
        let chosen = ChosenPolicy::of(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(ChosenPolicy::of(text), Some(chosen), "{text}");
        assert_eq!(chosen.number.to_string(), text.split_once(':').map_or("0", |(_, number)| number));
    }
    for text in [
        "",
        "gready",
        "greedy:",
        "greedy:1",
        "d",
        "d:",
        "d:0",
        "d:01",
        "d:+1",
        "d:-1",
        "d:1.5",
        "d:1001",
        "d:1:2",
        "windowed:65535",
        "fifo:1",
        "D:1",
    ] {
        assert_eq!(ChosenPolicy::of(text), None, "{text}");
    }
    assert_ne!(ChosenPolicy::of("d:1"), ChosenPolicy::of("d:2"));
    assert_ne!(ChosenPolicy::of("auto"), ChosenPolicy::of("greedy"));
}
