//! Runs a trace of a large device on a small one: extents of addresses are placed one after the other, in the order of first access.
//!
//! An *extent* is 1 MiB of a device's addresses. Its first access assigns it the next place of the logical space, so a trace needs as many
//! places as it accesses extents, and no two addresses coincide. Offsets and alignment inside an extent are unchanged, and extents that are
//! first accessed in ascending order, as in a sequential run, stay adjacent. A request over extents whose places are not adjacent becomes
//! several, one for each run of adjacent places. One pass is enough, and memory grows with the number of extents accessed.
//!
//! Long discards and write-zeroes requests clear file systems (`anonymise`): they assign no places, and are limited to the extents accessed
//! so far.

use crate::anonymise::ties;
use flashraid_vocabulary::{HostOp, HostRequest};
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;

/// Size of an extent: large enough that few requests cross a boundary, small enough that sparse traces become dense. The address spaces of
/// several devices begin at multiples of it, so they need not be placed one after the other first.
pub const EXTENT_BYTES: u64 = 1 << 20;

/// How addresses of the trace were remapped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(extend("unit" = "requests"))]
pub struct Compacted {
    /// Size of an extent.
    #[schemars(extend("unit" = "bytes"))]
    pub extent_bytes: u64,
    /// Extents accessed, each of which has its own place.
    #[schemars(extend("unit" = "extents"))]
    pub extents: u64,
    /// Requests, or parts of requests, whose address differs from that in the trace.
    pub moved: u64,
    /// Requests that were split because they cross extents that are not adjacent after remapping.
    pub split: u64,
    /// Number of requests that they were split into.
    pub split_into: u64,
    /// Discards and write-zeroes requests of 128 MiB or more, which were limited to the extents accessed before them.
    pub cut: u64,
    /// Number of requests that replaced them.
    pub cut_into: u64,
}

/// An extent: its device, and its number on it.
type Extent = (u32, u64);

/// Gives extents their places.
#[derive(Clone, Debug)]
pub struct Compactor {
    /// Places that there are.
    most: u64,
    /// Only looked up, or sorted before it shows: the order of a hash map does not.
    places: FxHashMap<Extent, u64>,
    /// The extent asked for last.
    last: Option<(Extent, u64)>,
    found: Compacted,
}

impl Compactor {
    /// For a logical space of this size.
    pub fn new(space_bytes: u64) -> Self {
        let found = Compacted { extent_bytes: EXTENT_BYTES, ..Compacted::default() };
        Self { most: space_bytes / EXTENT_BYTES, places: FxHashMap::default(), last: None, found }
    }

    /// What became of the requests so far.
    pub fn found(&self) -> Compacted {
        Compacted { extents: self.places.len() as u64, ..self.found }
    }

    /// Appends what a request of a device (`source`) becomes. False, and nothing else, if the extents that it touches do not all fit.
    #[inline]
    pub fn place(&mut self, request: &HostRequest, pieces: &mut Vec<HostRequest>) -> bool {
        let (extent, end) = extents(request);
        match self.last {
            Some((last, place)) if last == (request.source, extent) && end - extent == 1 && ties(request) => {
                pieces.push(self.moved(request, request.offset_bytes, request.size_bytes, place));
                true
            }
            _ => self.look_up(request, pieces),
        }
    }

    /// Counts what a request touches beyond what has a place.
    pub fn touch(&mut self, request: &HostRequest) {
        if ties(request) {
            let (first, end) = extents(request);
            (first..end).for_each(|extent| self.give_place((request.source, extent)));
        }
    }

    fn look_up(&mut self, request: &HostRequest, pieces: &mut Vec<HostRequest>) -> bool {
        if request.op == HostOp::Flush {
            pieces.push(*request);
            return true;
        }
        let is_whole = ties(request);
        let (first, end) = extents(request);
        if is_whole {
            let new = (first..end).filter(|extent| !self.places.contains_key(&(request.source, *extent))).count() as u64;
            if self.places.len() as u64 + new > self.most {
                return false;
            }
            (first..end).for_each(|extent| self.give_place((request.source, extent)));
        }
        let before = pieces.len();
        self.cut(request, pieces);
        let count = (pieces.len() - before) as u64;
        if !is_whole {
            self.found.cut += 1;
            self.found.cut_into += count;
        } else if count > 1 {
            self.found.split += 1;
            self.found.split_into += count;
        }
        true
    }

    fn give_place(&mut self, extent: Extent) {
        let next = self.places.len() as u64;
        self.places.entry(extent).or_insert(next);
    }

    /// Appends the parts of a request that lie in extents with places; parts whose places are neighbors are one.
    fn cut(&mut self, request: &HostRequest, pieces: &mut Vec<HostRequest>) {
        let known = self.known(request);
        let request_end = request.offset_bytes + request.size_bytes;
        for run in known.chunk_by(|(extent, place), (next, next_place)| extent + 1 == *next && place + 1 == *next_place) {
            let ((first, place), (last, _)) = (run[0], run[run.len() - 1]);
            let start = request.offset_bytes.max(first * EXTENT_BYTES);
            let end = request_end.min((last + 1) * EXTENT_BYTES);
            pieces.push(self.moved(request, start, end - start, place));
        }
        self.last = known.last().map(|(extent, place)| ((request.source, *extent), *place));
    }

    /// The extents with places that a request touches, in ascending order, with these.
    fn known(&self, request: &HostRequest) -> Vec<(u64, u64)> {
        let (first, end) = extents(request);
        if end - first <= self.places.len() as u64 {
            return (first..end).filter_map(|extent| self.places.get(&(request.source, extent)).map(|place| (extent, *place))).collect();
        }
        let is_in = |(device, extent): &Extent| *device == request.source && (first..end).contains(extent);
        let mut known: Vec<_> =
            self.places.iter().filter(|(extent, _)| is_in(extent)).map(|((_, extent), place)| (*extent, *place)).collect();
        known.sort_unstable();
        known
    }

    /// The part of a request that begins at `start`, in an extent with this place.
    #[inline]
    fn moved(&mut self, request: &HostRequest, start: u64, size_bytes: u64, place: u64) -> HostRequest {
        let offset_bytes = place * EXTENT_BYTES + start % EXTENT_BYTES;
        self.found.moved += u64::from(offset_bytes != start);
        HostRequest { offset_bytes, size_bytes, ..*request }
    }
}

/// First extent of a request, and the one behind its last.
fn extents(request: &HostRequest) -> (u64, u64) {
    (request.offset_bytes / EXTENT_BYTES, (request.offset_bytes + request.size_bytes).div_ceil(EXTENT_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    const M: u64 = EXTENT_BYTES;

    fn request(op: HostOp, offset_bytes: u64, size_bytes: u64, source: u32) -> HostRequest {
        HostRequest { arrival_ns: 7, offset_bytes, size_bytes, op, stream: 0, source }
    }

    fn placed(compactor: &mut Compactor, op: HostOp, offset_bytes: u64, size_bytes: u64) -> Option<Vec<(u64, u64)>> {
        let mut pieces = Vec::new();
        let fits = compactor.place(&request(op, offset_bytes, size_bytes, 0), &mut pieces);
        fits.then(|| pieces.iter().map(|piece| (piece.offset_bytes, piece.size_bytes)).collect())
    }

    #[test]
    fn extents_lie_in_the_order_of_their_first_requests() {
        let mut compactor = Compactor::new(100 * M);
        assert_eq!(placed(&mut compactor, HostOp::Write, 900 * M + 512, 4096), Some(vec![(512, 4096)]));
        assert_eq!(placed(&mut compactor, HostOp::Read, 5 * M + 7, 1), Some(vec![(M + 7, 1)]));
        assert_eq!(placed(&mut compactor, HostOp::Read, 901 * M - 1, 2), Some(vec![(M - 1, 1), (2 * M, 1)]));
        // The run 5, 6, 7 has the places 1, 3, 4.
        assert_eq!(placed(&mut compactor, HostOp::Write, 5 * M, 3 * M), Some(vec![(M, M), (3 * M, 2 * M)]));
        assert_eq!(placed(&mut compactor, HostOp::Flush, 0, 0), Some(vec![(0, 0)]));
        let found = compactor.found();
        assert_eq!((found.extents, found.moved, found.split, found.split_into), (5, 6, 2, 4));
    }

    #[test]
    fn what_does_not_fit_takes_no_place() {
        let mut compactor = Compactor::new(3 * M + 5);
        assert!(placed(&mut compactor, HostOp::Write, 10 * M, 2 * M).is_some());
        assert_eq!(placed(&mut compactor, HostOp::Write, 11 * M, 3 * M), None);
        assert_eq!(compactor.found().extents, 2);
        assert_eq!(placed(&mut compactor, HostOp::Write, 20 * M, M), Some(vec![(2 * M, M)]));
        assert_eq!(placed(&mut compactor, HostOp::Read, 21 * M, 1), None);
        compactor.touch(&request(HostOp::Read, 21 * M, 2 * M, 0));
        assert_eq!(compactor.found().extents, 5);
    }

    #[test]
    fn long_discards_are_cut_to_what_is_touched() {
        let mut compactor = Compactor::new(100 * M);
        for extent in [1 << 30, 3, (1 << 30) + 1] {
            placed(&mut compactor, HostOp::Write, extent * M + 4096, 4096);
        }
        assert_eq!(placed(&mut compactor, HostOp::Trim, 3 * M + 512, 1 << 62), Some(vec![(M + 512, M - 512), (0, M), (2 * M, M)]));
        assert_eq!(placed(&mut compactor, HostOp::WriteZeroes, 1000 * M, 128 * M), Some(vec![]));
        assert_eq!(placed(&mut compactor, HostOp::Trim, 50 * M, 127 * M).map(|pieces| pieces.len()), None, "shorter ones touch");
        let found = compactor.found();
        assert_eq!((found.extents, found.cut, found.cut_into), (3, 2, 3));
    }

    #[test]
    fn devices_have_extents_of_their_own() {
        let (mut compactor, mut pieces) = (Compactor::new(10 * M), Vec::new());
        for source in [4, 2, 4] {
            assert!(compactor.place(&request(HostOp::Read, 0, 4096, source), &mut pieces));
        }
        assert_eq!(pieces.iter().map(|piece| piece.offset_bytes).collect::<Vec<_>>(), [0, M, 0]);
        pieces.clear();
        assert!(compactor.place(&request(HostOp::Trim, 0, 128 * M, 2), &mut pieces));
        assert_eq!(pieces.iter().map(|piece| piece.offset_bytes).collect::<Vec<_>>(), [M], "a long discard is of its own device");
    }
}
