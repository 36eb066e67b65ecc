//! Parts of the result, each made of the counters of one thing.

use super::figures::{latency, ratio};
use super::measured::Snapshot;
use super::types::{
    BufferFigures, FailedPart, Failures, GarbageCollection, GuardFigures, LdpcFigures, MappingFigures, MemberState, Rebuild, Replacement,
    SlcFigures, SuspensionFigures, Window,
};
use crate::buffer::{self, Buffer};
use crate::config::Config;
use crate::engine::translation::TranslationCounts;
use crate::engine::{Exposure, ReadErrors, RebuildRecord, ReplacementRecord, Survey};
use crate::media::{Counts, Inspect, LunRecord};
#[cfg(feature = "mutants")]
use flashraid_ftl::accounting::{self, Slip};
use flashraid_ftl::{ACTIONS, CellOperation, CellTimes, SlcCounts, Suspensions};
use flashraid_redundancy::{CommitCause, Commits, GuardCounts, Migrated};
use flashraid_vocabulary::{Action, Cause, MemberId};

/// How a member is.
pub(super) fn state(media: &dyn Inspect, member: MemberId) -> MemberState {
    if !media.is_alive(member) {
        MemberState::Failed
    } else if media.lost_versions_of(member) > 0 {
        MemberState::Degraded
    } else {
        MemberState::Healthy
    }
}

/// A rebuild. Its speed counts what it programmed, since the first failure (SPEC 1.7).
pub(super) fn report_rebuild(rebuild: &RebuildRecord, lost_now: u64, page_bytes: u64) -> Rebuild {
    let started_ns = rebuild.faults[0].0;
    #[cfg(feature = "mutants")]
    let window_ns = rebuild.faults.last().filter(|_| accounting::makes(Slip::WindowFromLastFailure)).map_or(started_ns, |fault| fault.0);
    #[cfg(not(feature = "mutants"))]
    let window_ns = started_ns;
    let duration_ns = rebuild.ended_ns.map(|ended_ns| ended_ns - started_ns);
    Rebuild {
        failed: rebuild.faults.iter().map(|(at_ns, fault)| FailedPart { fault: fault.to_string(), at_ns: *at_ns }).collect(),
        started_ns,
        ended_ns: rebuild.ended_ns,
        finished_ns: rebuild.finished_ns,
        window_of_vulnerability_ns: rebuild.finished_ns.map(|finished_ns| finished_ns - window_ns),
        pages_lost: rebuild.pages_lost,
        pages: rebuild.pages,
        pages_superseded: rebuild
            .pages_lost
            .saturating_sub(rebuild.pages + if rebuild.ended_ns.is_some() { rebuild.pages_left } else { lost_now }),
        pages_copied: rebuild.pages_copied,
        pages_xored: rebuild.pages - rebuild.pages_copied,
        bytes_per_second: duration_ns.and_then(|duration_ns| ratio((rebuild.pages * page_bytes) as f64 * 1e9, duration_ns as f64)),
        requests: rebuild.latency.count,
        mean_latency_ns: rebuild.latency.mean_ns(),
        latency_ns: latency(&rebuild.latency),
    }
}

/// Replacements of SSDs, which have moved so much until now.
pub(super) fn report_replacements(device: &Survey<'_>, migrated: Migrated) -> Vec<Replacement> {
    let of = |record: &ReplacementRecord| {
        let Migrated { hot_data, hot_parity, hot_moves, cold_data, cold_parity, cold_moves, .. } = record.migrated_of(migrated);
        Replacement {
            old_device: record.old_device,
            new_device: record.new_device,
            outcome: record.outcome.name(),
            started_ns: record.started_ns,
            ended_ns: record.ended_ns,
            duration_ns: record.ended_ns.map(|ended_ns| ended_ns - record.started_ns),
            is_shadow: record.is_shadow,
            hot_data,
            hot_parity,
            hot_moves,
            cold_data,
            cold_parity,
            cold_moves,
            requests: record.latency.count,
            latency_ns: latency(&record.latency),
            reads_after: record.reads_after.count,
            read_latency_after_ns: latency(&record.reads_after),
            shadow_reads_after: record.shadow_reads_after(migrated),
        }
    };
    device.replacements.iter().map(of).collect()
}

/// What the window of the scheme exposed until now, with the mean from `averaged_from` on.
pub(super) fn report_exposure(exposure: &Exposure, now: &Snapshot, averaged_from: &Snapshot) -> Window {
    let page_ns = now.exposed_page_ns - averaged_from.exposed_page_ns;
    Window {
        mean_pages: ratio(page_ns as f64, (now.now_ns - averaged_from.now_ns) as f64),
        peak_pages: exposure.peak_pages,
        exposed_ns: exposure.exposed_ns(now.now_ns),
        pages: exposure.pages,
    }
}

/// Writes of pages out of a buffer that failed when nobody waited for them, by why.
pub(super) fn failed_evictions(now: buffer::Counts, start: buffer::Counts) -> Failures {
    Failures { no_space: now.failed_no_space - start.failed_no_space, lost: now.failed_lost - start.failed_lost }
}

/// Reads that LDPC decoded.
pub(super) fn report_ldpc(now: &Snapshot, start: &Snapshot, read_errors: ReadErrors) -> LdpcFigures {
    let reads_by_level: Vec<u64> = now.reads_by_level.iter().zip(&start.reads_by_level).map(|(now, start)| now - start).collect();
    let (reads, highest) = (reads_by_level.iter().sum::<u64>() as f64, reads_by_level.len() - 2);
    let attempts: u64 = reads_by_level.iter().enumerate().map(|(level, reads)| (level.min(highest) as u64 + 1) * reads).sum();
    let ReadErrors { pages, pages_repaired } = read_errors;
    LdpcFigures {
        mean_attempts: ratio(attempts as f64, reads),
        retried_share: ratio(reads - reads_by_level[0] as f64, reads),
        reads_by_level,
        pages_uncorrectable: pages,
        pages_repaired,
    }
}

/// How often reads suspended work, in all SSDs.
pub(super) fn report_suspensions(now: &Snapshot, start: &Snapshot) -> SuspensionFigures {
    let sum = |of: fn(&Suspensions) -> u64| now.suspensions.iter().map(of).sum::<u64>() - start.suspensions.iter().map(of).sum::<u64>();
    SuspensionFigures { programs: sum(|of| of.programs), erases: sum(|of| of.erases) }
}

/// What SLC caches did, in all SSDs.
pub(super) fn report_slc(now: &Snapshot, start: &Snapshot) -> SlcFigures {
    let sum = |of: fn(&SlcCounts) -> u64| now.slc.iter().map(of).sum::<u64>() - start.slc.iter().map(of).sum::<u64>();
    SlcFigures { units_written: sum(|of| of.written), units_folded: sum(|of| of.folded), erases: sum(|of| of.erases) }
}

/// What the data buffer did, counted in host pages.
pub(super) fn report_buffer(now: buffer::Counts, start: buffer::Counts, buffer: &Buffer, config: &Config) -> BufferFigures {
    let (read_hits, read_misses) = (now.read_hits - start.read_hits, now.read_misses - start.read_misses);
    let (write_hits, write_misses) = (now.write_hits - start.write_hits, now.write_misses - start.write_misses);
    let (evictions, pages) = (now.evictions - start.evictions, now.pages_written_out - start.pages_written_out);
    BufferFigures {
        kind: buffer.kind(),
        hits: read_hits + write_hits,
        misses: read_misses + write_misses,
        hit_rate: ratio((read_hits + write_hits) as f64, (read_hits + write_hits + read_misses + write_misses) as f64),
        read_hits,
        read_misses,
        write_hits,
        write_misses,
        evictions,
        pages_written_out: pages,
        mean_victim_pages: ratio(pages as f64, evictions as f64),
        destages: now.destages - start.destages,
        pages_destaged: now.pages_destaged - start.pages_destaged,
        destage_bytes_per_second: config.array.destage_bytes_per_second(&config.device),
        failed_evictions: failed_evictions(now, start),
        pages_buffered: buffer.count() as u64,
    }
}

/// What the scheme that delays parities did. A commit costs its reads and one program; the share of GC runs leaves out commits that have
/// nothing to do with room in the parity cache (SPEC 4.7).
pub(super) fn report_guard(now: &GuardCounts, start: &GuardCounts, cell: CellTimes) -> GuardFigures {
    let since = |now: Commits, start: Commits| Commits { commits: now.commits - start.commits, reads: now.reads - start.reads };
    let of = |cause: CommitCause| since(now.commits[cause as usize], start.commits[cause as usize]);
    let (hits, misses) = (now.hits - start.hits, now.misses - start.misses);
    // Commits of a drain are counted apart, as all that it does.
    let [replacement, gc, rebuild, idle] = [CommitCause::Replacement, CommitCause::Gc, CommitCause::Rebuild, CommitCause::Idle].map(of);
    let all = [replacement, gc, rebuild, idle];
    let cost = |of: Commits| {
        #[cfg(feature = "mutants")]
        let of = if accounting::makes(Slip::CommitWithoutReads) { Commits { reads: 0, ..of } } else { of };
        cell.mean_cost_ns(of.reads, of.commits) as f64
    };
    let widened = since(now.widened, start.widened);
    GuardFigures {
        hits,
        misses,
        hit_rate: ratio(hits as f64, (hits + misses) as f64),
        commits_replacement: replacement.commits,
        commit_reads_replacement: replacement.reads,
        commits_gc: gc.commits,
        commit_reads_gc: gc.reads,
        commits_rebuild: rebuild.commits,
        commit_reads_rebuild: rebuild.reads,
        commits_idle: idle.commits,
        commit_reads_idle: idle.reads,
        reads_per_commit: ratio(all.map(|of| of.reads).iter().sum::<u64>() as f64, all.map(|of| of.commits).iter().sum::<u64>() as f64),
        gc_commit_share: ratio(cost(gc), cost(gc) + cost(replacement)),
        widened: widened.commits,
        widen_reads: widened.reads,
        entries: now.entries,
        most_entries: now.most_entries,
        old_pages: now.old_pages,
        most_old_pages: now.most_old_pages,
    }
}

/// What GC runs, or merges of log blocks, did. Their cost is the array time of copies and erases (SPEC 6.3): where several mapping units are programmed together,
/// of what was read, programmed and erased.
pub(super) fn report_gc(now: &Snapshot, start: &Snapshot, media: &dyn Inspect) -> GarbageCollection {
    let work = |now: &Counts, start: &Counts| {
        [Action::Read as usize, Action::Program as usize, ACTIONS - 1]
            .map(|action| now[action][Cause::Gc as usize] - start[action][Cause::Gc as usize])
    };
    let [_, copies, erases] = work(&now.counts, &start.counts);
    let ssds = media.ssds();
    let cost_ns = |(number, lun): (usize, LunRecord)| {
        let settings = ssds[lun.ssd].settings;
        if settings.packs() {
            return now.array_ns[number][Cause::Gc as usize] - start.array_ns[number][Cause::Gc as usize];
        }
        let [_, copies, erases] = work(&now.flash_luns[number], &start.flash_luns[number]);
        settings.cell.mean_cost_ns(copies, copies) + erases * settings.cell.mean_ns(CellOperation::Erase)
    };
    let cost_ns = media.luns().into_iter().enumerate().map(cost_ns).sum();
    let (now, start) = (&now.collected, &start.collected);
    let merges = |kind: usize| now.merges[kind] - start.merges[kind];
    GarbageCollection {
        collections: now.gc_runs - start.gc_runs,
        merges_switch: merges(0),
        merges_partial: merges(1),
        merges_full: merges(2),
        copies,
        erases,
        time_ns: now.time_ns - start.time_ns,
        cost_ns,
    }
}

pub(super) fn report_mapping(now: TranslationCounts, start: TranslationCounts, translation_pages: u32) -> MappingFigures {
    MappingFigures {
        cmt_hits: now.hits - start.hits,
        cmt_misses: now.misses - start.misses,
        evictions: now.evictions - start.evictions,
        dirty_evictions: now.dirty_evictions - start.dirty_evictions,
        in_hand: now.in_hand - start.in_hand,
        translation_pages,
    }
}
