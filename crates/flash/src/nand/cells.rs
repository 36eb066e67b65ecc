//! The cell model: how long the array takes.

/// Times of the cell array as one function of operation, page and block, so that page types, ageing and retries fit in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellTimes {
    /// Array time of a read.
    pub read_ns: u64,
    /// Array time of a program.
    pub program_ns: u64,
    /// Time of an erase.
    pub erase_ns: u64,
}

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

impl CellTimes {
    /// Time of `operation` on page `page_in_block` of a block that was erased `erases` times.
    #[inline]
    pub fn cell_ns(&self, operation: CellOperation, _page_in_block: u32, _erases: u32) -> u64 {
        match operation {
            CellOperation::Read => self.read_ns,
            CellOperation::Program => self.program_ns,
            CellOperation::Erase => self.erase_ns,
        }
    }
}
