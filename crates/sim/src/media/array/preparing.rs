//! Work in no simulated time: the fill, the precondition and first touches of the SSDs.

use super::members::inner;
use super::{Behind, SsdArray};
use crate::media::{Flash, Overwrites, Preparing};
use flashraid_vocabulary::{Cause, MemberPage, Observer, Ppn, Version};

impl Preparing for SsdArray {
    fn set_untimed(&mut self, untimed: bool) {
        self.members.numbers().for_each(|ssd| self.at(ssd, |flash| flash.set_untimed(untimed)));
    }

    fn begin_fill(&mut self, pages: u64, overwrites: Option<&mut Overwrites<'_>>) -> Option<f64> {
        let of_each = pages.div_ceil(u64::from(self.members.shape().members));
        let Some(Overwrites { pages, parity_rate, phases, random }) = overwrites else {
            self.members.numbers().for_each(|ssd| _ = self.at(ssd, |flash| flash.begin_fill(of_each, None)));
            return None;
        };
        let mut programs = 0.0;
        for ssd in self.members.numbers() {
            let domains = self.members.domains(ssd);
            let pages = &pages[domains.start as usize..domains.end as usize];
            let mut own = Overwrites { pages, parity_rate: *parity_rate, phases: *phases, random };
            programs += self.at(ssd, |flash| flash.begin_fill(of_each, Some(&mut own)))?;
        }
        Some(programs)
    }

    fn begin_phases(&mut self, random: &mut dyn FnMut() -> u64) -> u64 {
        self.members.numbers().map(|ssd| self.at(ssd, |flash| flash.begin_phases(random))).sum()
    }

    fn is_to_advance(&self, page: MemberPage) -> bool {
        self.members[self.members.ssd(page.member)].is_to_advance(inner(page))
    }

    fn end_phases(&mut self) {
        self.members.iter_mut().for_each(Flash::end_phases);
    }

    fn place(&mut self, page: MemberPage, version: Version) -> Ppn {
        let ssd = self.members.ssd(page.member);
        let ppn = self.at(ssd, |flash| flash.place(inner(page), version));
        self.members.ppn(ssd, ppn)
    }

    fn place_untimed<O: Observer>(
        &mut self,
        page: MemberPage,
        version: Version,
        keep_base: bool,
        cause: Cause,
        observer: &mut O,
    ) -> (u32, Ppn) {
        let ssd = self.members.ssd(page.member);
        let first = self.members.first_of(ssd);
        let mut behind = Behind(observer, first.page);
        let (plane, ppn) = self.at(ssd, |flash| flash.place_untimed(inner(page), version, keep_base, cause, &mut behind));
        (first.plane + plane, Ppn(first.page + ppn.0))
    }

    fn collect_low_now<O: Observer>(&mut self, plane: u32, observer: &mut O) {
        let (ssd, plane) = self.members.first().plane(plane);
        let first = self.members.first_of(ssd).page;
        self.at(ssd, |flash| flash.collect_low_now(plane, &mut Behind(observer, first)));
    }

    fn finish_gc(&mut self) {
        self.members.numbers().for_each(|ssd| self.at(ssd, Preparing::finish_gc));
    }

    fn empty_memory(&mut self) {
        self.members.numbers().for_each(|ssd| self.at(ssd, Preparing::empty_memory));
    }

    fn relieve_now<O: Observer>(&mut self, observer: &mut O) {
        for ssd in self.members.numbers() {
            let first = self.members.first_of(ssd).page;
            self.at(ssd, |flash| flash.relieve_now(&mut Behind(observer, first)));
        }
    }
}
