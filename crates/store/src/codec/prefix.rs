//! The common prefix of two keys, computed eight bytes at a time.

/// Length of the longest common prefix of `a` and `b`.
#[must_use]
#[inline]
pub fn common_prefix_len(a: &[u8], b: &[u8]) -> usize {
    let max = a.len().min(b.len());
    let mut shared = 0;
    let (mut a, mut b) = (a, b);
    while let (Some((word_a, rest_a)), Some((word_b, rest_b))) =
        (a.split_first_chunk::<8>(), b.split_first_chunk::<8>())
    {
        let difference = u64::from_le_bytes(*word_a) ^ u64::from_le_bytes(*word_b);
        if difference != 0 {
            // Little-endian: the first byte that differs is the lowest one.
            return shared + (difference.trailing_zeros() / 8) as usize;
        }
        shared += 8;
        (a, b) = (rest_a, rest_b);
    }
    for (byte_a, byte_b) in a.iter().zip(b) {
        if byte_a != byte_b {
            return shared;
        }
        shared += 1;
    }
    debug_assert_eq!(shared, max, "the shorter one is a prefix of the other");
    shared
}

/// The first eight bytes as a big-endian number, shorter ones filled with zeros: comparing two of
/// these compares the keys, unless they are equal.
#[must_use]
#[inline]
pub fn order_prefix(key: &[u8]) -> u64 {
    match key.first_chunk::<8>() {
        Some(word) => u64::from_be_bytes(*word),
        None => {
            let mut word = [0; 8];
            for (to, from) in word.iter_mut().zip(key) {
                *to = *from;
            }
            u64::from_be_bytes(word)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn same_as_byte_by_byte(
            common in proptest::collection::vec(any::<u8>(), 0..40),
            a: Vec<u8>,
            b: Vec<u8>,
        ) {
            let a = [common.clone(), a].concat();
            let b = [common, b].concat();
            let expected = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
            prop_assert_eq!(common_prefix_len(&a, &b), expected);
        }

        #[test]
        fn prefixes_order_as_the_keys_do(
            a in proptest::collection::vec(0..3_u8, 0..12),
            b in proptest::collection::vec(0..3_u8, 0..12),
        ) {
            let (x, y) = (order_prefix(&a), order_prefix(&b));
            if x != y {
                prop_assert_eq!(x.cmp(&y), a.cmp(&b));
            } else {
                prop_assert!(common_prefix_len(&a, &b) >= a.len().min(b.len()).min(8));
            }
        }
    }
}
