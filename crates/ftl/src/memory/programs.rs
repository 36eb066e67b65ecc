//! How programs of plans are accepted, and pages read from the memory.

use super::padding::pad;
use super::pages::{memory_of, memory_of_mut, take_page, wait};
use crate::Flash;
use flashraid_nand::{Record, packed};
use flashraid_vocabulary::{Action, MemberId, Priority};

/// A program comes in.
pub(crate) fn take_in(ssd: &mut Flash, id: u32) {
    let Record { priority, domain, .. } = *ssd.nand.record(id);
    if ssd.space.domains[domain as usize].living_planes == 0 {
        return ssd.fail_unstarted(id);
    }
    let waits = !memory_of(ssd).waiting[priority as usize].is_empty() || !has_room(ssd, domain);
    if waits {
        memory_of_mut(ssd).waiting[priority as usize].push_back(id);
    } else {
        accept(ssd, id);
    }
}

/// Whether a program of the domain can be accepted.
fn has_room(ssd: &Flash, domain: u32) -> bool {
    memory_of(ssd).room > 0 && ssd.space.domains[domain as usize].free_pages > 0
}

/// A program takes its page, and ends.
fn accept(ssd: &mut Flash, id: u32) {
    let Record { domain, slot, version, member, cause, priority, .. } = *ssd.nand.record(id);
    ssd.maps.prefetch(slot);
    let (plane, ppn) = take_page(ssd, domain, cause, priority);
    ssd.space.domains[domain as usize].reserved -= 1;
    ssd.maps.label(ppn, version, slot);
    let lun = ssd.nand.lun_of_plane(plane);
    let record = ssd.nand.record_mut(id);
    (record.ppn, record.plane, record.lun) = (ppn.0, plane, lun);
    packed::count_unit(&mut ssd.nand, plane, Action::Program, cause);
    let loads = ssd.nand.loads_mut();
    loads.queue_changes(MemberId(member), 0, -1);
    loads[MemberId(member)].in_service += 1;
    if ssd.space.domains[domain as usize].owed > 0 {
        pad(ssd, domain);
    }
    let now_ns = ssd.nand.now_ns();
    memory_of_mut(ssd).accepted.push_back((now_ns, id));
    wait(ssd);
}

/// Accepts what waits, the most urgent class first, each in order.
pub(crate) fn accept_waiting(ssd: &mut Flash) {
    for class in 0..Priority::COUNT {
        while let Some(&id) = memory_of(ssd).waiting[class].front()
            && has_room(ssd, ssd.nand.record(id).domain)
        {
            memory_of_mut(ssd).waiting[class].pop_front();
            accept(ssd, id);
        }
    }
}

/// Takes the programs of the domain that wait.
pub(crate) fn take_waiting(ssd: &mut Flash, domain: u32) -> Vec<u32> {
    let Flash { memory, nand, .. } = ssd;
    let Some(memory) = memory else { return Vec::new() };
    let mut taken = Vec::new();
    for waiting in &mut memory.waiting {
        waiting.retain(|id| {
            let is_of_domain = nand.record(*id).domain == domain;
            if is_of_domain {
                taken.push(*id);
            }
            !is_of_domain
        });
    }
    taken
}

/// Programs that wait in the memory.
pub(crate) fn waiting(ssd: &Flash) -> impl Iterator<Item = &Record> {
    let waiting = ssd.memory.iter().flat_map(|memory| memory.waiting.iter().flatten());
    waiting.map(|id| ssd.nand.record(*id))
}

/// A read of a page that is in the memory.
pub(crate) fn read(ssd: &mut Flash, id: u32) {
    let Record { member, plane, cause, .. } = *ssd.nand.record(id);
    let loads = ssd.nand.loads_mut();
    loads.queue_changes(MemberId(member), -1, 0);
    loads[MemberId(member)].in_service += 1;
    packed::count_unit(&mut ssd.nand, plane, Action::Read, cause);
    let end_ns = ssd.nand.now_ns() + memory_of(ssd).settings.read_ns;
    memory_of_mut(ssd).reads.push_back((end_ns, id));
    wait(ssd);
}
