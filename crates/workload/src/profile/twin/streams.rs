//! Where recent transfers ended: places from which a stream may go on.

/// Ends that are remembered of each kind.
const ENDS: usize = 32;

/// How far before an end a request may begin to go on from there.
pub(crate) const TAIL_BYTES: u64 = 16_384;

/// The end of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// Of the space or device that the address belongs to.
    pub device: u32,
    /// First byte behind it.
    pub bytes: u64,
}

/// The last transfers: kind of the last one, and where those of each kind ended, the last one last.
#[derive(Clone, Debug)]
pub(crate) struct Ends {
    pub last_op: usize,
    ends: [Vec<End>; 2],
}

impl Ends {
    pub fn new() -> Self {
        Self { last_op: 1, ends: [Vec::with_capacity(ENDS + 1), Vec::with_capacity(ENDS + 1)] }
    }

    /// End of the last transfer.
    pub fn last(&self) -> Option<End> {
        self.own(self.last_op)
    }

    /// End of the last transfer of a kind.
    pub fn own(&self, op: usize) -> Option<End> {
        self.ends[op].last().copied()
    }

    /// Ends of the transfers of a kind before the last one, of which no request has gone on.
    pub fn streams(&self, op: usize) -> &[End] {
        self.ends[op].split_last().map_or(&[], |(_, before)| before)
    }

    /// Ends of all recent transfers of a kind, the last one last.
    pub fn all(&self, op: usize) -> &[End] {
        &self.ends[op]
    }

    /// A transfer of a kind went from `start` to `end`: on from one that ended where it began, or a little behind.
    pub fn push(&mut self, op: usize, start: u64, end: End) {
        let ends = &mut self.ends[op];
        let goes_on = ends.iter().position(|former| (start..=start + TAIL_BYTES).contains(&former.bytes) && former.bytes <= end.bytes);
        if let Some(index) = goes_on.or((ends.len() == ENDS).then_some(0)) {
            ends.remove(index);
        }
        ends.push(end);
        self.last_op = op;
    }
}
