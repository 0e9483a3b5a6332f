//! The context of an algorithm: source, authorizations, memory bound.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ostrakon_cell::{
    Authorizations, BatchWriterConfig, Capability, Error, ErrorKind, Result, Source, Table,
};

/// The surroundings of an algorithm: a source of tables, what the reader may see, the label of what
/// is written, and bounds.
#[derive(Clone)]
pub struct GraphContext {
    /// The tables.
    pub source: Arc<dyn Source>,
    /// What is read: entries whose label these do not satisfy are not there. Default: none.
    pub authorizations: Authorizations,
    /// The label of entries an algorithm makes; entries that it copies keep theirs, together with this
    /// one. Default: `None`, which means no label, and is refused where authorizations are held and what is
    /// computed has no label of its own: what is made of labelled entries would be readable for
    /// everybody. `Some` of an empty label says that it may be.
    pub visibility: Option<Vec<u8>>,
    /// Bytes an algorithm may hold in addition to the dictionary of keys and one value per key; see each
    /// algorithm for what it holds. Default: 512 MiB.
    pub memory_bytes: usize,
    /// Threads that compute. Default: the number of cores, at most 8.
    pub threads: usize,
    /// How results are written.
    pub writer: BatchWriterConfig,
    /// Ends what works in this context. Default: a new one.
    pub interrupt: Interrupt,
}

/// Ends an algorithm from another thread: it fails with [`ErrorKind::Cancelled`], and what it has
/// written until then stays. Copies are one and the same.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Ends what runs, and what is begun from now on.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was raised.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Fails once it was raised.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        if !self.is_raised() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Cancelled,
            "the computation was interrupted; result tables may hold a part of the result",
        ))
    }
}

impl GraphContext {
    /// The defaults on `source`.
    #[must_use]
    pub fn new(source: Arc<dyn Source>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            source,
            authorizations: Authorizations::default(),
            visibility: None,
            memory_bytes: 512 << 20,
            threads: cores.min(8),
            writer: BatchWriterConfig::default(),
            interrupt: Interrupt::default(),
        }
    }

    /// The label of entries that are made.
    pub(crate) fn label(&self) -> Vec<u8> {
        self.visibility.clone().unwrap_or_default()
    }

    /// Asks for a label where results could be made of labelled entries.
    pub(crate) fn check_label(&self) -> Result<()> {
        if self.visibility.is_some() || self.authorizations.is_empty() {
            return Ok(());
        }
        Err(Error::invalid(
            "a result that is computed with authorizations needs a label: give `visibility`, an \
             empty one if everybody may read the result",
        ))
    }

    /// The table of that name.
    ///
    /// # Errors
    /// No such table.
    pub fn table(&self, name: &str) -> Result<Arc<dyn Table>> {
        self.source.table(name)
    }

    /// Whether iterators of this crate may run inside the source; whether they are registered there
    /// only a scan tells.
    pub(crate) fn runs_iterators(&self) -> bool {
        let can = self.source.capabilities();
        can.has(Capability::ScanIterators) && can.has(Capability::NativeIterators)
    }

    /// Refuses to hold more than allowed.
    pub(crate) fn check_memory(&self, bytes: usize, what: &'static str) -> Result<()> {
        if bytes <= self.memory_bytes {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::OutOfSpace,
            "this does not fit the memory allowed: raise memory_bytes, or work on fewer rows",
        )
        .with("holding", what)
        .with("bytes needed at least", bytes)
        .with("bytes allowed", self.memory_bytes))
    }
}
