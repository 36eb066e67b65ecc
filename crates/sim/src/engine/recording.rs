//! What the engine notes while a recorder is set.

use super::content::Content;
use super::recorder::{DEPTHS, DoneRecord, Methods, Moment, Recorder, RequestRecord};
use super::slot::{NIL, TRANSLATION};
use super::state::Engine;
use crate::media::{Activity, Lun, Media, Recording, Track};
use flashraid_redundancy::{Operation, OperationKind};
use flashraid_vocabulary::{HostOp, Lpn, MemberId};
use std::ops::Range;

impl<C: Content, M: Media> Engine<C, M> {
    /// Begins recording. `slices` says whether it matters when page operations start: for first starts, and for a timeline.
    pub fn record(&mut self, slices: bool) {
        let members = self.shape.members as usize;
        self.media.record(Recording::Slices, slices);
        self.has_watchers = true;
        self.recorder = Some(Box::new(Recorder {
            requests: Vec::new(),
            moments: Vec::new(),
            done: Vec::new(),
            depths: Default::default(),
            recorded: Default::default(),
            window: 0..0,
            notes: Vec::new(),
            is_open: false,
            queued: vec![(0, 0); members],
            blocks_of_luns: vec![0; self.shape.luns as usize],
            blocks: vec![0; members],
        }));
    }

    /// Keeps moments of this time, if recording has begun.
    pub fn record_moments(&mut self, window: Range<u64>) {
        if let Some(recorder) = &mut self.recorder {
            recorder.window = window;
        }
    }

    /// Keeps no more moments. `slices` as in `record`.
    pub fn stop_moments(&mut self, slices: bool) {
        self.record_moments(0..0);
        self.media.record(Recording::Slices, slices);
    }

    /// Ends recording.
    pub(crate) fn stop_recording(&mut self) {
        self.recorder = None;
        self.media.record(Recording::Slices, false);
        self.media.record(Recording::Done, false);
    }

    /// The request was submitted at this moment.
    #[cold]
    pub(super) fn note_submitted_request(&mut self, measured: bool) {
        let Some(recorder) = &mut self.recorder else { return };
        if measured {
            let class = DEPTHS.iter().position(|bound| self.requests.outstanding < *bound).unwrap_or(DEPTHS.len());
            recorder.depths[class] += 1;
        }
        self.note_queues();
    }

    /// The method of an operation is settled.
    #[cold]
    pub(super) fn note_method(&mut self, request: u32, operation: Operation) {
        let Some(recorder) = self.recorder.as_mut().filter(|_| request != NIL) else { return };
        let note = recorder.note(request, self.requests[request].sequence);
        note.methods.0 |= Methods::of(&operation).0;
    }

    /// Takes over what media recorded, while the operations that planned it are still there.
    #[cold]
    pub(super) fn note_recorded(&mut self) {
        let Some(recorder) = &mut self.recorder else { return };
        let (mut slices, mut all_done) = std::mem::take(&mut recorder.recorded);
        self.media.swap_recorded(&mut slices, &mut all_done);
        for slice in slices.drain(..) {
            let request = slice.operation.map(|id| self.operations.slots[id as usize].request()).filter(|request| *request != NIL);
            let sequence = request.map(|request| self.requests[request].sequence);
            if let (Track::Bus(_), Some(request), Some(sequence)) = (slice.track, request, sequence) {
                let note = recorder.note(request, sequence);
                note.start_ns = note.start_ns.min(slice.start_ns);
            }
            if slice.start_ns < recorder.window.end && slice.end_ns > recorder.window.start {
                recorder.moments.push(Moment::Slice(slice, sequence));
            }
            // A program that begins may have opened a block, an erase that ends has freed one.
            let time_ns = match slice.activity {
                Activity::DataIn | Activity::CopyBackCommand => slice.start_ns,
                Activity::Erase => slice.end_ns,
                _ => continue,
            };
            if recorder.is_open && time_ns < recorder.window.end {
                let Lun { member, free_blocks } = self.media.lun(slice.lun);
                let former = std::mem::replace(&mut recorder.blocks_of_luns[slice.lun as usize], free_blocks);
                if free_blocks != former {
                    let member = member.expect("LUNs that work are of a member");
                    let all = &mut recorder.blocks[member as usize];
                    *all = *all + free_blocks - former;
                    recorder.moments.push(Moment::FreeBlocks { time_ns, member, blocks: *all });
                }
            }
        }
        for done in all_done.drain(..) {
            let slot = done.operation.map(|id| &self.operations.slots[id as usize]);
            let request = slot.map(|slot| slot.request()).filter(|request| *request != NIL);
            let is_packed = self.shape.units_per_page > 1 && done.activity == Activity::Program;
            let kind = match slot {
                Some(slot) if slot.job() == TRANSLATION => "translation",
                Some(slot) => kind_name(slot.kind()),
                None if is_packed => "packing",
                None => "collection",
            };
            recorder.done.push(DoneRecord { done, kind, request: request.map(|request| self.requests[request].sequence) });
        }
        recorder.recorded = (slices, all_done);
    }

    /// Notes queues that changed at this moment.
    #[cold]
    pub(super) fn note_queues(&mut self) {
        let Some(recorder) = &mut self.recorder else { return };
        let time_ns = self.clock.now_ns();
        if !recorder.window.contains(&time_ns) {
            return;
        }
        if !recorder.is_open {
            recorder.is_open = true;
            recorder.queued.fill((u32::MAX, u32::MAX)); // all are news
            for (lun, blocks) in recorder.blocks_of_luns.iter_mut().enumerate() {
                if let Lun { member: Some(member), free_blocks } = self.media.lun(lun as u32) {
                    *blocks = free_blocks;
                    recorder.blocks[member as usize] += *blocks;
                }
            }
            let all = recorder.blocks.iter().enumerate();
            recorder.moments.extend(all.map(|(member, blocks)| Moment::FreeBlocks { time_ns, member: member as u32, blocks: *blocks }));
        }
        for (member, former) in recorder.queued.iter_mut().enumerate() {
            let now = self.media.queued(MemberId(member as u16));
            if now != *former {
                *former = now;
                recorder.moments.push(Moment::Queued { time_ns, member: member as u32, reads: now.0, programs: now.1 });
            }
        }
    }

    /// A measured request was acknowledged.
    #[cold]
    pub(super) fn record_request(&mut self, id: u32) {
        let request = self.requests[id];
        let Some(recorder) = &mut self.recorder else { return };
        let end_ns = self.clock.now_ns();
        let note = *recorder.note(id, request.sequence);
        let stripe = (request.op != HostOp::Flush).then(|| self.scheme.stripe_of(Lpn(request.offset_bytes >> self.page_shift)).0);
        recorder.requests.push(RequestRecord {
            sequence: request.sequence,
            arrival_ns: request.arrival_ns,
            start_ns: note.start_ns.min(end_ns),
            end_ns,
            offset_bytes: request.offset_bytes,
            size_bytes: request.size_bytes,
            op: request.op,
            stripe,
            methods: note.methods,
            failed: request.failed,
        });
    }
}

fn kind_name(kind: OperationKind) -> &'static str {
    match kind {
        OperationKind::Read => "read",
        OperationKind::Write => "write",
        OperationKind::Trim => "trim",
        OperationKind::Commit => "commit",
        OperationKind::Repair => "repair",
        OperationKind::Migrate => "migrate",
        OperationKind::Job => "job",
    }
}
