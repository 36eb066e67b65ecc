//! Requests in order of time in bounded memory, whatever their order was: sorted runs, which go to a temporary file if there are
//! several, and are merged. Requests of the same time keep the order in which they came.
//!
//! The file has no name: the system takes its space back however the process ends.

use crate::bytes::bytes_at;
use flashraid_vocabulary::{HostOp, HostRequest};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Requests of a run, 32 MiB.
const RUN: usize = 1 << 20;

/// Requests of a run that are in memory while it is merged, 64 KiB.
const PART: usize = 2048;

/// Bytes of a request in the file.
const BYTES: usize = 32;

/// The operations, by their numbers in the file.
const OPS: [HostOp; 5] = [HostOp::Read, HostOp::Write, HostOp::Trim, HostOp::WriteZeroes, HostOp::Flush];

/// Takes requests in any order.
pub(crate) struct Sorter {
    most: usize,
    run: Vec<HostRequest>,
    file: Option<File>,
    /// Where in the file each run ends, in requests.
    ends: Vec<u64>,
}

impl Sorter {
    pub fn new() -> Self {
        Self::of_runs(RUN)
    }

    /// With runs of so many requests.
    fn of_runs(most: usize) -> Self {
        Self { most, run: Vec::new(), file: None, ends: Vec::new() }
    }

    /// Takes a request in.
    pub fn push(&mut self, request: HostRequest) -> io::Result<()> {
        if self.run.len() == self.most {
            self.spill()?;
        }
        self.run.push(request);
        Ok(())
    }

    /// There are no more.
    pub fn finish(mut self) -> io::Result<Sorted> {
        if self.ends.is_empty() {
            self.run.sort_by_key(|request| request.arrival_ns);
        } else {
            self.spill()?;
        }
        let mut sorted = Sorted { memory: self.run, used: 0, file: self.file, ends: self.ends, parts: Vec::new(), next: BinaryHeap::new() };
        sorted.rewind()?;
        Ok(sorted)
    }

    #[cold]
    fn spill(&mut self) -> io::Result<()> {
        self.run.sort_by_key(|request| request.arrival_ns);
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        let mut at = self.ends.last().copied().unwrap_or(0);
        for requests in self.run.chunks(PART) {
            let bytes: Vec<u8> = requests.iter().flat_map(to_bytes).collect();
            file.write_all_at(&bytes, at * BYTES as u64)?;
            at += requests.len() as u64;
        }
        self.ends.push(at);
        self.run.clear();
        Ok(())
    }
}

/// The requests of a sorter, in order of time.
pub(crate) struct Sorted {
    /// The only run, of which `used` requests have been delivered; empty if the runs are in the file.
    memory: Vec<HostRequest>,
    used: usize,
    file: Option<File>,
    ends: Vec<u64>,
    parts: Vec<Part>,
    /// Of each run that has requests left, the time of the next one, and the number of the run, which decides between equal times.
    next: BinaryHeap<Reverse<(u64, usize)>>,
}

/// What is left of a run in the file: that in memory from `used` on, then that in the file from `next` to `end`.
struct Part {
    held: Vec<HostRequest>,
    used: usize,
    next: u64,
    end: u64,
}

impl Part {
    /// The next request, if there is one.
    fn peek(&mut self, file: &File) -> io::Result<Option<HostRequest>> {
        if self.used == self.held.len() && self.next < self.end {
            let count = PART.min((self.end - self.next) as usize);
            let mut bytes = vec![0; count * BYTES];
            file.read_exact_at(&mut bytes, self.next * BYTES as u64)?;
            self.held.clear();
            self.held.extend(bytes.chunks_exact(BYTES).map(from_bytes));
            (self.used, self.next) = (0, self.next + count as u64);
        }
        Ok(self.held.get(self.used).copied())
    }
}

impl Sorted {
    /// Begins again with the first request.
    pub fn rewind(&mut self) -> io::Result<()> {
        self.used = 0;
        self.next.clear();
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        self.parts = starts.zip(&self.ends).map(|(next, end)| Part { held: Vec::new(), used: 0, next, end: *end }).collect();
        if let Some(file) = &self.file {
            for (number, part) in self.parts.iter_mut().enumerate() {
                self.next.extend(part.peek(file)?.map(|first| Reverse((first.arrival_ns, number))));
            }
        }
        Ok(())
    }

    /// The time of the next request.
    pub fn next_ns(&self) -> Option<u64> {
        let in_file = self.next.peek().map(|Reverse((time_ns, _))| *time_ns);
        in_file.or_else(|| self.memory.get(self.used).map(|request| request.arrival_ns))
    }

    /// The next request.
    pub fn pop(&mut self) -> io::Result<Option<HostRequest>> {
        let (Some(file), Some(Reverse((_, number)))) = (&self.file, self.next.pop()) else {
            let request = self.memory.get(self.used).copied();
            self.used += usize::from(request.is_some());
            return Ok(request);
        };
        let part = &mut self.parts[number];
        let request = part.peek(file)?;
        part.used += 1;
        self.next.extend(part.peek(file)?.map(|following| Reverse((following.arrival_ns, number))));
        Ok(request)
    }
}

fn to_bytes(request: &HostRequest) -> [u8; BYTES] {
    let HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream, source } = *request;
    let mut bytes = [0; BYTES];
    bytes[..8].copy_from_slice(&arrival_ns.to_ne_bytes());
    bytes[8..16].copy_from_slice(&offset_bytes.to_ne_bytes());
    bytes[16..24].copy_from_slice(&size_bytes.to_ne_bytes());
    bytes[24..28].copy_from_slice(&source.to_ne_bytes());
    bytes[28..30].copy_from_slice(&stream.to_ne_bytes());
    bytes[30] = op as u8;
    bytes
}

fn from_bytes(bytes: &[u8]) -> HostRequest {
    let number = |at: usize| u64::from_ne_bytes(bytes_at(bytes, at));
    HostRequest {
        arrival_ns: number(0),
        offset_bytes: number(8),
        size_bytes: number(16),
        source: u32::from_ne_bytes(bytes_at(bytes, 24)),
        stream: u16::from_ne_bytes(bytes_at(bytes, 28)),
        op: OPS[usize::from(bytes[30])],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    /// A number that a request's place decides, as if at random.
    fn mixed(place: u64) -> u64 {
        (place + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
    }

    fn sorted_by(most: usize, requests: &[HostRequest]) -> Sorted {
        let mut sorter = Sorter::of_runs(most);
        requests.iter().for_each(|request| sorter.push(*request).unwrap());
        sorter.finish().unwrap()
    }

    fn all(sorted: &mut Sorted) -> Vec<HostRequest> {
        std::iter::from_fn(|| {
            let next_ns = sorted.next_ns();
            let request = sorted.pop().unwrap();
            assert_eq!(request.map(|request| request.arrival_ns), next_ns);
            request
        })
        .collect()
    }

    #[test]
    fn runs_in_a_file_are_merged_as_one_stable_sort_would_and_can_be_read_again() {
        let requests: Vec<_> = (0..10_000)
            .map(|place| HostRequest {
                arrival_ns: mixed(place) % 500,
                offset_bytes: place,
                size_bytes: mixed(place),
                op: OPS[place as usize % OPS.len()],
                stream: place as u16,
                source: mixed(place) as u32,
            })
            .collect();
        let mut expected = requests.clone();
        expected.sort_by_key(|request| request.arrival_ns);
        // All in memory, the last run full, and runs of more than a part.
        for most in [10_000, 2_500, 3_001, 7] {
            let mut sorted = sorted_by(most, &requests);
            assert_eq!(all(&mut sorted), expected, "runs of {most}");
            sorted.rewind().unwrap();
            assert_eq!(all(&mut sorted), expected, "runs of {most}, again");
        }
        assert_eq!(all(&mut sorted_by(4, &[])), []);
    }

    /// So nothing is left of it, however the process ends.
    #[test]
    fn the_temporary_file_has_no_name() {
        let request = HostRequest { arrival_ns: 1, offset_bytes: 0, size_bytes: 1, op: HostOp::Read, stream: 0, source: 0 };
        let sorted = sorted_by(1, &[request; 3]);
        assert_eq!(sorted.file.unwrap().metadata().unwrap().nlink(), 0);
    }
}
