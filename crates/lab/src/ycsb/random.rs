//! The random numbers of Java's `ThreadLocalRandom`, from which YCSB draws everything.

/// Added to the seed before each draw: the golden ratio in 64 bits, and twice the number of the thread, which is 1 for
/// the first one.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15 + (1 << 1);

/// `java.util.concurrent.ThreadLocalRandom` of Java 17 and later: the same seed gives the same draws.
#[derive(Debug, Clone)]
pub struct JavaRandom {
    seed: u64,
}

impl JavaRandom {
    /// The generator of the first thread of a Java program, in the state `seed`: the value of the thread's field
    /// `threadLocalRandomSeed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    fn next_seed(&mut self) -> u64 {
        self.seed = self.seed.wrapping_add(STEP);
        self.seed
    }

    /// `nextLong()`.
    #[inline]
    pub fn next_long(&mut self) -> i64 {
        let mixed = half_mixed(self.next_seed()).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        (mixed ^ (mixed >> 33)) as i64
    }

    /// `nextInt()`.
    #[inline]
    pub fn next_int(&mut self) -> i32 {
        let mixed = half_mixed(self.next_seed()).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        (mixed >> 32) as i32
    }

    /// `next(bits)`, for 1 to 31 bits.
    fn next(&mut self, bits: u32) -> i32 {
        (self.next_int() as u32 >> (32 - bits)) as i32
    }

    /// `nextInt(bound)`: at least 0 and below `bound`, which is above 0.
    #[inline]
    pub fn next_below(&mut self, bound: i32) -> i32 {
        let mut drawn = self.next(31);
        let last = bound - 1;
        if bound & last == 0 {
            return ((i64::from(bound) * i64::from(drawn)) >> 31) as i32;
        }
        loop {
            let within = drawn % bound;
            // Numbers of the last, incomplete multiple of the bound would be drawn too often.
            if drawn.wrapping_sub(within).wrapping_add(last) >= 0 {
                return within;
            }
            drawn = self.next(31);
        }
    }

    /// `nextDouble()`: at least 0 and below 1.
    #[inline]
    pub fn next_double(&mut self) -> f64 {
        let high = i64::from(self.next(26)) << 27;
        let low = i64::from(self.next(27));
        (high + low) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

#[inline]
fn half_mixed(seed: u64) -> u64 {
    let mixed = (seed ^ (seed >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed ^ (mixed >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_stay_within_their_bounds_and_spread() {
        let mut random = JavaRandom::new(1);
        let mut counts = [0; 10];
        for _ in 0..10_000 {
            counts[random.next_below(10) as usize] += 1;
            let double = random.next_double();
            assert!((0.0..1.0).contains(&double));
        }
        assert!(
            counts.iter().all(|count| (850..1_150).contains(count)),
            "{counts:?}"
        );
        assert!((0..1_000).all(|_| (0..16).contains(&random.next_below(16))));
    }
}
