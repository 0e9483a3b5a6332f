//! Commands of the prompt itself, which begin with a backslash.

use clap::ValueEnum as _;

use crate::args::SqlFormat;
use crate::failure::{Failure, Result};

/// The names of shortcuts, for completion.
pub(super) const NAMES: [&str; 5] = ["\\?", "\\d", "\\f", "\\q", "\\timing"];

/// A command of the prompt.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shortcut {
    Help,
    List,
    Describe(String),
    Format(SqlFormat),
    Timing,
    Quit,
}

impl Shortcut {
    /// The shortcut in a text, or `None` if the text is SQL.
    pub(super) fn parse(text: &str) -> Option<Result<Self>> {
        // What people type in other prompts.
        match text.trim_end_matches(';').trim().to_lowercase().as_str() {
            "exit" | "quit" => return Some(Ok(Self::Quit)),
            "help" => return Some(Ok(Self::Help)),
            _ => {}
        }
        if !text.starts_with('\\') {
            return None;
        }
        let text = text.trim_end_matches(';').trim();
        let (name, argument) = match text.split_once(char::is_whitespace) {
            Some((name, argument)) => (name, argument.trim()),
            None => (text, ""),
        };
        Some(match (name, argument) {
            ("\\?" | "\\h" | "\\help", _) => Ok(Self::Help),
            ("\\q" | "\\quit", _) => Ok(Self::Quit),
            ("\\d" | "\\dt", "") => Ok(Self::List),
            ("\\d", relation) => Ok(Self::Describe(relation.to_owned())),
            ("\\f", format) => match SqlFormat::from_str(format, true) {
                Ok(format) if !format.is_binary() => Ok(Self::Format(format)),
                _ => Err(Failure::usage("there is no such format")
                    .with("format", format)
                    .next("use \\f table, \\f csv or \\f json")),
            },
            ("\\timing", _) => Ok(Self::Timing),
            _ => Err(Failure::usage("there is no such command of the prompt")
                .with("command", name)
                .next("\\? lists them")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortcuts_are_told_from_statements() {
        let parsed = |text| Shortcut::parse(text).map(Result::ok);
        assert_eq!(parsed("SELECT 1;"), None);
        assert_eq!(parsed("\\q"), Some(Some(Shortcut::Quit)));
        assert_eq!(parsed("EXIT;"), Some(Some(Shortcut::Quit)));
        assert_eq!(parsed("help"), Some(Some(Shortcut::Help)));
        assert_eq!(parsed("\\d"), Some(Some(Shortcut::List)));
        assert_eq!(
            parsed("\\d  events.web;"),
            Some(Some(Shortcut::Describe("events.web".to_owned())))
        );
        assert_eq!(
            parsed("\\f JSON"),
            Some(Some(Shortcut::Format(SqlFormat::Json)))
        );
        assert_eq!(parsed("\\f parquet"), Some(None));
        assert_eq!(parsed("\\x"), Some(None));
    }
}
