//! Commits that are awaited.

use std::future::poll_fn;
use std::task::Poll;

use ostrakon_cell::PendingWrite;
use ostrakon_cell::source::WriteOutcome;

use super::unblock;
use crate::condition::ConditionalWrite;
use crate::mutation::Mutation;
use crate::table::{Table, outcome};
use crate::write::Write;
use crate::{Durability, Error, ErrorKind, Result};

impl Write<'_> {
    /// [`commit`](Self::commit) as a future, which resolves when the write is as durable as asked. Requires the feature
    /// `async`.
    ///
    /// Nothing is written before the future is polled. A future that is dropped later may have written or not. Commits
    /// that are awaited at the same time share syncs, and none of them holds a thread while it waits for one.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn commit_async(self) -> impl Future<Output = Result<()>> + Send + 'static {
        let (table, mutation, durability) = self.into_parts();
        write(table, mutation, durability)
    }
}

impl Table {
    /// [`write`](Self::write) as a future. Requires the feature `async`; see [`Write::commit_async`].
    ///
    /// # Errors
    /// As [`Write::commit`].
    pub fn write_async(
        &self,
        mutation: Mutation,
    ) -> impl Future<Output = Result<()>> + Send + 'static {
        write(self.clone(), mutation, self.durability())
    }
}

impl ConditionalWrite<'_> {
    /// [`commit`](Self::commit) as a future. Requires the feature `async`. Checking and writing are one step, which
    /// holds a thread of [`unblock`] until it is done.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn commit_async(self) -> impl Future<Output = Result<bool>> + Send + 'static {
        let (table, write) = self.into_parts();
        async move { unblock(move || write.commit_to(&table)).await }
    }
}

async fn write(table: Table, mutation: Mutation, durability: Option<Durability>) -> Result<()> {
    // The table keeps the store open until the outcome is known.
    let submitting = table.clone();
    // Waits if the store has no memory for more writes.
    let pending = unblock(move || submitting.submit(&mutation, durability)).await?;
    let Some(pending) = pending else {
        return Ok(());
    };
    outcome(done(pending).await?)
}

async fn done(pending: Box<dyn PendingWrite>) -> Result<WriteOutcome> {
    let mut pending = Some(pending);
    poll_fn(move |context| match pending.take() {
        Some(write) if write.is_done() => Poll::Ready(write.wait()),
        Some(write) => {
            write.wake_when_done(context.waker());
            pending = Some(write);
            Poll::Pending
        }
        None => Poll::Ready(Err(Error::new(
            ErrorKind::Internal,
            "a commit was polled after it was ready",
        ))),
    })
    .await
}
