//! Write streams (SPEC 8.13): the host's, which requests name, those into which GC moves pages, and those of the SLC cache (8.14). Each has an open block in a plane.

use flashraid_vocabulary::persistent;

/// "No block".
pub(crate) const NONE: u16 = u16::MAX;

/// A write stream of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteStream(u8);

impl WriteStream {
    /// Programs that name no stream.
    pub const HOST: Self = Self(0);
    /// Pages that GC moves, or those that name no stream if the others have GC streams of their own.
    pub const GC: Self = Self(1);

    /// The host's stream of this number, from 0 on.
    pub(crate) fn of_host(number: u8) -> Self {
        Self(KINDS * number)
    }

    /// The stream into which GC moves pages of the host's stream of this number, if that has one of its own.
    pub(crate) fn of_gc(number: u8) -> Self {
        Self(KINDS * number + GC)
    }

    /// The part of the host's stream of this number that goes to the SLC cache (SPEC 8.14).
    pub(crate) fn of_slc(number: u8) -> Self {
        Self(KINDS * number + SLC)
    }

    /// Whether GC fills it.
    #[inline(always)]
    pub(crate) fn is_of_gc(self) -> bool {
        self.0 & GC != 0
    }

    /// Whether it goes to the SLC cache.
    #[inline(always)]
    pub(super) fn is_of_slc(self) -> bool {
        self.0 & SLC != 0
    }

    /// The number of the host's stream.
    pub(crate) fn number(self) -> u8 {
        self.0 / KINDS
    }

    #[inline(always)]
    pub(super) fn index(self) -> usize {
        self.0.into()
    }
}

/// Of each number there are so many: the host's, GC's, the one of the SLC cache, and one that nobody uses, so that these are bits.
const KINDS: u8 = 4;
const GC: u8 = 1;
const SLC: u8 = 2;

/// Where the streams of a plane begin that are neither `HOST` nor `GC`.
const FIRST: u8 = 2;

/// What a device has besides on which the host has several streams, or an SLC cache.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    /// Streams of the host.
    pub(super) count: u8,
    /// Whether pages stay in their streams when GC moves them.
    pub(super) gc_keeps: bool,
    /// Open blocks of the streams from `FIRST` on, plane by plane.
    open: Vec<u16>,
    /// The number of the stream of each block that is programmed.
    pub(super) numbers: Vec<u8>,
}

persistent!(Streams { arrays [open, numbers], anew [count, gc_keeps], });

impl Streams {
    pub(super) fn new(count: u8, gc_keeps: bool, planes: usize, blocks: usize) -> Self {
        Self { count, gc_keeps, open: vec![NONE; planes * Self::further_of(count)], numbers: vec![0; blocks] }
    }

    /// Streams from `FIRST` on of so many of the host.
    fn further_of(count: u8) -> usize {
        usize::from(KINDS * count - FIRST)
    }

    fn place(&self, plane: u32, stream: WriteStream) -> usize {
        plane as usize * Self::further_of(self.count) + stream.index() - usize::from(FIRST)
    }

    /// The open block of one of the streams from `FIRST` on.
    pub(super) fn open_mut(&mut self, plane: u32, stream: WriteStream) -> &mut u16 {
        let place = self.place(plane, stream);
        &mut self.open[place]
    }

    /// The same, to be looked at.
    pub(super) fn open(&self, plane: u32, stream: WriteStream) -> u16 {
        self.open[self.place(plane, stream)]
    }

    /// Those of all of them in a plane.
    pub(super) fn open_in(&self, plane: u32) -> &[u16] {
        let further = Self::further_of(self.count);
        &self.open[plane as usize * further..][..further]
    }

    /// The same, to be changed.
    pub(super) fn open_in_mut(&mut self, plane: u32) -> &mut [u16] {
        let further = Self::further_of(self.count);
        &mut self.open[plane as usize * further..][..further]
    }
}
