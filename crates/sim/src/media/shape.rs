//! What never changes about media.

use flashraid_vocabulary::MemberPage;

/// What never changes about media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Members.
    pub members: u32,
    /// Local pages that each member offers to the scheme. Translation pages follow them.
    pub pages_per_member: u32,
    /// Local pages of each member that are translation pages.
    pub translation_pages: u32,
    /// How many members further the second copy of a translation page is.
    pub to_twin: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Planes that GC works in, each by itself.
    pub planes: u32,
    /// LUNs.
    pub units: u32,
    /// Space domains.
    pub domains: u32,
    /// Whether a page's member tells on which flash its versions lie.
    pub binds_members: bool,
    /// Whether members have mirror chips.
    pub has_mirrors: bool,
    /// Whether the map is of blocks, with log blocks.
    pub has_log_blocks: bool,
    /// Whether the end of data-in is reported of programs that the host waits for.
    pub reports_data_in: bool,
    /// Whether GC starts in idle time, so that an event may be the end of a wait, with nothing in flight.
    pub collects_when_idle: bool,
    /// Whether a read may find that its page is lost though nothing has failed.
    pub reads_may_fail: bool,
}

impl Shape {
    /// The entry of a page in the map.
    #[inline(always)]
    pub fn entry(&self, page: MemberPage) -> u32 {
        page.entry(self.members)
    }

    /// The inverse of `entry`.
    #[inline(always)]
    pub fn page(&self, entry: u32) -> MemberPage {
        MemberPage::of_entry(entry, self.members)
    }

    /// Whether a page of this number is a translation page.
    #[inline]
    pub fn is_translation(&self, page: MemberPage) -> bool {
        page.page.0 >= self.pages_per_member
    }
}
