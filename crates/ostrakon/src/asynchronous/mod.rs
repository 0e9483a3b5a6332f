//! Writes as futures and scans as streams (feature `async`), for any runtime.
//!
//! A call that may block runs on a thread of a pool (`pool.rs`). A commit needs such a thread only until it is in the
//! queue of the log; then the log wakes the task.

mod batches;
mod commit;
mod entries;
mod pool;

pub use batches::BatchStream;
pub use entries::EntryStream;

/// Runs `work`, which may block, on a thread for such work, and returns its result. For the calls that have no
/// asynchronous form: opening and closing a store, tables and their settings, batch writers.
///
/// Dropping the future does not stop work that has begun. A panic of `work` continues in the task that awaits it.
///
/// ```
/// # async fn run() -> ostrakon::Result<()> {
/// use ostrakon::{Store, unblock};
///
/// let store = unblock(Store::in_memory).await?;
/// let people = unblock(move || store.create_table("people")).await?;
/// people.put("alice", ("contact", "city"), "Berlin").commit_async().await?;
/// # assert_eq!(people.scan().count()?, 1);
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(run())?;
/// # Ok::<(), ostrakon::Error>(())
/// ```
pub async fn unblock<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    pool::Task::start(work).await
}
