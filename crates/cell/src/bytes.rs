//! Comparing short byte strings.

/// Above this length the system's comparison is the faster one.
const SHORT: usize = 32;

/// Whether two byte strings are equal. For the short ones that keys are made of: they are compared as a few words in
/// place, which a call of the system's comparison costs several times. The last bytes are looked at first, since
/// neighbours in a sorted table begin alike.
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

#[inline]
fn word(bytes: &[u8; 8]) -> u64 {
    u64::from_ne_bytes(*bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_and_every_differing_byte() {
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
}
