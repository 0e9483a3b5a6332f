//! Sentences about workloads on fast and on slow storage.

use super::super::unit::Unit;
use super::rows::{Rows, rate, times};

const FAST: &str = "this machine";
const SLOW: &str = "emulated disks";

impl Rows<'_> {
    /// Both storages with so many threads: the fast one's metric and the slow one's.
    fn storages(&self, threads: usize, metric: &str) -> Option<(f64, f64)> {
        let of = |storage: &str| self.of(&format!("{storage}, {threads} threads"), metric);
        let (fast, slow) = (of(FAST)?, of(SLOW)?);
        (fast > 0.0 && slow > 0.0).then_some((fast, slow))
    }

    pub(super) fn faster_storage(&self, metric: &str, when: &str, paper: &str) -> Option<String> {
        let threads = 256;
        let (fast, slow) = self.storages(threads, metric)?;
        Some(format!(
            "{threads} client threads on fast storage{when}: {} the transactions per second of slow storage ({} against \
             {}){paper}.",
            times(fast / slow),
            rate(fast),
            rate(slow)
        ))
    }

    pub(super) fn lower_latency(&self) -> Option<String> {
        let threads = 64;
        let (fast, slow) = self.storages(threads, "all.mean_us")?;
        Some(format!(
            "{threads} client threads on slow storage: {} the mean latency of fast storage ({} against {}); the paper 8 times \
             (16 ms against less than 2 ms).",
            times(slow / fast),
            Unit::Micros.show(slow),
            Unit::Micros.show(fast)
        ))
    }
}
