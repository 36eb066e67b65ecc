//! The host requests in flight, those that wait in the host, and what flushes wait for.

use super::request::{Flush, Request};
use super::slot::ROOM;
use super::submission_queues::SubmissionQueues;
use crate::config::Host;
use flashraid_redundancy::Failure;
use flashraid_vocabulary::slab::Slab;
use flashraid_vocabulary::{HostOp, HostRequest};
use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

/// See the module.
#[derive(Clone)]
pub(super) struct Requests {
    list: Slab<Request>,
    /// Submitted and not completed.
    pub(super) outstanding: u64,
    /// Of these, requests that wait in the host until the drive takes another one; and whether any ever did.
    pub(super) in_host: SubmissionQueues,
    pub(super) has_queued_in_host: bool,
    /// Write streams, and how many writes named one of several, and how many one that there is not.
    write_streams: u8,
    pub(super) writes_of_streams: [u64; 2],
    pub(super) submitted: u64,
    /// Of these, requests that the engine has decided.
    pub(super) decided: u64,
    /// Requests that the drive has served before it was switched on.
    pub(super) earlier_requests: u64,
    /// Writes, trims and zeroings served so far, and pages that have left a buffer on behalf of nobody; and how many of them have not finished that no flush
    /// waits for.
    pub(super) writes: u64,
    pub(super) unflushed: u64,
    /// Flushes that wait, in order.
    pub(super) flushes: VecDeque<Flush>,
    /// Positions of the first and the last write of which pages are gone, and no flush has told the host.
    pub(super) untold: Option<(u64, u64)>,
}

impl Index<u32> for Requests {
    type Output = Request;

    #[inline(always)]
    fn index(&self, id: u32) -> &Request {
        &self.list[id]
    }
}

impl IndexMut<u32> for Requests {
    #[inline(always)]
    fn index_mut(&mut self, id: u32) -> &mut Request {
        &mut self.list[id]
    }
}

impl Requests {
    /// None yet.
    pub(super) fn new(host: &Host, write_streams: u8) -> Self {
        Self {
            list: Slab::with_room(ROOM),
            outstanding: 0,
            in_host: SubmissionQueues::new(host.queues, host.fetch),
            has_queued_in_host: false,
            write_streams,
            writes_of_streams: [0; 2],
            submitted: 0,
            decided: 0,
            earlier_requests: 0,
            writes: 0,
            unflushed: 0,
            flushes: VecDeque::new(),
            untold: None,
        }
    }

    /// The write stream of a request that comes.
    #[inline(always)]
    pub(super) fn stream_of(&mut self, request: &HostRequest) -> u8 {
        if request.stream == 0 || self.write_streams == 1 { 0 } else { self.named_stream(request) }
    }

    #[cold]
    fn named_stream(&mut self, request: &HostRequest) -> u8 {
        let is_there = request.stream < self.write_streams.into();
        if matches!(request.op, HostOp::Write | HostOp::WriteZeroes) {
            self.writes_of_streams[usize::from(!is_there)] += 1;
        }
        if is_there { request.stream as u8 } else { 0 }
    }

    /// The request of an operation, if it has one.
    #[inline(always)]
    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut Request> {
        self.list.get_mut(id)
    }

    /// Asks the processor for a request.
    #[inline(always)]
    pub(super) fn prefetch(&self, id: u32) {
        self.list.prefetch(id);
    }

    /// A request begins. Returns where it is.
    pub(super) fn add(&mut self, request: Request) -> u32 {
        self.list.put(request)
    }

    /// All parts of a request have ended.
    pub(super) fn remove(&mut self, id: u32) {
        self.list.remove(id);
    }

    /// The engine decides a request.
    #[inline(always)]
    pub(super) fn is_decided(&mut self, id: u32) {
        self.list[id].decided_as = self.decided;
        self.decided += 1;
    }

    /// The number of the versions that a request makes, which no other request makes in the life of the drive: later decisions have higher ones.
    #[inline]
    pub(super) fn number_of_version(&self, request: &Request) -> u64 {
        self.earlier_requests + request.decided_as
    }

    /// Requests served in the life of the drive.
    pub(super) fn requests_of_life(&self) -> u64 {
        self.earlier_requests + self.submitted
    }

    /// No request has made versions with higher numbers.
    #[inline]
    pub(super) fn latest_version(&self) -> u64 {
        self.requests_of_life().wrapping_sub(1)
    }

    /// Pages leave a volatile buffer on behalf of nobody: a flush waits for that as for a write that has not finished. Returns its position among writes.
    #[cold]
    pub(super) fn leaves_for_nobody(&mut self) -> u64 {
        self.writes += 1;
        self.unflushed += 1;
        self.writes - 1
    }

    /// A flush waits until all writes before position `target` have finished. Returns whether there are any.
    pub(super) fn waits(&mut self, request: u32, target: u64) -> bool {
        // Those from the target on: itself, if it writes, and what came while all was held.
        let later = self.writes - target;
        let unfinished = self.unflushed - later;
        let waits = unfinished > 0 || !self.flushes.is_empty();
        if waits {
            self.flushes.push_back(Flush { request, target, unfinished });
            self.unflushed = later;
        }
        waits
    }

    /// Whether the host takes the request for done.
    pub(super) fn is_believed(&self, request: u32) -> bool {
        let Request { unanswered, failed, .. } = self.list[request];
        unanswered == 0 && failed.is_none()
    }

    /// A read of a page that is gone fails, and so does a write of a part of it, beneath which nothing is.
    #[cold]
    pub(super) fn fail_over_what_is_gone(&mut self, request: u32) {
        let failed = &mut self.list[request].failed;
        *failed = (*failed).max(Some(Failure::Lost));
    }

    /// Pages are gone of the write at this position among all, or of one before: flushes fail that wait to make it durable, and if there are none, the next
    /// one that was to.
    #[cold]
    pub(super) fn owes_word_of(&mut self, position: u64) {
        let mut is_told = false;
        for index in 0..self.flushes.len() {
            let Flush { target, request, .. } = self.flushes[index];
            if target > position {
                self.fail_over_what_is_gone(request);
                is_told = true;
            }
        }
        if !is_told {
            let (first, last) = self.untold.unwrap_or((position, position));
            self.untold = Some((first.min(position), last.max(position)));
        }
    }

    /// A flush ends that was to make all writes before position `target` durable: it fails, if pages of them are gone, and the host was not told.
    pub(super) fn keep_word(&mut self, target: u64, flush: u32) {
        if let Some((first, last)) = self.untold.filter(|(first, _)| *first < target) {
            self.fail_over_what_is_gone(flush);
            self.untold = (last >= target).then_some((first.max(target), last));
        }
    }
}
