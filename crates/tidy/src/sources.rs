//! The Rust files of the repository as modules: which file is reached from which crate root, under
//! which name, and whether only tests reach it.

use std::collections::BTreeMap;

use crate::rust::Outline;
use crate::tree::{Tree, folder_of, join};

/// One Rust file that some crate root reaches.
#[derive(Debug)]
pub struct Source {
    /// Path of the crate's folder, such as `crates/store`.
    pub crate_folder: String,
    /// Names of the modules down to this file; empty for a root.
    pub module: Vec<String>,
    /// Whether it is compiled for tests, benchmarks or examples only.
    pub in_test: bool,
    /// Its paths, attributes and module declarations.
    pub outline: Outline,
}

impl Source {
    /// The module below the crate's root that the file belongs to.
    #[must_use]
    pub fn top_module(&self) -> Option<&str> {
        self.module.first().map(String::as_str)
    }

    /// Every path the product part of the file names, made absolute: `crate::` in front replaced
    /// by nothing for our own modules, as in `["wal", "Writer"]`. Others are left out.
    pub fn own_paths(&self) -> impl Iterator<Item = (usize, Vec<String>)> {
        let product = !self.in_test;
        self.outline
            .paths
            .iter()
            .filter(move |path| product && !path.in_test)
            .filter_map(|path| {
                let mut module: Vec<String> =
                    self.module.iter().chain(&path.inside).cloned().collect();
                let mut rest = path.segments.as_slice();
                match path.segments.first()?.as_str() {
                    "crate" => module.clear(),
                    "self" => {}
                    "super" => {
                        module.pop();
                    }
                    _ => return None,
                }
                rest = rest.get(1..)?;
                while let [first, tail @ ..] = rest
                    && first == "super"
                {
                    module.pop();
                    rest = tail;
                }
                module.extend(rest.iter().cloned());
                Some((path.line, module))
            })
    }
}

/// Every reached file by its path, and every file that could not be read.
#[derive(Debug, Default)]
pub struct Sources {
    /// Path to file.
    pub files: BTreeMap<String, Source>,
    /// Path and the lexer's message.
    pub unreadable: Vec<(String, String)>,
}

impl Sources {
    /// Follows the module declarations from every crate root of the tree.
    #[must_use]
    pub fn of(tree: &Tree) -> Self {
        let mut sources = Self::default();
        for manifest in tree.paths().filter(|path| path.ends_with("Cargo.toml")) {
            let folder = folder_of(manifest);
            for (path, in_test) in roots(tree, folder, tree.text(manifest).unwrap_or_default()) {
                sources.follow(tree, folder, &path, &[], in_test, true);
            }
        }
        sources
    }

    /// The files of the product, tests left out.
    pub fn product(&self) -> impl Iterator<Item = (&str, &Source)> {
        self.files
            .iter()
            .filter(|(_, source)| !source.in_test)
            .map(|(path, source)| (path.as_str(), source))
    }

    fn follow(
        &mut self,
        tree: &Tree,
        crate_folder: &str,
        path: &str,
        module: &[String],
        in_test: bool,
        is_root: bool,
    ) {
        // A file can be reached twice (main.rs and lib.rs): product wins over test.
        if self
            .files
            .get(path)
            .is_some_and(|source| !source.in_test || in_test)
        {
            return;
        }
        let Some(text) = tree.text(path) else { return };
        let outline = match Outline::of(text) {
            Ok(outline) => outline,
            Err(message) => {
                self.unreadable.push((path.to_owned(), message));
                return;
            }
        };
        let folder = folder_of(path);
        let stem = path.strip_suffix(".rs").unwrap_or(path);
        let below = if is_root || path.ends_with("/mod.rs") {
            folder
        } else {
            stem
        };
        let mut children = Vec::new();
        for declaration in &outline.modules {
            let name = declaration.name.join("/");
            let candidates = match &declaration.path {
                Some(given) => vec![join(folder, given).unwrap_or_default()],
                None => vec![
                    format!("{below}/{name}.rs"),
                    format!("{below}/{name}/mod.rs"),
                ],
            };
            if let Some(child) = candidates.into_iter().find(|child| tree.has_file(child)) {
                let mut full = module.to_vec();
                full.extend(declaration.name.iter().cloned());
                children.push((child, full, in_test || declaration.in_test));
            }
        }
        let source = Source {
            crate_folder: crate_folder.to_owned(),
            module: module.to_vec(),
            in_test,
            outline,
        };
        self.files.insert(path.to_owned(), source);
        for (child, full, in_test) in children {
            self.follow(tree, crate_folder, &child, &full, in_test, false);
        }
    }
}

/// The root files of the crate in `folder`, each with whether it is for tests only.
fn roots(tree: &Tree, folder: &str, manifest: &str) -> Vec<(String, bool)> {
    let mut roots = Vec::new();
    for name in ["src/lib.rs", "src/main.rs", "build.rs"] {
        roots.push((join(folder, name).unwrap_or_default(), false));
    }
    for (inner, in_test) in [
        ("src/bin", false),
        ("tests", true),
        ("benches", true),
        ("examples", true),
    ] {
        let inner = join(folder, inner).unwrap_or_default();
        for path in tree.paths().filter(|path| path.ends_with(".rs")) {
            if folder_of(path) == inner
                || (path.ends_with("/main.rs") && folder_of(folder_of(path)) == inner)
            {
                roots.push((path.to_owned(), in_test));
            }
        }
    }
    let table: toml::Table = manifest.parse().unwrap_or_default();
    for (section, in_test) in [
        ("lib", false),
        ("bin", false),
        ("test", true),
        ("bench", true),
        ("example", true),
    ] {
        let targets = match table.get(section) {
            Some(toml::Value::Array(targets)) => targets.clone(),
            Some(target) => vec![target.clone()],
            None => continue,
        };
        for target in targets {
            if let Some(path) = target.get("path").and_then(toml::Value::as_str) {
                roots.push((join(folder, path).unwrap_or_default(), in_test));
            }
        }
    }
    roots.retain(|(path, _)| tree.has_file(path));
    roots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_followed_and_named() {
        let tree = Tree::of(&[
            ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n"),
            ("crates/a/src/lib.rs", "mod wal; mod one;"),
            (
                "crates/a/src/wal/mod.rs",
                "mod writer; #[cfg(test)] mod tests;",
            ),
            (
                "crates/a/src/wal/writer.rs",
                "use super::super::one::X; use crate::two; use super::Y;",
            ),
            ("crates/a/src/wal/tests.rs", "use crate::z;"),
            ("crates/a/src/one.rs", ""),
            ("crates/a/src/lost.rs", ""),
        ]);
        let sources = Sources::of(&tree);
        let writer = &sources.files["crates/a/src/wal/writer.rs"];
        assert_eq!(writer.module, ["wal", "writer"]);
        let own: Vec<String> = writer
            .own_paths()
            .map(|(_, path)| path.join("::"))
            .collect();
        assert_eq!(own, ["one::X", "two", "wal::Y"]);
        let tests = &sources.files["crates/a/src/wal/tests.rs"];
        assert!(tests.in_test && tests.own_paths().next().is_none());
        assert!(!sources.files.contains_key("crates/a/src/lost.rs"));
    }

    #[test]
    fn roots_named_by_the_manifest_are_found() {
        let tree = Tree::of(&[
            (
                "fuzz/Cargo.toml",
                "[[bin]]\nname = \"x\"\npath = \"fuzz_targets/x.rs\"\n",
            ),
            ("fuzz/fuzz_targets/x.rs", "fn main() {}"),
        ]);
        assert!(
            Sources::of(&tree)
                .files
                .contains_key("fuzz/fuzz_targets/x.rs")
        );
    }
}
