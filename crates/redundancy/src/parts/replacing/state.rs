//! How far the replacement that runs is, and what those before it have left for reads.

use flashraid_vocabulary::{LocalPage, MemberId, MemberPage, StripeId, persistent};

/// How far a replacement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Operations in flight still program E.
    Draining,
    /// E's strips move, or are rebuilt.
    Migrating,
    /// Parity moves from S to G (SPEC 5.9).
    Shifting,
}

/// The replacement that runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Running {
    /// E.
    pub(super) old: MemberId,
    /// S.
    pub(super) new: MemberId,
    pub(super) stage: Stage,
    /// The spare SSD has died and there is no other one: `old` is that SSD, and `new` the one that was to be replaced, to which the strips go back.
    pub(super) is_given_up: bool,
    /// When it began.
    pub(super) since_ns: u64,
    /// Strips of E when it began.
    pub(super) had: u32,
    /// The stripe to look at next.
    pub(super) position: u32,
    /// Stripes that this round has still to look at.
    pub(super) left: u32,
    /// Parities that this round has left on S (`Stage::Shifting`).
    pub(super) kept: u32,
    /// The next round does not begin before this time.
    pub(super) rests_until_ns: u64,
    /// An operation has changed something since the latest round ended.
    pub(super) has_changed: bool,
    /// One had when the latest round ended.
    pub(super) goes_again: bool,
    /// Host requests wait for its end.
    pub(super) holds_host: bool,
}

impl Running {
    /// Whether the latest round has changed something, or something has since.
    pub(super) fn is_fruitful(&self) -> bool {
        self.has_changed || self.goes_again
    }

    /// Whether a round has found nothing to do, and nothing has changed.
    pub(super) fn is_stuck(&self) -> bool {
        self.rests_until_ns > 0 && !self.is_fruitful()
    }
}

/// What an SSD holds that was replaced, for reads (`shadow`).
#[derive(Clone, Debug, Default)]
pub(super) struct Shadow {
    /// The SSD that was replaced.
    pub(super) old: MemberId,
    /// Whether reads may use it: the replacement has ended.
    pub(super) is_in_use: bool,
    /// Stripes of which its page equals the one of the SSD in its place: a bit each.
    pub(super) valid: Vec<u64>,
}

persistent!(Shadow { keeps [old, is_in_use, valid], });

impl Shadow {
    pub(super) fn is_valid(&self, stripe: StripeId) -> bool {
        self.valid[stripe.0 as usize / 64] >> (stripe.0 % 64) & 1 == 1
    }

    pub(super) fn set(&mut self, stripe: StripeId, is_valid: bool) {
        let word = &mut self.valid[stripe.0 as usize / 64];
        *word = *word & !(1 << (stripe.0 % 64)) | u64::from(is_valid) << (stripe.0 % 64);
    }

    pub(super) fn page(&self, stripe: StripeId) -> MemberPage {
        MemberPage { member: self.old, page: LocalPage(stripe.0) }
    }
}
