//! A distribution as a short table: parts of it, each with its weight, where it begins, its mean and where it ends.
//!
//! A row is `[weight, value]`, or `[weight, low, mean, high]`: values that rise from low to high as `low + (high - low) t^a` for t from 0
//! to 1, with the exponent a that gives the mean. So a table of ten rows keeps the mean exactly and the quantiles at its rows' ends.

use super::error::ProfileError;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableRow {
    /// How much of the distribution it is, against the other rows.
    pub weight: f64,
    /// Smallest value.
    pub low: f64,
    /// Mean value.
    pub mean: f64,
    /// Largest value.
    pub high: f64,
}

/// Rows in the order of values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueTable(pub Vec<TableRow>);

impl Serialize for ValueTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|row| match row {
            TableRow { weight, low, high, .. } if low == high => vec![Number(*weight), Number(*low)],
            TableRow { weight, low, mean, high } => vec![Number(*weight), Number(*low), Number(*mean), Number(*high)],
        }))
    }
}

/// A row whose weight is said elsewhere: `[value]` or `[low, mean, high]`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ValueRange {
    /// Smallest value.
    pub low: f64,
    /// Mean value.
    pub mean: f64,
    /// Largest value.
    pub high: f64,
}

impl Serialize for ValueRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq([self.low, self.mean, self.high].map(Number).iter().take(self.numbers()))
    }
}

impl<'de> Deserialize<'de> for ValueRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let numbers = Vec::<f64>::deserialize(deserializer)?;
        match numbers[..] {
            [value] => Ok(Self { low: value, mean: value, high: value }),
            [low, mean, high] => Ok(Self { low, mean, high }),
            _ => Err(serde::de::Error::custom(format!("{} numbers: allowed is [value] or [low, mean, high]", numbers.len()))),
        }
    }
}

impl ValueRange {
    /// The row of this weight.
    pub fn row(self, weight: f64) -> TableRow {
        let Self { low, mean, high } = self;
        TableRow { weight, low, mean, high }
    }

    /// Every value changed by a rule that keeps their order.
    pub fn map(self, rule: impl Fn(f64) -> f64) -> Self {
        let (low, high) = (rule(self.low), rule(self.high));
        Self { low, mean: rule(self.mean).clamp(low, high), high }
    }

    /// Numbers that it takes to write it down.
    pub fn numbers(&self) -> usize {
        if self.low == self.high { 1 } else { 3 }
    }
}

/// A number that is written without a point if it is whole.
struct Number(f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.fract() == 0.0 && self.0.abs() < 9e15 {
            serializer.serialize_i64(self.0 as i64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for ValueTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let rows = Vec::<Vec<f64>>::deserialize(deserializer)?;
        let row = |numbers: Vec<f64>| match numbers[..] {
            [weight, value] => Ok(TableRow { weight, low: value, mean: value, high: value }),
            [weight, low, mean, high] => Ok(TableRow { weight, low, mean, high }),
            _ => Err(serde::de::Error::custom(format!(
                "a row of {} numbers: allowed is [weight, value] or [weight, low, mean, high]",
                numbers.len()
            ))),
        };
        rows.into_iter().map(row).collect::<Result<_, _>>().map(Self)
    }
}

impl TableRow {
    /// The row without its weight.
    pub fn range(&self) -> ValueRange {
        ValueRange { low: self.low, mean: self.mean, high: self.high }
    }

    /// The value at `part` of the row, from 0 to 1.
    pub(super) fn at(&self, part: f64) -> f64 {
        if self.high <= self.low {
            return self.low;
        }
        let exponent = (self.high - self.low) / (self.mean - self.low) - 1.0;
        if exponent.is_finite() { self.low + (self.high - self.low) * libm::pow(part, exponent) } else { self.low }
    }

    /// Mean of the values from one part of the row to another, both from 0 to 1.
    fn mean_between(&self, from: f64, to: f64) -> f64 {
        let above = self.mean - self.low;
        if above <= 0.0 {
            return self.low;
        }
        // The integral of `at`: its exponent is one less.
        let power = |part: f64| libm::pow(part, (self.high - self.low) / above);
        (self.low + above * (power(to) - power(from)) / (to - from)).clamp(self.low, self.high)
    }
}

impl ValueTable {
    /// A table with one value.
    pub fn of(value: f64) -> Self {
        Self(vec![TableRow { weight: 1.0, low: value, mean: value, high: value }])
    }

    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sum of the weights.
    pub fn weight(&self) -> f64 {
        self.0.iter().map(|row| row.weight).sum()
    }

    /// Mean of the distribution.
    pub fn mean(&self) -> f64 {
        self.0.iter().map(|row| row.weight * row.mean).sum::<f64>() / self.weight()
    }

    /// Largest value.
    pub fn largest(&self) -> f64 {
        self.0.iter().fold(0.0, |largest, row| largest.max(row.high))
    }

    /// Numbers that it takes to write it down.
    pub fn numbers(&self) -> usize {
        self.0.iter().map(|row| if row.low == row.high { 2 } else { 4 }).sum()
    }

    /// The value at `share` of the distribution, from 0 to 1.
    pub fn at(&self, share: f64) -> f64 {
        self.find(share).1
    }

    /// The value as a size: whole pages or sectors, where the row's ends are.
    pub(super) fn size(&self, share: f64) -> u64 {
        let (row, value) = self.find(share);
        let TableRow { low, high, .. } = self.0[row];
        let unit = [4096, 512, 1].into_iter().find(|unit| (low as u64).is_multiple_of(*unit) && (high as u64).is_multiple_of(*unit));
        let unit = unit.unwrap_or(1);
        ((value / unit as f64).round() as u64).max(1) * unit
    }

    /// The value, and in which row it is.
    pub(super) fn find(&self, share: f64) -> (usize, f64) {
        let mut left = share * self.weight();
        for (index, row) in self.0.iter().enumerate() {
            if left < row.weight {
                return (index, row.at(left / row.weight));
            }
            left -= row.weight;
        }
        (self.0.len().saturating_sub(1), self.0.last().map_or(0.0, |row| row.high))
    }

    /// Mean of the values of one of several equal parts of the distribution: the `card`th of so many, from 0.
    pub(super) fn mean_of(&self, card: u64, cards: u64) -> f64 {
        let all = self.weight();
        // Multiplied first, so that bounds of rows and cards that coincide are equal.
        let [from, to] = [card, card + 1].map(|card| card as f64 * all / cards as f64);
        let (mut mean, mut taken, mut before) = (0.0, 0.0, 0.0);
        for row in &self.0 {
            let (low, high) = ((from - before).max(0.0), (to - before).min(row.weight));
            if low < high {
                taken += high - low;
                mean += (row.mean_between(low / row.weight, high / row.weight) - mean) * ((high - low) / taken);
            }
            before += row.weight;
        }
        mean
    }

    /// Every value changed by a rule that keeps their order.
    pub fn map(&self, rule: impl Fn(f64) -> f64) -> Self {
        Self(self.0.iter().map(|row| row.range().map(&rule).row(row.weight)).collect())
    }

    /// Checks a table that somebody wrote; `key` names it.
    pub(super) fn check(&self, key: &str, least: f64) -> Result<(), ProfileError> {
        let mut last = least;
        for row in &self.0 {
            let is_ordered = last <= row.low && row.low <= row.mean && row.mean <= row.high && row.high <= 9e18;
            if !(row.weight > 0.0 && row.weight.is_finite() && is_ordered) {
                let value = format!("[{}, {}, {}, {}]", row.weight, row.low, row.mean, row.high);
                let allowed = format!("a weight above 0, and values that rise from {least} from low to mean to high and from row to row");
                return Err(ProfileError::value(key, value, allowed));
            }
            last = row.high;
        }
        if self.is_empty() { Err(ProfileError::value(key, "[]", "at least one row".to_owned())) } else { Ok(()) }
    }

    /// A table of at most `most` rows with the distribution of these values, which it sorts. It is exact at the shares in `cuts`.
    pub(crate) fn fit(values: &mut [f64], cuts: &[f64], most: usize) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        let bounds = std::iter::once(0.0).chain(cuts.iter().copied()).chain([1.0]).map(|cut| (cut * values.len() as f64).round() as usize);
        let mut bounds: Vec<usize> = bounds.collect();
        bounds.dedup();
        let mut parts: Vec<RowRange> = bounds.windows(2).map(|bounds| RowRange::of(values, bounds[0], bounds[1])).collect();
        while parts.len() < most {
            // The first of the worst: equal errors must not depend on the machine.
            let worst = (0..parts.len()).fold(0, |worst, index| if parts[index].error > parts[worst].error { index } else { worst });
            let Some(&RowRange { start, end, split, error, .. }) = parts.get(worst).filter(|part| part.error > 1e-9) else { break };
            debug_assert!(start < split && split < end && error > 0.0);
            parts.splice(worst..=worst, [RowRange::of(values, start, split), RowRange::of(values, split, end)]);
        }
        let mut rows: Vec<TableRow> = Vec::with_capacity(parts.len());
        for RowRange { row, .. } in parts {
            match rows.last_mut().filter(|last| last.low == row.high) {
                Some(last) => last.weight += row.weight,
                None => rows.push(row),
            }
        }
        Self(rows)
    }
}

/// A part of sorted values, the row that stands for it, and where it had best be split.
struct RowRange {
    start: usize,
    end: usize,
    split: usize,
    /// How much the row is off, times how many values it stands for.
    error: f64,
    row: TableRow,
}

impl RowRange {
    fn of(values: &[f64], start: usize, end: usize) -> Self {
        let own = &values[start..end];
        let (Some(low), Some(high)) = (own.first().copied(), own.last().copied()) else {
            return Self { start, end, split: start, error: 0.0, row: TableRow { weight: 0.0, low: 0.0, mean: 0.0, high: 0.0 } };
        };
        let mean = (own.iter().sum::<f64>() / own.len() as f64).clamp(low, high);
        let row = TableRow { weight: own.len() as f64, low, mean, high };
        let (mut error, mut worst, mut split) = (0.0, 0.0, start);
        let step = own.len().div_ceil(256);
        for index in (step / 2..own.len()).step_by(step) {
            let is = row.at((index as f64 + 0.5) / own.len() as f64);
            // Relative, but not below one unit.
            let off = libm::log((is + 1.0) / (own[index] + 1.0)).abs();
            error += off * step as f64;
            if off > worst {
                (worst, split) = (off, start + index);
            }
        }
        // Equal values stay together: split at the beginning or at the end of a run of them, whichever divides.
        let value = values[split.min(end - 1)];
        let (first, after) = (start + own.partition_point(|other| *other < value), start + own.partition_point(|other| *other <= value));
        let split = if first == start || (after < end && after - split <= split - first) { after } else { first };
        Self { start, end, split, error: if split >= end || split <= start { 0.0 } else { error }, row }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Laws;
    use flashraid_vocabulary::SplitMix64;

    #[test]
    fn a_fitted_table_has_mean_and_quantiles() {
        let mut random = SplitMix64::new(8);
        let mut values: Vec<f64> = (0..20_000)
            .map(|_| match random.next_below(10) {
                0..4 => 8.0,
                4..6 => 4096.0,
                _ => (1000.0 * random.next_exponential()).round(),
            })
            .collect();
        let table = ValueTable::fit(&mut values, &[0.99], 16);
        assert!(table.0.len() <= 16);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        assert!((table.mean() / mean - 1.0).abs() < 1e-12);
        for percent in [1, 5, 10, 25, 50, 75, 90, 99] {
            let (is, should) = (table.at(f64::from(percent) / 100.0), values[values.len() * percent as usize / 100]);
            assert!((is - should).abs() <= 0.05 * should + 1.0, "p{percent}: {is} for {should}");
        }
    }

    /// However many parts a distribution is cut into, each has the mean of many of its values, and all together that of the table.
    #[test]
    fn means_of_parts() {
        let table: ValueTable = serde_json::from_str("[[3, 7], [5, 10, 20, 100], [1, 100, 999, 1000], [4, 1000000]]").unwrap();
        for cards in [1, 2, 7, 13, 26, 1000] {
            let means: Vec<f64> = (0..cards).map(|card| table.mean_of(card, cards)).collect();
            assert!(means.is_sorted() && (means.iter().sum::<f64>() / cards as f64 / table.mean() - 1.0).abs() < 1e-12, "{means:?}");
            for (card, mean) in means.iter().enumerate() {
                const VALUES: usize = 20_000;
                let value = |index: usize| table.at((card as f64 + (index as f64 + 0.5) / VALUES as f64) / cards as f64);
                let sampled = (0..VALUES).map(value).sum::<f64>() / VALUES as f64;
                assert!((mean / sampled - 1.0).abs() < 1e-4, "card {card} of {cards}: {mean}, {sampled}");
            }
        }
        // Of cards as many as the weight, those of a row of one value are that value, and all are within their row.
        let means: Vec<f64> = (0..13).map(|card| table.mean_of(card, 13)).collect();
        assert_eq!((&means[..3], means[8], &means[9..]), (&[7.0; 3][..], 999.0, &[1_000_000.0; 4][..]));
        assert!(means[3..8].iter().all(|mean| (10.0..=100.0).contains(mean)));
    }

    #[test]
    fn rows_in_both_forms() {
        let table: ValueTable = serde_json::from_str("[[1, 2], [3, 4, 5, 7.5]]").unwrap();
        assert_eq!((table.weight(), table.mean(), table.largest(), table.numbers()), (4.0, 4.25, 7.5, 6));
        assert_eq!(serde_json::to_string(&table).unwrap(), "[[1,2],[3,4,5,7.5]]");
        assert_eq!((table.at(0.0), table.at(0.25), table.at(1.0)), (2.0, 4.0, 7.5));
        let range: ValueRange = serde_json::from_str("[4, 5, 7.5]").unwrap();
        assert_eq!((range, range.numbers(), serde_json::to_string(&range).unwrap()), (table.0[1].range(), 3, "[4,5,7.5]".to_owned()));
        let value: ValueRange = serde_json::from_str("[2]").unwrap();
        assert_eq!((value, value.numbers(), serde_json::to_string(&value).unwrap()), (table.0[0].range(), 1, "[2]".to_owned()));
        let error = serde_json::from_str::<ValueRange>("[1, 2]").unwrap_err().to_string();
        assert!(error.starts_with("2 numbers: allowed is [value] or [low, mean, high]"), "{error}");
        let error = serde_json::from_str::<ValueTable>("[[1, 2, 3]]").unwrap_err().to_string();
        assert!(error.starts_with("a row of 3 numbers: allowed is [weight, value] or"), "{error}");
        assert!(ValueTable::default().check("sizes", 0.0).is_err());
        let rows: ValueTable = serde_json::from_str("[[1, 5], [1, 4]]").unwrap();
        assert!(rows.check("sizes", 0.0).unwrap_err().to_string().contains("[1, 4, 4, 4]"));
    }
}
