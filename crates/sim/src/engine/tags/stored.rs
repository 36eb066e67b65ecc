//! What flash and NVRAM hold, as tags: what reads deliver, and what programs are made of.

use super::layers::ZERO;
use super::state::{MASK, POISON, Tags, grown};
use crate::engine::content::{Content, Stored};
use flashraid_redundancy::{Operation, OperationKind};
use flashraid_vocabulary::memory::prefetch;
use flashraid_vocabulary::{Delivery, MemberPage, Observer, PageOperation, Ppn, Sources, Weights};

impl Observer for Tags {
    fn moved(&mut self, from: Ppn, to: Ppn) {
        self.flash[to.0 as usize] = self.page(from) ^ MASK;
    }

    fn erased(&mut self, first: Ppn, pages: u32) {
        self.flash[first.0 as usize..][..pages as usize].fill(0);
    }
}

impl Content for Tags {
    const TRACKED: bool = true;
}

impl Stored for Tags {
    fn read_submitted(&mut self, record: u32, read: u8, strip: u8) {
        *grown(&mut self.reads, record) = (read, strip);
    }

    fn delivered(&mut self, id: u32, operation: &Operation, record: u32, ppn: Ppn) {
        let content = self.page(ppn);
        let (read, strip) = self.reads[record as usize];
        let gathered = &mut self.gathered[id as usize];
        if gathered.reads.len() <= usize::from(read) {
            gathered.reads.resize(usize::from(read) + 1, POISON);
        }
        gathered.reads[usize::from(read)] = content;
        if strip == PageOperation::NO_STRIP {
            return;
        }
        if operation.kind == OperationKind::Read {
            self.compare(id, operation, u32::from(strip), content);
        } else {
            gathered.below.push((strip, content));
        }
    }

    fn program(&mut self, id: u32, operation: &Operation, sources: Sources, weights: Option<&Weights>, record: u32) {
        *grown(&mut self.programs, record) = self.content_of(id, operation, sources, weights);
    }

    fn deferred(&mut self, id: u32, operation: &Operation, sources: Sources) {
        let content = self.content_of(id, operation, sources, None);
        self.deferred.insert(self.gathered[id as usize].parity.expect("NVRAM holds parities"), content);
    }

    fn deferred_no_more(&mut self, parity: MemberPage) {
        self.deferred.remove(&parity);
    }

    fn repeated(&mut self, record: u32, anew: u32) {
        *grown(&mut self.programs, anew) = self.programs[record as usize];
    }

    fn programmed(&mut self, record: u32, ppn: Ppn) {
        self.flash[ppn.0 as usize] = self.programs[record as usize] ^ MASK;
    }

    fn assembled(&mut self, id: u32, operation: &Operation, delivery: &Delivery, weights: Option<&Weights>) {
        let Delivery { strip, reads, deferred, .. } = *delivery;
        let content = self.content_of(id, operation, Sources { host: 0, reads, deferred, weights: 0 }, weights);
        if operation.kind == OperationKind::Read {
            self.compare(id, operation, u32::from(strip), content);
        } else {
            self.gathered[id as usize].below.push((strip, content));
        }
    }

    fn placed_zero(&mut self, ppn: Ppn) {
        self.flash[ppn.0 as usize] = ZERO ^ MASK;
    }

    fn program_stamp(&mut self, record: u32, stamp: u64) {
        *grown(&mut self.programs, record) = stamp;
    }

    fn check_stamp(&mut self, ppn: Ppn, stamp: u64) {
        self.mismatches += u64::from(self.page(ppn) != stamp);
    }

    fn placed_stamp(&mut self, ppn: Ppn, stamp: u64) {
        self.flash[ppn.0 as usize] = stamp ^ MASK;
    }

    #[inline]
    fn fetch_page(&self, ppn: Ppn) {
        prefetch(&self.flash, ppn.0 as usize);
    }
}
