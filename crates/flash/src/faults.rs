//! What has failed.

use crate::Flash;
use flashraid_vocabulary::{MemberId, MemberPage, Version};

impl Flash {
    /// Whether anything has failed since the device was new.
    #[inline]
    pub fn has_failures(&self) -> bool {
        false
    }

    /// Whether the page has this version, and it can be read no more.
    #[inline]
    pub fn is_lost(&self, _address: MemberPage, _version: Version) -> bool {
        false
    }

    /// Whether a page is free now for a program of a current version of any page of the member, and not promised. (With static
    /// placement: in any of its planes.)
    pub fn has_room(&self, _member: MemberId) -> bool {
        true
    }

    /// Whether the member has mirror chips that live.
    pub fn has_mirror(&self, _member: MemberId) -> bool {
        self.settings.mirror_chips > 0
    }

    /// The current version of the page is lost: it counts as written, and can be read no more.
    pub fn lose(&mut self, _address: MemberPage) {}

    /// Pages of the member's data chips that failures took and no spare chip replaces.
    pub fn pages_gone(&self, _member: MemberId) -> u32 {
        0
    }
}
