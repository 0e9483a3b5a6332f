//! Runs the program on a temporary store.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// The lines of stdout as JSON.
    pub(crate) fn json(&self) -> Vec<serde_json::Value> {
        self.out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// Imports lines of CSV from stdin into the table `t`; the first field is the row.
pub(crate) const IMPORT_CSV: &[&str] = &[
    "import",
    "t",
    "-",
    "--format",
    "csv",
    "--no-header",
    "--row",
    "1",
];

/// A folder with a store in it.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A folder whose store has the table `t`.
    pub(crate) fn with_table() -> Self {
        let folder = Self::new();
        folder.ok(&["table", "create", "t"]);
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        std::fs::write(self.path(name), content).unwrap();
        self.text(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The program with its store set, and without the caller's environment.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program();
        command.env("OSTRAKON_DATA", self.path("store"));
        command.current_dir(self.0.path());
        command.args(arguments);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, b"")
    }

    pub(crate) fn run_with(&self, arguments: &[&str], input: &[u8]) -> Ran {
        finish(self.command(arguments), input)
    }

    /// Stdout of a run that must succeed with empty stderr.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(
            (ran.code, ran.err.as_str()),
            (0, ""),
            "{arguments:?} {}",
            ran.out
        );
        ran.out
    }

    /// Runs [`IMPORT_CSV`], which must succeed.
    pub(crate) fn import_csv(&self, lines: &str) {
        let ran = self.run_with(IMPORT_CSV, lines.as_bytes());
        assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
    }

    /// Stderr of a run that must end with `code`.
    pub(crate) fn fails(&self, code: i32, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.code, code, "{arguments:?} {} {}", ran.out, ran.err);
        ran.err
    }
}

pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ostrakon"));
    for name in ["OSTRAKON_DATA", "OSTRAKON_MEMORY", "OSTRAKON_LOG"] {
        command.env_remove(name);
    }
    // Small, so that many tests can run at once.
    command.env("OSTRAKON_MEMORY", "64M");
    command
}

pub(crate) fn finish(mut command: Command, input: &[u8]) -> Ran {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Inputs of tests fit in a pipe. A program may end without reading its input.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A file of real data, which is not in the repository. Its tests run only on request, by
/// `OSTRAKON_TEST_DATA=FOLDER cargo test -p ostrakon-cli -- --ignored`.
pub(crate) fn real_data(file: &str) -> PathBuf {
    let folder = std::env::var_os("OSTRAKON_TEST_DATA").expect("OSTRAKON_TEST_DATA names a folder");
    let path = Path::new(&folder).join(file);
    assert!(path.exists(), "OSTRAKON_TEST_DATA has no {file}");
    path
}
