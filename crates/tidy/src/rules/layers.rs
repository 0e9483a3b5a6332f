//! The layers inside `store` and `python/src`, from the tables of ARCHITECTURE.md: a file imports
//! modules of its own layer or a lower one, never of a higher one.

use crate::architecture::Architecture;
use crate::finding::Finding;
use crate::sources::Sources;
use crate::tree::Tree;

/// Reports a path from a lower layer to a higher one, and an import of a name that the crate's root
/// exports. The rule `map` reports modules without a layer.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let architecture = Architecture::of(tree);
    let sources = Sources::of(tree);
    let mut findings = Vec::new();
    for (path, source) in sources.product() {
        let modules = architecture.modules_in(&format!("{}/src", source.crate_folder));
        let row = |name: &str| modules.iter().find(|row| row.module() == name);
        let Some(module) = source.top_module() else {
            continue;
        };
        let Some((own, here)) = row(module).and_then(|own| Some((own, own.layer?))) else {
            continue;
        };
        for (line, target) in source.own_paths() {
            let Some(other) = target.first().filter(|other| *other != module) else {
                continue;
            };
            if let Some(only) = &own.only
                && row(other).is_some()
                && !only.contains(other)
            {
                findings.push(Finding::new(
                    path,
                    line,
                    format!("`{module}` imports `{other}`"),
                    format!(
                        "of this crate `{module}` imports only {only:?} (ARCHITECTURE.md): pass \
                         the value in"
                    ),
                ));
            } else if let Some(there) = row(other).and_then(|row| row.layer)
                && there > here
            {
                findings.push(Finding::new(
                    path,
                    line,
                    format!("`{module}` (layer {here}) imports `{other}` (layer {there})"),
                    "a module imports its own layer and lower ones: pass the value in as an \
                     argument, or move it down",
                ));
            } else if other.starts_with(char::is_uppercase) {
                findings.push(Finding::new(
                    path,
                    line,
                    format!("`{other}` is imported from the root of the crate"),
                    "import it from its module; lib.rs exports names for users only",
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::PAGE;

    const PAGE_TEXT: &str = "\
| layer | module | purpose |
|---|---|---|
| 0 | `error.rs` | Errors. |
| 0 | `codec/` | Bytes. |
| 1 | `wal/` | The log. |
| 1 | `memtable/` | Memory. |
| 1 | `iterator/` | Merges (imports only `error.rs`). |
| 3 | `tablet/` | Tablets. |
| 6 | `store/` | The store. |

| layer | module of `src/` | purpose |
|---|---|---|
| 0 | `errors.rs` | Errors. |
| 1 | `tables/` | Tables. |
";

    fn findings(module: &str, text: &str) -> Vec<String> {
        let path = format!("crates/store/src/{module}.rs");
        let lib = format!("mod {module};");
        let tree = Tree::of(&[
            (PAGE, PAGE_TEXT),
            ("crates/store/Cargo.toml", ""),
            ("crates/store/src/lib.rs", &lib),
            (&path, text),
        ]);
        let found = check(&tree);
        found.into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn a_lower_layer_may_not_import_a_higher_one() {
        assert_eq!(
            findings("wal", "use crate::tablet::Tablet;"),
            ["`wal` (layer 1) imports `tablet` (layer 3)"]
        );
        assert_eq!(findings("wal", "fn f() { super::store::open() }").len(), 1);
        assert_eq!(findings("tablet", "use crate::wal::Writer;").len(), 0);
        assert_eq!(findings("wal", "use crate::memtable::Chunk;").len(), 0);
    }

    #[test]
    fn tests_may_import_anything() {
        let text = "#[cfg(test)] mod tests { use crate::store::Store; }";
        assert_eq!(findings("wal", text).len(), 0);
    }

    #[test]
    fn the_python_extension_has_layers_too() {
        let findings = |text: &str| {
            let tree = Tree::of(&[
                (PAGE, PAGE_TEXT),
                ("python/Cargo.toml", ""),
                ("python/src/lib.rs", "mod errors; mod tables;"),
                ("python/src/errors.rs", text),
                ("python/src/tables.rs", "use crate::errors::to_python;"),
            ]);
            check(&tree).len()
        };
        assert_eq!(findings(""), 0);
        assert_eq!(findings("use crate::tables::Store;"), 1);
    }

    #[test]
    fn a_row_may_restrict_a_module_further() {
        assert_eq!(findings("iterator", "use crate::codec::varint;").len(), 1);
        let text = "use crate::error::Error; use ostrakon_cell::Key;";
        assert_eq!(findings("iterator", text).len(), 0);
    }

    #[test]
    fn names_of_the_crate_root_are_refused() {
        assert_eq!(findings("wal", "use crate::Error;").len(), 1);
    }
}
