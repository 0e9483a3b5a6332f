//! Bytes and words.

use super::bytes;
use super::script::Script;

#[test]
fn bytes_come_back_from_their_words() {
    for bytes in [&b""[..], b"plain", b"a b,c=d\\e\x00\xff", b"\"q\"&(x|y)"] {
        let word = bytes::show(bytes);
        assert!(!word.contains([' ', ',', '=']), "{word}");
        assert_eq!(bytes::parse(&word).as_deref(), Ok(bytes), "{word}");
    }
    assert_eq!(bytes::parse("ab\\*2;c").as_deref(), Ok(&b"abbbc"[..]));
    for wrong in [
        "\\", "\\x1", "\\xg0", "\\n", "\u{e9}", "\\*2;", "a\\*2", "a\\*x;",
    ] {
        assert!(bytes::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_script_is_operations_with_their_details() {
    let script = Script::of(
        "one",
        "# compactions: explicit\ncreate t split=m\n\nwrite t\n  row a\n  put f q v time=5\n",
    );
    let operations = script.operations();
    let Ok([create, write]) = operations.as_deref() else {
        panic!("{operations:?}");
    };
    assert_eq!(
        (create.head.line, create.head.option("split")),
        (2, Some("m"))
    );
    assert_eq!((write.head.line, write.details.len()), (4, 2));
    assert_eq!(
        write.details.last().map(|put| put.option_number("time")),
        Some(Ok(Some(5)))
    );
    assert!(script.explicit_compactions());
    assert!(Script::of("two", "  put f q v").operations().is_err());
}

fn scripts(below: &str) -> Vec<Script> {
    let folder =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers/accumulo/scripts");
    super::load(&folder.join(below)).unwrap_or_default()
}

#[test]
fn what_differs_on_purpose_is_listed_with_a_script() {
    let page = include_str!("../../../../docs/conformance.md");
    let (_, list) = page
        .split_once("## What differs on purpose")
        .unwrap_or_default();
    let mut listed: Vec<&str> = list
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    listed.sort_unstable();
    let scripts = scripts("differs");
    let names: Vec<&str> = scripts.iter().map(|script| script.name.as_str()).collect();
    assert_eq!(listed, names);
    assert!(
        scripts
            .iter()
            .all(|script| script.note("differs").is_some())
    );
}

#[test]
fn written_scripts_can_be_played() {
    let all = scripts("");
    assert!(all.len() >= 40, "{} scripts", all.len());
    for script in all.iter().chain(&scripts("differs")) {
        let answers = super::examine::ours(script, super::Profile::Calm);
        assert!(
            answers.as_ref().is_ok_and(|answers| !answers.is_empty()),
            "{answers:?}"
        );
    }
}
