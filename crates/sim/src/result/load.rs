//! Offered load: what the requests made the device do, over the time in which they came.

use super::figures::moments;
use super::measured::Snapshot;
use crate::engine::host_side::SERIAL;
use crate::simulation::Simulation;
use flashraid_vocabulary::Cause;

/// Fewer requests ask for more than a device can do in the time in which they come, and yet need not wait for each other.
const FEWEST_FOR_A_LOAD: u64 = 100;

/// Offered load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Mean over the buses, over the directions of host links, or over the LUNs, or of a direction of the drive's host link, or of its controller, whichever is
    /// more.
    pub mean: f64,
    /// Of the busiest of them.
    pub busiest: f64,
}

impl Simulation {
    /// By how much the longest wait grows with the time of arrivals, if the device falls behind them; 0 if it keeps up. `None` in a closed loop, which
    /// waits for it, and if the requests arrived in one instant.
    pub(crate) fn backlog_growth(&self) -> Option<f64> {
        let is_open_loop = self.device.config.run.queue_depth == 0;
        self.survey().statistics.waits.growth().filter(|_| is_open_loop)
    }

    /// Whether the device cannot keep up with the arrivals, with this load and growth of the longest wait. A closed loop saturates it by design.
    pub(crate) fn is_overloaded(&self, load: Option<Load>, backlog_growth: Option<f64>) -> bool {
        let is_more_than_served = load.is_some_and(|load| load.busiest > 1.0) && self.measured.requests >= FEWEST_FOR_A_LOAD;
        let is_open_loop = self.device.config.run.queue_depth == 0;
        is_open_loop && (is_more_than_served || backlog_growth.is_some_and(|growth| growth > 0.0))
    }

    /// What requests made buses, host links, the controller and LUNs do since measuring began, over the time in which the measured ones arrived: the mean over all
    /// of a kind, whichever is more, and that of the busiest one. Above 1 queues grow without bound. `None` if the requests arrived in one instant.
    ///
    /// Work that takes the time that requests leave counts for nothing: rebuilds, migrations, and parities made in idle time.
    pub fn offered_load(&self) -> Option<Load> {
        let device = self.survey();
        let (now, start) = (Snapshot::of(&device), &self.measured.start);
        let last_ns = self.measured.last_arrival_ns;
        let span_ns = last_ns - self.measured.first_arrival.as_ref().map_or(last_ns, |first| first.now_ns);
        let buses = now.channel_busy_ns.iter().zip(&start.channel_busy_ns);
        let lanes = now.link_busy_ns.as_flattened().iter().zip(start.link_busy_ns.as_flattened());
        // A scheme with a window makes the parities that it has put off in idle time.
        let commits_are_idle_work = device.scheme.has_window();
        let is_of_requests = |cause: &usize| match Cause::ALL[*cause] {
            Cause::Rebuild | Cause::Migration => false,
            Cause::Commit => !commits_are_idle_work,
            _ => true,
        };
        let sum = |now: &[u64; Cause::COUNT], start: &[u64; Cause::COUNT]| -> u64 {
            (0..Cause::COUNT).filter(is_of_requests).map(|cause| now[cause] - start[cause]).sum()
        };
        let [buses, lanes]: [Vec<f64>; 2] =
            [buses.map(|(now, start)| sum(now, start) as f64).collect(), lanes.map(|(now, start)| sum(now, start) as f64).collect()];
        let host = (0..SERIAL).map(|part| (now.host_busy_ns[part] - start.host_busy_ns[part]) as f64);
        let luns = now.array_ns.iter().zip(&start.array_ns).map(|(now, start)| sum(now, start) as f64);
        // A chip that was replaced and the one in its place are one.
        let in_use = device.media.luns().iter().filter(|lun| lun.is_in_use).count();
        let mean_of = |of: &[f64]| moments(of.iter().copied()).0;
        let mean = host.clone().fold(mean_of(&buses).max(mean_of(&lanes)).max(luns.clone().sum::<f64>() / in_use as f64), f64::max);
        let busiest = buses.into_iter().chain(lanes).chain(luns).chain(host).fold(0.0, f64::max);
        (span_ns > 0).then(|| Load { mean: mean / span_ns as f64, busiest: busiest / span_ns as f64 })
    }
}
