//! Keys, and the deterministic values of `dataintegrity`.

use std::io::Write;

/// FNV-1a over the eight bytes of a number, low byte first, as YCSB computes it: the absolute value as a signed number.
/// Of the smallest number that is the number itself, as in Java.
#[inline]
#[must_use]
pub fn fnv_hash(number: i64) -> i64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in number.to_le_bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211);
    }
    (hash as i64).wrapping_abs()
}

/// How numbers of records become keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyNames {
    /// Whether keys sort by number; otherwise the hash of the number stands in the key.
    pub ordered: bool,
    /// Digits of a key, filled with zeros.
    pub digits: usize,
}

impl KeyNames {
    /// Replaces `key` by the key of a record.
    #[inline]
    pub fn write(self, number: i64, key: &mut Vec<u8>) {
        let number = if self.ordered {
            number
        } else {
            fnv_hash(number)
        };
        key.clear();
        key.extend_from_slice(b"user");
        // Writing to a vector cannot fail.
        let digits = self.digits;
        let _ = if number < 0 {
            // Java puts the zeros before the sign.
            let text = number.to_string();
            write!(key, "{text:0>digits$}")
        } else {
            write!(key, "{number:0digits$}")
        };
    }
}

/// `String.hashCode` of a text, continued from the hash of what stands before it.
fn java_hash(before: i32, text: &str) -> i32 {
    text.encode_utf16().fold(before, |hash, unit| {
        hash.wrapping_mul(31).wrapping_add(i32::from(unit))
    })
}

/// Replaces `value` by what `dataintegrity` stores in a field: key, field, then hashes of what stands before them, cut
/// to `length` bytes.
pub(super) fn deterministic_value(key: &[u8], field: &str, length: usize, value: &mut Vec<u8>) {
    value.clear();
    value.extend_from_slice(key);
    value.push(b':');
    value.extend_from_slice(field.as_bytes());
    let mut hash = java_hash(java_hash(0, &String::from_utf8_lossy(key)), ":");
    hash = java_hash(hash, field);
    while value.len() < length {
        hash = java_hash(hash, ":");
        let text = hash.to_string();
        value.push(b':');
        value.extend_from_slice(text.as_bytes());
        hash = java_hash(hash, &text);
    }
    value.truncate(length);
}

/// The order in which Java's `HashMap` goes through these names after they were put in the order given. A binding takes
/// the bytes of the values in this order, and YCSB draws them then.
pub(super) fn hash_map_order(names: &[String]) -> Vec<usize> {
    let mut capacity = 16_usize;
    while names.len() > capacity / 4 * 3 {
        capacity *= 2;
    }
    let bucket = |name: &String| {
        let hash = java_hash(0, name) as u32;
        (hash ^ (hash >> 16)) as usize & (capacity - 1)
    };
    let mut order: Vec<usize> = (0..names.len()).collect();
    // Stable: names of one bucket stay in the order of their insertion.
    order.sort_by_key(|&at| names.get(at).map(bucket));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(names: KeyNames, number: i64) -> String {
        let mut key = Vec::new();
        names.write(number, &mut key);
        String::from_utf8(key).unwrap()
    }

    #[test]
    fn keys_are_hashed_or_padded() {
        let hashed = KeyNames {
            ordered: false,
            digits: 1,
        };
        // The first key of every YCSB load.
        assert_eq!(key(hashed, 0), "user6284781860667377211");
        let ordered = KeyNames {
            ordered: true,
            digits: 6,
        };
        assert_eq!(key(ordered, 42), "user000042");
        assert_eq!(key(ordered, 1_234_567), "user1234567");
        assert_eq!(key(ordered, -7), "user0000-7");
    }

    #[test]
    fn deterministic_values_have_the_length_asked_for() {
        let mut value = Vec::new();
        deterministic_value(b"user1", "field0", 9, &mut value);
        assert_eq!(value, b"user1:fie");
        assert_eq!(
            java_hash(0, "user1:field0:"),
            java_hash(java_hash(0, "user1:"), "field0:")
        );
        assert_eq!(java_hash(0, "hello"), 99_162_322);
        deterministic_value(b"user1", "field0", 100, &mut value);
        assert_eq!(value.len(), 100);
    }

    #[test]
    fn a_hash_map_keeps_its_own_order() {
        let names: Vec<String> = ["b", "a", "Q"].map(String::from).into();
        // Of 16 buckets: a is in 1, Q too and came later, b in 2.
        assert_eq!(hash_map_order(&names), [1, 2, 0]);
    }
}
