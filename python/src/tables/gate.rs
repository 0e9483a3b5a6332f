//! A store in use: what its tables, scans and writers share, so that it lives as long as one of them.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use ostrakon_cell::{Error, ErrorKind, Result, Source};
use ostrakon_store::Store;
use parking_lot::{Mutex, RwLock};
use pyo3::prelude::*;

/// Open until the store is closed, or nothing refers to it.
#[derive(Clone)]
pub(crate) struct Gate(Arc<Shared>);

struct Shared {
    shut: AtomicBool,
    /// Held while the store is being closed.
    closing: Mutex<()>,
    /// The process that opened the store.
    process: u32,
    /// `None` once it is closed.
    open: RwLock<Option<Open>>,
}

/// A store that is open, and what its user gets of it: all, or what a reader may do.
pub(super) struct Open {
    pub(super) store: Arc<Store>,
    pub(super) source: Arc<dyn Source>,
}

impl Gate {
    pub(super) fn new(open: Open) -> Self {
        Self(Arc::new(Shared {
            shut: AtomicBool::new(false),
            closing: Mutex::new(()),
            process: process::id(),
            open: RwLock::new(Some(open)),
        }))
    }

    /// # Errors
    /// [`Closed`](ErrorKind::Closed) once the store is, and as [`Self::check_process`].
    pub(crate) fn check(&self) -> Result<()> {
        self.check_process()?;
        if self.0.shut.load(Ordering::Acquire) {
            return Err(closed());
        }
        Ok(())
    }

    /// Called before any lock is taken: in a forked child, a lock may be held by a thread that does not exist
    /// there.
    ///
    /// # Errors
    /// [`Unsupported`](ErrorKind::Unsupported) in a child of the process that opened the store.
    pub(crate) fn check_process(&self) -> Result<()> {
        if self.0.process == process::id() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Unsupported,
            "the store was opened before the process was forked, and only the parent may use it: open \
             a store in the child",
        ))
    }

    /// Gives the open store to `with`.
    ///
    /// # Errors
    /// Those of [`Self::check`].
    pub(super) fn open<T>(&self, with: impl FnOnce(&Open) -> T) -> Result<T> {
        self.check()?;
        self.0.open.read().as_ref().map(with).ok_or_else(closed)
    }

    pub(super) fn downgrade(&self) -> WeakGate {
        WeakGate(Arc::downgrade(&self.0))
    }

    /// Whether the store is closed.
    pub(super) fn is_shut(&self) -> bool {
        self.0.shut.load(Ordering::Acquire)
    }

    /// Marks the store as closed for all users, and closes it. Another call waits until it is closed, and does nothing.
    pub(super) fn close(&self) -> Result<()> {
        self.0.shut.store(true, Ordering::Release);
        let _closing = self.0.closing.lock();
        let open = self.0.open.write().take();
        open.map_or(Ok(()), |open| open.store.close())
    }
}

/// A gate that does not keep the store open.
pub(super) struct WeakGate(Weak<Shared>);

impl WeakGate {
    /// The store, while it is open.
    ///
    /// # Errors
    /// Those of [`Gate::check`].
    pub(super) fn store(&self) -> Result<Arc<dyn Source>> {
        let gate = Gate(self.0.upgrade().ok_or_else(closed)?);
        gate.open(|open| -> Arc<dyn Source> { open.store.clone() })
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let mut open = self.open.get_mut().take();
        if open.is_some() {
            // Closing may flush, so other threads run meanwhile, except while the interpreter ends.
            let _ = Python::try_attach(|py| py.detach(|| drop(open.take())));
        }
    }
}

/// What a closed store answers.
fn closed() -> Error {
    Error::new(
        ErrorKind::Closed,
        "the store is closed: open it again with ostrakon.open",
    )
}
