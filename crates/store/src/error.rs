//! What can go wrong in a store, in few kinds: each tells the caller what to do next.

use std::error::Error as StdError;
use std::fmt;

/// The result of every fallible call in this crate.
pub type StoreResult<T> = Result<T, Error>;

/// A kind exists only where a caller would act differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The call itself is wrong: fix the argument.
    InvalidArgument,
    /// The thing named does not exist.
    NotFound,
    /// The thing to be created exists.
    AlreadyExists,
    /// Bytes on disk are not what was written: restore or repair the file named.
    Corruption,
    /// The operating system refused an operation.
    Io,
    /// No room left on the disk: free some, then go on.
    OutOfSpace,
    /// Another process or handle holds the lock: close it first.
    Locked,
    /// Writing is not allowed here.
    ReadOnly,
    /// Understood, but not possible with this source.
    Unsupported,
    /// Written by a newer version of this software: upgrade.
    NewerFormat,
    /// The store or table was closed.
    Closed,
    /// Stopped because the caller asked for it.
    Cancelled,
    /// A bug in this software.
    Internal,
}

/// An error: a kind, a sentence, the things it concerns, and the cause below it.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    message: String,
    context: Vec<(&'static str, String)>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// Makes an error of `kind` with a message for people.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            context: Vec::new(),
            source: None,
        }))
    }

    /// Adds what the error concerns, for instance `("file", path)`.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.0.context.push((name, value.to_string()));
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// What the caller should do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        for (index, (name, value)) in self.0.context.iter().enumerate() {
            f.write_str(if index == 0 { " (" } else { ", " })?;
            write!(f, "{name}: {value}")?;
        }
        if !self.0.context.is_empty() {
            f.write_str(")")?;
        }
        Ok(())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.0.source {
            Some(source) => Some(source.as_ref()),
            None => None,
        }
    }
}
