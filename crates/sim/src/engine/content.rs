//! What pages contain: a parameter of the engine. Without tracking it costs nothing; with tags every page version has a 64-bit
//! content that flows through the plan.

use crate::config::PartialWrites;
use flashraid_redundancy::Operation;
use flashraid_vocabulary::{Delivery, Lpn, MemberPage, Observer, Persistent, Ppn, Sources, Weights, persistent};

/// What flash and NVRAM hold, and what operations read of it and make of it. Operations are named by their slot in the engine, programs and reads by their
/// record. What an implementation leaves out does nothing, as with [`Observer`].
#[expect(unused_variables, reason = "what is not implemented does nothing")]
pub trait Stored {
    /// A read of an operation was submitted as `record`: its `read`-th, which delivers data strip `strip` unless it is `NO_STRIP`.
    fn read_submitted(&mut self, record: u32, read: u8, strip: u8) {}
    /// The read `record` of operation `id` ended.
    fn delivered(&mut self, id: u32, operation: &Operation, record: u32, ppn: Ppn) {}
    /// A data strip of the operation, for which no read was submitted, is the sum of what the delivery names, with these weights if it has some.
    fn assembled(&mut self, id: u32, operation: &Operation, delivery: &Delivery, weights: Option<&Weights>) {}
    /// A program of the operation is submitted as `record`: its content is what its sources delivered, with these weights if they have some.
    fn program(&mut self, id: u32, operation: &Operation, sources: Sources, weights: Option<&Weights>, record: u32) {}
    /// The program ended.
    fn programmed(&mut self, record: u32, ppn: Ppn) {}
    /// The program `record` is repeated as `anew`.
    fn repeated(&mut self, record: u32, anew: u32) {}
    /// The operation ends: NVRAM holds of its stripe's parity what these sources delivered.
    fn deferred(&mut self, id: u32, operation: &Operation, sources: Sources) {}
    /// NVRAM holds nothing any more of this parity.
    fn deferred_no_more(&mut self, parity: MemberPage) {}
    /// A page of zeroes appears on flash (first touch of an unwritten page).
    fn placed_zero(&mut self, ppn: Ppn) {}
    /// The program `record` writes a translation page: `stamp` stands for what that says.
    fn program_stamp(&mut self, record: u32, stamp: u64) {}
    /// A translation page was read.
    fn check_stamp(&mut self, ppn: Ppn, stamp: u64) {}
    /// A translation page appears on flash in no simulated time.
    fn placed_stamp(&mut self, ppn: Ppn, stamp: u64) {}
    /// Asks the processor for the content of a physical page.
    fn fetch_page(&self, ppn: Ppn) {}
}

/// What the host has written, and what it may get: against that reads are compared. Pages in the data buffer are named by their entry. Parts of pages are sets
/// of lanes: bit i is the i-th 64th of the page. What an implementation leaves out does nothing.
#[expect(unused_variables, reason = "what is not implemented does nothing")]
pub trait Expected {
    /// A write, trim or zeroing of pages was submitted: page `lpn` gets a new version, numbered `sequence`.
    fn submitted(&mut self, sequence: u64, lpn: Lpn, change: Submitted) {}
    /// Nothing of page `lpn` counts any more but these lanes: all others, which nobody needs by this rule, are zeroes from now on. Request `sequence` does
    /// that, whose version was the last one submitted; or if none is named, what leaves a data buffer.
    fn left_with(&mut self, lpn: Lpn, lanes: u64, sequence: Option<u64>, rule: PartialWrites) {}
    /// A request discards parts of page `lpn`, bit i being the i-th 128th: nobody needs them.
    fn discarded(&mut self, lpn: Lpn, parts: u128) {}
    /// A request reads these lanes of page `lpn`: they are needed, if only the fill has written them.
    fn used(&mut self, lpn: Lpn, lanes: u64) {}
    /// Version `sequence` was acknowledged (or failed: then both contents are possible from now on).
    fn acknowledged(&mut self, sequence: u64, lpn: Lpn, failed: bool) {}
    /// Operation slot `id` starts a new life on behalf of request `sequence`, or of nobody when that was the latest: a write with what these entries
    /// of a buffer hold of its pages, in ascending order, or, if there are none, with what the host submitted last. Reads note what they may see. `parity`
    /// is its stripe's, if that has one.
    fn begin(&mut self, id: u32, operation: &Operation, parity: Option<MemberPage>, sequence: u64, entries: &[InEntry]) {}
    /// The operation starts anew: what it has read counts no more, and what a read operation may see is what is acknowledged now.
    fn restarted(&mut self, id: u32, operation: &Operation) {}
    /// The operation has ended: what it did is durable, or it failed and did nothing. What the host takes for written is lost then.
    fn ended(&mut self, id: u32, operation: &Operation, failed: bool) {}
    /// The host gets strip `strip` of read operation `id` without flash: from the controller, which holds it as a strip of write
    /// operation `writer` (slot, operation, strip), or else as zeroes.
    fn check_without_flash(&mut self, id: u32, operation: &Operation, strip: u32, writer: Option<(u32, &Operation, u32)>) {}
    /// Request `sequence` puts `lanes` of page `lpn` into an entry of the data buffer, in which nothing is yet if it `is_new`.
    fn buffered(&mut self, entry: u32, sequence: u64, lpn: Lpn, lanes: u64, is_new: bool) {}
    /// The host gets the `asked` lanes of a page at this moment without flash.
    fn check_in_buffer(&mut self, lpn: Lpn, asked: u64, shares: &Shares) {}
    /// Of what flash delivers to read operation `id` as its `strip`, page `lpn`, the host gets what its plan takes of flash, and the rest from the
    /// buffer as it is now.
    fn overlay_buffer(&mut self, id: u32, lpn: Lpn, strip: u8, shares: &Shares) {}
    /// Host page `lpn` was written before the workload starts, by an operation begun with this sequence: `FILL`, or below it for what overwrites the fill.
    fn filled(&mut self, lpn: Lpn, sequence: u64) {}
    /// Asks the processor for what a host page should contain.
    fn fetch_expected(&self, lpn: Lpn) {}
}

/// Content tracking: both.
pub trait Content: Stored + Expected + Observer + Persistent + Clone + Send + Sync {
    /// Whether anything is tracked: lets the engine skip the calls.
    const TRACKED: bool;
}

/// The sequence of operations that fill the device before the workload starts.
pub const FILL: u64 = u64::MAX - 1;

/// What the data buffer holds of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InEntry {
    /// The entry.
    pub entry: u32,
    /// Those of the page's lanes that it says to hold.
    pub lanes: u64,
}

/// Where the data buffer has a page, or some lanes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InBuffer {
    /// It leaves with an operation.
    Leaving {
        /// The operation's slot.
        operation: u32,
        /// Which of its strips it is.
        strip: u8,
    },
    /// A trim is in flight: what came before does not count.
    Zeroes,
    /// It is buffered.
    Entry(InEntry),
}

/// What a read takes of a page, as the engine plans it: lanes of what the buffer has, each source laid over those before, and lanes of what flash
/// holds. All others are zeroes.
#[derive(Clone, Copy, Debug)]
pub struct Shares<'a> {
    /// Where the buffer has the page, older first.
    pub sources: &'a [InBuffer],
    /// Lanes that the read takes from there.
    pub from_buffer: u64,
    /// Lanes that it takes from flash.
    pub from_flash: u64,
}

/// How a request changes a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// All of it is written.
    Whole,
    /// These lanes are written: not all of them.
    Part(u64),
    /// It becomes unwritten.
    Zero,
}

/// Nothing is tracked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Untracked;

impl Observer for Untracked {}

persistent!(Untracked {});

impl Stored for Untracked {}

impl Expected for Untracked {}

impl Content for Untracked {
    const TRACKED: bool = false;
}
