//! Which mutant of this build runs: the number in `FLASHRAID_MUTANT`. `mutate.py` adds this module to a copy of the vocabulary, which all
//! crates with mutants use.
#![allow(missing_docs)]

use std::cell::RefCell;
use std::io::Write;
use std::sync::LazyLock;

static CHOSEN: LazyLock<u32> =
    LazyLock::new(|| std::env::var("FLASHRAID_MUTANT").map_or(u32::MAX, |number| number.parse().expect("the number of a mutant")));

/// File that takes the numbers of the mutants that each test comes by.
static REACHED: LazyLock<Option<std::ffi::OsString>> = LazyLock::new(|| std::env::var_os("FLASHRAID_REACHED"));

thread_local! {
    static SEEN: RefCell<Vec<bool>> = const { RefCell::new(Vec::new()) };
}

#[inline]
pub fn chosen(mutant: u32) -> bool {
    if REACHED.is_some() {
        note(mutant);
    }
    *CHOSEN == mutant
}

/// Each test has a thread of its own, of its name.
#[cold]
fn note(mutant: u32) {
    let seen = SEEN.try_with(|seen| {
        let mut seen = seen.borrow_mut();
        if seen.len() <= mutant as usize {
            seen.resize(mutant as usize + 1, false);
        }
        std::mem::replace(&mut seen[mutant as usize], true)
    });
    if let (Ok(false), Some(path)) = (seen, REACHED.as_ref()) {
        let line = format!("{mutant} {}\n", std::thread::current().name().unwrap_or_default());
        let mut file = std::fs::File::options().append(true).create(true).open(path).expect("a file that can be written");
        file.write_all(line.as_bytes()).expect("a file that can be written");
    }
}

/// An iterator, reversed or not.
#[derive(Clone)]
pub enum Either<L, R> {
    Left(L),
    Right(R),
}

impl<L: Iterator, R: Iterator<Item = L::Item>> Iterator for Either<L, R> {
    type Item = L::Item;
    fn next(&mut self) -> Option<L::Item> {
        match self {
            Either::Left(left) => left.next(),
            Either::Right(right) => right.next(),
        }
    }
}
