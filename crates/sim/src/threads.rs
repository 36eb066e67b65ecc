//! Work on several threads whose results do not tell how many these were.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// How often the caller is asked whether to go on while no result is due.
const PATIENCE: Duration = Duration::from_millis(100);

/// Does `work` for each number, on so many threads (at least one), and hands the results to `take` in the order of the numbers, on this thread, until
/// it breaks off: then work that has begun is still done, and its results are dropped. Between results `take` gets `None` now and then.
pub fn in_order<T: Send>(
    threads: usize,
    numbers: Range<u64>,
    work: impl Fn(u64) -> T + Sync,
    mut take: impl FnMut(Option<T>) -> ControlFlow<()>,
) {
    let next = AtomicU64::new(numbers.start);
    let (sender, results) = channel();
    let workers = (threads.max(1) as u64).min(numbers.end.saturating_sub(numbers.start));
    thread::scope(|scope| {
        let begin = |_| {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= numbers.end || sender.send((number, work(number))).is_err() {
                        return;
                    }
                }
            })
        };
        let begun: Vec<_> = (0..workers).map(begin).collect();
        drop(sender);
        let (mut early, mut due) = (BTreeMap::new(), numbers.start);
        loop {
            let goes_on = match results.recv_timeout(PATIENCE) {
                Ok((number, result)) => {
                    early.insert(number, result);
                    std::iter::from_fn(|| early.remove(&due).inspect(|_| due += 1)).try_for_each(|result| take(Some(result)))
                }
                Err(RecvTimeoutError::Timeout) => take(None),
                Err(RecvTimeoutError::Disconnected) => ControlFlow::Break(()),
            };
            if goes_on.is_break() {
                next.store(numbers.end, Ordering::Relaxed);
                break;
            }
        }
        // Of a panic, what it said.
        if let Some(panic) = begun.into_iter().find_map(|thread| thread.join().err()) {
            resume_unwind(panic);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_until_it_is_enough() {
        for threads in [1, 2, 7] {
            let mut taken = Vec::new();
            let slow_first = |number: u64| {
                thread::sleep(Duration::from_millis(if number == 3 { 20 } else { 0 }));
                number * number
            };
            in_order(threads, 3..200, slow_first, |result| {
                taken.extend(result);
                if taken.last() == Some(&(50 * 50)) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            assert_eq!(taken, (3..=50u64).map(|number| number * number).collect::<Vec<_>>(), "{threads} threads");
        }
        let mut asked = 0;
        let slow = |number| {
            thread::sleep(3 * PATIENCE);
            number
        };
        in_order(1, 0..1, slow, |result| {
            asked += u32::from(result.is_none());
            assert!(result.is_none() || asked > 0, "nobody was asked whether to go on while no result was due");
            ControlFlow::Continue(())
        });
        in_order(2, 5..5, |number| number, |result| panic!("{result:?} of nothing"));
    }

    #[test]
    #[should_panic(expected = "number 3 is odd")]
    fn a_panic_says_what_it_said_in_its_thread() {
        let work = |number: u64| assert!(number != 3, "number {number} is odd");
        in_order(2, 0..9, work, |_| ControlFlow::Continue(()));
    }
}
