//! Comparing short byte strings.

use std::cmp::Ordering;

/// Above this length `memcmp` is faster.
const SHORT: usize = 32;

/// Whether two byte strings are equal. Optimized for the short strings that keys consist of: these
/// are compared inline, a few words at a time, which costs a fraction of a call of `memcmp`. The
/// last bytes are compared first, since neighbours in a sorted table share a prefix.
#[must_use]
#[inline]
pub fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    if a.len() > SHORT {
        return a == b;
    }
    if let (Some(last_a), Some(last_b)) = (a.last_chunk::<8>(), b.last_chunk::<8>()) {
        let words_a = a.as_chunks::<8>().0.iter();
        let mut words = words_a.zip(b.as_chunks::<8>().0);
        return word(last_a) == word(last_b) && words.all(|(a, b)| word(a) == word(b));
    }
    if let (Some(last_a), Some(last_b)) = (a.last_chunk::<4>(), b.last_chunk::<4>()) {
        return last_a == last_b && a.first_chunk::<4>() == b.first_chunk::<4>();
    }
    // At most three bytes.
    a.first() == b.first() && a.last() == b.last() && a.get(a.len() / 2) == b.get(b.len() / 2)
}

/// The order of two byte strings, as `Ord` has it. Never calls `memcmp` for an empty one: on some processors that takes
/// a hundred nanoseconds when the pointer does not point to mapped memory, as that of an empty `Vec` does not.
#[must_use]
#[inline]
pub fn compare_bytes(a: &[u8], b: &[u8]) -> Ordering {
    match (a.is_empty(), b.is_empty()) {
        (false, false) => a.cmp(b),
        (a, b) => b.cmp(&a),
    }
}

#[inline]
fn word(bytes: &[u8; 8]) -> u64 {
    u64::from_ne_bytes(*bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_differing_byte_is_found_at_every_length() {
        for len in 0..40_usize {
            let a: Vec<u8> = (0..len as u8).collect();
            assert!(same_bytes(&a, &a.clone()));
            for at in 0..len {
                let mut b = a.clone();
                b[at] ^= 0x80;
                assert!(!same_bytes(&a, &b), "length {len}, byte {at}");
            }
            let mut longer = a.clone();
            longer.push(0);
            assert!(!same_bytes(&a, &longer));
        }
    }

    #[test]
    fn the_order_is_that_of_slices() {
        let all: [&[u8]; 6] = [b"", b"\0", b"\0\0", b"a", b"ab", b"\xff"];
        for a in all {
            for b in all {
                assert_eq!(compare_bytes(a, b), a.cmp(b));
            }
        }
    }
}
