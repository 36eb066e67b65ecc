//! The cell model, the only owner of array times: who multiplies, adds or compares them asks it, so that page types, ageing and retries fit in.

/// The array operations that take time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellOperation {
    /// Page to register.
    Read,
    /// Register to page.
    Program,
    /// Whole block.
    Erase,
}

/// Times of the cell array as one function of operation, page and block: here the same for all pages and blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellTimes {
    read_ns: u64,
    program_ns: u64,
    erase_ns: u64,
}

impl CellTimes {
    /// Cells of which every read, every program and every erase takes this long in the array.
    pub fn new(read_ns: u64, program_ns: u64, erase_ns: u64) -> Self {
        Self { read_ns, program_ns, erase_ns }
    }

    /// Time of `operation` on page `page_in_block` of a block that was erased `erases` times.
    #[inline]
    pub(super) fn cell_ns(&self, operation: CellOperation, _page_in_block: u32, _erases: u32) -> u64 {
        match operation {
            CellOperation::Read => self.read_ns,
            CellOperation::Program => self.program_ns,
            CellOperation::Erase => self.erase_ns,
        }
    }

    /// The longest time that `operation` takes on any page or block at any age: for bounds.
    pub fn longest_ns(&self, operation: CellOperation) -> u64 {
        self.cell_ns(operation, 0, 0)
    }

    /// The mean time of `operation` over the pages or blocks of a device: for what work is expected to take.
    #[inline]
    pub fn mean_ns(&self, operation: CellOperation) -> u64 {
        self.cell_ns(operation, 0, 0)
    }

    /// The mean time of so many reads and programs, one after the other: for what moves and commits cost.
    #[inline]
    pub fn mean_cost_ns(&self, reads: u64, programs: u64) -> u64 {
        reads * self.mean_ns(CellOperation::Read) + programs * self.mean_ns(CellOperation::Program)
    }
}
