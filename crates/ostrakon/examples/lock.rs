//! A lock made of conditional writes: of several workers that try at once, one gets it.
//!
//! ```text
//! 1 of 4 workers took the lock
//! released by another: false
//! released by its holder: true
//! free: true
//! ```
#![allow(clippy::print_stdout, reason = "an example prints")]

use ostrakon::{Condition, Result, Store, Table};

const HOLDER: (&str, &str) = ("lock", "holder");

/// Whether `who` has the lock `name` now.
fn acquire(locks: &Table, name: &str, who: &str) -> Result<bool> {
    locks
        .put(name, HOLDER, who)
        .only_if(Condition::absent(HOLDER))
        .commit()
}

/// Whether `who` had the lock `name`, and has it no more.
fn release(locks: &Table, name: &str, who: &str) -> Result<bool> {
    locks
        .delete(name, HOLDER)
        .only_if(Condition::equals(HOLDER, who))
        .commit()
}

pub(crate) fn main() -> Result<()> {
    let locks = Store::in_memory()?.create_table("locks")?;
    let taken: Vec<Result<bool>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (1..=4)
            .map(|n| {
                let locks = &locks;
                scope.spawn(move || acquire(locks, "nightly", &format!("worker-{n}")))
            })
            .collect();
        workers
            .into_iter()
            .filter_map(|worker| worker.join().ok())
            .collect()
    });
    let taken = taken.into_iter().collect::<Result<Vec<bool>>>()?;
    let winners = taken.iter().filter(|won| **won).count();
    println!("{winners} of {} workers took the lock", taken.len());

    let entry = locks.scan().row("nightly").first()?;
    let holder = entry.map_or(Ok(String::new()), |entry| {
        entry.value_str().map(str::to_owned)
    })?;
    println!(
        "released by another: {}",
        release(&locks, "nightly", "somebody else")?
    );
    println!(
        "released by its holder: {}",
        release(&locks, "nightly", &holder)?
    );
    println!("free: {}", locks.scan().row("nightly").first()?.is_none());
    Ok(())
}
