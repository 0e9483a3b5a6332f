//! Reports a wrong command line, and shows help and version.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::failure::Failure;

/// Shows help or version (exit code 0), or the mistake (exit code 2). If the command line asks for
/// JSON, the mistake is an error object like any other.
pub(crate) fn refuse(error: &clap::Error) -> ExitCode {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    ) {
        let shown = error.print().and_then(|()| io::stdout().flush());
        return match shown {
            Ok(()) => ExitCode::SUCCESS,
            // Ends quietly if the reader of the output has closed it.
            Err(error) => Failure::io("the text cannot be written", &error).report(false),
        };
    }
    let json = asks_for_json(std::env::args_os().skip(1));
    if let Some(hint) = unknown_command(error).and_then(hint) {
        let word = unknown_command(error).unwrap_or_default();
        return Failure::usage(format!("`{word}` is not a command here"))
            .next(hint)
            .report(json);
    }
    // clap's message about bytes that are not UTF-8 does not say what to do.
    if json || error.kind() == ErrorKind::InvalidUtf8 {
        return failure(error.kind(), &error.render().to_string()).report(json);
    }
    let _ = error.print();
    ExitCode::from(2)
}

/// The word that stands where a command is expected.
fn unknown_command(error: &clap::Error) -> Option<&str> {
    match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) => Some(word),
        _ => None,
    }
}

/// What to do instead of a command that other programs have.
fn hint(word: &str) -> Option<&'static str> {
    Some(match word.to_ascii_lowercase().as_str() {
        "drop" | "rm" | "remove" | "del" | "truncate" => {
            "use `ostrakon table delete TABLE` for a table, `ostrakon delete-rows TABLE` for rows, or \
             `ostrakon delete TABLE ROW FAMILY QUALIFIER` for a cell"
        }
        "create" | "new" | "init" | "createtable" => "use `ostrakon table create TABLE`",
        "insert" | "set" | "add" | "write" | "upsert" => {
            "use `ostrakon put TABLE ROW FAMILY QUALIFIER VALUE`"
        }
        "read" | "show" | "select" | "query" | "cat" | "find" | "list" => {
            "use `ostrakon scan TABLE` for entries, `ostrakon get TABLE ROW` for a row, or `ostrakon table list` for \
             the tables"
        }
        "count" => "use `ostrakon scan TABLE --count`",
        "load" | "ingest" | "insert-file" => "use `ostrakon import TABLE FILE`",
        "dump" => "use `ostrakon export TABLE FILE`",
        "backup" | "snapshot" => "use `ostrakon checkpoint DIR`",
        "verify" | "fsck" | "repair" => "use `ostrakon check`",
        "info" | "stats" | "du" | "describe" => {
            "use `ostrakon table list --long`, `ostrakon table tablets TABLE` or `ostrakon table du`"
        }
        "flush" => "use `ostrakon table flush TABLE`",
        "compact" => "use `ostrakon table compact TABLE`",
        "rename" | "mv" => "use `ostrakon table rename FROM TO`",
        "clone" | "cp" | "copy" => "use `ostrakon table clone FROM TO`",
        "splits" | "addsplits" | "add-splits" => {
            "use `ostrakon table splits TABLE` or `ostrakon table add-splits TABLE ROW`"
        }
        "status" => "use `ostrakon table status`",
        "classes" => "use `ostrakon iterators`",
        _ => return None,
    })
}

/// Whether `--json` is given. Parsing has failed, so the arguments are inspected one by one.
fn asks_for_json(arguments: impl Iterator<Item = OsString>) -> bool {
    arguments
        .take_while(|argument| argument != "--")
        // Options may be abbreviated; `--j` alone is ambiguous.
        .any(|argument| argument == "--json" || argument == "--jso" || argument == "--js")
}

/// The paragraphs of clap's text as message, context and next step.
fn failure(kind: ErrorKind, text: &str) -> Failure {
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut message = None;
    let mut usage = None;
    let mut steps: Vec<String> = Vec::new();
    for paragraph in text.split("\n\n") {
        let paragraph = paragraph.trim();
        if let Some(found) = paragraph.strip_prefix("error: ") {
            message = Some(one_line(found));
        } else if let Some(found) = paragraph.strip_prefix("Usage: ") {
            usage = Some(one_line(found));
        } else if paragraph.starts_with("tip: ") {
            let tips = paragraph
                .lines()
                .map(|line| line.trim().trim_start_matches("tip: "));
            steps.extend(tips.map(str::to_owned));
        }
    }
    let missing = kind == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    let message = message.unwrap_or_else(|| match missing {
        true => "a command or its arguments are missing".to_owned(),
        false => one_line(text),
    });
    if kind == ErrorKind::InvalidUtf8 {
        steps.push("write \\xNN for a byte that is not text".to_owned());
    }
    if steps.is_empty() {
        steps.push("run the command with --help".to_owned());
    }
    let failure = Failure::usage(message).next(steps.join("; "));
    match usage {
        Some(usage) => failure.with("usage", usage),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_option_requests_json() {
        let asked = |line: &str| asks_for_json(line.split(' ').map(OsString::from));
        assert!(asked("scan t --json --limt 3") && asked("--js scan"));
        assert!(!asked("scan t --j") && !asked("put t -- --json") && !asked("scan json"));
    }
}
