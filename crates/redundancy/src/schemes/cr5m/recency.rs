//! Which stripes are mirrored, in the order of their latest mirrored write (SPEC 1.6: the least recent one is consolidated under pressure).

use crate::stripe_map::{Role, Row, StripeMap};
use flashraid_vocabulary::{MemberId, StripeId, persistent, prefetch};

/// Which strips of each stripe are mirrored, and the mirrored stripes in a list by their latest mirrored write.
///
/// One list serves all channels: each remembers a stripe before which none has a mirrored strip on the channel. A stripe comes to have
/// one only by a mirrored write, which puts it at the end of the list; so what a channel has passed stays passed, and a search costs
/// no more than the mirrored writes since the last one.
#[derive(Clone, Debug)]
pub struct MirroredStripes {
    /// For each stripe its mirrored data strips, and the next less and next more recent stripe, plus 1; 0 for none. (Of integers, as
    /// such an array is not touched before it is used.)
    stripes: Vec<(u64, u32, u32)>,
    /// The least and the most recent stripe, plus 1.
    ends: (u32, u32),
    /// For each channel where its search begins, plus 1; 0 if the list is passed.
    starts: Vec<u32>,
}

persistent!(MirroredStripes {
    keeps [ends],
    arrays [stripes, starts],
});

impl MirroredStripes {
    /// No stripe is mirrored.
    pub fn new(stripes: u32, members: u16) -> Self {
        Self { stripes: vec![(0, 0, 0); stripes as usize], ends: (0, 0), starts: vec![0; usize::from(members)] }
    }

    /// Asks the processor for the state of a stripe.
    pub fn prefetch(&self, stripe: StripeId) {
        prefetch(&self.stripes, stripe.0 as usize);
    }

    /// The mirrored data strips of a stripe.
    #[inline]
    pub fn mirrored(&self, stripe: StripeId) -> u64 {
        self.stripes[stripe.0 as usize].0
    }

    /// `strips` were mirrored.
    pub fn mirror(&mut self, stripe: StripeId, strips: u64) {
        if self.mirrored(stripe) != 0 {
            self.unlink(stripe);
        }
        let link = stripe.0 + 1;
        let newest = std::mem::replace(&mut self.ends.1, link);
        match newest {
            0 => self.ends.0 = link,
            _ => self.stripes[newest as usize - 1].2 = link,
        }
        let entry = &mut self.stripes[stripe.0 as usize];
        *entry = (entry.0 | strips, newest, 0);
        self.starts.iter_mut().filter(|start| **start == 0).for_each(|start| *start = link);
    }

    /// `strips` are not mirrored any more.
    pub fn release(&mut self, stripe: StripeId, strips: u64) {
        let mirrored = self.mirrored(stripe);
        if mirrored & strips == 0 {
            return;
        }
        self.stripes[stripe.0 as usize].0 = mirrored & !strips;
        if mirrored & !strips == 0 {
            self.unlink(stripe);
        }
    }

    fn unlink(&mut self, stripe: StripeId) {
        let (_, older, newer) = self.stripes[stripe.0 as usize];
        match older {
            0 => self.ends.0 = newer,
            _ => self.stripes[older as usize - 1].2 = newer,
        }
        match newer {
            0 => self.ends.1 = older,
            _ => self.stripes[newer as usize - 1].1 = older,
        }
        self.starts.iter_mut().filter(|start| **start == stripe.0 + 1).for_each(|start| *start = newer);
    }

    /// The least recently mirrored stripe that has a mirrored strip on `member`.
    pub fn least_recent_on(&mut self, member: MemberId, map: &impl StripeMap) -> Option<StripeId> {
        loop {
            let start = &mut self.starts[usize::from(member.0)];
            let stripe = StripeId(start.checked_sub(1)?);
            let (mirrored, _, newer) = self.stripes[stripe.0 as usize];
            match map.row(stripe).role(member) {
                Some(Role::Data(strip)) if mirrored >> strip & 1 == 1 => return Some(stripe),
                _ => *start = newer,
            }
        }
    }
}
