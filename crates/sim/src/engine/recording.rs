//! What the recorder notes of media and of requests.

use super::operations::Operations;
use super::pending::Requests;
use super::recorder::{DEPTHS, DoneRecord, Methods, Moment, Recorder, RequestRecord};
use super::request::Request;
use super::slot::TRANSLATION;
use crate::media::{Activity, Lun, Media, Shape, Track};
use flashraid_redundancy::{Operation, OperationKind};
use flashraid_vocabulary::{MemberId, NIL};

impl Recorder {
    /// Nothing is recorded yet, of media of this shape.
    pub(super) fn new(shape: &Shape) -> Self {
        let members = shape.members as usize;
        Self {
            requests: Vec::new(),
            moments: Vec::new(),
            done: Vec::new(),
            depths: Default::default(),
            recorded: Default::default(),
            window: 0..0,
            notes: Vec::new(),
            is_open: false,
            queued: vec![(0, 0); members],
            blocks_of_luns: vec![0; shape.luns as usize],
            blocks: vec![0; members],
        }
    }

    /// A measured request was submitted, with which so many are outstanding.
    pub(super) fn note_depth(&mut self, outstanding: u64) {
        let class = DEPTHS.iter().position(|bound| outstanding < *bound).unwrap_or(DEPTHS.len());
        self.depths[class] += 1;
    }

    /// The method of an operation of a request is settled.
    pub(super) fn note_method(&mut self, request: u32, sequence: u64, operation: &Operation) {
        self.note(request, sequence).methods.0 |= Methods::of(operation).0;
    }

    /// Takes over what media recorded, while the operations that planned it are still there.
    #[cold]
    pub(super) fn note_recorded(&mut self, media: &mut impl Media, operations: &Operations, requests: &Requests) {
        let (mut slices, mut all_done) = std::mem::take(&mut self.recorded);
        media.swap_recorded(&mut slices, &mut all_done);
        for slice in slices.drain(..) {
            let request = slice.operation.map(|id| operations.slots[id].request()).filter(|request| *request != NIL);
            let sequence = request.map(|request| requests[request].sequence);
            if let (Track::Bus(_), Some(request), Some(sequence)) = (slice.track, request, sequence) {
                let note = self.note(request, sequence);
                note.start_ns = note.start_ns.min(slice.start_ns);
            }
            if slice.start_ns < self.window.end && slice.end_ns > self.window.start {
                self.moments.push(Moment::Slice(slice, sequence));
            }
            // A program that begins may have opened a block, an erase that ends has freed one.
            let time_ns = match slice.activity {
                Activity::DataIn | Activity::CopyBackCommand => slice.start_ns,
                Activity::Erase => slice.end_ns,
                _ => continue,
            };
            if self.is_open && time_ns < self.window.end {
                let Lun { member, free_blocks } = media.lun(slice.lun);
                let former = std::mem::replace(&mut self.blocks_of_luns[slice.lun as usize], free_blocks);
                if free_blocks != former {
                    let member = member.expect("LUNs that work are of a member");
                    let all = &mut self.blocks[member as usize];
                    *all = *all + free_blocks - former;
                    self.moments.push(Moment::FreeBlocks { time_ns, member, blocks: *all });
                }
            }
        }
        for done in all_done.drain(..) {
            let slot = done.operation.map(|id| &operations.slots[id]);
            let request = slot.map(|slot| slot.request()).filter(|request| *request != NIL);
            let is_packed = media.shape().units_per_program > 1 && done.activity == Activity::Program;
            let kind = match slot {
                Some(slot) if slot.job() == TRANSLATION => "translation",
                Some(slot) => kind_name(slot.kind()),
                None if is_packed => "packing",
                None => "collection",
            };
            self.done.push(DoneRecord { done, kind, request: request.map(|request| requests[request].sequence) });
        }
        self.recorded = (slices, all_done);
    }

    /// Notes queues that changed at this moment.
    #[cold]
    pub(super) fn note_queues(&mut self, time_ns: u64, media: &impl Media) {
        if !self.window.contains(&time_ns) {
            return;
        }
        if !self.is_open {
            self.is_open = true;
            self.queued.fill((u32::MAX, u32::MAX)); // all are news
            for (lun, blocks) in self.blocks_of_luns.iter_mut().enumerate() {
                if let Lun { member: Some(member), free_blocks } = media.lun(lun as u32) {
                    *blocks = free_blocks;
                    self.blocks[member as usize] += *blocks;
                }
            }
            let all = self.blocks.iter().enumerate();
            self.moments.extend(all.map(|(member, blocks)| Moment::FreeBlocks { time_ns, member: member as u32, blocks: *blocks }));
        }
        for (member, former) in self.queued.iter_mut().enumerate() {
            let now = media.queued(MemberId(member as u16));
            if now != *former {
                *former = now;
                self.moments.push(Moment::Queued { time_ns, member: member as u32, reads: now.0, programs: now.1 });
            }
        }
    }

    /// A measured request was acknowledged, whose first byte, if it has any, is in this stripe.
    #[cold]
    pub(super) fn note_request(&mut self, id: u32, request: &Request, end_ns: u64, stripe: Option<u32>) {
        let note = *self.note(id, request.sequence);
        self.requests.push(RequestRecord {
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
