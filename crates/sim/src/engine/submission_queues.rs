//! The submission queues of the host, in which requests wait until the drive has room for them (SPEC 8.8 (e)).
//!
//! The drive takes requests from the queues in turn, in the order of their numbers, past those that are empty. A turn ends when so many requests were taken
//! in it, or the queue is empty; one that the drive has no more room for goes on when it has. A request that finds room, and nobody waiting, is a turn of its
//! queue, which is empty then.

use std::collections::VecDeque;

/// Queues at most: their numbers are bits of a word.
pub const MOST_QUEUES: u64 = 64;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct SubmissionQueues {
    /// The requests of each, with their numbers.
    queues: Vec<VecDeque<(u64, u32)>>,
    /// Those that are not empty, a bit each.
    filled: u64,
    waiting: usize,
    /// Requests of one turn; the queue whose turn it is, or was last; and how many may follow in it.
    fetch: u32,
    turn: u32,
    left: u32,
    /// The highest number that was taken, and whether a lower one was after it.
    latest: u64,
    pub(super) has_overtaken: bool,
}

impl SubmissionQueues {
    pub(super) fn new(queues: u32, fetch: u32) -> Self {
        Self {
            queues: vec![VecDeque::new(); queues as usize],
            filled: 0,
            waiting: 0,
            fetch,
            turn: queues - 1,
            left: 0,
            latest: 0,
            has_overtaken: false,
        }
    }

    /// Requests that wait.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.waiting
    }

    /// Whether none waits.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// The requests that wait, queue by queue.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        self.queues.iter().flatten().map(|(_, id)| *id)
    }

    /// The queue of a request: the one that its stream names, counted from 1; those that name none go to the queues in turn.
    fn queue_of(&self, sequence: u64, stream: u16) -> u32 {
        let number = if stream > 0 { u64::from(stream) - 1 } else { sequence };
        (number % self.queues.len() as u64) as u32
    }

    /// A request is taken at once, as none waits.
    #[inline]
    pub(super) fn pass(&mut self, sequence: u64, stream: u16) {
        if self.queues.len() > 1 {
            (self.turn, self.left) = (self.queue_of(sequence, stream), 0);
        }
    }

    /// A request waits.
    pub(super) fn push(&mut self, id: u32, sequence: u64, stream: u16) {
        let queue = self.queue_of(sequence, stream);
        self.queues[queue as usize].push_back((sequence, id));
        self.filled |= 1 << queue;
        self.waiting += 1;
    }

    /// Takes the request whose turn it is.
    pub(super) fn pop(&mut self) -> Option<u32> {
        if self.left == 0 {
            let behind = self.filled & (u64::MAX << self.turn << 1);
            let next = if behind == 0 { self.filled } else { behind };
            if next == 0 {
                return None;
            }
            (self.turn, self.left) = (next.trailing_zeros(), self.fetch);
        }
        let queue = &mut self.queues[self.turn as usize];
        let (sequence, id) = queue.pop_front()?;
        self.has_overtaken |= sequence < self.latest;
        self.latest = self.latest.max(sequence);
        (self.waiting, self.left) = (self.waiting - 1, self.left - 1);
        if queue.is_empty() {
            (self.filled, self.left) = (self.filled & !(1 << self.turn), 0);
        }
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests 0 to `count`, of which those in `streams` name a stream, in the order in which they are taken.
    fn taken(queues: u32, fetch: u32, count: u32, stream: impl Fn(u32) -> u16) -> Vec<u32> {
        let mut waiting = SubmissionQueues::new(queues, fetch);
        (0..count).for_each(|id| waiting.push(id, id.into(), stream(id)));
        assert_eq!((waiting.len(), waiting.iter().count()), (count as usize, count as usize));
        let order: Vec<u32> = std::iter::from_fn(|| waiting.pop()).collect();
        assert_eq!(waiting.has_overtaken, !order.is_sorted());
        assert!(waiting.is_empty() && waiting.pop().is_none());
        order
    }

    #[test]
    fn queues_take_turns_of_so_many_requests() {
        assert_eq!(taken(1, 1, 5, |_| 0), [0, 1, 2, 3, 4]);
        assert_eq!(taken(2, 1, 6, |_| 0), [0, 1, 2, 3, 4, 5]);
        assert_eq!(taken(2, 2, 7, |_| 0), [0, 2, 1, 3, 4, 6, 5]);
        assert_eq!(taken(3, 2, 8, |_| 0), [0, 3, 1, 4, 2, 5, 6, 7]);
        // Queue 1 has all but two requests, queue 63 has these.
        assert_eq!(taken(64, 2, 8, |id| if id > 5 { 64 } else { 2 }), [0, 1, 6, 7, 2, 3, 4, 5]);
    }

    #[test]
    fn a_turn_ends_with_its_queue_and_not_for_want_of_room() {
        let mut waiting = SubmissionQueues::new(2, 3);
        waiting.pass(0, 0);
        (0..6).for_each(|id| waiting.push(id, 0, if id == 0 || id == 5 { 2 } else { 1 }));
        let mut next = || waiting.pop().expect("one waits");
        assert_eq!([next(), next(), next()], [0, 5, 1], "queue 0 has had its turn, and the one of queue 1 ends with its second request");
        waiting.push(6, 0, 2);
        let mut next = || waiting.pop().expect("one waits");
        assert_eq!([next(), next(), next(), next()], [2, 3, 6, 4]);
    }
}
