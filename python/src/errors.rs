//! Errors of the crates as exceptions of `ostrakon.errors`; nowhere else are they mapped.

use std::error::Error as StdError;
use std::path::Path;

use ostrakon_cell::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

/// Adds the list of kinds, by which a test compares the exceptions with them.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let kinds = PyDict::new(module.py());
    for kind in ErrorKind::ALL {
        kinds.set_item(kind.as_str(), class_name(kind))?;
    }
    module.add("ERROR_KINDS", kinds)
}

fn class_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::InvalidArgument => "InvalidArgumentError",
        ErrorKind::NotFound => "NotFoundError",
        ErrorKind::TableNotFound => "TableNotFoundError",
        ErrorKind::NamespaceNotFound => "NamespaceNotFoundError",
        ErrorKind::ClassNotFound => "ClassNotFoundError",
        ErrorKind::AlreadyExists => "AlreadyExistsError",
        ErrorKind::NotEmpty => "NotEmptyError",
        ErrorKind::ConcurrentModification => "ConcurrentModificationError",
        ErrorKind::PermissionDenied => "PermissionDeniedError",
        ErrorKind::BadAuthorizations => "BadAuthorizationsError",
        ErrorKind::BadCredentials => "BadCredentialsError",
        ErrorKind::ConstraintViolation => "ConstraintViolationError",
        ErrorKind::Corruption => "CorruptionError",
        ErrorKind::Io => "IoError",
        ErrorKind::OutOfSpace => "OutOfSpaceError",
        ErrorKind::TooManyFiles => "TooManyFilesError",
        ErrorKind::SampleNotPresent => "SampleNotPresentError",
        ErrorKind::TooManyOpenFiles => "TooManyOpenFilesError",
        ErrorKind::Locked => "LockedError",
        ErrorKind::ReadOnly => "ReadOnlyError",
        ErrorKind::Unsupported => "UnsupportedError",
        ErrorKind::NewerFormat => "NewerFormatError",
        ErrorKind::Closed => "ClosedError",
        ErrorKind::Offline => "OfflineError",
        ErrorKind::TimedOut => "TimedOutError",
        ErrorKind::Cancelled => "CancelledError",
        ErrorKind::Unavailable => "UnavailableError",
        ErrorKind::Internal => "InternalError",
        // One that is added later, until it has a class.
        _ => "Error",
    }
}

/// The exception for an error of the crates: its class from the kind, the message and causes as the
/// text, the context pairs as `.context`.
pub(crate) fn to_python(error: &Error) -> PyErr {
    Python::attach(|py| match build(py, error) {
        Ok(exception) => PyErr::from_value(exception),
        // The package itself could not be imported: that is the more urgent news.
        Err(failure) => failure,
    })
}

fn build<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    let class = py
        .import("ostrakon.errors")?
        .getattr(class_name(error.kind()))?
        .cast_into::<PyType>()?;
    let mut text = error.to_string();
    if error.kind() == ErrorKind::Locked {
        text = text.replace(WAIT_OR_READ, &way_out_of_a_lock(&text));
    }
    if let Some(step) = next_step(error) {
        text.push_str("; ");
        text.push_str(step);
    }
    let mut cause = error.source();
    while let Some(below) = cause {
        text.push_str(": ");
        text.push_str(&below.to_string());
        cause = below.source();
    }
    let context = PyDict::new(py);
    for (name, value) in error.context() {
        context.set_item(name, value)?;
    }
    class.call1((text, context))
}

/// What the message about a locked store ends with.
const WAIT_OR_READ: &str =
    "wait until it is closed there, or read a checkpoint made by that process";

/// The same for a program, which may have the store open itself, as when a cell of a notebook is run again.
fn way_out_of_a_lock(text: &str) -> String {
    let close = match text.contains("through another handle") {
        true => "close the other handle with its close()",
        false => "close it there, or wait for that with `wait=SECONDS`",
    };
    format!("{close}, or read a checkpoint made by the process that has it open")
}

/// What to do, where the message of the crates only says what happened.
fn next_step(error: &Error) -> Option<&'static str> {
    let of_table_file = error.context().iter().any(|(name, file)| {
        let path = Path::new(file);
        *name == "file"
            && path.extension().is_some_and(|ending| ending == "sorted")
            && path
                .parent()
                .is_some_and(|folder| folder.ends_with("files"))
    });
    let names = |name: &str, fits: &dyn Fn(&str) -> bool| {
        let mut context = error.context().iter();
        context.any(|(own, value)| *own == name && fits(value))
    };
    Some(match error.kind() {
        ErrorKind::Corruption if names("file", &|file| file.ends_with(".wal")) => {
            "`ostrakon.open(…, read_only=True, allow_damage=True)` reads what is left, and `accept_log_loss=True` continues \
             without the rest"
        }
        ErrorKind::Corruption
            if names("file", &|file| {
                file.ends_with("catalog") || file.ends_with("catalog.mirror")
            }) =>
        {
            "the tables of a store cannot be found without its catalog: open a checkpoint of it"
        }
        ErrorKind::Corruption if names("unknown batches", &|_| true) => {
            "`Events.repair` takes them in"
        }
        ErrorKind::NotFound | ErrorKind::Corruption if of_table_file => {
            "`Store.restore_file` puts the file back from a checkpoint, `Store.check` names all of them"
        }
        ErrorKind::Corruption => {
            "`Store.check` names every damaged file; everything else is still readable"
        }
        ErrorKind::OutOfSpace => "free disk space and open the store again",
        ErrorKind::TooManyOpenFiles => "raise the limit (`ulimit -n`) and try again",
        ErrorKind::Offline => "`Store.set_online` brings it back",
        ErrorKind::NamespaceNotFound => "`Store.create_namespace` makes one",
        _ => return None,
    })
}

/// `?` on results of the crates inside functions that Python calls.
pub(crate) trait IntoPython<T> {
    /// The same result with the error as an exception.
    fn into_python(self) -> PyResult<T>;
}

impl<T> IntoPython<T> for Result<T, Error> {
    fn into_python(self) -> PyResult<T> {
        self.map_err(|error| to_python(&error))
    }
}
