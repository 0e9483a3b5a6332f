//! A keyed permutation of the vertex numbers, computed and not stored.

use super::generator::mix;

/// Rounds after which neighbouring numbers have nothing to do with each other any more.
const ROUNDS: usize = 4;

/// A bijection of the numbers below 2^bits: each round multiplies by an odd number, adds, and
/// folds the high half into the low one; each of the three can be undone.
#[derive(Debug, Clone)]
pub(super) struct Permutation {
    mask: u64,
    fold: u32,
    rounds: [(u64, u64); ROUNDS],
}

impl Permutation {
    pub(super) fn new(bits: u32, seed: u64) -> Self {
        let mut rounds = [(0, 0); ROUNDS];
        for (at, round) in rounds.iter_mut().enumerate() {
            let at = at as u64 * 2;
            *round = (mix(seed, at) | 1, mix(seed, at + 1));
        }
        Self {
            mask: (1 << bits) - 1,
            fold: bits.div_ceil(2),
            rounds,
        }
    }

    #[inline(always)]
    pub(super) fn apply(&self, mut number: u64) -> u64 {
        for (factor, summand) in self.rounds {
            number = number.wrapping_mul(factor).wrapping_add(summand) & self.mask;
            number ^= number >> self.fold;
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_one_image() {
        for bits in 1..=14 {
            let permutation = Permutation::new(bits, u64::from(bits) * 7);
            let mut seen = vec![false; 1 << bits];
            for number in 0..1 << bits {
                let image = permutation.apply(number) as usize;
                assert!(!std::mem::replace(&mut seen[image], true), "{bits} bits");
            }
        }
    }
}
