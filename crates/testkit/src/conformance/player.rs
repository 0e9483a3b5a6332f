//! Plays a script on a source.

use ostrakon_cell::{Error, ErrorKind, Source};

use super::profile::Restless;
use super::script::{Operation, Script};
use super::{namespace, scan, table, write};

/// What one operation answered: `ok`, `error CLASS`, or a heading with lines below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The operation's line.
    pub line: usize,
    /// The lines.
    pub lines: Vec<String>,
}

/// Why an operation has no ordinary answer.
pub(super) enum Failure {
    /// The script is wrong.
    Script(String),
    /// The source refused; the class is part of the answer.
    Refused(&'static str, Error),
}

impl From<String> for Failure {
    fn from(mistake: String) -> Self {
        Self::Script(mistake)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let class = match error.kind() {
            ErrorKind::TableNotFound => "NoSuchTable",
            ErrorKind::NamespaceNotFound => "NoSuchNamespace",
            ErrorKind::NotEmpty => "NotEmpty",
            ErrorKind::AlreadyExists => "TableExists",
            ErrorKind::Offline => "Offline",
            ErrorKind::InvalidArgument => "InvalidArgument",
            ErrorKind::PermissionDenied => "Denied",
            _ => "Failed",
        };
        Self::Refused(class, error)
    }
}

pub(super) type Outcome = Result<Vec<String>, Failure>;

pub(super) fn ok() -> Vec<String> {
    vec!["ok".to_owned()]
}

/// Plays a script; `restless` flushes and compacts between its operations.
///
/// # Errors
/// A script that cannot be played. What the source refuses is an answer.
pub fn play(
    source: &dyn Source,
    script: &Script,
    restless: &mut Restless,
) -> Result<Vec<Answer>, String> {
    let mut answers = Vec::new();
    for operation in script.operations()? {
        let lines = match perform(source, &operation, restless) {
            Ok(lines) => lines,
            Err(Failure::Script(mistake)) => return Err(mistake),
            // The sentence is for the reader of a difference; only the class is compared.
            Err(Failure::Refused(class, error)) => {
                vec![format!("error {class}"), format!("# {error:?}")]
            }
        };
        answers.push(Answer {
            line: operation.head.line,
            lines,
        });
        restless.stir(source);
    }
    Ok(answers)
}

fn perform(source: &dyn Source, operation: &Operation, restless: &Restless) -> Outcome {
    match operation.head.verb.as_str() {
        "create" => table::create(source, operation, restless),
        "drop" => table::drop(source, operation),
        "rename" => table::rename(source, operation),
        "clone" => table::clone(source, operation),
        "tables" => table::list(source),
        "online" => table::set_online(source, operation, true),
        "offline" => table::set_online(source, operation, false),
        "flush" => table::flush(source, operation),
        "compact" => table::compact(source, operation),
        "split" => table::split(source, operation),
        "splits" => table::splits(source, operation),
        "merge" => table::merge(source, operation),
        "delete-rows" => table::delete_rows(source, operation),
        "set" => table::set(source, operation),
        "unset" => table::unset(source, operation),
        "attach" => table::attach(source, operation),
        "detach" => table::detach(source, operation),
        "groups" => table::groups(source, operation),
        "properties" => table::properties(source, operation),
        "in-force" => table::in_force(source, operation),
        "create-namespace" => namespace::create(source, operation),
        "drop-namespace" => namespace::drop(source, operation),
        "rename-namespace" => namespace::rename(source, operation),
        "namespaces" => namespace::list(source),
        "set-namespace" => namespace::set(source, operation),
        "unset-namespace" => namespace::unset(source, operation),
        "namespace-properties" => namespace::properties(source, operation),
        "write" => write::write(source, operation),
        "conditional" => write::conditional(source, operation),
        "scan" => scan::scan(source, operation, true),
        "batch-scan" => scan::scan(source, operation, false),
        verb => Err(Failure::Script(format!(
            "line {}: unknown operation {verb}",
            operation.head.line
        ))),
    }
}
