//! Named threads that can fail to start, and random numbers.

use ostrakon_cell::{Error, ErrorKind, Result};
use rand::TryRng;
use rand::rngs::SysRng;

/// Runs `work` with 0, 1, … `count` - 1, each in its own thread, and waits for all. The first
/// error wins; `stop` is called with it at once, so that the others can end early.
pub(crate) fn in_threads<T: Send>(
    name: &str,
    count: usize,
    stop: impl Fn() + Sync,
    work: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    std::thread::scope(|scope| {
        let (work, stop) = (&work, &stop);
        let mut threads = Vec::with_capacity(count);
        let mut failed = None;
        for at in 0..count {
            let started = std::thread::Builder::new()
                .name(format!("lab-{name}-{at}"))
                .spawn_scoped(scope, move || work(at).inspect_err(|_| stop()));
            match started {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    stop();
                    failed = Some(
                        Error::new(ErrorKind::Io, "no thread could be started: use fewer")
                            .with_source(error),
                    );
                    break;
                }
            }
        }
        let mut results = Vec::with_capacity(count);
        for thread in threads {
            match thread.join() {
                Ok(Ok(result)) => results.push(result),
                Ok(Err(error)) => failed = failed.or(Some(error)),
                Err(_) => {
                    failed = failed.or_else(|| {
                        Some(Error::new(
                            ErrorKind::Internal,
                            "a thread of the lab panicked; its message is above",
                        ))
                    });
                }
            }
        }
        failed.map_or(Ok(results), Err)
    })
}

/// The number of threads asked for, or one a processor for 0.
pub(crate) fn thread_count(asked: usize) -> usize {
    if asked > 0 {
        return asked;
    }
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The seed given, or a new one.
pub(crate) fn seed(given: Option<u64>) -> u64 {
    given.unwrap_or_else(|| {
        // Only variety is needed: where the system has no randomness the address of a local serves.
        let local = 0_u8;
        SysRng
            .try_next_u64()
            .unwrap_or(std::ptr::from_ref(&local) as u64)
    })
}

/// The seed of one of several threads.
pub(crate) fn thread_seed(seed: u64, at: usize) -> u64 {
    // The generators spread neighbouring seeds far apart; only equality must be avoided.
    seed.wrapping_add((at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn all_results_come_back_in_order() {
        let results = in_threads("test", 4, || (), |at| Ok(at * 2)).unwrap();
        assert_eq!(results, [0, 2, 4, 6]);
    }

    #[test]
    fn one_failure_stops_the_others() {
        let stopped = AtomicBool::new(false);
        let outcome = in_threads(
            "test",
            2,
            || stopped.store(true, Ordering::Relaxed),
            |at| {
                if at == 1 {
                    return Err(Error::invalid("no"));
                }
                while !stopped.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
                Ok(())
            },
        );
        assert_eq!(outcome.unwrap_err().message(), "no");
    }
}
