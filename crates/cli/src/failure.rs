//! Errors of commands, for people and for programs: message, context, causes, next step, and the
//! exit code.

use std::error::Error as StdError;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use ostrakon_cell::{Error, ErrorKind};
use serde_json::json;

use crate::output::visible;

/// Whether warnings are objects of JSON.
static AS_JSON: AtomicBool = AtomicBool::new(false);

/// Prints warnings as objects of JSON from now on.
pub(crate) fn warn_as_json() {
    AS_JSON.store(true, Ordering::Relaxed);
}

/// Result of every command.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: Kind,
    message: String,
    context: Vec<(String, String)>,
    causes: Vec<String>,
    next: Option<String>,
    /// Whether an error of the operating system is among the causes.
    by_system: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The command line is wrong.
    Usage,
    /// The store returned an error.
    Store(ErrorKind),
    /// A file or stream outside the store failed.
    Io,
    /// The work was done and its outcome is bad (problems found, lines rejected).
    Outcome,
    /// Nothing failed that the command needs.
    Warning,
    /// The user pressed Ctrl-C, or the process got SIGTERM.
    Interrupted,
    /// The reader of our output has closed the pipe (`| head`). This is not reported as an error.
    ReaderGone,
}

impl Failure {
    fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            context: Vec::new(),
            causes: Vec::new(),
            next: None,
            by_system: false,
        }
    }

    /// The command line is wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// What the user should know, although the command goes on; see [`warn`](Self::warn).
    pub(crate) fn warning(message: impl Into<String>) -> Self {
        Self::new(Kind::Warning, message)
    }

    /// The work was done, and its outcome is one a script must notice.
    pub(crate) fn outcome(message: impl Into<String>) -> Self {
        Self::new(Kind::Outcome, message)
    }

    /// The program failed where it cannot fail.
    pub(crate) fn bug(message: impl Into<String>) -> Self {
        Self::outcome(message).next("this is a bug in ostrakon: please report it with this message")
    }

    /// The user stopped the work; `message` says what is kept.
    pub(crate) fn interrupted(message: impl Into<String>) -> Self {
        Self::new(Kind::Interrupted, message)
    }

    /// A file or stream outside the store failed.
    pub(crate) fn io(message: impl Into<String>, error: &io::Error) -> Self {
        let mut failure = Self::from_io(error);
        failure.causes.insert(0, failure.message.clone());
        failure.message = message.into();
        failure
    }

    fn from_io(error: &io::Error) -> Self {
        let kind = if error.kind() == io::ErrorKind::BrokenPipe {
            Kind::ReaderGone
        } else {
            Kind::Io
        };
        let mut failure = Self::new(kind, error.to_string());
        failure.next = io_step(error.kind()).map(str::to_owned);
        failure
    }

    /// Adds a pair of context.
    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.context.push((name.to_owned(), value.into()));
        self
    }

    /// Names the file that an I/O error is about; other errors keep their message.
    pub(crate) fn about_file(mut self, message: &str, file: &Path) -> Self {
        if matches!(self.kind, Kind::Io | Kind::ReaderGone) {
            self.kind = Kind::Io;
            message.clone_into(&mut self.message);
        }
        self.with("file", file.display().to_string())
    }

    /// Adds what to do about it.
    pub(crate) fn next(mut self, step: impl Into<String>) -> Self {
        self.next = Some(step.into());
        self
    }

    /// Adds what to do about it after what is to be done already.
    pub(crate) fn then_next(mut self, step: &str) -> Self {
        self.next = Some(match self.next {
            Some(first) => format!("{first}; then {step}"),
            None => step.to_owned(),
        });
        self
    }

    /// Whether the store returned this kind of error.
    pub(crate) fn is_kind(&self, kind: ErrorKind) -> bool {
        self.kind == Kind::Store(kind)
    }

    /// Whether the command line is wrong.
    pub(crate) fn is_usage(&self) -> bool {
        self.kind == Kind::Usage
    }

    /// Whether the user ended the command.
    pub(crate) fn is_interrupt(&self) -> bool {
        self.kind == Kind::Interrupted
    }

    /// Whether its context has this name with a value that `fits`.
    pub(crate) fn names(&self, name: &str, fits: impl Fn(&str) -> bool) -> bool {
        self.context
            .iter()
            .any(|(own, value)| own == name && fits(value))
    }

    /// What its context has under this name.
    pub(crate) fn named(&self, name: &str) -> Option<&str> {
        let found = self.context.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Whether the error is about a table file of the store, not about a file that the user named.
    fn is_of_table_file(&self) -> bool {
        self.named("file")
            .is_some_and(|file| is_table_file(Path::new(file)))
    }

    /// Whether the error is about a segment of a store's log.
    fn is_of_log(&self) -> bool {
        self.named("file")
            .is_some_and(|file| is_log_file(Path::new(file)))
    }

    /// Whether it suggests a similar name.
    pub(crate) fn suggests(&self) -> bool {
        self.suggestion().is_some()
    }

    /// The question about a similar name, if it has one.
    pub(crate) fn suggestion(&self) -> Option<&str> {
        let next = self.next.as_deref();
        next.filter(|step| step.starts_with("did you mean"))
    }

    /// The message alone.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// 2 if the arguments are wrong; 1 if the same command could succeed on another store, or at another
    /// time. Names that the program knows (properties, classes) belong to the first kind; names that
    /// a store holds (tables) belong to the second.
    fn exit_code(&self) -> u8 {
        match self.kind {
            Kind::ReaderGone => 0,
            Kind::Store(ErrorKind::InvalidArgument | ErrorKind::Unsupported)
                if self.is_of_state() =>
            {
                1
            }
            Kind::Usage
            | Kind::Store(
                ErrorKind::InvalidArgument | ErrorKind::Unsupported | ErrorKind::ClassNotFound,
            ) => 2,
            Kind::Store(ErrorKind::NotFound) if self.named("property").is_some() => 2,
            Kind::Store(_) | Kind::Io | Kind::Outcome | Kind::Warning => 1,
            // `main` has the number of the signal.
            Kind::Interrupted => 130,
        }
    }

    /// Whether a store or a directory is not in the state that the command needs, so that the same
    /// command could succeed on another one.
    fn is_of_state(&self) -> bool {
        ["data", "directory"]
            .iter()
            .any(|name| self.named(name).is_some())
            // Such as a directory in the place of a file.
            || self.by_system
            || self.is_of_log()
            || self.is_of_table_file()
            || (self.is_kind(ErrorKind::Unsupported) && self.named("table").is_some())
    }

    fn kind_name(&self) -> &'static str {
        match self.kind {
            Kind::Usage => "usage",
            // Only a signal cancels what a command does.
            Kind::Store(ErrorKind::Cancelled) => "interrupted",
            Kind::Store(kind) => kind.as_str(),
            Kind::Io => "i/o failure",
            Kind::Outcome => "outcome",
            Kind::Warning => "warning",
            Kind::Interrupted => "interrupted",
            Kind::ReaderGone => "reader gone",
        }
    }

    /// The text for people, several lines. What it quotes may come from a file, so characters that a
    /// terminal would obey are escaped.
    pub(crate) fn to_text(&self, head: &str) -> String {
        let mut text = format!("{head}: {}", self.message);
        for (name, value) in &self.context {
            // Only says that other data might not have failed; for the exit code.
            if name != "data" {
                let _ = write!(text, "\n  {name}: {value}");
            }
        }
        for cause in &self.causes {
            let _ = write!(text, "\n  caused by: {cause}");
        }
        if let Some(next) = &self.next {
            let _ = write!(text, "\n  next: {next}");
        }
        let lines: Vec<_> = text.split('\n').map(visible).collect();
        lines.join("\n") + "\n"
    }

    fn to_json(&self, head: &str) -> String {
        let mut context = serde_json::Map::new();
        for (name, value) in &self.context {
            // The file of an export and the file that it cannot read, for example.
            let mut name = name.clone();
            while context.contains_key(&name) {
                name.push_str(" 2");
            }
            context.insert(name, json!(value));
        }
        let object = json!({head: {
            "kind": self.kind_name(),
            "message": self.message,
            "context": context,
            "causes": self.causes,
            "next": self.next,
        }});
        format!("{object}\n")
    }

    /// Prints the failure to stderr, and returns the exit code.
    pub(crate) fn report(&self, json: bool) -> ExitCode {
        if self.kind != Kind::ReaderGone {
            self.print("error", json);
        }
        ExitCode::from(self.exit_code())
    }

    /// Prints it to stderr, before the process ends with a code of its own.
    pub(crate) fn report_at_once(&self) {
        self.print("error", AS_JSON.load(Ordering::Relaxed));
    }

    /// Prints to stderr, as a warning, what a command goes on after.
    pub(crate) fn warn(&self) {
        self.print("warning", AS_JSON.load(Ordering::Relaxed));
    }

    fn print(&self, head: &str, json: bool) {
        let text = match json {
            true => self.to_json(head),
            false => self.to_text(head),
        };
        // If stderr fails, there is no other place to report it.
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

/// What to do about an error of a file or stream outside the store.
fn io_step(kind: io::ErrorKind) -> Option<&'static str> {
    Some(match kind {
        io::ErrorKind::NotFound => "check the name of the file",
        io::ErrorKind::PermissionDenied => "change the owner or the permissions of the file",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free disk space, and run the command again"
        }
        io::ErrorKind::IsADirectory => "name a file, not a directory",
        io::ErrorKind::ReadOnlyFilesystem => "write to another directory",
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => {
            "check that the file is complete, for example with `gzip -t` or `zstd -t` if it is compressed"
        }
        _ => return None,
    })
}

/// What to do about an error of the store, whose message says only what happened.
fn next_step(kind: ErrorKind, failure: &Failure) -> Option<&'static str> {
    let of_file = failure.named("file").is_some();
    Some(match kind {
        ErrorKind::Corruption if failure.is_of_table_file() => {
            "run `ostrakon check` to list every damaged file, and `ostrakon table restore-file` to restore one from a \
             checkpoint; everything else is still readable, and `ostrakon export TABLE FILE --skip-damaged` exports it"
        }
        ErrorKind::Corruption if failure.is_of_log() => {
            "export what can be read with `ostrakon --allow-damage export TABLE FILE`, use a checkpoint, or run \
             `ostrakon repair-log` to continue without what is lost"
        }
        ErrorKind::Corruption if failure.named("unknown batches").is_some() => {
            "run `ostrakon events repair TYPE` with authorizations for all labels"
        }
        // The message says all: nothing of the store can be read.
        ErrorKind::Corruption if failure.named("holds").is_some() => return None,
        ErrorKind::Corruption => {
            "run `ostrakon check` to list every damaged file; everything else is still readable"
        }
        ErrorKind::NotFound if failure.is_of_table_file() => {
            "run `ostrakon table restore-file` to restore the file from a checkpoint, and `ostrakon check` to list \
             every missing file; everything else is still readable, and `ostrakon export TABLE FILE --skip-damaged` \
             exports it"
        }
        ErrorKind::InvalidArgument if failure.named("option") == Some("ttl") => {
            "write the age in milliseconds: 86400000 is a day"
        }
        ErrorKind::InvalidArgument
            if failure.named("data") == Some("rows")
                && failure.message.contains("needs more memory") =>
        {
            "run it with a larger `--memory`, of which a query gets one half"
        }
        ErrorKind::NotFound if of_file => "check the name of the file",
        ErrorKind::NotFound | ErrorKind::AlreadyExists
            if failure.named("missing table").is_some() =>
        {
            "run `ostrakon events drop TYPE` to complete the deletion"
        }
        ErrorKind::NotFound
            if failure.named("type").is_some() && failure.named("table").is_some() =>
        {
            "run `ostrakon events create TYPE --schema FILE --adopt` to keep the events, or `ostrakon events drop TYPE` \
             to delete the tables"
        }
        ErrorKind::NotFound if failure.named("type").is_some() => {
            "run `ostrakon events list` to see the event types, or `ostrakon events create` to create one"
        }
        ErrorKind::AlreadyExists
            if failure.named("type").is_some() && failure.named("table").is_some() =>
        {
            "run `ostrakon events create TYPE --schema FILE --adopt` to keep the events, `ostrakon events drop TYPE` to \
             delete the tables, or choose another name"
        }
        ErrorKind::AlreadyExists if failure.named("type").is_some() => {
            "use it with `ostrakon events ingest TYPE FILE` and `ostrakon events query TYPE`, change it with `ostrakon \
             events edit`, or choose another name"
        }
        ErrorKind::AlreadyExists if failure.named("directory").is_some() => {
            "choose a directory that does not exist yet, or empty this one"
        }
        ErrorKind::AlreadyExists if failure.named("namespace").is_some() => {
            "choose another name, or run `ostrakon namespace list` to see the namespaces"
        }
        ErrorKind::AlreadyExists => {
            "choose another name, or run `ostrakon table list` to see the tables"
        }
        ErrorKind::NotEmpty => {
            "delete the tables of the namespace first; `ostrakon table clone` copies a table into another namespace"
        }
        ErrorKind::ConstraintViolation => {
            "run `ostrakon table config get TABLE constraint` to see the constraints of the table"
        }
        ErrorKind::TableNotFound => "run `ostrakon table list` to see the tables",
        ErrorKind::NamespaceNotFound => {
            "run `ostrakon namespace list` to see the namespaces, or `ostrakon namespace create` to create one"
        }
        ErrorKind::Offline => "run `ostrakon table online TABLE`",
        ErrorKind::TooManyFiles => "run `ostrakon table status` to see the cause and what to do",
        ErrorKind::Unavailable if failure.named("cause").is_some() => {
            "run `ostrakon table status` to see the cause and what to do"
        }
        ErrorKind::TimedOut => "allow more time with --timeout, or request less",
        ErrorKind::PermissionDenied if of_file => "change the owner or the permissions of the file",
        ErrorKind::Io if of_file => "check the disk, and look for its errors in the system log",
        ErrorKind::Io if failure.named("thread").is_some() => {
            "raise the limit on processes (`ulimit -u`), or free memory"
        }
        ErrorKind::OutOfSpace => {
            "free disk space, and run the command again; a command that writes many entries may have stored some of them"
        }
        ErrorKind::TooManyOpenFiles => {
            "raise the limit (`ulimit -n`), and run the command again; no data is damaged"
        }
        ErrorKind::Locked => {
            "wait with --wait SECONDS until it is closed there; a program that uses the library can make a checkpoint to read"
        }
        ErrorKind::ReadOnly => {
            "free disk space if the disk is full, make sure that the directory is writable and that the disk works, and run \
             the command again"
        }
        ErrorKind::NewerFormat => {
            "use the version of ostrakon that wrote the store, or a newer one"
        }
        ErrorKind::Internal => "this is a bug in ostrakon: please report it with this message",
        _ => return None,
    })
}

/// The name that is most similar to `wanted`, if one is similar enough.
pub(crate) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const ALIKE: f64 = 0.75;
    let wanted = wanted.to_lowercase();
    names
        .map(|name| (strsim::jaro_winkler(&wanted, &name.to_lowercase()), name))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let mut failure = Self::new(Kind::Store(error.kind()), error.message());
        let (mut similar, mut hint) = (None, None);
        for (name, value) in error.context() {
            match *name {
                "similar" => similar = Some(format!("did you mean `{value}`?")),
                "hint" => hint = Some(value.clone()),
                name => failure.context.push((name.to_owned(), value.clone())),
            }
        }
        let mut cause = StdError::source(&error);
        while let Some(inner) = cause {
            failure.causes.push(inner.to_string());
            cause = inner.source();
        }
        let system = system_error(&error);
        failure.by_system = system.is_some();
        let by_system = system.filter(|_| error.kind() == ErrorKind::Io);
        let by_kind = by_system
            .and_then(io_step)
            .or_else(|| next_step(error.kind(), &failure));
        failure.next = match (failure.named("type"), by_kind) {
            _ if similar.is_some() => similar,
            // The commands for a type, where a hint is for every program.
            (Some(name), Some(step)) => Some(step.replace("TYPE", name)),
            (_, step) => hint.or(step.map(str::to_owned)),
        };
        failure
    }
}

/// The kind of the system's error among the causes, if there is one.
fn system_error(error: &Error) -> Option<io::ErrorKind> {
    let mut cause = StdError::source(error);
    while let Some(inner) = cause {
        if let Some(error) = inner.downcast_ref::<io::Error>() {
            return Some(error.kind());
        }
        cause = inner.source();
    }
    None
}

/// An I/O error without a message comes from our own output; all others name their file.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::io("cannot write to stdout", &error)
    }
}

/// Whether a path is that of a segment of a store's log.
pub(crate) fn is_log_file(path: &Path) -> bool {
    path.parent().and_then(Path::file_name) == Some("wal".as_ref())
}

/// Whether a path is that of a file of entries in a store's directory.
pub(crate) fn is_table_file(path: &Path) -> bool {
    let folder = path.parent().and_then(Path::file_name);
    folder == Some("files".as_ref()) && path.extension() == Some("sorted".as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_tells_a_wrong_command_line_from_failed_work() {
        let of = |kind| Failure::from(Error::new(kind, "x")).exit_code();
        for kind in ErrorKind::ALL {
            let is_usage = matches!(
                kind,
                ErrorKind::InvalidArgument | ErrorKind::Unsupported | ErrorKind::ClassNotFound
            );
            assert_eq!(of(kind), if is_usage { 2 } else { 1 }, "{}", kind.as_str());
        }
        let unknown = Error::not_found("x").with("property", "y");
        assert_eq!(Failure::from(unknown).exit_code(), 2);
        let data = Error::invalid("x").with("data", "a value");
        assert_eq!(Failure::from(data).exit_code(), 1);
        for name in ["data", "directory"] {
            let state = Error::invalid("x").with(name, "y");
            assert_eq!(Failure::from(state).exit_code(), 1, "{name}");
        }
        let scan = Error::new(ErrorKind::Unsupported, "x").with("table", "y");
        assert_eq!(Failure::from(scan).exit_code(), 1);
        let file = Error::not_found("x").with("file", "y");
        assert_eq!(Failure::from(file).exit_code(), 1);
        assert_eq!(Failure::usage("x").exit_code(), 2);
        assert_eq!(Failure::outcome("x").exit_code(), 1);
        assert_eq!(Failure::interrupted("x").exit_code(), 130);
        let full = io::Error::from(io::ErrorKind::StorageFull);
        assert_eq!(Failure::io("cannot write", &full).exit_code(), 1);
        let gone = io::Error::from(io::ErrorKind::BrokenPipe);
        assert_eq!(Failure::io("cannot write", &gone).exit_code(), 0);
    }

    #[test]
    fn advice_stands_in_next_alone() {
        let cases = [
            (
                Error::not_found("gone").with("file", "/s/files/0000000000000012.sorted"),
                "restore-file",
            ),
            (
                Error::corruption("rot").with("file", "/s/files/0000000000000012.sorted"),
                "restore-file",
            ),
            (
                Error::corruption("rot").with("file", "/s/wal/1"),
                "--allow-damage",
            ),
            (Error::corruption("rot").with("file", "/s/catalog"), "check"),
            (
                Error::invalid("the query needs more memory than it may use").with("data", "rows"),
                "--memory",
            ),
            (Error::no_table("none").with("similar", "tt"), "`tt`"),
            (Error::no_table("none"), "table list"),
            (
                Error::new(ErrorKind::Unavailable, "full").with("cause", "i/o failure"),
                "table status",
            ),
            (
                Error::new(ErrorKind::Io, "x").with("file", "/s/a"),
                "system log",
            ),
            (
                Error::new(ErrorKind::Io, "x")
                    .with("file", "/home/me/records")
                    .with_source(io::Error::from(io::ErrorKind::NotFound)),
                "check the name",
            ),
            (
                Error::new(ErrorKind::Io, "x").with("thread", "scan-1"),
                "ulimit -u",
            ),
            (Error::invalid("x").with("hint", "remove it"), "remove it"),
            (
                Error::new(ErrorKind::Io, "x")
                    .with("file", "/s/LOCK")
                    .with("hint", "remove it"),
                "remove it",
            ),
            (
                Error::not_found("x")
                    .with("type", "web")
                    .with("missing table", "events.web")
                    .with("hint", "another command"),
                "`ostrakon events drop web`",
            ),
        ];
        for (error, step) in cases {
            let failure = Failure::from(error);
            let next = failure.next.as_deref().unwrap_or_default();
            assert!(next.contains(step), "{next}");
            assert_eq!(
                (failure.named("similar"), failure.named("hint")),
                (None, None)
            );
            assert!(!next.contains("another command"), "{next}");
            assert_eq!(failure.to_text("error").matches(step).count(), 1, "{step}");
        }
        // A file that the user named is not in a checkpoint.
        let given = Error::not_found("no such file").with("file", "/home/me/a.sorted");
        let next = Failure::from(given).next.unwrap_or_default();
        assert_eq!(next, "check the name of the file");
    }

    /// Kinds whose messages always say what to change.
    const PLAIN: [ErrorKind; 13] = [
        ErrorKind::InvalidArgument,
        ErrorKind::NotFound,
        ErrorKind::ClassNotFound,
        ErrorKind::ConcurrentModification,
        ErrorKind::PermissionDenied,
        ErrorKind::BadAuthorizations,
        ErrorKind::BadCredentials,
        ErrorKind::Io,
        ErrorKind::SampleNotPresent,
        ErrorKind::Unsupported,
        ErrorKind::Closed,
        ErrorKind::Cancelled,
        ErrorKind::Unavailable,
    ];

    #[test]
    fn every_kind_has_a_next_step_or_needs_none() {
        for kind in ErrorKind::ALL {
            let has = Failure::from(Error::new(kind, "x")).next.is_some();
            assert_eq!(has, !PLAIN.contains(&kind), "{}", kind.as_str());
        }
    }

    #[test]
    fn a_failure_names_context_cause_and_next_step() {
        let error = Error::corruption("a block does not match its checksum")
            .with("file", "s/catalog")
            .with_source(io::Error::other("inner"));
        let failure = Failure::from(error).with("file", "copy");
        assert_eq!(
            failure.to_text("error"),
            "error: a block does not match its checksum\n  file: s/catalog\n  file: copy\n  caused by: inner\n  \
             next: run `ostrakon check` to list every damaged file; everything else is still readable\n"
        );
        let quoting = Failure::usage("no field `\u{1b}[31m\u{9b}`\nsecond line").to_text("error");
        assert_eq!(
            quoting,
            "error: no field `\\x1b[31m\\xc2\\x9b`\nsecond line\n"
        );
        let json: serde_json::Value =
            serde_json::from_str(&failure.to_json("error")).expect("json");
        assert_eq!(json["error"]["kind"], "corruption");
        assert_eq!(json["error"]["context"]["file"], "s/catalog");
        assert_eq!(json["error"]["context"]["file 2"], "copy");
    }
}
