//! What never changes about media.

use flashraid_vocabulary::{LocalPage, MemberId, MemberPage};

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
    /// Array units.
    pub units: u32,
    /// Space domains.
    pub domains: u32,
    /// Whether members have mirror chips.
    pub has_mirrors: bool,
    /// Whether the map is of blocks, with log blocks.
    pub has_log_blocks: bool,
    /// Whether the end of data-in is reported of programs that the host waits for.
    pub reports_data_in: bool,
}

impl Shape {
    /// The entry of a page in the map: the pages of one number lie side by side.
    #[inline(always)]
    pub fn entry(&self, page: MemberPage) -> u32 {
        page.page.0 * self.members + u32::from(page.member.0)
    }

    /// The inverse of `entry`.
    pub fn page(&self, entry: u32) -> MemberPage {
        MemberPage { member: MemberId((entry % self.members) as u16), page: LocalPage(entry / self.members) }
    }

    /// Whether a page of this number is a translation page.
    #[inline]
    pub fn is_translation(&self, page: MemberPage) -> bool {
        page.page.0 >= self.pages_per_member
    }
}
