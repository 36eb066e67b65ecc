//! One row for each interval of simulated time: what completed in it, what the flash did, and how things stand at its end.

use super::interval::Interval;
use super::sink::{Sink, push_number};
use crate::engine::Survey;
use crate::error::RunError;
use crate::result::is_apart;
use crate::statistics::{KINDS, Latency};
use flashraid_ftl::Counts;
use flashraid_vocabulary::{Action, Cause, MemberId};
use std::fmt::Display;
use std::io::Write;
use std::path::Path;

/// Erases follow reads and programs in counts.
const ERASE: usize = 2;

/// Groups of causes that have columns of their own; together they are all causes.
const GROUPS: [(&str, &[Cause]); 5] = [
    ("host", &[Cause::Host, Cause::UpdateRead]),
    ("redundancy", &[Cause::PreRead, Cause::Parity, Cause::Mirror, Cause::Commit]),
    ("gc", &[Cause::Gc, Cause::Wear]),
    ("recovery", &[Cause::Reconstruct, Cause::Rebuild, Cause::Retry]),
    ("other", &[Cause::Migration, Cause::Metadata]),
];

/// Sums at one moment; a row has the difference of two.
struct Totals {
    counts: Counts,
    bus_busy_ns: Vec<u64>,
    lun_busy_ns: Vec<u64>,
    rebuilt_pages: u64,
}

impl Totals {
    fn of(device: &Survey<'_>, time_ns: u64) -> Self {
        let media = device.media;
        let sum = |by_cause: [u64; Cause::COUNT]| by_cause.iter().sum();
        Self {
            counts: media.counted().flash_pages,
            bus_busy_ns: media.buses_busy_ns(time_ns).into_iter().map(sum).collect(),
            lun_busy_ns: media.luns_busy_ns(time_ns).into_iter().map(sum).collect(),
            rebuilt_pages: device.rebuilds.iter().map(|rebuild| rebuild.pages).sum(),
        }
    }
}

pub(super) struct Series {
    sink: Sink,
    former: Option<Totals>,
}

impl Series {
    pub(super) fn create(path: &Path, device: &Survey<'_>) -> Result<Self, RunError> {
        let mut sink = Sink::create("series", path)?;
        let header = header(device.media.shape().members, device.media.buses_busy_ns(0).len(), device.media.ssds().len());
        sink.text.extend_from_slice(header.join(",").as_bytes());
        sink.text.push(b'\n');
        Ok(Self { sink, former: None })
    }

    /// The first interval begins.
    pub(super) fn begin(&mut self, device: &Survey<'_>, start_ns: u64) {
        self.former = Some(Totals::of(device, start_ns));
    }

    /// The interval has ended at `end_ns`; every event before that is processed.
    pub(super) fn add(&mut self, device: &Survey<'_>, interval: &Interval, end_ns: u64) -> Result<(), RunError> {
        let now = Totals::of(device, end_ns);
        let former = self.former.replace(now).expect("measuring has begun");
        let now = self.former.as_ref().expect("just set");
        let length_ns = end_ns - interval.start_ns;
        let mut row = RowWriter(&mut self.sink.text);
        row.number(interval.start_ns);
        row.number(length_ns);
        interval.latency.iter().for_each(|latency| row.number(latency.count));
        row.number(interval.failed);
        row.number(device.outstanding);
        row.number(interval.bytes_read);
        row.number(interval.bytes_written);
        interval.latency[..2].iter().for_each(|latency| row.latency(latency));
        let count = |action: usize, causes: &[Cause]| -> u64 {
            causes.iter().map(|cause| now.counts[action][*cause as usize] - former.counts[action][*cause as usize]).sum()
        };
        for action in [Action::Read as usize, Action::Program as usize] {
            GROUPS.iter().for_each(|(_, causes)| row.number(count(action, causes)));
        }
        row.number(count(ERASE, &Cause::ALL));
        let counted: Vec<Cause> = Cause::ALL.into_iter().filter(|cause| !is_apart(*cause)).collect();
        let programmed_bytes =
            count(Action::Program as usize, &counted) * u64::from(device.media.shape().page_bytes * device.media.shape().units_per_page);
        row.share(programmed_bytes.into(), interval.bytes_written.into());
        row.number(now.rebuilt_pages - former.rebuilt_pages);
        let bus = difference(&now.bus_busy_ns, &former.bus_busy_ns);
        let lun = difference(&now.lun_busy_ns, &former.lun_busy_ns);
        // A chip that was replaced and the one in its place are one, but in the interval in which both worked.
        let luns = device.media.luns();
        let counts = |id: usize| luns[id].is_in_use || lun[id] > 0;
        let working = (0..lun.len()).filter(|id| counts(*id)).count();
        for (busy_ns, count) in [(&bus, bus.len()), (&lun, working)] {
            row.share(busy_ns.iter().map(|busy_ns| u128::from(*busy_ns)).sum(), u128::from(length_ns) * count as u128);
            row.share(busy_ns.iter().copied().max().unwrap_or(0).into(), length_ns.into());
        }
        let members = device.media.shape().members as usize;
        let mut blocks = vec![(0, u32::MAX); members];
        let mut busy_ns = vec![(0, 0); members];
        for (id, lun_busy_ns) in lun.iter().enumerate() {
            let Some(member) = luns[id].member.map(|member| member as usize) else { continue };
            busy_ns[member].0 += u128::from(*lun_busy_ns);
            busy_ns[member].1 += u128::from(counts(id));
            if !luns[id].is_in_use {
                continue;
            }
            let (sum, fewest) = blocks[member];
            blocks[member] = (sum + luns[id].free_blocks, fewest.min(luns[id].fewest_free_blocks));
        }
        row.number(blocks.iter().map(|(sum, _)| sum).sum());
        row.number(blocks.iter().map(|(_, least)| u64::from(*least)).min().unwrap_or(0));
        for member in 0..members {
            let load = device.media.load(MemberId(member as u16));
            row.number(u64::from(load.reads + load.programs));
            row.number(blocks[member].0);
            row.number(u64::from(blocks[member].1));
            row.share(busy_ns[member].0, busy_ns[member].1 * u128::from(length_ns));
        }
        bus.iter().for_each(|busy_ns| row.share((*busy_ns).into(), length_ns.into()));
        for ssd in device.media.ssds().iter().filter(|_| device.media.shape().ssds > 1) {
            // An endurance without a limit divides nothing.
            let endurance = ssd.age.map_or(0, |_| ssd.endurance);
            row.share(ssd.total_erases.into(), endurance.into());
            row.number(ssd.free_blocks);
        }
        row.end();
        self.sink.spill()
    }

    pub(super) fn finish(&mut self) -> Result<(), RunError> {
        self.sink.flush()
    }
}

fn difference(now: &[u64], former: &[u64]) -> Vec<u64> {
    now.iter().zip(former).map(|(now, former)| now - former).collect()
}

/// Names of the columns, in the order in which `add` fills them.
fn header(members: u32, channels: usize, ssds: usize) -> Vec<String> {
    let mut names: Vec<String> = vec!["start_ns".into(), "length_ns".into()];
    names.extend(KINDS.map(|kind| format!("{kind}_requests")));
    names.extend(["failed_requests", "outstanding_requests", "bytes_read", "bytes_written"].map(Into::into));
    for kind in &KINDS[..2] {
        names.extend(["mean", "p50", "p90", "p99", "p99_9", "max"].map(|figure| format!("{kind}_{figure}_ns")));
    }
    for action in ["reads", "programs"] {
        names.extend(GROUPS.map(|(group, _)| format!("flash_{action}_{group}")));
    }
    names.extend(["flash_erases", "write_amplification", "rebuilt_pages"].map(Into::into));
    names.extend(["bus_mean_busy", "bus_max_busy", "die_mean_busy", "die_max_busy"].map(Into::into));
    names.extend(["free_blocks", "plane_min_free_blocks"].map(Into::into));
    for member in 0..members {
        names.extend(["queue", "free_blocks", "plane_min_free_blocks", "busy"].map(|what| format!("member{member}_{what}")));
    }
    names.extend((0..channels).map(|channel| format!("bus{channel}_busy")));
    for ssd in (0..ssds).filter(|_| ssds > 1) {
        names.extend(["age", "free_blocks"].map(|what| format!("device{ssd}_{what}")));
    }
    names
}

/// A row in progress; each value is followed by a comma, the last by the end of the line.
struct RowWriter<'a>(&'a mut Vec<u8>);

impl RowWriter<'_> {
    fn number(&mut self, number: u64) {
        push_number(self.0, number);
        self.0.push(b',');
    }

    fn real(&mut self, number: impl Display) {
        write!(self.0, "{number},").expect("memory takes everything");
    }

    /// A quotient; nothing where there is nothing to divide by.
    fn share(&mut self, numerator: u128, denominator: u128) {
        if denominator > 0 {
            self.real(numerator as f64 / denominator as f64);
        } else {
            self.0.push(b',');
        }
    }

    /// The figures of a latency; nothing if there was no request.
    fn latency(&mut self, latency: &Latency) {
        if latency.count == 0 {
            self.0.extend_from_slice(b",,,,,,");
            return;
        }
        self.real(latency.mean_ns());
        latency.quantiles_ns([0.5, 0.9, 0.99, 0.999]).into_iter().for_each(|latency_ns| self.number(latency_ns));
        self.number(latency.max_ns);
    }

    fn end(&mut self) {
        self.0.pop();
        self.0.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::GROUPS;
    use flashraid_vocabulary::Cause;

    #[test]
    fn every_cause_is_in_one_group() {
        let mut causes: Vec<usize> = GROUPS.iter().flat_map(|(_, causes)| *causes).map(|cause| *cause as usize).collect();
        causes.sort_unstable();
        assert_eq!(causes, Cause::ALL.map(|cause| cause as usize));
    }
}
