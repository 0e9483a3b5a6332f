//! Zipf's distribution by the method of Gray et al., "Quickly generating billion-record synthetic databases".

use super::super::random::JavaRandom;

/// The exponent of every zipfian generator of YCSB.
const THETA: f64 = 0.99;

/// Numbers from `base` on, of which the first are the most frequent.
#[derive(Debug, Clone)]
pub(in super::super) struct Zipfian {
    base: i64,
    /// How many numbers there were at first.
    items: i64,
    zeta: f64,
    zeta_of_two: f64,
    alpha: f64,
    eta: f64,
    /// For how many numbers `zeta` is the sum.
    counted: i64,
}

/// The sum of 1 / i^theta for i from `from` + 1 to `to`, added to `sum` in this order.
fn zeta(from: i64, to: i64, sum: f64) -> f64 {
    (from..to).fold(sum, |sum, at| sum + 1.0 / ((at + 1) as f64).powf(THETA))
}

impl Zipfian {
    /// Numbers from `low` to `high`, both included. Takes time in proportion to how many those are. Draws once, as
    /// YCSB's constructor does.
    pub(in super::super) fn new(low: i64, high: i64, random: &mut JavaRandom) -> Self {
        let sum = zeta(0, high - low + 1, 0.0);
        Self::with_zeta(low, high, sum, random)
    }

    /// As [`new`](Self::new), with the sum already known.
    pub(super) fn with_zeta(low: i64, high: i64, zeta_n: f64, random: &mut JavaRandom) -> Self {
        let items = high - low + 1;
        let mut made = Self {
            base: low,
            items,
            zeta: zeta_n,
            zeta_of_two: zeta(0, 2, 0.0),
            alpha: 1.0 / (1.0 - THETA),
            eta: 0.0,
            counted: items,
        };
        made.eta = made.eta_now();
        made.next(random);
        made
    }

    /// With the number of items at first, also after it has grown: as in YCSB.
    fn eta_now(&self) -> f64 {
        (1.0 - (2.0 / self.items as f64).powf(1.0 - THETA)) / (1.0 - self.zeta_of_two / self.zeta)
    }

    #[inline]
    pub(in super::super) fn next(&mut self, random: &mut JavaRandom) -> i64 {
        self.next_of(self.items, random)
    }

    /// Draws from this many items. The sum is continued if they have become more, and kept if they are fewer.
    #[inline]
    pub(in super::super) fn next_of(&mut self, items: i64, random: &mut JavaRandom) -> i64 {
        if items > self.counted {
            self.zeta = zeta(self.counted, items, self.zeta);
            self.counted = items;
            self.eta = self.eta_now();
        }
        let drawn = random.next_double();
        let scaled = drawn * self.zeta;
        if scaled < 1.0 {
            return self.base;
        }
        if scaled < 1.0 + 0.5_f64.powf(THETA) {
            return self.base + 1;
        }
        let power = (self.eta * drawn - self.eta + 1.0).powf(self.alpha);
        self.base + (items as f64 * power) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_are_the_most_frequent() {
        let mut random = JavaRandom::new(7);
        let mut zipfian = Zipfian::new(10, 109, &mut random);
        let mut counts = [0_u32; 100];
        for _ in 0..50_000 {
            counts[(zipfian.next(&mut random) - 10) as usize] += 1;
        }
        // 1 / zeta(100) = 0.19; the second has half of that.
        assert!((9_000..10_100).contains(&counts[0]), "{counts:?}");
        assert!((4_300..5_200).contains(&counts[1]), "{counts:?}");
        assert!(counts[99] > 0 && counts[99] < 200, "{counts:?}");
    }

    #[test]
    fn more_items_continue_the_sum() {
        let mut random = JavaRandom::new(7);
        let mut grown = Zipfian::new(0, 99, &mut random);
        grown.next_of(200, &mut random);
        assert!((grown.zeta - zeta(0, 200, 0.0)).abs() < 1e-12);
        let before = grown.zeta;
        grown.next_of(150, &mut random);
        assert_eq!(grown.zeta, before);
    }
}
