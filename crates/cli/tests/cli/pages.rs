//! The shell blocks of pages run as printed, one after the other on one store, and print what the page shows.

use crate::run::Folder;
use crate::shell::{blocks, clone_in, page, run_console, run_page, succeeds};

#[test]
fn the_readme_names_targets_and_packages_that_exist() {
    let folder = Folder::new();
    clone_in(&folder);
    assert_eq!(run_page(&folder, "README.md"), (2, 0));
}

#[test]
fn the_readme_of_the_program_prints_what_it_shows() {
    let folder = Folder::new();
    clone_in(&folder);
    assert_eq!(run_page(&folder, "crates/cli/README.md"), (1, 1));
}

#[test]
fn start_prints_what_it_shows() {
    let folder = Folder::new();
    clone_in(&folder);
    assert_eq!(run_page(&folder, "docs/guide/start.md"), (4, 3));
}

#[test]
fn import_prints_what_it_shows() {
    let folder = Folder::new();
    assert_eq!(run_page(&folder, "docs/guide/import.md"), (6, 5));
    // The header row, and no line.
    assert_eq!(folder.read("rejects.tsv").lines().count(), 1);
    for (table, entries) in [
        ("friends", "4 entries"),
        ("jobs", "4 entries"),
        ("logins", "2 entries"),
    ] {
        let counted = folder.ok(&["scan", table, "--count"]);
        assert!(counted.starts_with(entries), "{table}: {counted}");
    }
}

#[test]
fn operations_print_what_is_shown() {
    let folder = Folder::new();
    let (ran, compared) = run_page(&folder, "docs/guide/operations.md");
    assert!(ran >= 10 && compared >= 3, "{ran} {compared}");
    assert!(folder.ok(&["table", "list"]).contains("agitated"));
}

#[test]
fn commands_about_iterators_run() {
    let folder = Folder::new();
    assert_eq!(run_page(&folder, "docs/guide/iterators.md"), (1, 0));
}

#[cfg(feature = "sql")]
#[test]
fn sql_prints_what_it_shows() {
    let folder = Folder::new();
    assert!(run_console(&folder, "docs/guide/sql.md") >= 8);
}

#[test]
fn events_print_what_is_shown() {
    let folder = Folder::new();
    assert!(run_console(&folder, "docs/guide/events.md") >= 5);
}

#[test]
fn the_definition_of_a_type_in_the_reference_of_events_is_complete() {
    let folder = Folder::new();
    let page = page("docs/guide/events-reference.md");
    let mut definitions = blocks(&page)
        .into_iter()
        .filter(|(language, ..)| *language == "toml");
    let (_, definition, _) = definitions.next().unwrap();
    assert!(definitions.next().is_none(), "only one is tested");
    let schema = folder.write("visit.toml", &definition);
    let visits = folder.write(
        "visits.csv",
        "begin,client,page,bytes,label\n\
         2026-06-30T10:00:00Z,10.1.2.3,/a,17,\n\
         2026-07-01T10:00:00Z,10.1.2.4,/b,18,admin\n",
    );
    folder.ok(&["events", "create", "visit", "--schema", &schema]);
    folder.ok(&["events", "ingest", "visit", &visits]);
    let seen = |auths| {
        let query = ["events", "query", "visit", "bytes > 0", "--auths", auths];
        folder.ok(&[&query[..], &["--json"]].concat())
    };
    assert_eq!(seen("").lines().count(), 0);
    let staff = seen("staff");
    assert!(staff.contains("/a") && !staff.contains("/b"), "{staff}");
    assert_eq!(seen("staff,admin").lines().count(), 2);
}

/// The report that the page shows is a part of what the second command prints, with other numbers.
#[test]
fn ycsb_reports_what_is_shown() {
    let folder = Folder::new();
    let page = page("docs/guide/ycsb.md");
    let mut printed = Vec::new();
    let mut shown = None;
    for (language, text, _) in blocks(&page) {
        match language {
            "sh" => printed.push(succeeds(&folder, &text)),
            "text" => shown = Some(text),
            _ => {}
        }
    }
    assert_eq!(printed.len(), 2);
    let shown = shown.unwrap();
    let mut lines = printed[0].lines();
    for line in shown.lines() {
        let (name, number) = line.rsplit_once(", ").unwrap();
        assert!(number.parse::<f64>().is_ok(), "{line}");
        let found = lines.any(|one| {
            one.rsplit_once(", ")
                .is_some_and(|(other, _)| other == name)
        });
        assert!(found, "{line}\n{}", printed[0]);
    }
    assert!(!printed.concat().contains("-FAILED"), "{printed:?}");
}

#[test]
fn commands_of_the_lab_run() {
    let folder = Folder::new();
    let page = page("docs/guide/lab.md");
    let blocks: Vec<String> = blocks(&page)
        .into_iter()
        .filter(|(language, ..)| *language == "sh")
        .map(|(_, code, _)| code)
        .collect();
    assert_eq!(blocks.len(), 6);
    for code in blocks {
        if cfg!(feature = "sql") || !code.contains("ivanov2014") {
            succeeds(&folder, &code);
        }
    }
}
