//! The error type of all sources of tables.
//!
//! A kind exists only if the caller would act differently. The message is for people and may
//! change. Context (`file`, `table`, `row` …) is kept as pairs, and causes are chained.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use crate::visibility::{AuthorizationsError, VisibilityError};

/// Result of every operation of the source contract.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What the caller should do about an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument of the call is invalid: fix the argument; repeating the call does not help. If
    /// only the content of a table makes it invalid (a value that is not a number, a row that is
    /// too large), the context has its kind ("a value", "a row") as `data`, never the content.
    InvalidArgument,
    /// A file, a store, a property … that the call names does not exist.
    NotFound,
    /// The table does not exist, or was deleted: discard cached information about it.
    TableNotFound,
    /// The namespace does not exist: create it, or name another.
    NamespaceNotFound,
    /// No iterator or constraint class has this name in this source: choose another name, or use a
    /// source that has it.
    ClassNotFound,
    /// The name is taken.
    AlreadyExists,
    /// The namespace still has tables: delete them first.
    NotEmpty,
    /// Another change was made after the caller read the state: read it again and repeat.
    ConcurrentModification,
    /// The caller lacks the permission for this call: ask an administrator.
    PermissionDenied,
    /// The requested authorizations exceed those that the caller holds: request fewer.
    BadAuthorizations,
    /// The source does not know the caller, or the credentials are wrong: log in again.
    BadCredentials,
    /// A constraint rejected some mutations; the others were applied.
    ConstraintViolation,
    /// Stored bytes differ from what was written. The rest of the store stays readable: run
    /// `check`.
    Corruption,
    /// The operating system returned an error.
    Io,
    /// The disk or a quota is full: free space and repeat.
    OutOfSpace,
    /// A tablet has more files than the limit for reading or keeping: compact the table, or wait
    /// until that is done, and repeat.
    TooManyFiles,
    /// The table keeps no sample, or a different one from what the scan requests: scan without a
    /// sample, or configure one and compact.
    SampleNotPresent,
    /// The process or the machine has no file descriptor left: raise the limit or close files, and
    /// repeat.
    TooManyOpenFiles,
    /// Another process has the store open.
    Locked,
    /// The store accepts no writes (read-only directory, or a failed sync): reopen to go on.
    ReadOnly,
    /// The source does not support this call; check its capabilities first.
    Unsupported,
    /// Written by a newer version of the software: use that version.
    NewerFormat,
    /// The store, writer or scan was closed: open another one.
    Closed,
    /// The table is offline: bring it online and repeat.
    Offline,
    /// The operation was cancelled.
    Cancelled,
    /// The caller's time limit was exceeded: repeat with a longer limit or a smaller request.
    TimedOut,
    /// A remote source did not respond; repeating may help.
    Unavailable,
    /// An internal error: a bug in Ostrakon. Please report it.
    Internal,
}

impl ErrorKind {
    /// Every kind.
    pub const ALL: [Self; 28] = [
        Self::InvalidArgument,
        Self::NotFound,
        Self::TableNotFound,
        Self::NamespaceNotFound,
        Self::ClassNotFound,
        Self::AlreadyExists,
        Self::NotEmpty,
        Self::ConcurrentModification,
        Self::PermissionDenied,
        Self::BadAuthorizations,
        Self::BadCredentials,
        Self::ConstraintViolation,
        Self::Corruption,
        Self::Io,
        Self::OutOfSpace,
        Self::TooManyFiles,
        Self::SampleNotPresent,
        Self::TooManyOpenFiles,
        Self::Locked,
        Self::ReadOnly,
        Self::Unsupported,
        Self::NewerFormat,
        Self::Closed,
        Self::Offline,
        Self::Cancelled,
        Self::TimedOut,
        Self::Unavailable,
        Self::Internal,
    ];

    /// Whether the kind says that something named by the call does not exist.
    #[must_use]
    pub fn is_not_found(self) -> bool {
        matches!(
            self,
            Self::NotFound | Self::TableNotFound | Self::NamespaceNotFound | Self::ClassNotFound
        )
    }

    /// The kind as one lower-case word group, for messages and machine-readable output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidArgument => "invalid argument",
            Self::NotFound => "not found",
            Self::TableNotFound => "table not found",
            Self::NamespaceNotFound => "namespace not found",
            Self::ClassNotFound => "class not found",
            Self::AlreadyExists => "already exists",
            Self::NotEmpty => "not empty",
            Self::ConcurrentModification => "concurrent modification",
            Self::PermissionDenied => "permission denied",
            Self::BadAuthorizations => "bad authorizations",
            Self::BadCredentials => "bad credentials",
            Self::ConstraintViolation => "constraint violation",
            Self::Corruption => "corruption",
            Self::Io => "i/o failure",
            Self::OutOfSpace => "out of space",
            Self::TooManyFiles => "too many files",
            Self::SampleNotPresent => "sample not present",
            Self::TooManyOpenFiles => "too many open files",
            Self::Locked => "locked",
            Self::ReadOnly => "read-only",
            Self::Unsupported => "unsupported",
            Self::NewerFormat => "newer format",
            Self::Closed => "closed",
            Self::Offline => "offline",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed out",
            Self::Unavailable => "unavailable",
            Self::Internal => "internal error",
        }
    }
}

/// An error with its kind, a sentence for people, context pairs and the cause.
///
/// ```
/// use ostrakon_cell::{Error, ErrorKind};
/// let error = Error::new(ErrorKind::TableNotFound, "no such table")
///     .with("table", "grahp");
/// assert_eq!(error.kind(), ErrorKind::TableNotFound);
/// assert_eq!(error.to_string(), "no such table (table: grahp)");
/// ```
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: Cow<'static, str>,
    context: Vec<(&'static str, String)>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error of `kind` with `message`.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            context: Vec::new(),
            source: None,
        }))
    }

    /// Shorthand for [`ErrorKind::InvalidArgument`].
    #[must_use]
    pub fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::InvalidArgument, message)
    }

    /// Shorthand for [`ErrorKind::Corruption`].
    #[must_use]
    pub fn corruption(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Corruption, message)
    }

    /// Shorthand for [`ErrorKind::NotFound`].
    #[must_use]
    pub fn not_found(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// Shorthand for [`ErrorKind::TableNotFound`].
    #[must_use]
    pub fn no_table(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::TableNotFound, message)
    }

    /// Adds one pair of context, shown after the message.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.0.context.push((name, value.to_string()));
        self
    }

    /// Sets the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into().into());
        self
    }

    /// The kind, which tells the caller what to do.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message without context.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The context pairs, in the order in which they were added.
    #[must_use]
    pub fn context(&self) -> &[(&'static str, String)] {
        &self.0.context
    }

    /// A copy for a second receiver: a failed group commit is reported to many writers.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        self.clone()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        for (at, (name, value)) in self.0.context.iter().enumerate() {
            write!(f, "{}{name}: {value}", if at == 0 { " (" } else { ", " })?;
        }
        if self.0.context.is_empty() {
            Ok(())
        } else {
            f.write_str(")")
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {self}", self.0.kind.as_str())?;
        let mut cause = StdError::source(self);
        while let Some(error) = cause {
            write!(f, "; caused by: {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0
            .source
            .as_ref()
            .map(|source| &**source as &(dyn StdError + 'static))
    }
}

impl From<VisibilityError> for Error {
    fn from(error: VisibilityError) -> Self {
        Self::invalid("not a valid visibility expression").with_source(error)
    }
}

impl From<AuthorizationsError> for Error {
    fn from(error: AuthorizationsError) -> Self {
        Self::invalid("not valid authorizations").with_source(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Authorizations, VisibilityExpression};

    #[test]
    fn a_clone_has_kind_context_and_the_same_cause() {
        let cause = std::io::Error::other("disk");
        let error = Error::new(ErrorKind::Io, "failed")
            .with("file", "a")
            .with_source(cause);
        let copy = error.clone();
        assert_eq!(copy.kind(), ErrorKind::Io);
        assert_eq!(copy.to_string(), "failed (file: a)");
        let cause = StdError::source(&copy).expect("kept");
        assert!(cause.downcast_ref::<std::io::Error>().is_some());
    }

    #[test]
    fn errors_of_labels_and_authorizations_convert() {
        fn label() -> Result<VisibilityExpression> {
            Ok(VisibilityExpression::parse("a&")?)
        }
        fn held() -> Result<Authorizations> {
            Ok(Authorizations::parse("a,,b")?)
        }
        for error in [label().map(drop), held().map(drop)] {
            let error = error.expect_err("malformed");
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(StdError::source(&error).is_some());
        }
    }
}
