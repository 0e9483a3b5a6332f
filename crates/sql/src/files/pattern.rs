//! The files that a name in a query stands for.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf, absolute};

use glob::{GlobError, MatchOptions};
use ostrakon_cell::{Error, ErrorKind, Result};

/// A `*` stays within a directory.
const MATCH: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    // The library panics at names that are not UTF-8.
    require_literal_leading_dot: false,
};

/// A file, with an absolute path.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
}

/// The file of this name, or the files of this pattern in the order of their names. Only the directories that the pattern
/// itself names are read, so that what lies beside and below them cannot fail.
///
/// # Errors
/// No file; a directory; a file or directory that cannot be looked at; a malformed pattern.
pub(super) fn found(name: &str) -> Result<Vec<Found>> {
    let is_pattern = name.contains(['*', '?', '[']);
    // A name may have the characters of a pattern.
    if !is_pattern || Path::new(name).is_file() {
        return Ok(vec![file(Path::new(name))?.ok_or_else(|| {
            Error::new(
                ErrorKind::NotFound,
                "the name is that of a directory: name the files in it, such as 'logs/*.csv'",
            )
            .with("file", name)
        })?]);
    }
    // Through links, it could come to the same files again and again.
    if name.contains("**") {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "** is not supported: write a * for each directory, as in 'logs/*/*.csv'",
        )
        .with("file", name));
    }
    let malformed = |error| {
        Error::invalid("the pattern is malformed: [ needs a ]")
            .with("file", name)
            .with_source(error)
    };
    let mut files = Vec::new();
    let mut known = HashSet::new();
    for entry in glob::glob_with(name, MATCH).map_err(malformed)? {
        let path = entry.map_err(|error: GlobError| {
            let path = error.path().to_owned();
            unreadable(&path, error.into())
        })?;
        if is_hidden(Path::new(name), &path) {
            continue;
        }
        // Through `..`, a pattern may lead to one file twice.
        if let Some(file) = file(&path)?
            && known.insert(file.path.clone())
        {
            files.push(file);
        }
    }
    if files.is_empty() {
        return Err(
            Error::new(ErrorKind::NotFound, "no file matches the pattern").with("file", name),
        );
    }
    Ok(files)
}

/// Whether a name of a path begins with a dot that the pattern does not have, as in a shell.
fn is_hidden(pattern: &Path, path: &Path) -> bool {
    let has_dot = |name: &OsStr| name.as_encoded_bytes().starts_with(b".");
    // Both have the same number of names.
    let (patterns, names) = (pattern.iter().rev(), path.iter().rev());
    patterns
        .zip(names)
        .any(|(pattern, name)| has_dot(name) && !has_dot(pattern))
}

/// A path without `..`, which the engine does not take. It leads through links as the path does.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    let path = absolute(path)?;
    if !path.components().any(|part| part == Component::ParentDir) {
        return Ok(path);
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok(fs::canonicalize(parent)?.join(name)),
        _ => fs::canonicalize(path),
    }
}

/// A file; `None` if it is a directory.
fn file(path: &Path) -> Result<Option<Found>> {
    let metadata = fs::metadata(path).map_err(|error| unreadable(path, error))?;
    if metadata.is_dir() {
        return Ok(None);
    }
    if !metadata.is_file() || is_generated(path, &metadata) {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "the name is not that of a regular file, and a query may read its files more than once: write the content of a \
             pipe or device to a file first",
        )
        .with("file", path.display()));
    }
    Ok(Some(Found {
        path: resolved(path).map_err(|error| unreadable(path, error))?,
        bytes: metadata.len(),
    }))
}

/// Whether a file has content without having a size, as those of the kernel in `/proc`.
fn is_generated(path: &Path, metadata: &fs::Metadata) -> bool {
    let has_content = || fs::File::open(path).and_then(|mut file| file.read(&mut [0]));
    metadata.len() == 0 && has_content().is_ok_and(|read| read > 0)
}

pub(super) fn unreadable(path: &Path, error: io::Error) -> Error {
    let is_link = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
    let (kind, message) = match error.kind() {
        io::ErrorKind::PermissionDenied => (ErrorKind::PermissionDenied, "the file cannot be read"),
        _ if is_link => (
            ErrorKind::NotFound,
            "the file is a link that does not lead to a file",
        ),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            (ErrorKind::NotFound, "the file cannot be read")
        }
        _ => (ErrorKind::Io, "the file cannot be read"),
    };
    Error::new(kind, message)
        .with("file", path.display())
        .with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(pattern: &str) -> Result<Vec<String>> {
        let name = |found: Found| {
            found
                .path
                .file_name()
                .unwrap()
                .to_string_lossy()
                .into_owned()
        };
        Ok(found(pattern)?.into_iter().map(name).collect())
    }

    #[test]
    fn a_pattern_stands_for_the_files_that_a_shell_would_find() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| format!("{}/{name}", folder.path().display());
        for below in ["deep/er", "d.csv", "a=1"] {
            fs::create_dir_all(at(below)).unwrap();
        }
        for name in [
            "b.csv",
            "a.csv",
            ".h.csv",
            "deep/c.csv",
            "deep/er/e.csv",
            "a=1/p.csv",
            "x[1].csv",
        ] {
            fs::write(at(name), "n\n1\n").unwrap();
        }
        for (pattern, expected) in [
            ("[ab].csv", vec!["a.csv", "b.csv"]),
            ("?.csv", vec!["a.csv", "b.csv"]),
            ("deep/*.csv", vec!["c.csv"]),
            ("*/*.csv", vec!["p.csv", "c.csv"]),
            ("a=*/*.csv", vec!["p.csv"]),
            ("deep/er/../../?.csv", vec!["a.csv", "b.csv"]),
            ("deep/../b.csv", vec!["b.csv"]),
            ("x[1].csv", vec!["x[1].csv"]),
            (".*.csv", vec![".h.csv"]),
        ] {
            assert_eq!(names(&at(pattern)).unwrap(), expected, "{pattern}");
        }
        for missing in ["*.tsv", "none.csv", "none/*.csv", "a.csv/b.csv"] {
            let error = names(&at(missing)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound, "{missing}: {error}");
        }
        let error = names(&at("d.csv")).unwrap_err().to_string();
        assert!(error.contains("name the files in it"), "{error}");
        assert_eq!(
            names(&at("x[")).unwrap_err().kind(),
            ErrorKind::InvalidArgument
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_not_a_regular_file_is_refused() {
        for name in ["/dev/zero", "/dev/null", "/proc/self/environ"] {
            let error = found(name).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{name}: {error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn names_that_are_not_text_match_nothing() {
        use std::os::unix::ffi::OsStrExt;

        let folder = tempfile::tempdir().unwrap();
        let odd = OsStr::from_bytes(b"b\xff.csv");
        // Not every file system has such names.
        if fs::write(folder.path().join(odd), "n\n1\n").is_ok() {
            fs::write(folder.path().join("b.csv"), "n\n1\n").unwrap();
            let pattern = format!("{}/b*.csv", folder.path().display());
            assert_eq!(names(&pattern).unwrap(), ["b.csv"]);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_itself_stops_only_the_patterns_that_name_it() {
        use std::os::unix::fs::symlink;

        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| format!("{}/{name}", folder.path().display());
        fs::write(at("a.csv"), "n\n1\n").unwrap();
        symlink("loop", at("loop")).unwrap();
        symlink("loop.tsv", at("loop.tsv")).unwrap();
        symlink("nowhere", at("gone.tsv")).unwrap();
        assert_eq!(names(&at("*.csv")).unwrap(), ["a.csv"]);
        for name in ["*.tsv", "loop.tsv", "gone.tsv"] {
            let error = names(&at(name)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound, "{name}: {error}");
            assert!(error.to_string().contains("a link"), "{name}: {error}");
        }
    }
}
