//! What the host has written, and what a read may return.

use super::layers::{ALL, Layers, ZERO, halves};
use super::state::{Gathered, LOST, Submission, Tags, grown, rank, taken_from};
use crate::config::PartialWrites;
use crate::engine::content::{Expected, InEntry, Shares, Submitted};
use flashraid_redundancy::parts::bits::Bits;
use flashraid_redundancy::{Operation, OperationKind};
use flashraid_vocabulary::{Lpn, MemberPage};

impl Expected for Tags {
    fn submitted(&mut self, sequence: u64, lpn: Lpn, change: Submitted) {
        self.active(lpn); // keeps what was there before
        let over_lost = self.newest.has(lpn.0, LOST);
        let (layers, lanes) = match change {
            Submitted::Whole => (Layers::of(sequence, ALL), ALL),
            Submitted::Part(lanes) => {
                let mut layers = self.newest.get(lpn.0);
                layers.write(sequence, lanes);
                (layers, lanes)
            }
            Submitted::Zero => (Layers::default(), ALL),
        };
        let content = layers.content(lpn.0, ALL);
        self.newest.set(lpn.0, layers);
        if let Some(discarded) = self.discarded.get_mut(&lpn.0) {
            *discarded &= !halves(lanes);
        }
        // A request may touch a page twice (a logical space smaller than the request): the later touch counts.
        let page = self.active(lpn);
        page.versions.push(Submission { number: sequence + 1, content, lanes, over_lost });
        page.users += 1;
    }

    fn left_with(&mut self, lpn: Lpn, lanes: u64, sequence: Option<u64>, rule: PartialWrites) {
        let layers = self.newest.get(lpn.0);
        let left_out = layers.lanes() & !lanes;
        if left_out == 0 {
            return;
        }
        self.mismatches += u64::from(left_out & self.needed(lpn, &layers, rule) != 0);
        let layers = layers.only(lanes);
        let content = layers.content(lpn.0, ALL);
        self.newest.set(lpn.0, layers);
        if sequence.is_none() {
            self.doubt(lpn);
        }
        let Some(page) = self.active.get_mut(&lpn.0) else { return };
        let last = page.versions.last_mut().expect("never empty");
        if let Some(sequence) = sequence {
            debug_assert_eq!(last.number, sequence + 1, "the version that leaves it with these lanes");
            last.content = content;
        } else {
            // Reads in progress may still see the others.
            let last = *last;
            page.versions.push(Submission { content, ..last });
        }
    }

    fn discarded(&mut self, lpn: Lpn, parts: u128) {
        *self.discarded.entry(lpn.0).or_default() |= parts;
    }

    fn used(&mut self, lpn: Lpn, lanes: u64) {
        *self.used.entry(lpn.0).or_default() |= lanes;
    }

    fn acknowledged(&mut self, sequence: u64, lpn: Lpn, failed: bool) {
        let Some(page) = self.active.get_mut(&lpn.0) else { return };
        let index = page.versions.partition_point(|version| version.number <= sequence + 1) - 1;
        let Submission { number, lanes, .. } = page.versions[index];
        if number != sequence + 1 {
            return;
        }
        page.floor = page.floor.max(sequence + 1);
        let Submission { number: before, content: below, .. } = page.versions[index - 1];
        if failed {
            self.is_unknown(lpn, number);
        } else if let Some(failed) = self.unknown.get(&lpn.0).copied() {
            // What is below a part is known if it was zeroed since.
            let known_from = if lanes == ALL { number } else { before };
            if failed < known_from && (lanes == ALL || below == ZERO) {
                self.unknown.remove(&lpn.0);
            }
        }
        self.leave(lpn);
    }

    fn begin(&mut self, id: u32, operation: &Operation, parity: Option<MemberPage>, sequence: u64, entries: &[InEntry]) {
        let mut gathered = std::mem::take(grown(&mut self.gathered, id));
        (gathered.sequence, gathered.parity) = (sequence, parity);
        gathered.evicts = !entries.is_empty();
        gathered.reads.clear();
        gathered.below.clear();
        gathered.acknowledged_below.clear();
        gathered.parts.clear();
        gathered.floors.clear();
        gathered.overlays.clear();
        gathered.compared = 0;
        gathered.vague = self.unknown_strips(operation);
        match operation.kind {
            OperationKind::Read => {
                for lpn in operation.host_pages() {
                    let page = self.active(lpn);
                    page.users += 1;
                    gathered.floors.push(page.floor);
                }
            }
            OperationKind::Write if !entries.is_empty() => {
                let strips = Bits(operation.strips).zip(entries);
                gathered.parts.extend(strips.map(|(strip, entry)| (strip as u8, self.entry(operation.host_page(strip), *entry))));
            }
            OperationKind::Write => {
                // What was submitted last is what this operation is to write. Only pages at its ends may be written in part; before the workload none is.
                let ends = 1 << operation.strips.trailing_zeros() | 1 << (63 - operation.strips.leading_zeros());
                for strip in Bits(ends) {
                    let page = self.active.get(&operation.host_page(strip).0);
                    let lanes = page.map_or(ALL, |page| page.versions.last().expect("never empty").lanes);
                    if lanes != ALL {
                        gathered.parts.push((strip as u8, Layers::of(sequence, lanes)));
                    }
                }
            }
            OperationKind::Trim | OperationKind::Commit | OperationKind::Repair | OperationKind::Migrate | OperationKind::Job => {}
        }
        self.gathered[id as usize] = gathered;
    }

    fn restarted(&mut self, id: u32, operation: &Operation) {
        // A write may have failed since it began, and all that used the page may have left it.
        let vague = self.unknown_strips(operation);
        let gathered = &mut self.gathered[id as usize];
        gathered.vague = vague;
        gathered.reads.clear();
        let below = std::mem::take(&mut gathered.below);
        if operation.kind != OperationKind::Read {
            gathered.acknowledged_below.extend(below);
            return;
        }
        let compared = std::mem::take(&mut gathered.compared);
        for strip in Bits(operation.strips) {
            let page = self.active(operation.host_page(strip));
            page.users += u32::from(compared >> strip & 1 == 1);
            let floor = page.floor;
            self.gathered[id as usize].floors[rank(operation, strip) as usize] = floor;
        }
    }

    fn ended(&mut self, id: u32, operation: &Operation, failed: bool) {
        if operation.kind == OperationKind::Read && failed {
            let compared = self.gathered[id as usize].compared;
            Bits(operation.strips & !compared).for_each(|strip| self.leave(operation.host_page(strip)));
        }
        for strip in Bits(operation.strips) {
            let lpn = operation.host_page(strip);
            match operation.kind {
                OperationKind::Write if failed && (self.gathered[id as usize].evicts || self.is_believed(id, lpn)) => {
                    let given = self.given(id, strip);
                    self.lose(lpn, &given);
                }
                OperationKind::Write | OperationKind::Trim if failed => self.is_unknown(lpn, self.gathered[id as usize].sequence + 1),
                OperationKind::Write => {
                    let given = self.given(id, strip);
                    // What covers all that flash holds leaves nothing of it, also where a discard that failed was believed.
                    if given.lanes() == ALL || operation.merge_strips >> strip & 1 == 0 {
                        self.durable.set(lpn.0, given);
                    } else {
                        let mut layers = self.durable.get(lpn.0);
                        layers.lay(&given);
                        self.durable.set(lpn.0, layers);
                    }
                }
                OperationKind::Trim => self.durable.set(lpn.0, Layers::default()),
                OperationKind::Read | OperationKind::Commit | OperationKind::Repair | OperationKind::Migrate | OperationKind::Job => {}
            }
        }
    }

    fn check_without_flash(&mut self, id: u32, operation: &Operation, strip: u32, writer: Option<(u32, &Operation, u32)>) {
        let content = writer.map_or(ZERO, |(writer, write, strip)| {
            let Gathered { below, acknowledged_below, .. } = &self.gathered[writer as usize];
            let below = below.iter().chain(acknowledged_below).find(|(of, _)| u32::from(*of) == strip);
            self.host_strip_over(below, writer, write, strip)
        });
        self.compare(id, operation, strip, content);
    }

    fn buffered(&mut self, entry: u32, sequence: u64, lpn: Lpn, lanes: u64, is_new: bool) {
        let held = grown(&mut self.entries, entry);
        if is_new {
            *held = (lpn.0, Layers::default());
        }
        held.1.write(sequence, lanes);
    }

    fn check_in_buffer(&mut self, lpn: Lpn, asked: u64, shares: &Shares) {
        let (layers, lanes) = self.in_buffer(lpn, shares.sources);
        // Lanes that nobody asked for are taken to be right.
        let rest = self.newest.get(lpn.0).content(lpn.0, !lanes & !asked);
        let taken = taken_from(&layers, lpn, shares.from_buffer & asked) ^ layers.content(lpn.0, !asked);
        self.count_read(lpn, self.explains(lpn, taken ^ rest));
    }

    fn overlay_buffer(&mut self, id: u32, lpn: Lpn, strip: u8, shares: &Shares) {
        let change = self.change_by_buffer(lpn, shares);
        let overlays = &mut self.gathered[id as usize].overlays;
        overlays.retain(|(of, _)| *of != strip);
        overlays.push((strip, change));
    }

    fn filled(&mut self, lpn: Lpn, sequence: u64) {
        for pages in [&mut self.newest, &mut self.durable] {
            pages.set(lpn.0, Layers::of(sequence, ALL));
        }
    }

    #[inline]
    fn fetch_expected(&self, lpn: Lpn) {
        self.newest.prefetch(lpn.0);
        self.durable.prefetch(lpn.0);
    }
}
