//! Translation operations: what they read and program, and what their ends change.

use super::state::{LOCK, Stored, Translation};
use crate::media::{FlashFault, Media};
use flashraid_redundancy::{Operation, OperationKind, Outcomes, Step};
use flashraid_vocabulary::{Action, Cause, MemberPage, NIL, PageOperation, Priority, Sources, Version, Wave};

impl Translation {
    /// Plans a translation operation: one without space reads its page; the others read it, if it is on flash, and program both copies, or
    /// the one that is lost. (If both are lost, a controller would have to scan the headers of all pages; no time is taken for that.)
    pub(in crate::engine) fn step(
        &mut self,
        id: u32,
        operation: &mut Operation,
        outcomes: Outcomes,
        media: &impl Media,
        wave: &mut Wave,
    ) -> Step {
        if outcomes.unallocated != 0 {
            return Step::Done; // the copy that found no page is lost
        }
        let page = operation.stripe.0 & !LOCK;
        let copies = self.layout.copies(page);
        let page_bytes = self.page_bytes;
        let page_operation = |action: Action, address: MemberPage| PageOperation {
            action,
            version: Version::Current,
            cause: Cause::Metadata,
            priority: Priority::Host,
            host_waits: false,
            keep_base: false,
            address,
            bytes: page_bytes,
            sources: Sources::default(),
            strip: PageOperation::NO_STRIP,
            stream: 0,
        };
        let first_step = operation.step == 0;
        operation.step += 1;
        let is_load = operation.space == 0;
        // Of a page that is being written the controller still has the new version.
        let in_hand = is_load && self.newest[page as usize] > self.on_flash[page as usize];
        self.counts.in_hand += u64::from(in_hand && self.on_flash[page as usize] > 0);
        let lost = copies.map(|copy| media.is_lost(copy, Version::Current));
        let is_repair = operation.kind == OperationKind::Repair;
        if is_repair && first_step && (lost == [false; 2] || lost == [true; 2]) {
            return Step::Nothing;
        }
        let must_read = self.on_flash[page as usize] > 0 && !in_hand && lost != [true; 2];
        if first_step {
            self.work[id as usize].knows_page = !must_read;
        }
        if first_step && must_read && !(media.makes(FlashFault::WriteWithoutRead) && !is_load && !is_repair) {
            let [own, twin] = copies.map(|copy| media.load_at(copy, Version::Current));
            let is_twin = if lost == [false; 2] { twin < own } else { lost[0] };
            wave.operations.push(page_operation(Action::Read, copies[usize::from(is_twin)]));
            self.work[id as usize].version = self.on_flash[page as usize];
            return if is_load { Step::Last } else { Step::Wave };
        }
        if is_load {
            return Step::Done;
        }
        if is_repair {
            let lost_one = copies[usize::from(operation.space >> copies[1].member.0 & 1 == 1)];
            wave.operations.push(PageOperation { cause: Cause::Rebuild, ..page_operation(Action::Program, lost_one) });
            return Step::Last;
        }
        self.gather(id, page, media);
        wave.operations.extend(copies.map(|copy| page_operation(Action::Program, copy)));
        Step::Last
    }

    /// All that is newer than the translation page goes into it.
    fn gather(&mut self, id: u32, page: u32, media: &impl Media) {
        self.queued[page as usize] = NIL;
        self.stale[page as usize] = false;
        self.newest[page as usize] += 1;
        let work = &mut self.work[id as usize];
        work.version = self.newest[page as usize];
        let Some(Stored { moved, appeared, .. }) = self.stored.as_deref_mut() else { return self.table.clean(page, |_| {}) };
        let mirrors = &self.mirrors;
        self.table.clean(page, |entry| {
            appeared.remove(&entry);
            work.written.push((entry, mirrors.value(media, entry)));
        });
        let layout = self.layout;
        moved.retain(|entry| {
            let is_here = layout.page_of(*entry) == page;
            if is_here {
                appeared.remove(entry);
                work.written.push((*entry, mirrors.value(media, *entry)));
            }
            !is_here
        });
    }

    /// A translation operation has ended. Appends the operations that need wait no more to `ready`.
    pub(in crate::engine) fn ended(&mut self, id: u32, operation: &Operation, media: &impl Media, ready: &mut Vec<u32>) {
        let page = operation.stripe.0 & !LOCK;
        let work = &mut self.work[id as usize];
        if operation.kind == OperationKind::Repair {
            self.repairs -= 1;
            return;
        }
        if operation.space == 0 {
            self.loading[page as usize] = NIL;
            while let Some((operation, entry)) = self.waiting.pop(&mut work.waiting) {
                self.table.loaded(entry);
                let held = &mut self.held[operation as usize];
                held.missing -= 1;
                if held.missing == 0 {
                    ready.push(operation);
                }
            }
            return;
        }
        self.on_flash[page as usize] = work.version;
        if media.makes(FlashFault::DropLateChange) {
            self.table.clean(page, |_| {});
        }
        while let Some(entry) = self.victims.pop(&mut work.victims) {
            self.table.written(entry);
        }
        if let Some(stored) = &mut self.stored {
            if !work.knows_page {
                self.layout.entries_of(page).for_each(|entry| stored.entries[entry as usize] = 0);
            }
            for (entry, value) in work.written.drain(..).filter(|(entry, _)| !stored.appeared.contains(entry)) {
                stored.entries[entry as usize] = value;
            }
        }
    }

    /// GC moved a version of a page, or gave it up.
    pub(super) fn moved(&mut self, plane: u32, version: Version, slot: u32, media: &impl Media) {
        let entry = match version {
            Version::Current => slot,
            // What is kept for parities that NVRAM holds is known to NVRAM too (SPEC 6.2).
            _ if !self.mirrors.is_in_use() => return,
            Version::Base | Version::Copy => match self.mirrors.entry(slot) {
                Some(entry) => entry,
                None => {
                    // An operation that ends releases its pages one after another. Releasing one may start a GC run, which
                    // gives up the next one if that cannot be read; then the operation releases that, too, and its entry.
                    assert!(media.lookup(self.mirrors.shape.page(slot), version).is_none(), "who has a base or a copy has an entry for it");
                    return;
                }
            },
            Version::DeferredParity => unreachable!("never on flash"),
        };
        let page = self.layout.page_of(entry);
        if self.table.contains(entry) {
            self.table.set_dirty(entry, page);
            return;
        }
        if let Some(stored) = &mut self.stored {
            stored.moved.insert(entry);
        }
        if !std::mem::replace(&mut self.stale[page as usize], true) {
            self.grouped[plane as usize].push(page);
        }
    }
}
