//! A scan as a stream of entries.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use futures_core::stream::FusedStream;

use super::batches::BatchStream;
use crate::entry::Entry;
use crate::scan::Scan;
use crate::{Batch, Result};

/// The entries of a scan; made by [`Scan::stream`]. They share the batches in which they were read. Reading ahead,
/// errors and dropping are as those of [`BatchStream`].
#[derive(Debug)]
pub struct EntryStream {
    batches: BatchStream,
    batch: Arc<Batch>,
    at: usize,
}

impl Scan {
    /// The entries as a stream, with the methods of the traits `StreamExt` and `TryStreamExt` of the crate `futures`.
    /// Requires the feature `async`.
    ///
    /// ```
    /// use futures_util::TryStreamExt as _;
    ///
    /// # async fn run() -> ostrakon::Result<()> {
    /// # let people = ostrakon::Store::in_memory()?.create_table("people")?;
    /// # people.put("alice", ("contact", "city"), "Berlin").commit()?;
    /// let mut entries = people.scan().row("alice").stream();
    /// while let Some(entry) = entries.try_next().await? {
    ///     assert_eq!(entry.value_str()?, "Berlin");
    /// }
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(run())?;
    /// # Ok::<(), ostrakon::Error>(())
    /// ```
    pub fn stream(self) -> EntryStream {
        EntryStream {
            batches: self.stream_batches(),
            batch: Arc::default(),
            at: 0,
        }
    }

    /// The batches as a stream, where every nanosecond counts. Requires the feature `async`.
    pub fn stream_batches(self) -> BatchStream {
        BatchStream::new(self)
    }
}

impl Stream for EntryStream {
    type Item = Result<Entry>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        while self.at >= self.batch.len() {
            match ready!(Pin::new(&mut self.batches).poll_next(context)) {
                Some(Ok(batch)) => (self.batch, self.at) = (Arc::new(batch), 0),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
        let entry = Entry::new(self.batch.clone(), self.at);
        self.at += 1;
        Poll::Ready(Some(Ok(entry)))
    }
}

impl FusedStream for EntryStream {
    fn is_terminated(&self) -> bool {
        self.at >= self.batch.len() && self.batches.is_terminated()
    }
}
