//! The longest waits by when requests arrived: what tells a device that falls behind its arrivals from one that has a burst to serve, whatever the
//! bottleneck is. Buses and dies that are hardly used say nothing of locks, flushes and buffers.

use std::cmp::Reverse;

/// Slices of the time of arrivals. The last may be shorter, and at least half of them are in use once there are so many nanoseconds.
const SLICES: usize = 16;
/// Standard deviations of the backlog of a device that just keeps up: a smaller growth may be chance.
const SIGNIFICANT: f64 = 4.0;
/// The longest wait has grown if it did by a tenth: what takes a little longer at the end, as the device ages, makes no queue.
const GROWN: [u64; 2] = [11, 10];

/// The times between events of one kind, to tell how regular these are.
#[derive(Clone, Debug, Default)]
struct Gaps {
    count: u64,
    sum_ns: f64,
    sum_of_squares_ns2: f64,
}

impl Gaps {
    #[inline]
    fn add(&mut self, gap_ns: u64) {
        // Times are below 2^63, and signed numbers are converted in one instruction.
        let gap_ns = gap_ns as i64 as f64;
        self.count += 1;
        self.sum_ns += gap_ns;
        self.sum_of_squares_ns2 += gap_ns * gap_ns;
    }

    /// Variance over the square of the mean: 0 for a clock, 1 for events that know nothing of each other.
    /// As that of the mean of so many: what it says of a rate.
    fn relative_variance_of_mean(&self) -> f64 {
        let mean_ns = self.sum_ns / self.count as f64;
        let variance = (self.sum_of_squares_ns2 / self.count as f64 / (mean_ns * mean_ns) - 1.0).max(0.0);
        if self.count > 0 { variance / self.count as f64 } else { 0.0 }
    }
}

/// A request by the time from its arrival to its completion; of several that took as long, the one that arrived first is the longest.
type Longest = (u64, Reverse<u64>);

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// Arrivals of the first measured request and of the last, once one has arrived.
    first_ns: u64,
    last_ns: u64,
    /// The last arrival at which every measured request before had been answered.
    caught_up_ns: u64,
    arrived: u64,
    answered: u64,
    last_answer_ns: u64,
    between_arrivals: Gaps,
    between_answers: Gaps,
    /// Slices have this many bits of nanoseconds.
    bits: u32,
    /// The one that took longest of those that arrived in each slice.
    longest: [Longest; SLICES],
}

impl Waits {
    /// A measured request arrives.
    #[inline]
    pub fn arrived(&mut self, now_ns: u64) {
        if self.arrived > 0 {
            self.between_arrivals.add(now_ns - self.last_ns);
        } else {
            self.first_ns = now_ns;
        }
        self.last_ns = now_ns;
        if self.arrived == self.answered {
            self.caught_up_ns = now_ns;
        }
        self.arrived += 1;
    }

    /// A measured request was answered that arrived at a time; it failed, or took so long.
    #[inline]
    pub fn answered(&mut self, arrival_ns: u64, latency_ns: Option<u64>) {
        debug_assert!(self.arrived > self.answered, "what was not measured is answered");
        self.answered += 1;
        let Some(latency_ns) = latency_ns else { return };
        let answer_ns = arrival_ns + latency_ns;
        // What is answered together, as a write with the flush behind it, has waited for one event.
        if answer_ns > self.last_answer_ns && self.last_answer_ns > 0 {
            self.between_answers.add(answer_ns - self.last_answer_ns);
        }
        self.last_answer_ns = answer_ns;
        let since_ns = arrival_ns - self.first_ns;
        if since_ns >> self.bits >= SLICES as u64 {
            self.widen(since_ns);
        }
        let longest = &mut self.longest[(since_ns >> self.bits) as usize];
        if latency_ns >= longest.0 {
            *longest = (latency_ns, Reverse(arrival_ns)).max(*longest);
        }
    }

    /// Makes slices longer until the last one is of this time.
    #[cold]
    fn widen(&mut self, since_ns: u64) {
        while since_ns >> self.bits >= SLICES as u64 {
            self.longest = std::array::from_fn(|at| match 2 * at {
                pair if pair < SLICES => self.longest[pair].max(self.longest[pair + 1]),
                _ => Longest::default(),
            });
            self.bits += 1;
        }
    }

    /// By how much the longest wait grew from the first to the last quarter of the arrivals, over the time between the two arrivals: for a device that
    /// takes X times as long as the requests take to arrive, X - 1. Zero if it keeps up: what waits at the end came in the last quarter, hardly waits
    /// longer, or does so no more than chance explains. `None` if all arrived at once.
    pub fn growth(&self) -> Option<f64> {
        let first_ns = self.first_ns;
        let span_ns = self.last_ns - first_ns;
        if span_ns == 0 {
            return None;
        }
        let slices = (span_ns >> self.bits) as usize + 1;
        let mut quarters = [Longest::default(); 4];
        for (at, longest) in self.longest.iter().enumerate().take(slices) {
            let quarter = &mut quarters[(at * 4 / slices).min(3)];
            *quarter = *longest.max(quarter);
        }
        let [(early_ns, Reverse(early_at_ns)), _, (before_ns, _), (late_ns, Reverse(late_at_ns))] = quarters;
        let growth = late_ns.saturating_sub(early_ns) as f64 / late_at_ns.saturating_sub(early_at_ns.max(first_ns)).max(1) as f64;
        let is_behind = self.caught_up_ns - first_ns <= span_ns / 2
            && late_ns > before_ns
            && 3 * before_ns >= late_ns
            && GROWN[1] * late_ns >= GROWN[0] * early_ns
            && 2 * self.last_answer_ns.saturating_sub(self.last_ns) >= late_ns
            && growth >= self.chance();
        Some(if is_behind { growth } else { 0.0 })
    }

    /// The growth that chance explains: what requests and answers add to and take from a backlog varies as the times between them do, and bursts are told
    /// from an overload in other ways.
    fn chance(&self) -> f64 {
        let variance = self.between_arrivals.relative_variance_of_mean() + self.between_answers.relative_variance_of_mean();
        SIGNIFICANT * variance.min(1.0 / self.arrived as f64).sqrt()
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

    /// One server, requests as (gap before it, time that it takes).
    fn served_each(requests: impl Iterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
        let (mut now_ns, mut free_ns) = (1_000_000, 0);
        let serve = |(gap_ns, service_ns)| {
            now_ns += gap_ns;
            free_ns = now_ns.max(free_ns) + service_ns;
            (now_ns, free_ns - now_ns)
        };
        requests.map(serve).collect()
    }

    /// One server that takes `service_ns`, requests as the gaps before them say.
    fn served(gaps_ns: impl Iterator<Item = u64>, service_ns: u64) -> Vec<(u64, u64)> {
        served_each(gaps_ns.map(|gap_ns| (gap_ns, service_ns)))
    }

    fn every(gap_ns: u64, count: usize) -> impl Iterator<Item = u64> {
        std::iter::repeat_n(gap_ns, count)
    }

    #[test]
    fn what_takes_longer_than_its_arrivals_falls_behind_by_as_much() {
        // D/D/1: the nth request waits n x (service - gap), so that the growth is service / gap - 1.
        for (service_ns, growth) in [(150_000, 0.5), (200_000, 1.0), (644_000, 5.44)] {
            let found = of(&served(every(100_000, 1000), service_ns)).unwrap();
            assert!((found / growth - 1.0).abs() < 1e-6, "{found} for {growth}");
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

    /// Times between events that know nothing of each other, in nanoseconds.
    fn random(mean_ns: f64, count: usize, seed: u64) -> impl Iterator<Item = u64> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        std::iter::repeat_with(move || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            let share = ((state >> 33) as f64 + 0.5) / (1u64 << 31) as f64;
            (-share.ln() * mean_ns) as u64
        })
        .take(count)
    }

    #[test]
    fn growth_within_chance_is_none() {
        // A device that just keeps up, with random arrivals, with random service, and both: of 300 runs, four standard deviations are exceeded by none.
        let all_at = |mean_ns: f64, count| {
            let all = (0..300).map(move |seed| {
                let (gaps, services) = (random(mean_ns, count, seed), random(100_000.0, count, seed + 1000));
                match seed % 3 {
                    0 => of(&served(gaps, 100_000)),
                    1 => of(&served_each(services.map(|service_ns| (mean_ns as u64, service_ns)))),
                    _ => of(&served_each(gaps.zip(services))),
                }
            });
            all.filter(|growth| *growth > Some(0.0)).count()
        };
        assert_eq!(all_at(100_000.0, 1000), 0);
        // 30 % more than it can serve: the standard deviation is 3 %, or 4.5 % where both vary.
        assert!(all_at(77_000.0, 1000) > 280);
    }

    #[test]
    fn of_regular_arrivals_a_small_growth_is_no_chance() {
        for (gap_ns, service_ns, count) in
            [(385_000, 425_000, 1000), (420_000, 425_000, 5000), (100_000, 101_000, 1000), (424_500, 425_150, 600)]
        {
            let found = of(&served(every(gap_ns, count), service_ns)).unwrap();
            let growth = service_ns as f64 / gap_ns as f64 - 1.0;
            assert!((found / growth - 1.0).abs() < 1e-6, "{found} for {growth}");
        }
        // Also if two are answered together: a write, and the flush that waits for it.
        let pairs = served(every(280_000, 1000), 302_600);
        let both =
            pairs.iter().flat_map(|(arrival_ns, latency_ns)| [(*arrival_ns, *latency_ns), (arrival_ns + 140_000, latency_ns - 140_000)]);
        let found = of(&both.collect::<Vec<_>>()).unwrap();
        assert!((found / (302_600.0 / 280_000.0 - 1.0) - 1.0).abs() < 1e-6, "{found}");
        // But not where requests that are served side by side take a nanosecond longer at the end.
        let longer: Vec<(u64, u64)> = (0..1000).map(|at| (at * 1000, 300_000 + at / 100)).collect();
        assert_eq!(of(&longer), Some(0.0));
    }
}
