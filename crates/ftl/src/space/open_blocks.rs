//! The open blocks of a plane: one for each write stream.

use super::blocks::Blocks;
use super::streams::{NONE, Streams, WriteStream};

impl Blocks {
    /// The host has so many streams, and GC moves pages into as many (`gc_keeps`) or into one. For a new device.
    pub(crate) fn set_streams(&mut self, count: u32, gc_keeps: bool) {
        let (planes, blocks) = (self.planes.len(), self.blocks.len());
        self.streams = (count > 1 || self.slc.is_some()).then(|| Box::new(Streams::new(count as u8, gc_keeps, planes, blocks)));
    }

    /// Streams of the host.
    pub(crate) fn stream_count(&self) -> u8 {
        self.streams.as_ref().map_or(1, |streams| streams.count)
    }

    /// The stream into which GC moves what is live of a block.
    #[inline]
    pub(crate) fn gc_stream_of(&self, block: usize) -> WriteStream {
        match &self.streams {
            Some(streams) if streams.gc_keeps => WriteStream::of_gc(streams.numbers[block]),
            _ => WriteStream::GC,
        }
    }

    /// The stream of a block that is open for the host or, if `is_of_gc`, for GC.
    pub(crate) fn stream_of(&self, block: usize, is_of_gc: bool) -> WriteStream {
        let number = self.streams.as_ref().map_or(0, |streams| streams.numbers[block]);
        match is_of_gc {
            true => WriteStream::of_gc(number),
            false if self.is_slc(block) => WriteStream::of_slc(number),
            false => WriteStream::of_host(number),
        }
    }

    /// The open block of a stream, or `NONE`.
    #[inline(always)]
    pub(crate) fn open_block(&self, plane: u32, stream: WriteStream) -> u16 {
        match self.planes[plane as usize].open.get(stream.index()) {
            Some(open) => *open,
            None => self.further(plane, stream),
        }
    }

    #[cold]
    fn further(&self, plane: u32, stream: WriteStream) -> u16 {
        self.streams.as_ref().map_or(NONE, |streams| streams.open(plane, stream))
    }

    /// The stream's open block is this one from now on, or none.
    #[inline(always)]
    pub(crate) fn set_open(&mut self, plane: u32, stream: WriteStream, block: u16) {
        match self.planes[plane as usize].open.get_mut(stream.index()) {
            Some(open) => *open = block,
            None => self.set_further(plane, stream, block),
        }
    }

    #[cold]
    fn set_further(&mut self, plane: u32, stream: WriteStream, block: u16) {
        if let Some(streams) = &mut self.streams {
            *streams.open_mut(plane, stream) = block;
        }
    }

    /// A block is opened for a stream.
    #[inline(always)]
    pub(super) fn note_stream(&mut self, block: usize, stream: WriteStream) {
        if let Some(streams) = &mut self.streams {
            streams.numbers[block] = stream.number();
        }
    }

    /// The block is open for nobody any more.
    pub(super) fn forget_open(&mut self, plane: u32, block: u16) {
        let further = self.streams.as_mut().map(|streams| streams.open_in_mut(plane));
        let open = self.planes[plane as usize].open.iter_mut().chain(further.into_iter().flatten());
        open.filter(|open| **open == block).for_each(|open| *open = NONE);
    }

    /// All open blocks of the plane.
    pub(crate) fn all_open(&self, plane: u32) -> impl Iterator<Item = u16> {
        let further = self.streams.as_ref().map(|streams| streams.open_in(plane)).into_iter().flatten();
        self.planes[plane as usize].open.iter().chain(further).copied().filter(|open| *open != NONE)
    }

    /// Free pages of the plane, without those in open blocks of streams but the first of the host and of GC.
    #[inline(always)]
    pub(crate) fn pages_for_all(&self, plane: u32) -> u32 {
        let [of_host, of_gc] = self.further_left(plane);
        self.planes[plane as usize].free_pages - of_host - of_gc
    }

    /// Pages left in the open blocks of the host's streams but the first, and of the SLC cache, and in those of GC's but the first.
    #[inline(always)]
    pub(super) fn further_left(&self, plane: u32) -> [u32; 2] {
        if self.streams.is_some() { self.count_further_left(plane) } else { [0; 2] }
    }

    #[cold]
    fn count_further_left(&self, plane: u32) -> [u32; 2] {
        let left =
            |streams: std::ops::Range<u8>, of: fn(u8) -> WriteStream| streams.map(|number| self.left(plane, of(number))).sum::<u32>();
        let count = self.stream_count();
        [left(1..count, WriteStream::of_host) + left(0..count, WriteStream::of_slc), left(1..count, WriteStream::of_gc)]
    }

    /// Whether one of the host's streams but the first has a block open, or the SLC cache.
    #[inline(always)]
    pub(super) fn has_further_open(&self, plane: u32) -> bool {
        self.further_left(plane)[0] > 0
    }

    /// The stream of the plane into which a program of the host's stream goes: its own if that has a block or may open one, else the first one that has. `None` if
    /// there is none.
    pub(crate) fn stream_with_page(&self, plane: u32, stream: WriteStream) -> Option<WriteStream> {
        let is_open = |number: u8| [WriteStream::of_host, WriteStream::of_slc].iter().any(|of| self.open_block(plane, of(number)) != NONE);
        if is_open(stream.number()) || self.may_open(plane) {
            return Some(stream);
        }
        (0..self.stream_count()).find(|number| is_open(*number)).map(WriteStream::of_host)
    }
}
