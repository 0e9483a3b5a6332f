//! Every patch of a fixed fault applies, and the tests that must find it exist. Otherwise `make mutants`, which takes
//! hours, would be the first to notice.

use crate::finding::Finding;
use crate::tree::Tree;

const FOLDER: &str = "crates/testkit/mutants/";

/// Reports patches that do not apply or are not in the table, and lines of the table that name no patch or no test.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let table_path = format!("{FOLDER}README.md");
    let rows = rows(tree.text(&table_path).unwrap_or_default());
    let mut findings = Vec::new();
    let patches = tree
        .paths()
        .filter(|path| path.starts_with(FOLDER) && path.ends_with(".patch"));
    for path in patches {
        let name = path.trim_start_matches(FOLDER).trim_end_matches(".patch");
        if !rows.iter().any(|row| row.patch == name) {
            findings.push(Finding::new(
                path,
                0,
                "the patch is not in the table",
                format!("add a line to {table_path} with the test that finds the fault"),
            ));
        }
        for hunk in hunks(tree.text(path).unwrap_or_default()) {
            let applies = tree
                .text(&hunk.file)
                .is_some_and(|source| source.contains(&hunk.old));
            if !applies {
                findings.push(Finding::new(
                    path,
                    hunk.line,
                    format!("the hunk does not apply to {}", hunk.file),
                    "write the same fault into the code as it is now, and put the output of `git diff` here",
                ));
            }
        }
    }
    for row in &rows {
        if !tree.has_file(&format!("{FOLDER}{}.patch", row.patch)) {
            findings.push(Finding::new(
                &table_path,
                row.line,
                format!("there is no patch `{}`", row.patch),
                "delete the line",
            ));
        }
        if !has_test(tree, row.filter) {
            findings.push(Finding::new(
                &table_path,
                row.line,
                format!("no test or module is named `{}`", row.filter),
                "name the test that finds the fault",
            ));
        }
    }
    findings
}

/// A line of the table.
struct Row<'a> {
    line: usize,
    patch: &'a str,
    /// The last argument of `cargo test`.
    filter: &'a str,
}

fn rows(table: &str) -> Vec<Row<'_>> {
    let lines = table.lines().enumerate();
    let rows = lines.filter_map(|(at, line)| {
        let mut cells = line.strip_prefix("| `")?.split(" | ");
        let patch = cells.next()?.trim_end_matches('`');
        let command = cells.nth(1)?.trim_end_matches(" |");
        let filter = command.trim_matches('`').split_whitespace().last()?;
        Some(Row {
            line: at + 1,
            patch,
            filter,
        })
    });
    rows.collect()
}

/// Whether a function or a module has the name that a filter ends with: `a::b` is a test that begins with `b`, `a::` is
/// the module `a`.
fn has_test(tree: &Tree, filter: &str) -> bool {
    let mut parts = filter.rsplit("::");
    let (last, module) = (parts.next().unwrap_or_default(), parts.next());
    let mut sources = tree.paths().filter(|path| path.ends_with(".rs"));
    if last.is_empty() {
        let Some(module) = module else { return false };
        let (file, folder, inline) = (
            format!("/{module}.rs"),
            format!("/{module}/"),
            format!("mod {module}"),
        );
        return sources.any(|path| {
            path.ends_with(&file)
                || path.contains(&folder)
                || tree.text(path).is_some_and(|text| text.contains(&inline))
        });
    }
    let (function, module) = (format!("fn {last}"), format!("mod {last}"));
    sources.any(|path| {
        tree.text(path)
            .is_some_and(|text| text.contains(&function) || text.contains(&module))
    })
}

/// What a hunk of a patch expects to find.
struct Hunk {
    line: usize,
    file: String,
    old: String,
}

fn hunks(patch: &str) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    let mut file = String::new();
    let mut inside = false;
    for (at, line) in patch.lines().enumerate() {
        if let Some(name) = line.strip_prefix("--- a/") {
            name.clone_into(&mut file);
            inside = false;
        } else if line.starts_with("@@ ") {
            inside = true;
            hunks.push(Hunk {
                line: at + 1,
                file: file.clone(),
                old: String::new(),
            });
        } else if line.starts_with("diff ") {
            inside = false;
        } else if inside && let Some(hunk) = hunks.last_mut() {
            let kept = match line.split_at_checked(1) {
                Some((" " | "-", rest)) => rest,
                // Some tools remove the blank of an empty line.
                None => "",
                _ => continue,
            };
            hunk.old.push_str(kept);
            hunk.old.push('\n');
        }
    }
    hunks
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: (&str, &str) = (
        "crates/a/src/b.rs",
        "fn found() {\n    one();\n\n    two();\n}\n",
    );
    const PATCH: &str = "diff --git a/crates/a/src/b.rs b/crates/a/src/b.rs\n--- a/crates/a/src/b.rs\n+++ b/crates/a/src/b.rs\n@@ -1,4 +1,3 @@\n fn found() {\n-    one();\n \n     two();\n";

    fn problems(table: &str, patch: &str) -> usize {
        let table = format!("| Patch | Fault | Found by |\n|---|---|---|\n{table}");
        let tree = Tree::of(&[
            SOURCE,
            ("crates/testkit/mutants/x.patch", patch),
            ("crates/testkit/mutants/README.md", &table),
        ]);
        check(&tree).len()
    }

    #[test]
    fn patches_apply_and_tests_exist() {
        let row = "| `x` | F | `-p a --lib b::found` |\n";
        assert_eq!(problems(row, PATCH), 0);
        assert_eq!(problems("| `x` | F | `-p a --lib b::` |\n", PATCH), 0);
        assert_eq!(problems("", PATCH), 1);
        assert_eq!(problems(row, &PATCH.replace("two", "three")), 1);
        assert_eq!(problems(row, &PATCH.replace("b.rs", "c.rs")), 1);
        assert_eq!(problems("| `x` | F | `-p a --lib b::lost` |\n", PATCH), 1);
        assert_eq!(problems("| `x` | F | `-p a --lib gone::` |\n", PATCH), 1);
        assert_eq!(
            problems(&format!("{row}| `y` | F | `-p a --lib b::` |\n"), PATCH),
            1
        );
    }
}
