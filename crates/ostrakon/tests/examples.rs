//! Runs every example in an empty directory of its own, and compares what it prints with what its first lines say it
//! prints. Without the test harness, so that an example can have a working directory and its output be read.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
#![allow(clippy::print_stdout, reason = "it stands in for the test harness")]

use std::process::Command;

use ostrakon::cell::{Entry, IteratorEnvironment, IteratorOptions, IteratorScope, Key};
use ostrakon_testkit::iterators::{IteratorCase, Seeks, examine_iterator};

#[path = "../examples/custom_iterator.rs"]
mod custom_iterator;
#[path = "../examples/first_table.rs"]
mod first_table;
#[path = "../examples/graph.rs"]
mod graph;
#[path = "../examples/guide.rs"]
mod guide;
#[path = "../examples/labels.rs"]
mod labels;
#[path = "../examples/lock.rs"]
mod lock;
#[path = "../examples/shorten.rs"]
mod shorten;
#[path = "../examples/time_series.rs"]
mod time_series;

type Main = fn() -> ostrakon::Result<()>;

const EXAMPLES: &[(&str, Main)] = &[
    ("custom_iterator", custom_iterator::main),
    ("first_table", first_table::main),
    ("graph", graph::main),
    ("guide", guide::main),
    ("labels", labels::main),
    ("lock", lock::main),
    ("shorten", shorten::main),
    ("time_series", time_series::main),
];

/// With this in the environment the program is the example of that name.
const RUN: &str = "OSTRAKON_RUN_EXAMPLE";

fn main() {
    if let Ok(name) = std::env::var(RUN) {
        let example = EXAMPLES.iter().find(|(known, _)| *known == name).unwrap();
        return (example.1)().unwrap();
    }
    for (name, _) in EXAMPLES {
        prints_what_it_says(name);
        println!("example {name} ... ok");
    }
    all_are_listed();
    the_readme_shows_the_first();
    the_guide_is_one_of_them();
    the_page_on_iterators_shows_one();
    shorten_keeps_the_rules_of_iterators();
}

fn prints_what_it_says(name: &str) {
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .env(RUN, name)
        .current_dir(directory.path())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {error}");
    let source = source(name);
    let said: Vec<&str> = source
        .lines()
        .skip_while(|line| *line != "//! ```text")
        .skip(1)
        .map_while(|line| line.strip_prefix("//! "))
        .take_while(|line| *line != "```")
        .collect();
    assert!(!said.is_empty(), "{name} does not say what it prints");
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        said.join("\n") + "\n",
        "{name}"
    );
}

fn all_are_listed() {
    let folder = format!("{}/examples", env!("CARGO_MANIFEST_DIR"));
    for file in std::fs::read_dir(folder).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let listed = EXAMPLES
            .iter()
            .any(|(known, _)| name == format!("{known}.rs"));
        assert!(listed, "{name} is not run: add it to EXAMPLES");
    }
}

/// The Rust program of the README and of the crate's own is the first example, without its head.
fn the_readme_shows_the_first() {
    let source = source("first_table");
    let program = source.split_once("an example prints\")]\n\n").unwrap().1;
    let program = program.replace("#[rustfmt::skip] // As the README prints it.\n", "");
    let program = program.replace("pub(crate) fn main", "fn main");
    for page in ["../../README.md", "README.md"] {
        let text =
            std::fs::read_to_string(format!("{}/{page}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        let printed = text.split("```rust\n").nth(1).unwrap();
        let printed = printed.split("```").next().unwrap();
        assert_eq!(printed, program, "{page} shows another program");
    }
}

/// The parts of the guide, one after the other, are the whole program.
fn the_guide_is_one_of_them() {
    let page = format!("{}/../../docs/guide/rust.md", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(page).unwrap();
    let parts = page.split("```rust\n").skip(1);
    let parts: Vec<&str> = parts
        .map(|part| part.split("```").next().unwrap())
        .collect();
    let printed: Vec<&str> = parts.iter().flat_map(|part| part.lines()).collect();
    let source = source("guide");
    let (_, program) = source.split_once("Result<()> {\n").unwrap();
    let program = program.strip_suffix("    Ok(())\n}\n").unwrap();
    let lines = program
        .lines()
        .map(|line| line.strip_prefix("    ").unwrap_or(line));
    let said = |line: &&str| !line.is_empty();
    assert!(
        lines.filter(said).eq(printed.into_iter().filter(said)),
        "another program"
    );
}

/// The program of the page on iterators, and what it prints, are an example without its head.
fn the_page_on_iterators_shows_one() {
    let source = source("shorten");
    let (_, program) = source.split_once("an example prints\")]\n\n").unwrap();
    let program = program.replace("pub(crate) ", "");
    let program = program.replace("#[rustfmt::skip] // As the guide prints it.\n", "");
    let page = format!(
        "{}/../../docs/guide/iterators.md",
        env!("CARGO_MANIFEST_DIR")
    );
    let page = std::fs::read_to_string(page).unwrap();
    let shown = page.split("```rust\n").nth(1).unwrap();
    let (code, rest) = shown.split_once("```").unwrap();
    assert_eq!(code, program, "the page on iterators shows another program");
    let printed = rest.strip_prefix("\n\n```text\n").unwrap();
    let printed = printed.split("```").next().unwrap();
    assert!(
        source.contains(&format!("//! ```text\n//! {printed}//! ```\n")),
        "{printed}"
    );
}

fn shorten_keeps_the_rules_of_iterators() {
    let entry = |i: usize| Entry {
        key: Key::new(format!("{:02}", i / 3), "f", "q"),
        value: vec![b'x'; i],
    };
    let case = IteratorCase {
        class: &shorten::ShortenClass,
        options: IteratorOptions::from([("bytes".into(), "7".into())]),
        environment: IteratorEnvironment::new(IteratorScope::Scan),
        entries: (0..20).map(entry).collect(),
        seeks: Seeks::Anywhere,
    };
    examine_iterator(case).unwrap();
}

fn source(name: &str) -> String {
    let path = format!("{}/examples/{name}.rs", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}
