//! Where the translation pages lie, and which entries are in them: arithmetic alone.

use crate::engine::options::Dftl;
use crate::media::Shape;
use flashraid_vocabulary::MemberPage;

/// See the module. Entries are numbered as the slots of the flash's maps are.
#[derive(Clone, Copy, Debug)]
pub(super) struct TranslationLayout {
    members: u32,
    /// How many members on the second copy of a translation page is: in the next channel.
    to_twin: u32,
    /// Number of entries.
    pub(super) entries: u32,
    /// Entries of a translation page, as a power of two.
    shift: u32,
    /// Translation pages of each member.
    pages: u32,
    /// Local page of a member's first translation page.
    first_page: u32,
}

impl TranslationLayout {
    /// That of so many entries.
    pub(super) fn new(shape: &Shape, dftl: Dftl, entries: u32) -> Self {
        Self {
            members: shape.members,
            to_twin: shape.to_twin,
            entries,
            shift: dftl.entries_per_page.trailing_zeros(),
            pages: shape.translation_pages / 2,
            first_page: shape.pages_per_member,
        }
    }

    /// Number of translation pages.
    pub(super) fn all_pages(&self) -> u32 {
        self.pages * self.members
    }

    /// The translation page of an entry.
    pub(super) fn page_of(&self, entry: u32) -> u32 {
        ((entry / self.members) >> self.shift) * self.members + entry % self.members
    }

    /// Where the two copies of a translation page are.
    pub(super) fn copies(&self, page: u32) -> [MemberPage; 2] {
        let (index, member) = (page / self.members, page % self.members);
        let copy = |member: u32, index: u32| MemberPage::new(member as u16, self.first_page + index);
        [copy(member, index), copy((member + self.to_twin) % self.members, self.pages + index)]
    }

    /// Entries in a translation page.
    pub(super) fn entries_of(self, page: u32) -> impl Iterator<Item = u32> {
        let first = (page / self.members) << self.shift;
        let of_page = (first..first + (1 << self.shift)).map(move |local| local * self.members + page % self.members);
        of_page.take_while(move |entry| *entry < self.entries)
    }

    /// The translation page of which a copy is at this address.
    pub(super) fn page_at(&self, address: MemberPage) -> u32 {
        let (index, member) = (address.page.0 - self.first_page, u32::from(address.member.0));
        match index.checked_sub(self.pages) {
            None => index * self.members + member,
            Some(index) => index * self.members + (member + self.members - self.to_twin) % self.members,
        }
    }
}
