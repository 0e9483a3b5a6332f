//! ARCHITECTURE.md as data: which crate may import which, and the layers inside a crate.
//!
//! The tables of that page are the only place where these rules are written. The rules `imports`,
//! `layers` and `map` read them here.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::tree::Tree;

/// The page.
pub const PAGE: &str = "ARCHITECTURE.md";

/// The head of the table of crates.
pub const CRATES_HEAD: &str = "| crate | may import | tests may also import | libraries |";

/// What the line with the names of outer libraries begins with.
pub const OUTER_MARK: &str = "Outer libraries are those whose names begin with ";

/// The tables of modules: the folder of the modules and the head of the table.
pub const MODULE_TABLES: [(&str, &str); 3] = [
    ("crates/store/src", "| layer | module | purpose |"),
    ("python/src", "| layer | module of `src/` | purpose |"),
    ("python/ostrakon", "| module of `ostrakon/` | purpose |"),
];

/// Which libraries from elsewhere a crate may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Libraries {
    /// Any.
    Any,
    /// All but the outer ones.
    NotOuter,
    /// Only these.
    Only(BTreeSet<String>),
}

/// A row of the table of crates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrateRow {
    /// Folder name of the crate.
    pub name: String,
    /// Our crates it may import.
    pub imports: BTreeSet<String>,
    /// Our crates its tests may import in addition.
    pub test_imports: BTreeSet<String>,
    /// Libraries from elsewhere.
    pub libraries: Libraries,
}

/// A module in a table of modules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleRow {
    /// As the page writes it: `wal/` or `clock.rs`.
    pub name: String,
    /// Its layer, 0 at the bottom; `None` in a table without layers.
    pub layer: Option<u8>,
    /// The modules of the same crate it may import, where the page restricts them further than
    /// the layer does.
    pub only: Option<BTreeSet<String>>,
}

impl ModuleRow {
    /// The name of the module in code: `wal` for `wal/`, `clock` for `clock.rs`.
    #[must_use]
    pub fn module(&self) -> &str {
        module_of(&self.name)
    }
}

/// The tables of ARCHITECTURE.md.
#[derive(Debug, Default)]
pub struct Architecture {
    /// The table of crates.
    pub crates: Vec<CrateRow>,
    /// Beginnings of the names of outer libraries.
    pub outer: BTreeSet<String>,
    /// The modules of each folder in [`MODULE_TABLES`] that the page has a table for.
    pub modules: Vec<(&'static str, Vec<ModuleRow>)>,
    /// Rows that cannot be read.
    pub findings: Vec<Finding>,
}

impl Architecture {
    /// Reads the page. What is absent is empty; what cannot be read is a finding.
    #[must_use]
    pub fn of(tree: &Tree) -> Self {
        let mut read = Self::default();
        let page = tree.text(PAGE).unwrap_or_default();
        for (line, cells) in rows_below(page, CRATES_HEAD) {
            match cells.as_slice() {
                [name, imports, tests, libraries] => {
                    let libraries = match *libraries {
                        "any" => Libraries::Any,
                        "not outer" => Libraries::NotOuter,
                        only if only.starts_with("only ") => Libraries::Only(quoted(only)),
                        _ => {
                            read.object(line, "write `any`, `not outer` or `only` and names");
                            continue;
                        }
                    };
                    for name in quoted(name) {
                        read.crates.push(CrateRow {
                            name,
                            imports: quoted(imports),
                            test_imports: quoted(tests),
                            libraries: libraries.clone(),
                        });
                    }
                }
                _ => read.object(line, "write four cells, as the head of the table has"),
            }
        }
        let outer = page.lines().find_map(|line| line.strip_prefix(OUTER_MARK));
        read.outer = quoted(outer.unwrap_or_default());
        for (folder, head) in MODULE_TABLES {
            let layered = head.starts_with("| layer |");
            let mut modules = Vec::new();
            for (line, cells) in rows_below(page, head) {
                let (layer, rest) = match cells.as_slice() {
                    [layer, rest @ ..] if layered => (layer.parse().ok(), rest),
                    rest => (None, rest),
                };
                let [names, purpose] = rest else {
                    read.object(line, "write as many cells as the head of the table has");
                    continue;
                };
                if layered && layer.is_none() {
                    read.object(line, "begin the row with the number of the layer");
                }
                let only = purpose.split_once("(imports only ");
                let only = only.and_then(|(_, rest)| rest.split_once(')'));
                let only = only.map(|(names, _)| {
                    let names = quoted(names);
                    names
                        .iter()
                        .map(|name| module_of(name).to_owned())
                        .collect()
                });
                modules.extend(quoted(names).into_iter().map(|name| ModuleRow {
                    name,
                    layer,
                    only: only.clone(),
                }));
            }
            if !modules.is_empty() {
                read.modules.push((folder, modules));
            }
        }
        read
    }

    /// The modules of a folder; empty if the page has no table for it.
    #[must_use]
    pub fn modules_in(&self, folder: &str) -> &[ModuleRow] {
        let table = self.modules.iter().find(|(of, _)| *of == folder);
        table.map_or(&[], |(_, modules)| modules)
    }

    fn object(&mut self, line: usize, instead: &str) {
        let what = "the row cannot be read";
        self.findings.push(Finding::new(PAGE, line, what, instead));
    }
}

/// Line number and cells of each row of the table with this head.
fn rows_below<'a>(page: &'a str, head: &str) -> Vec<(usize, Vec<&'a str>)> {
    let lines = page.lines().enumerate();
    lines
        .skip_while(|(_, line)| *line != head)
        .skip(2)
        .take_while(|(_, line)| line.starts_with('|'))
        .map(|(index, line)| {
            let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
            (index + 1, inner.split('|').map(str::trim).collect())
        })
        .collect()
}

/// The words between backticks.
fn quoted(cell: &str) -> BTreeSet<String> {
    let words = cell.split('`').skip(1).step_by(2);
    words.map(str::to_owned).collect()
}

fn module_of(name: &str) -> &str {
    name.trim_end_matches('/').trim_end_matches(".rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(words: &[&str]) -> BTreeSet<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn tables_are_read_as_data() {
        let page = format!(
            "# Map\n\n{CRATES_HEAD}\n|---|---|---|---|\n| `cell` | | | only `hashbrown` |\n\
             | `lab`, `cli` | `cell` `store` | `testkit` | any |\n\n{OUTER_MARK}`tokio`, `arrow`.\n\n\
             | layer | module | purpose |\n|---|---|---|\n| 0 | `clock.rs`, `vfs/` | Time. |\n\
             | 1 | `iterator/` | Merges (imports only `error.rs`). |\n"
        );
        let read = Architecture::of(&Tree::of(&[(PAGE, &page)]));
        assert_eq!(read.findings, []);
        assert_eq!(read.crates.len(), 3);
        assert_eq!(
            read.crates[0].libraries,
            Libraries::Only(set(&["hashbrown"]))
        );
        assert_eq!(read.crates[2].imports, set(&["cell", "store"]));
        assert_eq!(read.crates[2].test_imports, set(&["testkit"]));
        assert_eq!(read.outer, set(&["tokio", "arrow"]));
        let modules = read.modules_in("crates/store/src");
        assert_eq!(modules[0].module(), "clock");
        assert_eq!(modules[1].name, "vfs/");
        assert_eq!(modules[2].layer, Some(1));
        assert_eq!(modules[2].only, Some(set(&["error"])));
    }

    #[test]
    fn rows_that_cannot_be_read_are_findings() {
        for row in ["| `cell` | |", "| `cell` | | | few |"] {
            let page = format!("{CRATES_HEAD}\n|---|\n{row}\n");
            let read = Architecture::of(&Tree::of(&[(PAGE, &page)]));
            assert_eq!(read.findings.len(), 1, "{row}");
        }
        let page = "| layer | module | purpose |\n|---|---|---|\n| low | `wal/` | |\n";
        let read = Architecture::of(&Tree::of(&[(PAGE, page)]));
        assert_eq!(read.findings.len(), 1);
    }
}
