//! The longest waits by when requests arrived: what tells a device that falls behind its arrivals from one that has a burst to serve, whatever the
//! bottleneck is. Buses and dies that are hardly used say nothing of locks, flushes and buffers.

/// Slices of the time of arrivals. The last may be shorter, and at least half of them are in use once there are so many nanoseconds.
const SLICES: usize = 16;
/// Standard deviations of the arrivals of a device that just keeps up, as a share of their time: a smaller growth may be chance.
const SIGNIFICANT: f64 = 4.0;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// Arrival of the first measured request.
    first_ns: Option<u64>,
    last_ns: u64,
    /// The last arrival at which every measured request before had been answered.
    caught_up_ns: u64,
    arrived: u64,
    answered: u64,
    last_answer_ns: u64,
    /// Slices have this many bits of nanoseconds.
    bits: u32,
    /// The longest time from arrival to completion of those that arrived in each slice.
    longest_ns: [u64; SLICES],
}

impl Waits {
    /// A measured request arrives.
    #[inline]
    pub fn arrived(&mut self, now_ns: u64) {
        self.first_ns.get_or_insert(now_ns);
        self.last_ns = now_ns;
        if self.arrived == self.answered {
            self.caught_up_ns = now_ns;
        }
        self.arrived += 1;
    }

    /// A measured request was answered that arrived at a time; it failed, or took so long.
    #[inline]
    pub fn answered(&mut self, arrival_ns: u64, latency_ns: Option<u64>) {
        self.answered += 1;
        let (Some(first_ns), Some(latency_ns)) = (self.first_ns, latency_ns) else { return };
        self.last_answer_ns = arrival_ns + latency_ns;
        let since_ns = arrival_ns - first_ns;
        while since_ns >> self.bits >= SLICES as u64 {
            self.longest_ns = std::array::from_fn(|at| match 2 * at {
                pair if pair < SLICES => self.longest_ns[pair].max(self.longest_ns[pair + 1]),
                _ => 0,
            });
            self.bits += 1;
        }
        let longest_ns = &mut self.longest_ns[(since_ns >> self.bits) as usize];
        *longest_ns = latency_ns.max(*longest_ns);
    }

    /// By how much the longest wait grew from the first to the last quarter of the arrivals, over the time between: for a device that takes X times as
    /// long as the requests take to arrive, X - 1. Zero if it keeps up: what waits at the end came in the last quarter, or is no more than chance
    /// explains. `None` if all arrived at once.
    pub fn growth(&self) -> Option<f64> {
        let first_ns = self.first_ns?;
        let span_ns = self.last_ns - first_ns;
        if span_ns == 0 {
            return None;
        }
        let slices = (span_ns >> self.bits) as usize + 1;
        let mut quarters_ns = [0; 4];
        for (at, longest_ns) in self.longest_ns.iter().enumerate().take(slices) {
            let quarter_ns: &mut u64 = &mut quarters_ns[(at * 4 / slices).min(3)];
            *quarter_ns = *longest_ns.max(quarter_ns);
        }
        let [early_ns, _, before_ns, late_ns] = quarters_ns;
        let growth = late_ns.saturating_sub(early_ns) as f64 / (0.75 * span_ns as f64);
        let is_behind = self.caught_up_ns - first_ns <= span_ns / 2
            && late_ns > before_ns
            && 3 * before_ns >= late_ns
            && 2 * self.last_answer_ns.saturating_sub(self.last_ns) >= late_ns
            && growth >= SIGNIFICANT / (self.arrived as f64).sqrt();
        Some(if is_behind { growth } else { 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::Waits;

    /// Requests as (arrival, latency), answered in order of their ends.
    fn of(requests: &[(u64, u64)]) -> Option<f64> {
        let mut waits = Waits::default();
        let mut events: Vec<(u64, bool, u64, u64)> = Vec::new();
        for (arrival_ns, latency_ns) in requests {
            events.push((*arrival_ns, true, *arrival_ns, 0));
            events.push((arrival_ns + latency_ns, false, *arrival_ns, *latency_ns));
        }
        events.sort_unstable();
        for (now_ns, arrives, arrival_ns, latency_ns) in events {
            if arrives { waits.arrived(now_ns) } else { waits.answered(arrival_ns, Some(latency_ns)) }
        }
        waits.growth()
    }

    /// One server that takes `service_ns`, requests as the gaps before them say.
    fn served(gaps_ns: impl Iterator<Item = u64>, service_ns: u64) -> Vec<(u64, u64)> {
        let (mut now_ns, mut free_ns) = (1_000_000, 0);
        gaps_ns
            .map(|gap_ns| {
                now_ns += gap_ns;
                free_ns = now_ns.max(free_ns) + service_ns;
                (now_ns, free_ns - now_ns)
            })
            .collect()
    }

    fn every(gap_ns: u64, count: usize) -> impl Iterator<Item = u64> {
        std::iter::repeat_n(gap_ns, count)
    }

    #[test]
    fn what_takes_longer_than_its_arrivals_falls_behind_by_as_much() {
        // D/D/1: the nth request waits n x (service - gap), so that the growth is service / gap - 1.
        for (service_ns, growth) in [(150_000, 0.5), (200_000, 1.0), (644_000, 5.44)] {
            let found = of(&served(every(100_000, 1000), service_ns)).unwrap();
            assert!((found / growth - 1.0).abs() < 0.1, "{found} for {growth}");
        }
        // Also if it is one request of a hundred that waits, as a flush does, and the others take no time.
        let flushes = served(every(10_000_000, 100), 50_000_000);
        let mut all: Vec<(u64, u64)> = (0..10_000).map(|at| (1_000_000 + at * 100_000, 1000)).collect();
        all.extend(flushes);
        assert!(of(&all).unwrap() > 3.0);
        // Also from the middle on.
        let later = served(every(1_000_000, 100).chain(every(100_000, 1000)), 200_000);
        assert!(of(&later).unwrap() > 0.3);
    }

    #[test]
    fn what_keeps_up_does_not() {
        let zero = Some(0.0);
        assert_eq!(of(&served(every(100_000, 1000), 99_000)), zero);
        assert_eq!(of(&served(every(100_000, 1000), 100_000)), zero, "always in use, and never late");
        // Each in parallel: a short trace whose requests take longer than it lasts.
        let parallel: Vec<(u64, u64)> = (0..50).map(|at| (at * 1000, 300_000)).collect();
        assert_eq!(of(&parallel), zero);
        // A burst at the end, after a device that was idle or busy, and bursts of which each is larger.
        assert_eq!(of(&served(every(1_000_000, 1000).chain(every(100, 3000)), 200_000)), zero);
        let busy: Vec<(u64, u64)> = (0..1000).map(|at| (at * 1_000_000, 5_000_000)).collect();
        let burst = (0..3000).map(|at| (999_000_000 + at * 100, 5_000_000 + at * 200_000));
        assert_eq!(of(&busy.iter().copied().chain(burst).collect::<Vec<_>>()), zero);
        let bursts = [100, 200, 400, 800].map(|count| every(300_000_000, 1).chain(every(0, count)));
        assert_eq!(of(&served(bursts.into_iter().flatten(), 200_000)), zero);
        // A burst in the middle that the device has served at the end.
        assert_eq!(of(&served(every(1_000_000, 500).chain(every(0, 1000)).chain(every(1_000_000, 500)), 200_000)), zero);
        // Two that took long while others were served, of which little is left to do when the last one comes.
        let overlapping = |at| match at {
            600 => 100_000_000,
            850 => 140_000_000,
            _ => 1_500_000,
        };
        assert_eq!(of(&(0..1000).map(|at| (at * 1_000_000, overlapping(at))).collect::<Vec<_>>()), zero);
        // Nothing, one request, all at once, and two in a row.
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(5, 9)]), None);
        assert_eq!(of(&[(5, 9), (5, 18), (5, 27)]), None);
        assert_eq!(of(&[(5, 300_000), (6, 600_000)]), zero);
    }

    #[test]
    fn growth_within_chance_is_none() {
        // 1 % more than it can serve: of 1,000 requests chance explains as much, of 1,000,000 it does not.
        assert_eq!(of(&served(every(100_000, 1000), 101_000)), Some(0.0));
        assert!(of(&served(every(100_000, 200_000), 101_000)).unwrap() > 0.009);
    }
}
