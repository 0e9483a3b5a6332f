//! What is said when the command line is wrong, or asks for help.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;

use crate::failure::Failure;

/// Shows help, version or the mistake; exit code 0 for the first two and 2 for the last. A mistake is
/// an object like any other failure where the command line asks for JSON.
pub(crate) fn refuse(error: &clap::Error) -> ExitCode {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    ) {
        // Nobody is left to be told when the terminal fails.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let json = asks_for_json(std::env::args_os().skip(1));
    // What clap says of bytes that are no text has no way out in it.
    if json || error.kind() == ErrorKind::InvalidUtf8 {
        return failure(error.kind(), &error.render().to_string()).report(json);
    }
    let _ = error.print();
    ExitCode::from(2)
}

/// Whether `--json` stands there: what could not be parsed has to be looked at word by word.
fn asks_for_json(arguments: impl Iterator<Item = OsString>) -> bool {
    arguments
        .take_while(|argument| argument != "--")
        // Options may be cut short; `--j` alone could be another.
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
        steps.push("write \\xNN for a byte that is no text".to_owned());
    }
    if steps.is_empty() {
        steps.push("--help behind the command explains it".to_owned());
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
    fn json_is_asked_for_by_an_option_and_by_nothing_else() {
        let asked = |line: &str| asks_for_json(line.split(' ').map(OsString::from));
        assert!(asked("scan t --json --limt 3") && asked("--js scan"));
        assert!(!asked("scan t --j") && !asked("put t -- --json") && !asked("scan json"));
    }
}
