//! The repository in memory: every file of ours, by its path from the root.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Folders that hold no source: build output, what version control keeps, what Python makes.
const SKIPPED: [&str; 11] = [
    ".git",
    "target",
    "out",
    "node_modules",
    "ostrakon.data",
    ".venv",
    "__pycache__",
    ".hypothesis",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
];

/// Every file of the repository, read once.
#[derive(Debug, Default, Clone)]
pub struct Tree {
    files: BTreeMap<String, Vec<u8>>,
}

impl Tree {
    /// Reads the repository this crate lies in.
    ///
    /// # Errors
    /// When a file or folder cannot be read.
    pub fn of_this_repository() -> io::Result<Self> {
        Self::read(&root())
    }

    /// Reads the tree below `root`.
    ///
    /// # Errors
    /// When a file or folder cannot be read.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut tree = Self::default();
        tree.read_folder(root, "")?;
        Ok(tree)
    }

    /// A tree made by hand, for the rules' own tests.
    #[must_use]
    pub fn of(files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|(p, t)| ((*p).to_owned(), t.as_bytes().to_vec()))
            .collect();
        Self { files }
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if SKIPPED.contains(&name.as_str()) || name.starts_with("target-") {
                continue;
            }
            let path = if prefix.is_empty() {
                name
            } else {
                format!("{prefix}/{name}")
            };
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.read_folder(&entry.path(), &path)?;
            } else if kind.is_file() || (kind.is_symlink() && entry.path().is_file()) {
                // The licence's text is a link in each package.
                self.files.insert(path, fs::read(entry.path())?);
            }
        }
        Ok(())
    }

    /// Whether there is such a file.
    #[must_use]
    pub fn has_file(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// Whether there is such a folder (one with at least one file below it).
    #[must_use]
    pub fn has_folder(&self, path: &str) -> bool {
        let prefix = format!("{path}/");
        self.files
            .range(prefix.clone()..)
            .next()
            .is_some_and(|(p, _)| p.starts_with(&prefix))
    }

    /// The bytes of a file.
    #[must_use]
    pub fn bytes(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }

    /// The text of a file; `None` if it is absent or not UTF-8.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<&str> {
        self.bytes(path)
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
    }

    /// Paths of all files, in order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Path and text of every file below `prefix` that ends in `suffix` and is text.
    pub fn texts<'a>(
        &'a self,
        prefix: &'a str,
        suffix: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files
            .iter()
            .filter(move |(path, _)| path.starts_with(prefix) && path.ends_with(suffix))
            .filter_map(|(path, bytes)| Some((path.as_str(), std::str::from_utf8(bytes).ok()?)))
    }

    /// Names of the folders directly below `folder`.
    #[must_use]
    pub fn folders_in(&self, folder: &str) -> Vec<&str> {
        let prefix = format!("{folder}/");
        let mut names: Vec<&str> = self
            .files
            .keys()
            .filter_map(|path| path.strip_prefix(prefix.as_str())?.split_once('/'))
            .map(|(name, _)| name)
            .collect();
        names.dedup();
        names
    }
}

/// The root of the repository: two folders above this crate.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folder part of a path, empty at the root.
#[must_use]
pub fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Joins a relative path to a folder and resolves `.` and `..`; `None` if it leaves the root.
#[must_use]
pub fn join(folder: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_listed_once_and_files_are_not_folders() {
        let tree = Tree::of(&[("a/b/1", ""), ("a/b/2", ""), ("a/c/1", ""), ("a/d", "")]);
        assert_eq!(tree.folders_in("a"), ["b", "c"]);
        assert!(tree.has_folder("a/b"));
        assert!(!tree.has_folder("a/d"));
    }

    #[test]
    fn join_resolves_dots_and_refuses_to_leave_the_root() {
        assert_eq!(
            join("docs/guide", "../../README.md").as_deref(),
            Some("README.md")
        );
        assert_eq!(join("docs", "./a//b").as_deref(), Some("docs/a/b"));
        assert_eq!(join("docs", "../../x"), None);
    }

    #[test]
    fn this_repository_is_found() {
        let tree = Tree::of_this_repository().unwrap();
        assert!(tree.has_file("crates/tidy/src/tree.rs"));
        assert!(!tree.has_folder("target"));
    }
}
