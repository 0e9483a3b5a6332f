//! Errors of a store as errors of ADBC.

use std::error::Error as _;

use adbc_core::error::{Error, Result, Status};
use ostrakon_cell::ErrorKind;

/// The error with its causes in one message, and the status that says what to do.
pub(crate) fn of(error: &ostrakon_cell::Error) -> Error {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !message.contains(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
        cause = inner.source();
    }
    Error::with_message_and_status(message, status(error.kind()))
}

fn status(kind: ErrorKind) -> Status {
    match kind {
        ErrorKind::InvalidArgument | ErrorKind::BadAuthorizations => Status::InvalidArguments,
        kind if kind.is_not_found() => Status::NotFound,
        ErrorKind::AlreadyExists => Status::AlreadyExists,
        ErrorKind::ConstraintViolation => Status::Integrity,
        ErrorKind::PermissionDenied => Status::Unauthorized,
        ErrorKind::BadCredentials => Status::Unauthenticated,
        ErrorKind::Corruption => Status::InvalidData,
        ErrorKind::Io
        | ErrorKind::OutOfSpace
        | ErrorKind::TooManyOpenFiles
        | ErrorKind::Unavailable => Status::IO,
        ErrorKind::Unsupported | ErrorKind::NewerFormat => Status::NotImplemented,
        ErrorKind::Cancelled => Status::Cancelled,
        ErrorKind::TimedOut => Status::Timeout,
        ErrorKind::Internal => Status::Internal,
        _ => Status::InvalidState,
    }
}

/// Results of a store as those of ADBC.
pub(crate) trait IntoAdbc<T> {
    fn into_adbc(self) -> Result<T>;
}

impl<T> IntoAdbc<T> for ostrakon_cell::Result<T> {
    fn into_adbc(self) -> Result<T> {
        self.map_err(|error| of(&error))
    }
}

pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::with_message_and_status(message, Status::InvalidArguments)
}

/// The state of the object does not allow the call.
pub(crate) fn wrong_state(message: impl Into<String>) -> Error {
    Error::with_message_and_status(message, Status::InvalidState)
}

pub(crate) fn not_implemented(message: impl Into<String>) -> Error {
    Error::with_message_and_status(message, Status::NotImplemented)
}

/// The answer for an option that is not known.
pub(crate) fn no_option<T>(name: &str) -> Result<T> {
    Err(Error::with_message_and_status(
        format!("there is no option {name:?} here"),
        Status::NotFound,
    ))
}
