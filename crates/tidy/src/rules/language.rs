//! Words that a reader would have to learn here first, and the standard words for them.
//!
//! Checked are the prose of every Markdown page (code is left out), the help texts of the command line, and
//! the string literals of the product's Rust and Python sources, messages of errors among them. The list is
//! short on purpose: each entry is a phrase that has no other meaning in these texts.

use crate::finding::Finding;
use crate::literals::{Literal, of_python, of_rust};
use crate::sources::Sources;
use crate::tree::Tree;

/// A phrase, in lower case, and what to write instead.
const PHRASES: &[(&str, &str)] = &[
    ("front desk", "module root, or exports"),
    ("front desks", "module roots, or exports"),
    ("for ever", "forever, or until ..."),
    ("passed over", "skipped"),
    ("passes over", "skips"),
    ("in good order", "cleanly"),
    ("look-up", "point read, or lookup"),
    ("look-ups", "point reads, or lookups"),
    ("mend", "repair, or fix"),
    ("mends", "repairs, or fixes"),
    ("mended", "repaired, or fixed"),
    ("mending", "repairing, or fixing"),
    ("nobody", "no process, no caller, no user, or a passive"),
    ("somebody", "a process, a caller, a user, or a passive"),
    ("whoever", "a caller that, a process that, or `if you`"),
    ("dice", "random numbers"),
    ("that is none", "that is invalid"),
    ("that are none", "that are invalid"),
    ("head line", "header row"),
    ("is none of", "is not one of"),
];

/// Words after which `no` belongs to a comparison or to `there is no`.
const AFTER_NO: &[&str] = &[
    "longer",
    "more",
    "less",
    "larger",
    "smaller",
    "fewer",
    "better",
    "worse",
    "faster",
    "slower",
    "such",
    "different",
    "matter",
];

/// Units that must be followed by `per`, not by `a` or `an`.
const UNITS: &[&str] = &[
    "byte",
    "bytes",
    "kib",
    "mib",
    "gib",
    "ns",
    "nanoseconds",
    "allocation",
    "allocations",
    "comparison",
    "comparisons",
];

/// Things that are counted.
const THINGS: &[&str] = &[
    "batch", "block", "cell", "chunk", "entry", "file", "key", "log", "memtable", "mutation",
    "row", "scan", "shard", "table", "tablet", "thread", "value", "writer",
];

/// Reports each private phrase.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts("", "") {
        if path.starts_with("fixtures/") {
            continue;
        }
        let prose = if path.ends_with(".md") {
            prose_of_page(text)
        } else if path.starts_with("crates/cli/src/args/") && path.ends_with(".rs") {
            prose_of_help(text)
        } else {
            continue;
        };
        report(path, &words_of(&prose), &mut findings);
    }
    for (path, literals) in literals_of(tree) {
        for literal in literals {
            let mut words = words_of(&literal.text);
            for word in &mut words {
                word.line += literal.line - 1;
            }
            report(&path, &words, &mut findings);
            for (index, line) in literal.text.lines().enumerate() {
                if let Some(words) = gap(line) {
                    let what = format!("a run of spaces within a message: `{words}`");
                    let instead = "one space, or a backslash before the end of the line".to_owned();
                    findings.push(Finding::new(&path, literal.line + index, what, instead));
                }
            }
        }
    }
    findings
}

/// Two words of a line with as many spaces between them as the line break of a literal leaves if it is joined.
fn gap(line: &str) -> Option<String> {
    const INDENTATION: &str = "                    ";
    let (before, after) = line.trim().split_once(INDENTATION)?;
    let before = before.split(' ').next_back()?;
    let after = after.split(' ').find(|word| !word.is_empty())?;
    Some(format!("{before} {after}"))
}

fn report(path: &str, words: &[Word], findings: &mut Vec<Finding>) {
    for at in 0..words.len() {
        if let Some((phrase, instead)) = objection(words, at) {
            let line = words.get(at).map_or(0, |word| word.line);
            let what = format!("`{phrase}` is not a standard term");
            findings.push(Finding::new(path, line, what, format!("write: {instead}")));
        }
    }
}

/// The string literals of the product: those of tests, of this crate, which lists the phrases, and of help texts, which are
/// read as a whole, are left out.
fn literals_of(tree: &Tree) -> Vec<(String, Vec<Literal>)> {
    let mut found = Vec::new();
    let sources = Sources::of(tree);
    for (path, source) in sources.product() {
        let elsewhere = ["crates/tidy/", "crates/cli/src/args/"];
        if elsewhere.iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
        let text = tree.text(path).unwrap_or_default();
        if let Ok(literals) = of_rust(text, &source.outline) {
            found.push((path.to_owned(), literals));
        }
    }
    for (path, text) in tree.texts("python/ostrakon/", ".py") {
        found.push((path.to_owned(), of_python(text)));
    }
    found
}

struct Word {
    text: String,
    line: usize,
    /// Whether punctuation follows, over which no phrase goes.
    ends: bool,
}

/// The page without code, one line of prose for each line of the page.
fn prose_of_page(text: &str) -> String {
    let mut in_fence = false;
    let lines = text.lines().map(|line| {
        let fence = line.trim_start().starts_with("```");
        in_fence ^= fence;
        if fence || in_fence {
            return String::new();
        }
        let parts = line.split('`').enumerate();
        let prose = parts.map(|(index, part)| if index % 2 == 0 { part } else { "; " });
        prose.collect::<String>()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The help texts of a file of arguments: everything but ordinary comments.
fn prose_of_help(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let trimmed = line.trim_start();
        match trimmed.strip_prefix("///") {
            Some(help) => help,
            None if trimmed.starts_with("//") => "",
            None => trimmed,
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn words_of(prose: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    for (index, line) in prose.lines().enumerate() {
        if line.trim().is_empty()
            && let Some(last) = words.last_mut()
        {
            last.ends = true;
        }
        for part in line.split_whitespace() {
            let is_word = |c: char| c.is_alphanumeric();
            let text = part.trim_matches(|c| !is_word(c)).to_lowercase();
            if text.is_empty() || part.starts_with(|c| !is_word(c)) {
                if let Some(last) = words.last_mut() {
                    last.ends = true;
                }
                if text.is_empty() {
                    continue;
                }
            }
            let ends = part.ends_with(|c| !is_word(c));
            let line = index + 1;
            words.push(Word { text, line, ends });
        }
    }
    words
}

/// The phrase that begins at the word, and what to write instead.
fn objection(words: &[Word], at: usize) -> Option<(String, String)> {
    for (phrase, instead) in PHRASES {
        let wanted: Vec<&str> = phrase.split(' ').collect();
        if starts_with(words, at, &wanted) {
            return Some(((*phrase).to_owned(), (*instead).to_owned()));
        }
    }
    let word = |offset: usize| words.get(at + offset).map_or("", |word| word.text.as_str());
    let open = |count: usize| {
        let inner = words.get(at..at + count).unwrap_or_default();
        inner.len() == count && inner.iter().all(|word| !word.ends)
    };
    let before = words.get(at.saturating_sub(3)..at).unwrap_or_default();
    let there = before.iter().any(|word| word.text == "there");
    if ["is", "are", "was", "were"].contains(&word(0))
        && word(1) == "no"
        && open(2)
        && !there
        && !AFTER_NO.contains(&word(2))
    {
        let phrase = format!("{} no {}", word(0), word(2));
        let instead = "`... not a valid ...` or `... not a ...`, or say what it is";
        return Some((phrase, instead.to_owned()));
    }
    let article = |text: &str| ["a", "an"].contains(&text);
    if UNITS.contains(&word(0)) && article(word(1)) && open(2) && THINGS.contains(&word(2)) {
        let phrase = format!("{} {} {}", word(0), word(1), word(2));
        return Some((phrase, format!("{} per {}", word(0), word(2))));
    }
    let one = article(word(0)) || word(0) == "one";
    if one && THINGS.contains(&word(1)) && article(word(2)) && open(3) && THINGS.contains(&word(3))
    {
        let phrase = format!("{} {} {} {}", word(0), word(1), word(2), word(3));
        return Some((phrase, format!("one {} per {}", word(1), word(3))));
    }
    None
}

fn starts_with(words: &[Word], at: usize, wanted: &[&str]) -> bool {
    let Some(found) = words.get(at..at + wanted.len()) else {
        return false;
    };
    let equal = found
        .iter()
        .map(|word| word.text.as_str())
        .eq(wanted.iter().copied());
    let inner = found.get(..wanted.len() - 1).unwrap_or_default();
    equal && inner.iter().all(|word| !word.ends)
}

#[cfg(test)]
mod tests {
    #[test]
    fn gaps_within_a_message_are_found() {
        let found = gap("free some space, and run the                      command again");
        assert_eq!(found.as_deref(), Some("the command"));
        for line in [
            "    free some space, and run it",
            "name   size",
            "a b c d e ",
            "",
        ] {
            assert_eq!(gap(line), None, "{line}");
        }
    }

    use super::*;

    fn page(text: &str) -> Vec<String> {
        let found = check(&Tree::of(&[("docs/page.md", text)]));
        found.into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn each_phrase_is_found_also_over_a_line_end() {
        for (phrase, _) in PHRASES {
            let text = format!("Text {} text.\n", phrase.replace(' ', "\n"));
            assert_eq!(page(&text).len(), 1, "{phrase}");
        }
    }

    #[test]
    fn negated_nouns_are_found() {
        assert_eq!(page("A tick is no second.\n").len(), 1);
        assert_eq!(page("These are no\ntables of ours.\n").len(), 1);
        for text in [
            "There is no limit.\n",
            "If there still is no file, one is made.\n",
            "The table is no longer there.\n",
            "The file is no larger than 8 MiB.\n",
            "The answer is: no table.\n",
        ] {
            assert_eq!(page(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn rates_without_per_are_found() {
        assert_eq!(page("It takes 8 bytes an entry.\n").len(), 1);
        assert_eq!(page("One file a tablet, as before.\n").len(), 1);
        for text in [
            "It takes 8 bytes per entry.\n",
            "It reads 3 million entries a second.\n",
            "It gives a table a name.\n",
            "It has 8 bytes. An entry has more.\n",
        ] {
            assert_eq!(page(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn code_is_left_out_and_help_is_read() {
        assert_eq!(page("Run `mend`.\n\n```\nmend for ever\n```\n").len(), 0);
        let help = |text: &str| check(&Tree::of(&[("crates/cli/src/args/x.rs", text)])).len();
        assert_eq!(help("    /// Mend the table\n    table: bool,\n"), 1);
        assert_eq!(help("    // Mend the table\n"), 0);
        assert_eq!(help("    long_help = \"Mend\",\n"), 1);
        let elsewhere = check(&Tree::of(&[("crates/cli/src/x.rs", "/// Mend it\n")]));
        assert_eq!(elsewhere.len(), 0);
    }

    #[test]
    fn messages_are_read() {
        let rust = |text: &str| {
            let tree = Tree::of(&[("crates/a/Cargo.toml", ""), ("crates/a/src/lib.rs", text)]);
            check(&tree)
                .iter()
                .map(|finding| finding.line)
                .collect::<Vec<_>>()
        };
        let python = |text: &str| {
            let found = check(&Tree::of(&[("python/ostrakon/a.py", text)]));
            found.iter().map(|finding| finding.line).collect::<Vec<_>>()
        };
        assert_eq!(
            rust("\nfn f() { e(format!(\"{x:?} is \\\n no label\")) }\n"),
            [2]
        );
        assert_eq!(
            rust("// A tick is no second.\nfn f() { e(\"a label\") }\n"),
            [0; 0]
        );
        assert_eq!(
            rust("#[cfg(test)]\nmod tests { const A: &str = \"nobody\"; }\n"),
            [0; 0]
        );
        assert_eq!(
            python("raise E(\n    f\"{x!r} is no \"\n    f\"label\"\n)\n"),
            [2]
        );
        assert_eq!(
            python("# it is no label\nraise E('there is no label')\n"),
            [0; 0]
        );
    }
}
