//! The one error every source of tables returns.
//!
//! A kind exists only when the caller would act differently; the text is for people and is no
//! part of the promise. Context (`file`, `table`, `row` …) is kept as pairs, causes are chained.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

/// Result of every operation of the source contract.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What the caller should do about an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The call itself is wrong: mend the argument, do not repeat it.
    InvalidArgument,
    /// The table, iterator class, property, file … named does not exist.
    NotFound,
    /// The name is taken.
    AlreadyExists,
    /// The caller lacks the authorization or permission asked for.
    PermissionDenied,
    /// A constraint refused some mutations; the others were applied.
    ConstraintViolation,
    /// Stored bytes are not what was written. The rest of the store stays readable: run `check`.
    Corruption,
    /// The operating system refused an operation.
    Io,
    /// The disk or a quota is full: make room and repeat.
    OutOfSpace,
    /// The process or the machine has no file descriptor left: raise the limit, or close something, and repeat.
    TooManyOpenFiles,
    /// Another process holds the store.
    Locked,
    /// The store accepts no writes (read-only directory, or a failed sync): reopen to go on.
    ReadOnly,
    /// The source cannot do this; ask its capability list first.
    Unsupported,
    /// Written by a newer version of the software: use that one.
    NewerFormat,
    /// The store, writer or scan was closed: open another one.
    Closed,
    /// The table is off-line: bring it on-line and repeat.
    Offline,
    /// Somebody cancelled the operation.
    Cancelled,
    /// The time that the caller gave was over: repeat with more, or for less.
    TimedOut,
    /// A remote source did not answer; repeating may help.
    Unavailable,
    /// We are wrong. Please report it.
    Internal,
}

impl ErrorKind {
    /// The kind as one lower-case word group, for messages and machine-readable output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidArgument => "invalid argument",
            Self::NotFound => "not found",
            Self::AlreadyExists => "already exists",
            Self::PermissionDenied => "permission denied",
            Self::ConstraintViolation => "constraint violation",
            Self::Corruption => "corruption",
            Self::Io => "i/o failure",
            Self::OutOfSpace => "out of space",
            Self::TooManyOpenFiles => "too many open files",
            Self::Locked => "locked",
            Self::ReadOnly => "read-only",
            Self::Unsupported => "unsupported",
            Self::NewerFormat => "newer format",
            Self::Closed => "closed",
            Self::Offline => "off-line",
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
/// let error = Error::new(ErrorKind::NotFound, "no such table; `table list` shows those there are")
///     .with("table", "grahp");
/// assert_eq!(error.kind(), ErrorKind::NotFound);
/// assert_eq!(error.to_string(), "no such table; `table list` shows those there are (table: grahp)");
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: Cow<'static, str>,
    context: Vec<(&'static str, String)>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error of `kind` that says `message`.
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

    /// Adds one pair of context, shown behind the message.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.0.context.push((name, value.to_string()));
        self
    }

    /// Chains the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// What the caller should do.
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

    /// A copy for a second receiver (a failed group commit answers many writers): kind, message
    /// and context are kept, the cause becomes text.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        let source = self
            .0
            .source
            .as_ref()
            .map(|source| source.to_string().into());
        Self(Box::new(Inner {
            kind: self.0.kind,
            message: self.0.message.clone(),
            context: self.0.context.clone(),
            source,
        }))
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
