//! Distinct types for distinct things.

/// Host logical page number: byte offset divided by the page size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lpn(pub u64);

/// Physical page number: the position of a page in the device, channel first, page of the block last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ppn(pub u32);

/// Number of a stripe. In schemes that only order accesses to a page (raid0) it is the page's own number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StripeId(pub u32);

/// A member of the redundancy group: the unit of placement, failure and health (a channel or a chip).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberId(pub u16);

/// Number of a logical page inside one member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalPage(pub u32);

/// The address a scheme uses: which member, which of its logical pages. Never a physical page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberPage {
    /// The member.
    pub member: MemberId,
    /// The logical page inside the member.
    pub page: LocalPage,
}

impl MemberPage {
    /// Shorthand for tests and layouts.
    pub fn new(member: u16, page: u32) -> Self {
        Self { member: MemberId(member), page: LocalPage(page) }
    }

    /// Its number among the pages of so many members. Pages of one number lie side by side, so that the strips of a stripe do.
    #[inline(always)]
    pub fn entry(self, members: u32) -> u32 {
        self.page.0 * members + u32::from(self.member.0)
    }

    /// The inverse of `entry`.
    #[inline(always)]
    pub fn of_entry(entry: u32, members: u32) -> Self {
        Self { member: MemberId((entry % members) as u16), page: LocalPage(entry / members) }
    }
}
