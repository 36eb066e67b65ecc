//! Times between arrivals, burst by burst.

use super::super::table::ValueTable;
use super::deck::Deck;
use super::{Phase, log};
use crate::info::bursts::BURST_GAP_NS;
use flashraid_vocabulary::SplitMix64;

/// Gaps of which one is chosen.
const HAND: usize = 8;

/// Gaps of a phase, still to be dealt, and what goes on from phase to phase.
#[derive(Clone, Debug)]
pub(super) struct Gaps {
    random: SplitMix64,
    /// The phase's own gap before its first request, unless that is one of the others.
    first_ns: Option<f64>,
    /// Gaps within bursts, and those between them.
    within: Deck,
    between: Deck,
    within_left: u64,
    between_left: u64,
    /// Requests of the bursts between two of the phase's pauses.
    bursts: Option<Deck>,
    /// Gaps until the burst ends.
    burst_left: u64,
    persistence: f64,
    hand: Vec<f64>,
    /// The last gap, if it lies within the burst that goes on.
    last_ns: Option<f64>,
    /// What rounding to whole numbers has left: of times, of requests of bursts, of pauses, and of phases that begin with their own gap.
    time_rest: f64,
    requests_rest: f64,
    pauses_rest: f64,
    firsts_rest: f64,
}

/// The whole part of a value and of what rounding has left so far.
fn whole(value: f64, rest: &mut f64) -> u64 {
    let sum = value + *rest;
    *rest = sum.fract();
    sum as u64
}

impl Gaps {
    pub fn new(seed: u64) -> Self {
        let mut random = SplitMix64::named(seed, "gaps");
        let none = Deck::new(ValueTable::default(), 0, &mut random);
        Self {
            random,
            first_ns: None,
            within: none.clone(),
            between: none,
            within_left: 0,
            between_left: 0,
            bursts: None,
            burst_left: 0,
            persistence: 0.0,
            hand: Vec::with_capacity(HAND),
            last_ns: None,
            time_rest: 0.5,
            requests_rest: 0.5,
            pauses_rest: 0.5,
            // The first phase does, in which no gap comes before the first request.
            firsts_rest: 1.0,
        }
    }

    /// A phase begins, of which there are to be so many requests. The one before has dealt all its gaps. If only a part of the requests is
    /// wanted, only that part of the phases begins with its own gap.
    pub fn begin(&mut self, phase: &Phase, requests: u64) {
        let [within, between] = phase.gaps_by_burst();
        let kept = requests as f64 / phase.requests().max(1) as f64;
        let has_first = whole(kept.min(1.0), &mut self.firsts_rest) > 0;
        self.first_ns = has_first.then_some(phase.first_gap_ns as f64);
        let count = requests.saturating_sub(u64::from(has_first));
        let stretch = |gaps: f64| gaps * count as f64 / phase.gaps_ns.weight().max(f64::MIN_POSITIVE);
        self.between_left = whole(stretch(between.weight()), &mut self.pauses_rest).min(count);
        self.within_left = count - self.between_left;
        self.burst_left = if self.between_left == 0 { self.within_left } else { stretch(phase.burst_left as f64).round() as u64 };
        self.burst_left = self.burst_left.min(self.within_left);
        self.within = Deck::new(within, self.within_left, &mut self.random);
        self.between = Deck::new(between, self.between_left, &mut self.random);
        let requests = &phase.burst_requests;
        self.bursts = (!requests.is_empty()).then(|| Deck::new(requests.clone(), self.between_left.saturating_sub(1), &mut self.random));
        self.persistence = phase.gap_persistence;
    }

    /// The gap before the next request of the phase.
    pub fn next_ns(&mut self) -> u64 {
        let first_ns = self.first_ns.take();
        let gap_ns = first_ns.unwrap_or_else(|| if self.burst_left > 0 { self.go_on() } else { self.pause() });
        self.last_ns = Some(gap_ns).filter(|gap_ns| *gap_ns < BURST_GAP_NS as f64);
        whole(gap_ns, &mut self.time_rest)
    }

    /// A gap within the burst: with the phase's persistence, one like the last.
    fn go_on(&mut self) -> f64 {
        while self.hand.len() < HAND && (self.hand.len() as u64) < self.within_left {
            self.hand.push(self.within.next_mean());
        }
        self.within_left -= 1;
        self.burst_left -= 1;
        let nearest = self.last_ns.filter(|_| self.random.next_unit() < self.persistence).and_then(|last_ns| {
            let off = |gap_ns: &f64| (log(*gap_ns) - log(last_ns)).abs();
            self.hand.iter().map(off).enumerate().min_by(|a, b| a.1.total_cmp(&b.1))
        });
        self.hand.swap_remove(nearest.map_or(0, |(index, _)| index))
    }

    /// A gap between bursts, and how long the burst is that begins. The last one of the phase has what is left: how it goes on is the next
    /// phase's to say. Without a table of bursts, all share what is left.
    fn pause(&mut self) -> f64 {
        self.between_left -= 1;
        self.burst_left = match &mut self.bursts {
            Some(bursts) if self.between_left > 0 => {
                let requests = whole(bursts.next_mean(), &mut self.requests_rest);
                requests.saturating_sub(1).min(self.within_left)
            }
            _ => self.within_left / (self.between_left + 1),
        };
        self.between.next_mean()
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::table::TableRow;
    use super::*;

    fn table(rows: &[(f64, f64)]) -> ValueTable {
        ValueTable(rows.iter().map(|(weight, value)| TableRow { weight: *weight, low: *value, mean: *value, high: *value }).collect())
    }

    /// 40 requests: 3 more of the first burst, bursts of 1, 1, 1, 2, 2 and 20, and the last one has 9.
    fn phase() -> Phase {
        Phase {
            first_gap_ns: 700,
            gaps_ns: table(&[(16.0, 10.0), (16.0, 500_000.0), (5.0, 1_000_000.0), (2.0, 4e9)]),
            burst_left: 3,
            burst_requests: table(&[(3.0, 1.0), (2.0, 2.0), (1.0, 20.0)]),
            others: [0, 0, 40],
            ..Phase::default()
        }
    }

    fn dealt(phase: &Phase, requests: u64, seed: u64) -> Vec<u64> {
        let mut gaps = Gaps::new(seed);
        gaps.begin(phase, requests);
        (0..requests).map(|_| gaps.next_ns()).collect()
    }

    /// Requests of each burst, that of the first request included.
    fn bursts(gaps_ns: &[u64]) -> Vec<usize> {
        gaps_ns[1..].split(|gap_ns| *gap_ns >= BURST_GAP_NS).map(|gaps| gaps.len() + 1).collect()
    }

    #[test]
    fn a_phase_deals_its_gaps_and_its_bursts() {
        let mut orders = std::collections::BTreeSet::new();
        for seed in 0..20 {
            let gaps_ns = dealt(&phase(), 40, seed);
            assert_eq!(gaps_ns[0], 700);
            let count = |value: u64| gaps_ns[1..].iter().filter(|gap_ns| **gap_ns == value).count();
            assert_eq!([10, 500_000, 1_000_000, 4_000_000_000].map(count), [16, 16, 5, 2]);
            let bursts = bursts(&gaps_ns);
            let [first, between @ .., last] = &bursts[..] else { panic!("{bursts:?}") };
            let mut sorted = between.to_vec();
            sorted.sort_unstable();
            assert_eq!((*first, &sorted[..], *last), (4, &[1, 1, 1, 2, 2, 20][..], 9));
            orders.insert(between.to_vec());
        }
        assert!(orders.len() > 10, "the order is a matter of the seed: {orders:?}");
    }

    /// Twice the requests in twice the time, and as many bursts of these sizes.
    #[test]
    fn a_stretched_phase_keeps_its_proportions() {
        let gaps_ns = dealt(&phase(), 80, 1);
        let bursts = bursts(&gaps_ns);
        assert_eq!((gaps_ns[0], bursts.len()), (700, 15));
        assert_eq!((bursts[0], bursts.iter().sum::<usize>()), (7, 80));
        // Thirteen bursts of a mean of 4.5, of which six are wholly in the half that has one request.
        let (ones, all) = (bursts[1..14].iter().filter(|requests| **requests == 1).count(), bursts[1..14].iter().sum::<usize>());
        assert!((6..=7).contains(&ones) && (58..=59).contains(&all), "{bursts:?}");
        assert_eq!(dealt(&phase(), 1, 1), [700]);
    }

    /// A phase again and again with a tenth of its requests: what rounding leaves of pauses and of times adds up.
    #[test]
    fn short_phases_keep_the_rate() {
        let mut gaps = Gaps::new(1);
        let mut all_ns = Vec::new();
        for _ in 0..1000 {
            gaps.begin(&phase(), 4);
            all_ns.extend((0..4).map(|_| gaps.next_ns()));
        }
        let [firsts, pauses] =
            [700..701, BURST_GAP_NS..u64::MAX].map(|range| all_ns.iter().filter(|gap_ns| range.contains(gap_ns)).count());
        assert!((100..=101).contains(&firsts), "{firsts} phases begin with their own gap");
        assert!((699..=700).contains(&pauses), "{pauses} of 3900 x 7 / 39");
    }

    /// With persistence, short times follow short ones within a burst.
    #[test]
    fn persistent_gaps() {
        let like = |persistence: f64| {
            let many = Phase {
                gaps_ns: table(&[(500.0, 10.0), (500.0, 500_000.0)]),
                others: [0, 0, 1001],
                gap_persistence: persistence,
                ..Phase::default()
            };
            let gaps_ns = dealt(&many, 1001, 3);
            gaps_ns[1..].windows(2).filter(|pair| pair[0] == pair[1]).count()
        };
        // 999 pairs: half of them by chance, with a deviation of 16.
        assert!(like(0.0).abs_diff(500) < 64, "{}", like(0.0));
        assert!(like(1.0) > 900, "{}", like(1.0));
    }

    /// A gap is like the last one of its burst, not like a pause: in bursts of two requests persistence changes nothing.
    #[test]
    fn a_burst_begins_anew() {
        let pairs = Phase {
            gaps_ns: table(&[(10.0, 10.0), (10.0, 500_000.0), (20.0, 2e6)]),
            burst_requests: table(&[(19.0, 2.0)]),
            others: [0, 0, 41],
            ..Phase::default()
        };
        let gaps_ns = dealt(&pairs, 41, 1);
        assert_eq!(bursts(&gaps_ns), [&[1][..], &[2; 20]].concat());
        assert_eq!(dealt(&Phase { gap_persistence: 1.0, ..pairs }, 41, 1), gaps_ns);
    }

    /// A profile may ask for longer bursts than it has gaps for.
    #[test]
    fn no_burst_is_longer_than_what_is_left() {
        let long = Phase {
            gaps_ns: table(&[(5.0, 10.0), (3.0, 2e6)]),
            burst_requests: table(&[(2.0, 10.0)]),
            others: [0, 0, 9],
            ..Phase::default()
        };
        assert_eq!(bursts(&dealt(&long, 9, 1)), [1, 6, 1, 1]);
        assert_eq!(bursts(&dealt(&Phase { burst_left: 30, ..long }, 9, 1)), [6, 1, 1, 1]);
    }

    /// Times and bursts of tables are no whole numbers.
    #[test]
    fn what_rounding_leaves_adds_up() {
        let gaps_ns = table(&[(80.0, 10.25), (100.0, 1_000_000.25)]);
        let one = Phase { gaps_ns, burst_requests: table(&[(99.0, 1.5)]), others: [0, 0, 181], ..Phase::default() };
        let gaps_ns = dealt(&one, 181, 1);
        assert_eq!(gaps_ns.iter().sum::<u64>(), 100_000_845);
        let bursts = bursts(&gaps_ns);
        assert!(bursts[1..100].iter().all(|requests| (1..=2).contains(requests)));
        assert!((148..=149).contains(&bursts[1..100].iter().sum::<usize>()), "99 bursts of 1.5");
    }

    /// What nobody measured: pauses in a stretched phase that had one, so that no burst lay between two.
    #[test]
    fn bursts_without_a_table_share_what_is_left() {
        let one = Phase { gaps_ns: table(&[(9.0, 10.0), (1.0, 2e6)]), burst_left: 3, others: [0, 0, 11], ..Phase::default() };
        assert_eq!(bursts(&dealt(&one, 11, 1)), [4, 7]);
        assert_eq!(bursts(&dealt(&one, 31, 1)), [10, 7, 7, 7]);
    }
}
