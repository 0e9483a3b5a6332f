//! Errors of the query engine as those of the data model.

use datafusion::error::DataFusionError;
use ostrakon_cell::{Error, ErrorKind};

/// The error of a query. Errors of tables come out as they went in.
pub(crate) fn of_query(error: DataFusionError) -> Error {
    match error {
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => {
            of_query(*inner)
        }
        DataFusionError::External(inner) => match inner.downcast::<Error>() {
            Ok(error) => *error,
            Err(inner) => match inner.downcast::<DataFusionError>() {
                Ok(error) => of_query(*error),
                Err(inner) => Error::invalid("the query failed").with("reason", inner),
            },
        },
        DataFusionError::Shared(shared) => match found_in(&shared) {
            Some(error) => error.duplicate(),
            None => described(&shared),
        },
        DataFusionError::ArrowError(inner, _) => match *inner {
            datafusion::arrow::error::ArrowError::ExternalError(inner) => {
                of_query(DataFusionError::External(inner))
            }
            other => of_data(other.to_string()),
        },
        other => described(&other),
    }
}

/// The error of a table inside an error that several parts of a query share.
fn found_in(error: &DataFusionError) -> Option<&Error> {
    match error {
        DataFusionError::External(inner) => inner.downcast_ref::<Error>(),
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => {
            found_in(inner)
        }
        DataFusionError::Shared(inner) => found_in(inner),
        _ => None,
    }
}

/// An error that other values would not have caused.
fn of_data(reason: String) -> Error {
    Error::invalid("the query failed on a value")
        .with("data", "a value")
        .with("reason", reason)
}

fn described(error: &DataFusionError) -> Error {
    let reason = error.strip_backtrace();
    match error.find_root() {
        DataFusionError::ResourcesExhausted(_) => Error::invalid(
            "the query needs more memory than it may use: give it more, or ask for less at once",
        )
        .with("data", "rows")
        .with("reason", reason),
        DataFusionError::Execution(_) | DataFusionError::ArrowError(..) => of_data(reason),
        DataFusionError::SQL(..) => {
            Error::invalid("the statement is not valid SQL").with("reason", reason)
        }
        DataFusionError::IoError(_) | DataFusionError::ObjectStore(_) => {
            Error::new(ErrorKind::Io, "a file could not be read").with("reason", reason)
        }
        DataFusionError::NotImplemented(_) => {
            Error::new(ErrorKind::Unsupported, "the query engine cannot do that")
                .with("reason", reason)
        }
        DataFusionError::Internal(_) => {
            Error::new(ErrorKind::Internal, "the query engine failed").with("reason", reason)
        }
        _ => Error::invalid("the query failed").with("reason", reason),
    }
}
