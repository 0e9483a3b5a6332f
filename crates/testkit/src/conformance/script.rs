//! Scripts: operations, each a line with the indented lines below it.

use std::fmt;

use super::bytes;

/// What is wrong with a script, for its author.
pub(super) type Parsed<T> = Result<T, String>;

/// One line: a verb, words that stand by position, and options `name=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// The line's number, from 1 on.
    pub line: usize,
    /// The first word.
    pub verb: String,
    positional: Vec<String>,
    options: Vec<(String, String)>,
}

impl Words {
    fn parse(line: usize, text: &str) -> Self {
        let mut words = text.split(' ').filter(|word| !word.is_empty());
        let verb = words.next().unwrap_or_default().to_owned();
        let (mut positional, mut options) = (Vec::new(), Vec::new());
        for word in words {
            match word.split_once('=') {
                Some((name, value)) if !name.is_empty() => {
                    options.push((name.to_owned(), value.to_owned()));
                }
                _ => positional.push(word.to_owned()),
            }
        }
        Self {
            line,
            verb,
            positional,
            options,
        }
    }

    /// How many words stand by position.
    #[must_use]
    pub fn count(&self) -> usize {
        self.positional.len()
    }

    /// The word at a position as it stands.
    ///
    /// # Errors
    /// There are fewer.
    pub fn word(&self, at: usize) -> Parsed<&str> {
        self.positional
            .get(at)
            .map(String::as_str)
            .ok_or_else(|| format!("line {}: {} takes more words", self.line, self.verb))
    }

    /// The bytes of the word at a position.
    ///
    /// # Errors
    /// There are fewer, or it is not a word.
    pub fn bytes(&self, at: usize) -> Parsed<Vec<u8>> {
        bytes::parse(self.word(at)?)
    }

    /// As [`bytes`](Self::bytes), as text.
    ///
    /// # Errors
    /// Also when the bytes are not UTF-8.
    pub fn text(&self, at: usize) -> Parsed<String> {
        text(self.word(at)?)
    }

    /// An option as it stands.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&str> {
        let mut options = self.options.iter();
        let (_, value) = options.find(|(known, _)| known == name)?;
        Some(value)
    }

    /// The values of an option that may stand several times.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.options
            .iter()
            .filter(move |(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The bytes of an option.
    ///
    /// # Errors
    /// It is not a word.
    pub fn option_bytes(&self, name: &str) -> Parsed<Option<Vec<u8>>> {
        self.option(name).map(bytes::parse).transpose()
    }

    /// The number of an option.
    ///
    /// # Errors
    /// It is not a number.
    pub fn option_number(&self, name: &str) -> Parsed<Option<i64>> {
        let number = |text: &str| {
            text.parse()
                .map_err(|_| format!("line {}: {name} takes a number", self.line))
        };
        self.option(name).map(number).transpose()
    }

    /// Whether an option is `yes`.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        self.option(name) == Some("yes")
    }

    /// Every option as text, in order.
    ///
    /// # Errors
    /// One is not a word, or not UTF-8.
    pub fn texts(&self) -> Parsed<Vec<(String, String)>> {
        self.options
            .iter()
            .map(|(name, value)| Ok((text(name)?, text(value)?)))
            .collect()
    }

    pub(super) fn unknown(&self, below: &str) -> String {
        format!("line {}: {below} has no {}", self.line, self.verb)
    }
}

fn text(word: &str) -> Parsed<String> {
    String::from_utf8(bytes::parse(word)?).map_err(|_| format!("{word} is not UTF-8"))
}

/// One operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Its first line.
    pub head: Words,
    /// The indented lines.
    pub details: Vec<Words>,
}

/// A script with its name: a file, or a seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// What failures call it; without spaces at its ends.
    pub name: String,
    lines: Vec<String>,
}

/// The comment that says that the script's answers depend on which flushes and compactions ran.
pub(super) const EXPLICIT: &str = "# compactions: explicit";

impl Script {
    /// A script of these lines.
    pub fn new(name: impl Into<String>, lines: Vec<String>) -> Self {
        Self {
            name: name.into(),
            lines,
        }
    }

    /// A script of the lines of a text.
    pub fn of(name: impl Into<String>, text: &str) -> Self {
        Self::new(name, text.lines().map(str::to_owned).collect())
    }

    /// The lines as they stand.
    #[must_use]
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Whether only those flushes and compactions may run that the script names. Scripts say so with the
    /// comment `# compactions: explicit`.
    #[must_use]
    pub fn explicit_compactions(&self) -> bool {
        self.lines.iter().any(|line| line == EXPLICIT)
    }

    /// The text after `# KEY: `, if the script has such a comment.
    #[must_use]
    pub fn note(&self, key: &str) -> Option<&str> {
        let note = |line: &'_ str| -> Option<(usize, usize)> {
            let rest = line
                .strip_prefix("# ")?
                .strip_prefix(key)?
                .strip_prefix(": ")?;
            Some((line.len() - rest.len(), line.len()))
        };
        self.lines
            .iter()
            .find_map(|line| note(line).and_then(|(from, to)| line.get(from..to)))
    }

    /// The operations. Blank lines and those that begin with `#` mean nothing.
    ///
    /// # Errors
    /// An indented line without an operation above it.
    pub fn operations(&self) -> Parsed<Vec<Operation>> {
        let mut operations: Vec<Operation> = Vec::new();
        for (at, line) in self.lines.iter().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let words = Words::parse(at + 1, line);
            if !line.starts_with(' ') {
                operations.push(Operation {
                    head: words,
                    details: Vec::new(),
                });
            } else if let Some(last) = operations.last_mut() {
                last.details.push(words);
            } else {
                return Err(format!(
                    "line {}: an indented line belongs to an operation",
                    at + 1
                ));
            }
        }
        Ok(operations)
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, line) in self.lines.iter().enumerate() {
            writeln!(f, "{:4}  {line}", at + 1)?;
        }
        Ok(())
    }
}
