//! The page docs/guide/limits.md states the limits that are in force.

use ostrakon_cell::{
    Error, ErrorKind, MAX_KEY_BYTES, MAX_VALUE_BYTES, Mutation, Properties, Source, TableOptions,
    visibility,
};
use ostrakon_store::properties::default_of;
use ostrakon_testkit::disk::FaultyVfs;

use super::harness::{open, tiny};

/// The second column of the row that begins with these words.
fn stated(what: &str) -> &'static str {
    let page = include_str!("../../../../docs/guide/limits.md");
    let row = page
        .lines()
        .find_map(|line| line.strip_prefix("| ")?.strip_prefix(what))
        .unwrap_or_else(|| panic!("no row {what}"));
    row.rsplit('|').nth(1).unwrap_or_default()
}

#[test]
fn the_page_of_limits_states_what_is_in_force() {
    for (what, bytes) in [
        ("key", MAX_KEY_BYTES),
        ("value", MAX_VALUE_BYTES),
        (
            "label (visibility expression)",
            visibility::MAX_EXPRESSION_LENGTH,
        ),
        ("label (visibility expression)", visibility::MAX_DEPTH),
    ] {
        assert!(stated(what).contains(&bytes.to_string()), "{what}: {bytes}");
    }
    assert_eq!(default_of("table.file.max"), Some("15"));
    assert!(stated("files of a tablet").contains("15"));
    assert_eq!(default_of("table.split.endrow.size.max"), Some("10K"));
    assert!(stated("split point").contains("10,240"));
}

#[test]
fn names_and_split_points_end_at_their_limits() {
    let store = open(&FaultyVfs::new(1), &tiny()).unwrap();
    let create = |name: &str, row: usize| {
        let options = TableOptions {
            splits: vec![vec![b'r'; row]],
            properties: Properties::new(),
            ..TableOptions::default()
        };
        store.create_table(name, &options)
    };
    let invalid = |outcome: Result<(), Error>| {
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::InvalidArgument);
    };
    assert!(stated("name").contains("1,024 bytes"));
    invalid(create(&"n".repeat(1025), 1));
    create(&"n".repeat(1024), 1).unwrap();
    invalid(create("long", 10_241));
    invalid(create("empty", 0));
    create("longest", 10_240).unwrap();
    let mut mutation = Mutation::new(vec![b'r'; MAX_KEY_BYTES]);
    assert!(mutation.put("f", "", "").is_err());
}
