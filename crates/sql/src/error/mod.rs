//! Errors of the query engine as those of the data model.

mod functions;
mod reasons;

use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::parser::ParserError;
use ostrakon_cell::{Error, ErrorKind};

pub(crate) use functions::missing_table_function;

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
                Err(inner) => {
                    Error::invalid("the query failed").with("reason", plain(&inner.to_string()))
                }
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
    if is_disk_full(&reason) {
        return disk_full(&reason);
    }
    let better = reasons::of_value(&reason).map(str::to_owned);
    Error::invalid("the query failed on a value")
        .with("data", "a value")
        .with("reason", better.unwrap_or_else(|| plain(&reason)))
}

/// Whether this is said of a full disk, and not of a value that says so.
fn is_disk_full(reason: &str) -> bool {
    let start = reason.get(..9).unwrap_or_default();
    start.eq_ignore_ascii_case("io error:") && reason.ends_with(DISK_FULL)
}

/// The error that the disk is full, on which the engine writes temporary files and nothing else.
fn disk_full(reason: &str) -> Error {
    Error::new(
        ErrorKind::Io,
        "the disk is full, and the query needs temporary files: free disk space, give the query more memory, or set TMPDIR \
         to a directory on another disk",
    )
    .with("directory", std::env::temp_dir().display())
    .with("reason", plain(reason))
}

/// What the engine's messages begin with: the part of the engine that speaks.
const SPEAKERS: [&str; 10] = [
    "Error during planning: ",
    "Execution error: ",
    "External error: ",
    "Internal error: ",
    "Optimizer error: ",
    "Resources exhausted: ",
    "SQL error: ",
    "Schema error: ",
    "This feature is not implemented: ",
    "Arrow error: ",
];
/// Its request to report a fault to its authors, which also stands in messages about wrong statements.
const REQUEST: &str = "This issue was likely caused by a bug in DataFusion's code";
const REQUEST_END: &str = "/issues";
/// Its advice to change settings that are not the user's, at the end of messages.
const SETTINGS: &str = "Consider increasing the memory limit config";
/// What the parser's messages begin with.
const PARSER: &str = "sql parser error: ";
/// What the engine asks for where a statement has an array.
const ARRAYS: &str = "nested_expressions";
/// What follows a list of what every candidate of a function said.
const NO_FUNCTION: &str = "No function matches the given name";

/// What the system says of a full disk (`ENOSPC`).
const DISK_FULL: &str = "(os error 28)";

/// What stands before the engine's own form of a part of a statement.
const UNSUPPORTED: &str = "Unsupported ast node ";

/// The engine's message as one line that is about the statement.
pub(crate) fn plain(message: &str) -> String {
    let mut text = message.to_owned();
    while let Some(start) = text.find(REQUEST) {
        let rest = text.get(start..).unwrap_or_default();
        let end = rest
            .find(REQUEST_END)
            .map_or(text.len(), |at| start + at + REQUEST_END.len());
        text.replace_range(start..end, "");
    }
    if let Some(start) = text.find(SETTINGS) {
        text.truncate(start);
    }
    if let Some(start) = text.find(NO_FUNCTION) {
        text.drain(..start);
    }
    if let Some((_, node)) = text.split_once(UNSUPPORTED) {
        let node = node.strip_prefix("in sqltorel: ").unwrap_or(node);
        let name = node.split(|letter: char| !letter.is_alphanumeric()).next();
        return format!("{} is not supported", name.unwrap_or_default());
    }
    let mut rest = text.as_str();
    while let Some(shorter) = SPEAKERS
        .iter()
        .find_map(|speaker| rest.strip_prefix(speaker))
    {
        rest = shorter;
    }
    let mut line = String::new();
    for part in rest.lines().map(str::trim).filter(|part| !part.is_empty()) {
        match line.chars().last() {
            None => {}
            Some('.' | ':' | ';' | ',' | '?') => line.push(' '),
            Some(_) => line.push_str("; "),
        }
        line.push_str(part);
    }
    line
}

fn described(error: &DataFusionError) -> Error {
    let reason = plain(&error.strip_backtrace());
    match error.find_root() {
        DataFusionError::ResourcesExhausted(_) => Error::invalid(
            "the query needs more memory than it may use: give it more, or ask for less at once",
        )
        .with("data", "rows")
        .with("reason", reason),
        _ if is_disk_full(&reason) => disk_full(&reason),
        DataFusionError::Execution(_) | DataFusionError::ArrowError(..) => of_data(reason),
        DataFusionError::SQL(parser, _) if matches!(**parser, ParserError::RecursionLimitExceeded) => {
            Error::invalid(
                "the statement has too many parentheses, functions or queries within each other: divide it, for example \
                 with WITH",
            )
            .with("limit", "about 40 levels of parentheses and functions, 20 of queries in FROM")
        }
        DataFusionError::SQL(parser, _) => {
            let reason = parser.to_string();
            let reason = reason.strip_prefix(PARSER).unwrap_or(&reason);
            match reasons::of_syntax(reason) {
                Some(advice) => Error::new(ErrorKind::Unsupported, advice),
                None => Error::invalid("the statement is not valid SQL").with("reason", reason),
            }
        }
        DataFusionError::IoError(_) | DataFusionError::ObjectStore(_) => {
            Error::new(ErrorKind::Io, "a file could not be read").with("reason", reason)
        }
        DataFusionError::NotImplemented(_) | DataFusionError::Plan(_)
            if reason.contains(ARRAYS) || reason.contains("make_array") =>
        {
            Error::new(
                ErrorKind::Unsupported,
                "arrays cannot be constructed or unnested",
            )
        }
        DataFusionError::NotImplemented(_) | DataFusionError::Plan(_)
            if reason.contains("Placeholder(") =>
        {
            Error::invalid("the statement has parameters, and no values were given for them")
        }
        DataFusionError::NotImplemented(_) => {
            let reason = reasons::of_gap(&reason).unwrap_or(reason);
            Error::new(ErrorKind::Unsupported, "the query engine cannot do that")
                .with("reason", reason)
        }
        // The engine would have to calculate with the values to find the rows of a frame.
        DataFusionError::Internal(text)
            if text.contains("Cannot run range queries on datatype") =>
        {
            Error::new(
                ErrorKind::Unsupported,
                "a window cannot be ordered by a value of this type, such as bytes or a time of day, unless its frame is of \
                 rows: write ROWS UNBOUNDED PRECEDING, or order by a cast to VARCHAR",
            )
        }
        DataFusionError::Plan(_) | DataFusionError::SchemaError(..) => {
            let better = reasons::of_plan(&reason);
            let better = better.or_else(|| functions::about_function(&reason));
            let reason = better.unwrap_or(reason);
            Error::invalid("the statement cannot be run").with("reason", reason)
        }
        // As of `1 BETWEEN INTERVAL …`.
        DataFusionError::Internal(_) if reason.contains("Failed to coerce types") => {
            Error::invalid("the statement cannot be run").with("reason", reason)
        }
        DataFusionError::Internal(_) => {
            Error::new(ErrorKind::Internal, "the query engine failed").with("reason", reason)
        }
        _ => Error::invalid("the query failed").with("reason", reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_named() {
        let full = || std::io::Error::from_raw_os_error(28);
        let text = datafusion::arrow::error::ArrowError::IoError(full().to_string(), full());
        for error in [
            DataFusionError::IoError(full()),
            DataFusionError::from(text),
        ] {
            let error = of_query(error);
            assert_eq!(error.kind(), ErrorKind::Io);
            assert!(error.to_string().contains("the disk is full"), "{error}");
        }
        let value = format!("Cannot cast string '{}' to Int64", full());
        let error = of_query(DataFusionError::Execution(value));
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }

    #[test]
    fn messages_of_the_engine_become_one_line_about_the_statement() {
        for (message, expected) in [
            (
                "Schema error: No field named nope.\nValid fields are a.b, a.c.",
                "No field named nope. Valid fields are a.b, a.c.",
            ),
            (
                "Error during planning: Internal error: Function 'avg' failed to match any signature.\nThis issue was \
                 likely caused by a bug in DataFusion's code. Please help us: https://github.com/apache/datafusion/issues. \
                 No function matches the given name and argument types 'avg(Binary)'.\n\tCandidate functions:\n\tavg(Decimal)\
                 \n\tavg(Float64)",
                "No function matches the given name and argument types 'avg(Binary)'. Candidate functions: avg(Decimal); \
                 avg(Float64)",
            ),
            (
                "This feature is not implemented: Unsupported ast node Pivot { table: Derived { lateral: false } } in create_relation",
                "Pivot is not supported",
            ),
            ("Divide by zero error", "Divide by zero error"),
            ("", ""),
        ] {
            assert_eq!(plain(message), expected);
        }
    }
}
