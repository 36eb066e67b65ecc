//! Reads that take several attempts, on devices with LDPC.
//!
//! Each attempt takes the bus for its command, the array for sensing, the bus for the data, and the decoder. The LUN stays with a read until its last
//! transfer; that attempt is decoded while the LUN does something else, and the read ends with that. Reads of several planes at once are repeated for
//! those pages alone that were not corrected. A page above the highest level cannot be corrected: its read fails, and the layer above decides what that
//! means for its block.

use crate::arbitration::kick;
use crate::events::NEVER;
use crate::levels::Decoding;
use crate::luns::{Lun, LunState};
use crate::packed::decoder;
use crate::records::Queue;
use crate::{Nand, Pages};
use flashraid_vocabulary::{NIL, Observer, Ppn};
use std::collections::VecDeque;

fn decode_ns(nand: &Nand) -> u64 {
    nand.levels().expect("a device with LDPC").ldpc.decode_ns
}

/// The LUN has no more data to give. Returns whether it goes on with pages that were not corrected.
fn retries(nand: &mut Nand, lun_id: u32) -> bool {
    let lun = &mut nand.luns[lun_id as usize];
    lun.current = std::mem::replace(&mut lun.retries, Queue::EMPTY).head;
    if lun.current == NIL {
        lun.attempt = 0;
        return false;
    }
    lun.attempt += 1;
    match decode_ns(nand) {
        0 => nand.set_state(lun_id, LunState::RetryReady),
        decode_ns => {
            nand.lun_at(lun_id, nand.now_ns + decode_ns);
            nand.set_state(lun_id, LunState::Decoding);
        }
    }
    true
}

/// What is being decoded, the first to come first: all take the same time.
fn decoding(nand: &mut Nand) -> &mut VecDeque<Decoding> {
    &mut nand.levels_mut().expect("a device with LDPC").decoding
}

/// The data of an attempt have left the LUN.
#[cold]
pub(crate) fn attempt_ended<P: Pages, O: Observer>(ssd: &mut P, lun_id: u32, observer: &mut O) {
    let nand = ssd.nand_mut();
    let Lun { current: id, attempt, since_ns, channel, .. } = nand.luns[lun_id as usize];
    let next = nand.records[id].next;
    nand.luns[lun_id as usize].current = next;
    let is_last = attempt + 1 >= nand.attempts(id);
    if !is_last {
        nand.records[id].next = NIL;
        nand.luns[lun_id as usize].retries.append(id, &mut nand.records);
    }
    if next != NIL {
        nand.set_state(lun_id, LunState::DataReady);
    } else if !retries(nand, lun_id) {
        nand.end_of_work(lun_id, id);
    }
    if is_last {
        decode(ssd, id, since_ns, observer);
    }
    kick(ssd, channel);
}

/// The last attempt of a read that its LUN began at `since_ns` is decoded from now on.
fn decode<P: Pages, O: Observer>(ssd: &mut P, record: u32, since_ns: u64, observer: &mut O) {
    let nand = ssd.nand_mut();
    let decode_ns = decode_ns(nand);
    if decode_ns == 0 {
        return read_is_decoded(ssd, record, since_ns, observer);
    }
    let end_ns = nand.now_ns + decode_ns;
    decoding(nand).push_back(Decoding { end_ns, record, since_ns });
    if decoding(nand).len() == 1 {
        let place = decoder(nand);
        nand.events.set(place, end_ns);
    }
}

/// The decoder is done with a read.
#[cold]
pub(crate) fn decoded<P: Pages, O: Observer>(ssd: &mut P, observer: &mut O) {
    let nand = ssd.nand_mut();
    let Decoding { record, since_ns, .. } = decoding(nand).pop_front().expect("the decoder has an event");
    let next_ns = decoding(nand).front().map_or(NEVER, |next| next.end_ns);
    let place = decoder(nand);
    nand.events.set(place, next_ns);
    let channel = nand.channel_of_lun(nand.records[record].lun);
    read_is_decoded(ssd, record, since_ns, observer);
    // The end of a GC run may let others on at its LUNs.
    kick(ssd, channel);
}

/// A read has had its last attempt.
fn read_is_decoded<P: Pages, O: Observer>(ssd: &mut P, record: u32, since_ns: u64, observer: &mut O) {
    let nand = ssd.nand_mut();
    if nand.recording.lists_done {
        nand.note_done(record, since_ns);
    }
    let ppn = Ppn(nand.records[record].ppn);
    if nand.levels().is_some_and(|levels| levels.fails(record)) {
        ssd.uncorrectable(ppn);
    }
    ssd.ended(record, observer);
}
