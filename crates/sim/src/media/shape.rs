//! What never changes about media.

use super::Flash;
use flashraid_ftl::Placement;
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
    /// Pages of the map in a flash page.
    pub units_per_page: u32,
    /// Pages of the map that are programmed together.
    pub units_per_program: u32,
    /// Planes that GC works in, each by itself.
    pub planes: u32,
    /// SSDs, spare ones included.
    pub ssds: u32,
    /// LUNs.
    pub luns: u32,
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
    /// Whether an event may be the end of a wait, with nothing in flight: GC starts in idle time, or flash pages are padded after some.
    pub waits_at_rest: bool,
    /// Whether a read may find that its page is lost though nothing has failed.
    pub reads_may_fail: bool,
}

impl Shape {
    /// That of an SSD.
    pub(super) fn of(flash: &Flash) -> Self {
        let (settings, geometry) = (flash.settings(), flash.settings().geometry);
        Self {
            members: settings.members(),
            pages_per_member: settings.pages_per_member,
            translation_pages: settings.translation_pages,
            to_twin: if settings.member_is_chip() && geometry.channels > 1 { geometry.chips_per_channel } else { 1 },
            page_bytes: geometry.page_bytes,
            pages_per_block: geometry.pages_per_block,
            units_per_page: settings.units_per_page,
            units_per_program: settings.units_per_program(),
            planes: flash.store().space().planes(),
            ssds: 1,
            luns: flash.nand().shape().luns(),
            domains: flash.store().space().domains() as u32,
            binds_members: !matches!(settings.placement, Placement::Groups(_)),
            has_mirrors: settings.given.mirror_chips > 0,
            has_log_blocks: settings.log_blocks > 0,
            reports_data_in: settings.reports_data_in(),
            waits_at_rest: settings.works_when_idle() || settings.packs(),
            reads_may_fail: settings.cell.ldpc().is_some_and(|ldpc| ldpc.can_fail()),
        }
    }

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
