//! The SSDs of an array: which of them is which member, the spares, and how members, domains and records are numbered.

use super::numbers::{FirstNumbers, Numbers};
use super::tidings::Tidings;
use crate::media::inspect::Ssds;
use crate::media::{Completion, Done, Flash, Shape, Slice, Track};
use flashraid_vocabulary::{Health, LocalPage, MemberId, MemberPage, NIL, Ppn, persistent};
use std::ops::{Index, IndexMut};

/// See the module.
#[derive(Clone, Debug)]
pub(in crate::media) struct Members {
    ssds: Vec<Flash>,
    /// The SSD that each member is now.
    ssd_of: Vec<u32>,
    /// The member that each SSD is, or was until a spare took its place; `NIL` for a spare that is not in use.
    member_of: Vec<u32>,
    /// SSDs that wait to take the place of others, the first last.
    spares: Vec<u32>,
    /// Whether these are members.
    spares_are_members: bool,
    /// The SSD of which the scheme replaces the latest: no other one takes its place if it fails. `NIL` before the first one.
    leaving: u32,
    has_failures: bool,
    shape: Shape,
    /// Low bits of a record's number, which are the number of its SSD.
    ssd_bits: u32,
    /// Domains of each member.
    domains_each: u32,
    /// Numbers of the first plane, LUN, bus and physical page of each SSD, and behind the last.
    first: FirstNumbers,
}

persistent!(Members {
    keeps [spares, leaving, has_failures],
    arrays [ssds, ssd_of, member_of],
    // What is made of the configuration.
    anew [spares_are_members, shape, ssd_bits, domains_each, first],
});

/// The page as its SSD numbers it.
#[inline(always)]
pub(super) fn inner(page: MemberPage) -> MemberPage {
    MemberPage { member: MemberId(0), page: page.page }
}

impl Members {
    /// `devices` SSDs and behind them spares.
    pub(super) fn new(ssds: Vec<Flash>, devices: u32, spares_are_members: bool) -> Self {
        let count = ssds.len() as u32;
        let members = if spares_are_members { count } else { devices };
        let first = FirstNumbers::of(&ssds);
        let shapes = || ssds.iter().map(Shape::of);
        let domains_each = shapes().map(|shape| shape.domains).max().expect("there are SSDs");
        let last = first[ssds.len()];
        let shape = Shape {
            members,
            pages_per_member: shapes().map(|shape| shape.pages_per_member).min().expect("there are SSDs"),
            planes: last.plane,
            ssds: count,
            luns: last.lun,
            domains: domains_each * members,
            waits_at_rest: shapes().any(|shape| shape.waits_at_rest),
            reads_may_fail: shapes().any(|shape| shape.reads_may_fail),
            ..Shape::of(&ssds[0])
        };
        Self {
            ssd_of: (0..members).collect(),
            member_of: (0..count).map(|ssd| if ssd < members { ssd } else { NIL }).collect(),
            spares: (devices..count).rev().collect(),
            spares_are_members,
            leaving: NIL,
            has_failures: false,
            shape,
            ssd_bits: count.next_power_of_two().trailing_zeros(),
            domains_each,
            first,
            ssds,
        }
    }

    pub(super) fn into_ssds(self) -> Vec<Flash> {
        self.ssds
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, Flash> {
        self.ssds.iter()
    }

    pub(super) fn iter_mut(&mut self) -> std::slice::IterMut<'_, Flash> {
        self.ssds.iter_mut()
    }

    pub(super) fn get(&self, ssd: usize) -> Option<&Flash> {
        self.ssds.get(ssd)
    }

    /// The numbers of all SSDs.
    pub(super) fn numbers(&self) -> std::ops::Range<usize> {
        0..self.ssds.len()
    }

    /// What never changes.
    #[inline(always)]
    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Where the numbers of each SSD's parts begin.
    #[inline(always)]
    pub(super) fn first(&self) -> &FirstNumbers {
        &self.first
    }

    /// The numbers of an SSD's first parts.
    #[inline(always)]
    pub(super) fn first_of(&self, ssd: usize) -> Numbers {
        self.first[ssd]
    }

    /// A physical page, which its SSD numbers from 0.
    #[inline(always)]
    pub(super) fn ppn(&self, ssd: usize, ppn: Ppn) -> Ppn {
        Ppn(self.first[ssd].page + ppn.0)
    }

    #[inline]
    pub(super) fn ssd(&self, member: MemberId) -> usize {
        self.ssd_of[usize::from(member.0)] as usize
    }

    #[inline]
    pub(super) fn flash(&self, member: MemberId) -> &Flash {
        &self.ssds[self.ssd(member)]
    }

    /// The SSD of a record, and the record's number there.
    #[inline]
    pub(super) fn split(&self, record: u32) -> (usize, u32) {
        ((record & ((1 << self.ssd_bits) - 1)) as usize, record >> self.ssd_bits)
    }

    #[inline]
    pub(super) fn numbered(&self, ssd: usize, record: u32) -> u32 {
        record << self.ssd_bits | ssd as u32
    }

    /// The member that an SSD is, or was.
    #[inline]
    pub(super) fn member(&self, ssd: usize) -> MemberId {
        MemberId(self.member_of[ssd] as u16)
    }

    /// Whether the SSD is this member, or was until a spare took its place.
    pub(super) fn was(&self, ssd: usize, member: u32) -> bool {
        self.member_of[ssd] == member
    }

    pub(super) fn page_of(&self, ssd: usize, page: LocalPage) -> MemberPage {
        MemberPage { member: self.member(ssd), page }
    }

    /// The domain of a member that has this number in its SSD.
    #[inline]
    pub(super) fn domain(&self, member: u32, domain: u32) -> u32 {
        member * self.domains_each + domain
    }

    /// The domains of the member that an SSD is, or was; none of a spare that is not in use.
    pub(super) fn domains(&self, ssd: usize) -> std::ops::Range<u32> {
        match self.member_of[ssd] {
            NIL => 0..0,
            member => self.domain(member, 0)..self.domain(member + 1, 0),
        }
    }

    /// The SSD of a space domain, and the domain's number there; `None` if the SSD has fewer.
    pub(super) fn split_domain(&self, domain: u32) -> Option<(&Flash, u32)> {
        let flash = self.flash(MemberId((domain / self.domains_each) as u16));
        let domain = domain % self.domains_each;
        (domain < flash.store().space().domains() as u32).then_some((flash, domain))
    }

    /// Whether the SSD is its member, and no spare has taken its place.
    #[inline]
    pub(super) fn is_current(&self, ssd: usize) -> bool {
        let member = self.member_of[ssd];
        member != NIL && self.ssd_of[member as usize] as usize == ssd
    }

    /// Whether the SSD has no task yet.
    pub(super) fn is_spare(&self, ssd: usize) -> bool {
        self.spares.contains(&(ssd as u32))
    }

    /// The spare SSD that takes the next place.
    pub(super) fn next_spare(&self) -> Option<usize> {
        let is_alive = |spare: &&u32| self.ssds[**spare as usize].parts().is_alive(MemberId(0));
        self.spares.iter().rev().find(is_alive).map(|spare| *spare as usize)
    }

    /// The scheme gives a spare SSD the task to take the place of another.
    pub(super) fn use_spare(&mut self, new: MemberId, old: MemberId) {
        let new = self.ssd(new) as u32;
        self.spares.retain(|spare| *spare != new);
        self.leaving = self.ssd(old) as u32;
    }

    /// Whether a spare takes the place of this SSD, if there is one: not of a spare, of one that is replaced already, or of a shadow.
    pub(super) fn is_to_be_replaced(&self, ssd: usize) -> bool {
        let flash = &self.ssds[ssd];
        let is_in_use = self.is_current(ssd) && !self.is_spare(ssd) && flash.gc().health() == Health::ReadWrite;
        is_in_use && self.leaving != ssd as u32 && !flash.parts().is_alive(MemberId(0))
    }

    /// Puts the next spare SSD in the place of one that is dead. Both are returned, the dead one first.
    pub(super) fn seat_spare(&mut self, dead: usize) -> Option<(usize, [&mut Flash; 2])> {
        let spare = self.next_spare()?;
        self.spares.retain(|other| *other as usize != spare);
        let member = self.member_of[dead];
        if self.spares_are_members {
            self.ssd_of[self.member_of[spare] as usize] = dead as u32;
        }
        (self.ssd_of[member as usize], self.member_of[spare]) = (spare as u32, member);
        Some((spare, self.ssds.get_disjoint_mut([dead, spare]).expect("two SSDs")))
    }

    /// Takes what an SSD has to tell.
    #[inline]
    pub(super) fn tell(&mut self, ssd: usize, to: &mut Tidings) {
        let (flash, bits, member) = (&mut self.ssds[ssd], self.ssd_bits, self.member_of[ssd]);
        for completion in flash.nand_mut().completions().drain(..) {
            to.completions.push(Completion { record: completion.record << bits | ssd as u32, ..completion });
        }
        self.has_failures |= flash.store().has_failures();
        while let Some((operation, ppn, page)) = flash.nand_mut().recording_mut().started().pop() {
            to.started.push((operation, Ppn(self.first[ssd].page + ppn.0), page * self.shape.members + member));
        }
        if flash.has_news() {
            let first = member * self.domains_each;
            let is_current = self.ssd_of[member as usize] as usize == ssd;
            let untold = flash.store_mut().space_mut().news_mut();
            untold.take_all_freed(|domain| {
                if is_current {
                    to.freed.push(first + domain);
                }
            });
            to.flushed.extend(std::iter::from_fn(|| untold.take_flushed()));
            to.note_questions(ssd, untold.queries_waiting());
            if untold.take_wear_out() {
                to.worn_out.push(ssd as u32);
            }
        }
    }

    /// Takes what SSDs have recorded, in order.
    pub(super) fn swap_recorded(&mut self, slices: &mut Vec<Slice>, done: &mut Vec<Done>) {
        let (mut some_slices, mut some_done) = (Vec::new(), Vec::new());
        for (ssd, flash) in self.ssds.iter_mut().enumerate() {
            flash.nand_mut().recording_mut().swap_recorded(&mut some_slices, &mut some_done);
            let (first, member) = (self.first[ssd], self.member_of[ssd]);
            let page = |page: MemberPage| MemberPage { member: MemberId(member as u16), page: page.page };
            slices.extend(some_slices.drain(..).map(|slice| Slice {
                track: match slice.track {
                    Track::Bus(bus) => Track::Bus(first.bus + bus),
                    Track::Lun(lun) => Track::Lun(first.lun + lun),
                },
                lun: first.lun + slice.lun,
                ppn: Ppn(first.page + slice.ppn.0),
                page: slice.page.map(page),
                ..slice
            }));
            done.extend(some_done.drain(..).map(|done| Done {
                ppn: Ppn(first.page + done.ppn.0),
                member: done.member.map(|_| member),
                page: done.page.map(|(of, version)| (page(of), version)),
                ..done
            }));
        }
    }

    /// Whether something has failed, or is lost.
    #[inline(always)]
    pub(super) fn has_failures(&self) -> bool {
        self.has_failures
    }

    #[inline(always)]
    pub(super) fn note_failures(&mut self, have_come: bool) {
        self.has_failures |= have_come;
    }
}

impl Index<usize> for Members {
    type Output = Flash;

    #[inline(always)]
    fn index(&self, ssd: usize) -> &Flash {
        &self.ssds[ssd]
    }
}

impl IndexMut<usize> for Members {
    #[inline(always)]
    fn index_mut(&mut self, ssd: usize) -> &mut Flash {
        &mut self.ssds[ssd]
    }
}

impl Ssds for Members {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn ssds(&self) -> &[Flash] {
        &self.ssds
    }

    fn home(&self, member: MemberId) -> (&Flash, MemberId) {
        (self.flash(member), MemberId(0))
    }

    fn member_in(&self, ssd: usize, _: u32) -> Option<u32> {
        Some(self.member_of[ssd]).filter(|member| *member != NIL && !self.is_spare(ssd))
    }

    fn is_of_member(&self, ssd: usize) -> bool {
        self.is_current(ssd) && !self.is_spare(ssd) && self.ssds[ssd].gc().health() != Health::Disabled
    }

    fn locate(&self, ppn: Ppn) -> (usize, Ppn) {
        self.first.page(ppn)
    }

    fn first_page(&self, ssd: usize) -> u32 {
        self.first[ssd].page
    }
}
