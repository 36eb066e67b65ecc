//! What is counted: counters at a moment, and what was asked of the device since measuring began.

use super::figures::flash_ops;
use super::types::Drain;
use crate::buffer;
use crate::device::Device;
use crate::engine::Survey;
use crate::engine::host_side::{HostBusy, SERIAL};
use crate::engine::translation::TranslationCounts;
use crate::media::SsdRecord;
use crate::statistics::kind;
use flashraid_ftl::{Counts, GcCounts, Levels, SlcCounts, Suspensions};
use flashraid_redundancy::{GuardCounts, ParityUpdates};
use flashraid_vocabulary::{Cause, HostOp, HostRequest};

/// Monotonic counters at one moment; a report is the difference of two.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    pub(super) now_ns: u64,
    pub(super) counts: Counts,
    pub(super) luns: Vec<Counts>,
    /// The same of flash pages.
    pub(super) flash_counts: Counts,
    pub(super) flash_luns: Vec<Counts>,
    /// Mapping units of padding.
    pub(super) padded: u64,
    /// Time of the array of each LUN for what it has started, but for attempts of reads that are still to come.
    pub(super) array_ns: Vec<[u64; Cause::COUNT]>,
    /// Reads by level, of SSDs with LDPC together.
    pub(super) reads_by_level: Vec<u64>,
    /// How often reads suspended work, by SSD.
    pub(super) suspensions: Vec<Suspensions>,
    /// What SLC caches have done, by SSD.
    pub(super) slc: Vec<SlcCounts>,
    /// What lies before this moment of work and transfers under way included.
    pub(super) lun_busy_ns: Vec<[u64; Cause::COUNT]>,
    pub(super) channel_busy_ns: Vec<[u64; Cause::COUNT]>,
    /// Likewise of the host link of each SSD, towards it and from it.
    pub(super) link_busy_ns: Vec<[[u64; Cause::COUNT]; 2]>,
    /// Likewise of what serves requests one after the other between host and flash.
    pub(super) host_busy_ns: HostBusy,
    pub(super) blocked: Vec<u64>,
    pub(super) completed: u64,
    pub(super) parity: ParityUpdates,
    pub(super) unmapped_reads: u64,
    pub(super) buffer: Option<buffer::Counts>,
    pub(super) guard: Option<GuardCounts>,
    pub(super) collected: GcCounts,
    pub(super) idle_ns: u64,
    /// How long pauses of operations are together that have begun, and how much of that is still to come.
    pub(super) pauses_ns: (u64, u64),
    pub(super) translation: Option<TranslationCounts>,
    /// Sum over time of the pages that the scheme's window exposed.
    pub(super) exposed_page_ns: u128,
}

impl Snapshot {
    pub(crate) fn of(device: &Survey<'_>) -> Self {
        let (media, now_ns, luns, ssds) = (device.media, device.now_ns(), device.media.luns(), device.media.ssds());
        let counted = media.counted();
        Self {
            now_ns,
            counts: counted.pages,
            luns: luns.iter().map(|lun| lun.operations).collect(),
            flash_counts: counted.flash_pages,
            padded: counted.padded,
            flash_luns: luns.iter().map(|lun| lun.flash_operations).collect(),
            array_ns: luns.iter().map(|lun| lun.array_ns).collect(),
            reads_by_level: reads_by_level(&ssds),
            suspensions: ssds.iter().map(|ssd| ssd.suspensions.unwrap_or_default()).collect(),
            slc: ssds.iter().map(|ssd| ssd.slc.unwrap_or_default()).collect(),
            lun_busy_ns: media.luns_busy_ns(now_ns),
            channel_busy_ns: media.buses_busy_ns(now_ns),
            link_busy_ns: media.links_busy_ns(now_ns),
            host_busy_ns: device.host_side.map_or([0; SERIAL], |side| side.busy_ns(now_ns)),
            blocked: (0..media.shape().members).map(|member| media.blocked_sum(member)).collect(),
            completed: media.requests_completed(),
            parity: device.scheme.parity_updates(),
            unmapped_reads: device.statistics.unmapped_reads,
            buffer: device.buffer.map(|buffer| buffer.counts),
            guard: device.scheme.deferring().and_then(|deferring| deferring.guard()),
            collected: ssds.iter().fold(GcCounts::default(), |sum, ssd| sum + ssd.collected),
            idle_ns: device.idle_ns,
            pauses_ns: (device.clock.paused_ns(), device.clock.pauses_left_ns()),
            translation: device.translation.map(|translation| translation.counts),
            exposed_page_ns: device.exposure.map_or(0, |exposure| exposure.page_ns(now_ns)),
        }
    }
}

fn difference(now: &Counts, start: &Counts) -> Counts {
    std::array::from_fn(|action| std::array::from_fn(|cause| now[action][cause] - start[action][cause]))
}

/// Reads by level, in all SSDs with LDPC together (`Levels::reads_by_level`); empty without LDPC.
fn reads_by_level(ssds: &[SsdRecord<'_>]) -> Vec<u64> {
    let mut sum = Vec::new();
    for of_ssd in ssds.iter().filter_map(|ssd| ssd.levels).map(Levels::reads_by_level) {
        sum.resize(of_ssd.len().max(sum.len()), 0);
        // Those that could not be corrected are the last of each.
        let (lost, corrected) = of_ssd.split_last().expect("there is a level");
        corrected.iter().enumerate().for_each(|(level, reads)| sum[level] += reads);
        *sum.last_mut().expect("resized") += lost;
    }
    sum
}

impl Snapshot {
    /// What a drain cost that began at `start`.
    pub(crate) fn cost_since(&self, start: &Self) -> Drain {
        let pages = |snapshot: &Self| snapshot.buffer.map_or(0, |counts| counts.pages_written_out - counts.pages_failed);
        Drain {
            pages: pages(self) - pages(start),
            commits: self.commits() - start.commits(),
            simulated_ns: self.now_ns - start.now_ns,
            flash_ops: flash_ops(&self.flash_counts_since(start)),
        }
    }

    /// Delayed parities that were brought to flash.
    fn commits(&self) -> u64 {
        self.guard.map_or(0, |guard| guard.commits.iter().map(|of| of.commits).sum())
    }

    pub(super) fn counts_since(&self, start: &Self) -> Counts {
        difference(&self.counts, &start.counts)
    }

    pub(super) fn flash_counts_since(&self, start: &Self) -> Counts {
        difference(&self.flash_counts, &start.flash_counts)
    }
}

/// What was asked of the device since measuring began.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Counters when measuring began.
    pub(crate) start: Snapshot,
    pub(super) requests: u64,
    pub(super) by_op: [u64; 4],
    pub(super) bytes_read: u64,
    pub(super) bytes_written: u64,
    /// Counters when the first request arrived, which may be long after `start`: averages over time begin there.
    pub(super) first_arrival: Option<Box<Snapshot>>,
    pub(super) last_arrival_ns: u64,
    /// Sum of arrivals, counted from `start`.
    pub(super) arrivals_ns: u128,
    /// Requests of the warm-up that were under way when measuring began.
    pub(crate) backlog: u64,
}

impl From<Snapshot> for Measured {
    fn from(start: Snapshot) -> Self {
        Self {
            start,
            requests: 0,
            by_op: [0; 4],
            bytes_read: 0,
            bytes_written: 0,
            first_arrival: None,
            last_arrival_ns: 0,
            arrivals_ns: 0,
            backlog: 0,
        }
    }
}

impl Measured {
    /// Counts a request that arrives now and is about to be submitted.
    #[inline]
    pub(crate) fn arrived(&mut self, request: &HostRequest, device: &dyn Device) {
        self.requests += 1;
        self.by_op[kind(request.op)] += 1;
        match request.op {
            HostOp::Read => self.bytes_read += request.size_bytes,
            HostOp::Write => self.bytes_written += request.size_bytes,
            HostOp::Trim | HostOp::WriteZeroes | HostOp::Flush => {}
        }
        if self.first_arrival.is_none() {
            self.first_arrival = Some(Snapshot::of(&device.survey()).into());
        }
        self.last_arrival_ns = request.arrival_ns;
        self.arrivals_ns += u128::from(request.arrival_ns - self.start.now_ns);
    }

    /// Counters at the moment from which on averages over time are taken: the first arrival, or if there was none, when measuring began.
    pub(super) fn averaged_from(&self) -> &Snapshot {
        self.first_arrival.as_deref().unwrap_or(&self.start)
    }

    /// Requests counted.
    pub fn requests(&self) -> u64 {
        self.requests
    }
}
