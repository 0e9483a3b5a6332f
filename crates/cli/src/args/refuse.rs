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
    let word = unknown_command(error).unwrap_or_default();
    if let Some(hint) = hint(word, &usage(error)) {
        return Failure::usage(format!("`{word}` is not a command here"))
            .next(hint)
            .report(json);
    }
    if let Some(failure) = negative(error) {
        return failure.report(json);
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

/// The failure of a word such as `-1` or `-1d` that is not an option: it was meant as the value of the one before it.
fn negative(error: &clap::Error) -> Option<Failure> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let digit = word.strip_prefix('-')?.bytes().next()?.is_ascii_digit();
    (error.kind() == ErrorKind::UnknownArgument && digit).then(|| {
        Failure::usage(format!("`{word}` is not an option"))
            .next(
                "write `--` before the first argument that begins with -, as in `ostrakon get -- TABLE -5`, and --OPTION=VALUE \
                 for such a value of an option; counts, sizes and spans of time are not negative",
            )
    })
}

/// The line of usage, which names the command in which the mistake is.
fn usage(error: &clap::Error) -> String {
    match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => usage.to_string(),
        _ => String::new(),
    }
}

/// What to do instead of a command that other programs have.
fn hint(word: &str, usage: &str) -> Option<&'static str> {
    let word = word.to_ascii_lowercase();
    match usage.contains("ostrakon events ") {
        true => hint_of_events(&word),
        false => hint_of_tables(&word),
    }
}

fn hint_of_events(word: &str) -> Option<&'static str> {
    Some(match word {
        "count" => "use `ostrakon events query TYPE EXPRESSION --count`",
        "read" | "scan" | "select" | "cat" | "find" | "search" | "get" => {
            "use `ostrakon events query TYPE EXPRESSION`"
        }
        "import" | "load" | "insert" | "put" | "add" => "use `ostrakon events ingest TYPE FILE`",
        "export" | "dump" => "use `ostrakon events query TYPE --json > FILE`",
        "rm" | "remove" | "del" | "truncate" => {
            "use `ostrakon events delete TYPE EXPRESSION` for events, or `ostrakon events drop TYPE` for a type"
        }
        "new" | "init" => "use `ostrakon events create TYPE --from FILE`",
        "alter" | "change" => "use `ostrakon events edit TYPE --schema FILE`",
        "types" | "ls" => "use `ostrakon events list`",
        "describe" | "info" => "use `ostrakon events show TYPE`",
        "verify" | "fsck" => "use `ostrakon events check TYPE`",
        "expire" | "ageoff" => "use `ostrakon events age-off TYPE`",
        _ => return None,
    })
}

fn hint_of_tables(word: &str) -> Option<&'static str> {
    Some(match word {
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
        "droptable" | "deletetable" => "use `ostrakon table delete TABLE`",
        "renametable" => "use `ostrakon table rename FROM TO`",
        "clonetable" => "use `ostrakon table clone FROM TO`",
        "offline" => "use `ostrakon table offline TABLE`",
        "online" => "use `ostrakon table online TABLE`",
        "merge" => "use `ostrakon table merge TABLE`",
        "deletemany" => "use `ostrakon delete-many TABLE`",
        "deleterows" => "use `ostrakon delete-rows TABLE`",
        "importdirectory" => "use `ostrakon table import-directory TABLE DIR`",
        "exporttable" | "importtable" => {
            "use `ostrakon export TABLE FILE` and `ostrakon import TABLE FILE --entries`"
        }
        "createnamespace" => "use `ostrakon namespace create NAME`",
        "deletenamespace" => "use `ostrakon namespace delete NAME`",
        "renamenamespace" => "use `ostrakon namespace rename FROM TO`",
        "namespaces" => "use `ostrakon namespace list`",
        "setiter" | "setscaniter" | "setshelliter" | "attachiter" | "deleteiter" | "listiter" => {
            "use `ostrakon table config set TABLE table.iterator.SCOPE.NAME=PRIORITY,CLASS`, where SCOPE is scan, minc or \
             majc; `ostrakon table config get TABLE iterator` shows the iterators, `ostrakon table config delete` removes \
             one, and `ostrakon scan --iterator` runs one for a single scan"
        }
        "constraint" => {
            "use `ostrakon table config set TABLE table.constraint.N=CLASS`; `ostrakon table config get TABLE constraint` \
             shows the constraints"
        }
        "flush" => "use `ostrakon table flush TABLE`",
        "compact" => "use `ostrakon table compact TABLE`",
        "rename" | "mv" => "use `ostrakon table rename FROM TO`",
        "clone" | "cp" | "copy" => "use `ostrakon table clone FROM TO`",
        "splits" | "getsplits" | "addsplits" | "add-splits" => {
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
