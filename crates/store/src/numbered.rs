//! Names of the store's files: a number in 16 digits, and an ending. Any other name is not one of the store's.

use std::ffi::OsStr;

const DIGITS: usize = 16;

/// The first number without a name. At a million files per second, the numbers last for three centuries.
pub(crate) const END: u64 = 10_u64.pow(DIGITS as u32);

/// How far a file's number can be beyond the last known one. A file that is farther away was not made by the store.
const AHEAD_MAX: u64 = 1 << 32;

/// Whether the store may have made a file of this number. It does not continue after other numbers, since it would soon
/// run out of them.
pub(crate) fn is_near(number: u64, last: u64) -> bool {
    number <= last.saturating_add(AHEAD_MAX)
}

/// The name of a number.
pub(crate) fn name(number: u64, ending: &str) -> String {
    format!("{number:0DIGITS$}{ending}")
}

/// The number of a name.
pub(crate) fn number(name: &OsStr, ending: &str) -> Option<u64> {
    let digits = name.to_str()?.strip_suffix(ending)?;
    let are_digits = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
    are_digits.then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbers_of_16_digits() {
        for number_of in [0, 1, 12, END - 1] {
            let name = name(number_of, ".wal");
            assert_eq!(number(name.as_ref(), ".wal"), Some(number_of), "{name}");
        }
        for other in [
            "1.wal",
            "+000000000000001.wal",
            "00000000000000001.wal",
            "18446744073709551615.wal",
            "0000000000000001.sorted",
            "0000000000000001",
            ".wal",
        ] {
            assert_eq!(number(other.as_ref(), ".wal"), None, "{other}");
        }
    }
}
