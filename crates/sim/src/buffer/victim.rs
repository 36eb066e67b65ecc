//! What the policies say of a page that has to leave.

use flashraid_vocabulary::Lpn;

/// A page that has to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// Its entry, which the next page may get.
    pub entry: u32,
    /// The page.
    pub lpn: Lpn,
    /// The sectors it holds.
    pub sectors: u64,
    /// With which number it was taken in.
    pub number: u64,
}
