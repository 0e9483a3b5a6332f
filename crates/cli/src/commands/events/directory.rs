//! A directory that is followed: which of its files are read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use glob::Pattern;

use super::logs::shown;
use crate::failure::{Failure, Result};

/// Files that a message names before it counts the rest.
pub(super) const NAMED: usize = 5;

/// What a directory has. Hidden entries, and files that programs are still writing under another name, are left out.
#[derive(Default)]
pub(super) struct Found {
    /// The regular files whose names match one of the patterns, if there are any.
    pub(super) files: BTreeSet<PathBuf>,
    /// How many others there are.
    unmatched: usize,
    /// What is no file and has such a name, and what it is.
    pub(super) others: BTreeMap<PathBuf, &'static str>,
}

impl Found {
    pub(super) fn in_directory(directory: &Path, patterns: &[Pattern]) -> Result<Self> {
        let about = |error: std::io::Error| {
            let failure = Failure::io("cannot read the directory", &error)
                .with("directory", directory.display().to_string());
            match error.kind() {
                std::io::ErrorKind::NotFound => failure.next("check the name of the directory"),
                std::io::ErrorKind::PermissionDenied => {
                    failure.next("change the owner or the permissions of the directory")
                }
                _ => failure,
            }
        };
        let mut found = Self::default();
        for entry in std::fs::read_dir(directory).map_err(about)? {
            let entry = entry.map_err(about)?;
            let (name, path) = (entry.file_name(), entry.path());
            let name = name.to_string_lossy();
            let is_unfinished = [".partial", ".tmp", ".swp"]
                .iter()
                .any(|ending| name.ends_with(ending));
            if is_unfinished || name.starts_with('.') || name.ends_with('~') {
                continue;
            }
            let matches = patterns.is_empty() || patterns.iter().any(|one| one.matches(&name));
            // Follows symbolic links, which often name the present log.
            match (std::fs::metadata(&path), matches) {
                (Ok(data), true) if data.is_file() => drop(found.files.insert(path)),
                (Ok(data), false) if data.is_file() => found.unmatched += 1,
                (Ok(data), true) if data.is_dir() => {
                    found.others.insert(path, "a directory");
                }
                (Ok(_), true) => {
                    found.others.insert(path, "neither a file nor a directory");
                }
                (Err(_), true) if path.is_symlink() => {
                    found.others.insert(path, "a link that leads nowhere");
                }
                // It is gone.
                _ => {}
            }
        }
        Ok(found)
    }
}

/// Tells what to do instead of following one file.
pub(super) fn refuse_file(name: &str, file: &Path) -> Failure {
    let folder = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let pattern = file.file_name().unwrap_or_default().to_string_lossy();
    Failure::usage("--follow takes a directory, and this is a file")
        .with("file", shown(file))
        .next(format!(
            "follow the file in its directory: --follow {} --name '{}'; or read it once: `ostrakon events ingest {name} {}`",
            shown(folder),
            Pattern::escape(&pattern),
            shown(file),
        ))
}

/// Warns if no file has one of the names that are asked for: the pattern may be wrong.
pub(super) fn warn_of_names(directory: &Path, patterns: &[Pattern]) -> Result<()> {
    let found = Found::in_directory(directory, patterns)?;
    if patterns.is_empty() || !found.files.is_empty() {
        return Ok(());
    }
    let patterns: Vec<&str> = patterns.iter().map(Pattern::as_str).collect();
    Failure::warning("no file of the directory has a name that matches --name yet")
        .with("directory", shown(directory))
        .with("name", patterns.join(", "))
        .with("files in the directory", found.unmatched.to_string())
        .next("check the pattern, which is for whole names, such as 'conn*.log'; files that come later are read")
        .warn();
    Ok(())
}

/// Names what is in the directory and is not read, once.
pub(super) fn warn_of_others(
    directory: &Path,
    others: BTreeMap<PathBuf, &'static str>,
    told: &mut BTreeSet<PathBuf>,
) {
    let new: Vec<(PathBuf, &str)> = others
        .into_iter()
        .filter(|(path, _)| told.insert(path.clone()))
        .collect();
    if new.is_empty() {
        return;
    }
    let named = new.iter().take(NAMED);
    let named: Vec<String> = named
        .map(|(path, what)| format!("{} ({what})", shown(path)))
        .collect();
    Failure::warning("some entries of the directory are not files, and are not read")
        .with("directory", shown(directory))
        .with("not read", and_more(named, new.len()))
        .next("to read a subdirectory, follow it with a command of its own")
        .warn();
}

/// The first names, and how many more there are.
pub(super) fn and_more(names: Vec<String>, all: usize) -> String {
    match all.saturating_sub(names.len()) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
