//! Which channels take another mirrored write: the limit of SPEC 1.4, and the space for its base and its copy (pin credit, SPEC 1.6).

use crate::parts::bits::Bits;
use flashraid_vocabulary::{MemberId, StripeId, View, persistent};

/// What is counted for each channel (SPEC 1.2).
#[derive(Clone, Copy, Debug, Default)]
struct ChannelCredit {
    /// MWNo: mirrored writes that have ended.
    mirrored_writes: u64,
    /// Mirrored writes in progress. Each counts for MWNo, and as a base and a copy, until the flash counts these.
    booked: u32,
    /// Host-caused programs on data chips, parity included.
    programs: u64,
    /// The stripe that is being consolidated to relieve this channel.
    consolidating: Option<StripeId>,
}

persistent!(ChannelCredit {
    keeps [mirrored_writes, programs],
    anew [booked, consolidating], // nothing, as nothing is in flight
});

/// What all channels have in common.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// `mw_limit` in thousandths; 0 is CR5.
    pub limit_thousandths: u64,
    /// Data chips of a channel.
    pub data_chips: u64,
    /// Bases that a channel can hold beside a current version of each of its strips, parity included.
    pub most_bases: u32,
    /// Copies that a channel can hold.
    pub most_copies: u32,
}

/// See the module. Sets of channels are bits.
#[derive(Clone, Debug)]
pub struct Credit {
    limits: Limits,
    channels: Vec<ChannelCredit>,
    /// Channels to be relieved by a consolidation that is not in progress yet.
    wanting: u64,
}

persistent!(Credit {
    keeps [wanting],
    arrays [channels],
    anew [limits],
});

impl Credit {
    /// Nothing was written on any of so many channels.
    pub fn new(limits: Limits, channels: u16) -> Self {
        Self { limits, channels: vec![ChannelCredit::default(); usize::from(channels)], wanting: 0 }
    }

    /// Number of channels.
    pub fn channels(&self) -> u64 {
        self.channels.len() as u64
    }

    #[inline]
    fn each(&mut self, channels: u64, act: impl Fn(&mut ChannelCredit)) {
        Bits(channels).for_each(|number| act(&mut self.channels[number as usize]));
    }

    /// Whether each of `channels` takes a mirrored write now (SPEC 1.4, `mw_allowed`). Notes those to relieve, if nothing but credit is wanting.
    #[inline]
    pub fn admits(&mut self, channels: u64, view: &dyn View) -> bool {
        let (mut without_credit, mut wanting) = (0, 0);
        for number in Bits(channels) {
            let (member, channel) = (MemberId(number as u16), &self.channels[number as usize]);
            if !self.is_within_limit(channel) || !view.takes_copy(member) {
                return false;
            }
            let has_base = view.bases(member) + channel.booked < self.limits.most_bases.saturating_sub(view.pages_gone(member));
            if !has_base || view.copies(member) + channel.booked >= self.limits.most_copies {
                without_credit |= 1 << number;
                wanting |= u64::from(channel.consolidating.is_none()) << number;
            }
        }
        self.wanting |= wanting;
        without_credit == 0
    }

    /// MWNo <= mw_limit x programs / data chips, exactly (SPEC 1.10 ruling 4).
    fn is_within_limit(&self, channel: &ChannelCredit) -> bool {
        let Limits { limit_thousandths, data_chips, .. } = self.limits;
        let mirrored_writes = channel.mirrored_writes + u64::from(channel.booked);
        limit_thousandths > 0 && mirrored_writes * data_chips * 1000 <= limit_thousandths * channel.programs
    }

    /// A mirrored write is in flight on each of `channels`.
    #[inline]
    pub fn book(&mut self, channels: u64) {
        self.each(channels, |channel| channel.booked += 1);
    }

    /// It is none any more, and counts for nothing.
    #[inline]
    pub fn cancel(&mut self, channels: u64) {
        self.each(channels, |channel| channel.booked -= 1);
    }

    /// A mirrored write has ended on each of `channels`.
    #[inline]
    pub fn mirrored(&mut self, channels: u64) {
        self.each(channels, |channel| {
            channel.booked -= 1;
            channel.mirrored_writes += 1;
            channel.programs += 1;
        });
    }

    /// The host has caused a program on the data chips of each of `channels`.
    #[inline]
    pub fn programmed(&mut self, channels: u64) {
        self.each(channels, |channel| channel.programs += 1);
    }

    /// Counts start anew.
    pub fn begin(&mut self) {
        self.wanting = 0;
        for channel in &mut self.channels {
            (channel.mirrored_writes, channel.programs) = (0, 0);
        }
    }

    // ---- pressure (SPEC 1.6) ----

    /// Whether a channel is to be relieved.
    pub fn is_wanting(&self) -> bool {
        self.wanting != 0
    }

    /// Takes a channel that is to be relieved.
    pub fn take_wanting(&mut self) -> Option<MemberId> {
        let number = Bits(self.wanting).next()?;
        self.wanting &= self.wanting - 1;
        Some(MemberId(number as u16))
    }

    /// The stripe is consolidated to relieve this channel. Returns whether that is not in progress yet, for another channel's sake.
    pub fn consolidate(&mut self, member: MemberId, stripe: StripeId) -> bool {
        let is_under_way = self.channels.iter().any(|channel| channel.consolidating == Some(stripe));
        self.channels[usize::from(member.0)].consolidating = Some(stripe);
        !is_under_way
    }

    /// The stripe relieves no channel any more.
    pub fn stop_consolidating(&mut self, stripe: StripeId) {
        let relieved = self.channels.iter_mut().filter(|channel| channel.consolidating == Some(stripe));
        relieved.for_each(|channel| channel.consolidating = None);
    }
}
