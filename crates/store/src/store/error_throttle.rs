//! Limits how often the same background failure is logged.
//!
//! Background work that fails is retried several times per second, by several threads, and usually
//! fails for the same reason. The first message is logged; the repetitions would hide everything
//! else.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;

use crate::error::{Error, ErrorKind};

/// A failure that lasts is logged again after this time: a process may run for months.
const AGAIN: Duration = Duration::from_secs(3600);

/// Limit of the number of different failures that are tracked; above it all are dropped, and logged
/// again.
const REMEMBERED: usize = 256;

/// The failures logged so far.
#[derive(Debug, Default)]
pub(super) struct ErrorThrottle(Mutex<HashMap<String, Reported>>);

#[derive(Debug)]
struct Reported {
    /// When it was logged, by the store's monotonic clock, in nanoseconds.
    at: u64,
    /// How often it was suppressed since then.
    kept_back: u64,
}

impl ErrorThrottle {
    /// Whether to log this failure: then how often it was suppressed since it was last logged.
    pub(super) fn tell(&self, error: &Error, now_nanos: u64) -> Option<u64> {
        let mut told = self.0.lock();
        let cause = cause(error);
        if let Some(known) = told.get_mut(&cause) {
            let age = Duration::from_nanos(now_nanos.saturating_sub(known.at));
            if age < AGAIN {
                known.kept_back += 1;
                return None;
            }
            let kept_back = known.kept_back;
            *known = Reported {
                at: now_nanos,
                kept_back: 0,
            };
            return Some(kept_back);
        }
        if told.len() >= REMEMBERED {
            told.clear();
        }
        let first = Reported {
            at: now_nanos,
            kept_back: 0,
        };
        told.insert(cause, first);
        Some(0)
    }
}

/// What two failures have in common if only one of them need be logged. Each damaged file deserves
/// a line; a full disk names a new file at every attempt.
fn cause(error: &Error) -> String {
    match error.kind() {
        ErrorKind::Corruption | ErrorKind::NotFound => error.to_string(),
        kind => format!("{} {}", kind.as_str(), error.message()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_logged_hourly_and_each_damaged_file_separately() {
        let said = ErrorThrottle::default();
        let damage = |file: &str| Error::corruption("a block is damaged").with("file", file);
        let second = 1_000_000_000;
        assert_eq!(said.tell(&damage("a"), second), Some(0));
        assert_eq!(said.tell(&damage("a"), 2 * second), None);
        assert_eq!(said.tell(&damage("b"), 2 * second), Some(0));
        assert_eq!(said.tell(&damage("a"), 3 * second), None);
        assert_eq!(said.tell(&damage("a"), 3601 * second), Some(2));
        assert_eq!(said.tell(&damage("a"), 3602 * second), None);
        let full = |file: &str| Error::new(ErrorKind::OutOfSpace, "disk full").with("file", file);
        assert_eq!(said.tell(&full("1"), second), Some(0));
        assert_eq!(said.tell(&full("2"), second), None, "another new file");
    }

    #[test]
    fn tracked_failures_are_bounded() {
        let said = ErrorThrottle::default();
        for number in 0..10 * REMEMBERED {
            let error = Error::corruption("damaged").with("file", number);
            assert_eq!(said.tell(&error, 1), Some(0));
            assert!(said.0.lock().len() <= REMEMBERED);
        }
    }
}
