//! Dictionaries against `BTreeSet`.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{Keys, MISSING, Text, concatenate, join, words};
use crate::Error;

fn list() -> impl Strategy<Value = Vec<String>> {
    // Short alphabets, so that keys repeat and share prefixes longer than a word.
    let key = prop_oneof![
        "[ab]{0,3}",
        "[ab\0é😀]{0,4}",
        "prefix-long[ab]{0,2}",
        "[0-9]{1,6}"
    ];
    prop::collection::vec(key, 0..60)
}

fn build(texts: &[String]) -> (Keys, Vec<u32>) {
    Keys::build(&Text::from_strs(texts.iter().map(String::as_str))).unwrap()
}

fn strings(keys: &Keys) -> Vec<String> {
    (0..keys.len())
        .map(|at| String::from_utf8(keys.get(at).unwrap().to_vec()).unwrap())
        .collect()
}

fn set(texts: &[String]) -> BTreeSet<String> {
    texts.iter().cloned().collect()
}

fn sorted(texts: &BTreeSet<String>) -> Vec<String> {
    texts.iter().cloned().collect()
}

/// A wildcard by trying every split.
fn matches(key: &[u8], pattern: &[u8]) -> bool {
    match pattern.split_first() {
        None => key.is_empty(),
        Some((b'*', rest)) => (0..=key.len()).any(|at| matches(&key[at..], rest)),
        Some((byte, rest)) => key.first() == Some(byte) && matches(&key[1..], rest),
    }
}

proptest! {
    #[test]
    fn building_sorts_and_remembers(mut texts in list(), presort in any::<bool>()) {
        if presort {
            texts.sort();
        }
        let (keys, inverse) = build(&texts);
        prop_assert_eq!(strings(&keys), sorted(&set(&texts)));
        for (text, position) in texts.iter().zip(&inverse) {
            prop_assert_eq!(keys.get(*position as usize), Some(text.as_bytes()));
        }
        prop_assert_eq!(inverse.len(), texts.len());
    }

    #[test]
    fn union_intersection_difference(left in list(), right in list()) {
        let (a, b) = (build(&left).0, build(&right).0);
        let (left, right) = (set(&left), set(&right));
        let union = a.union(&b).unwrap();
        prop_assert_eq!(strings(&union.keys), sorted(&left.union(&right).cloned().collect()));
        for at in 0..a.len() {
            prop_assert_eq!(union.keys.get(union.left[at] as usize), a.get(at));
        }
        for at in 0..b.len() {
            prop_assert_eq!(union.keys.get(union.right[at] as usize), b.get(at));
        }
        let both = a.intersection(&b);
        let expected = sorted(&left.intersection(&right).cloned().collect());
        prop_assert_eq!(&strings(&a.take(&both.left).unwrap()), &expected);
        prop_assert_eq!(&strings(&b.take(&both.right).unwrap()), &expected);
        let only = strings(&a.take(&a.difference(&b)).unwrap());
        prop_assert_eq!(only, sorted(&left.difference(&right).cloned().collect()));
        let positions = a.positions_in(&b);
        for (at, position) in positions.into_iter().enumerate() {
            let expected = b.find(a.get(at).unwrap()).map_or(MISSING, |at| at as u32);
            prop_assert_eq!(position, expected);
        }
    }

    #[test]
    fn ranges_prefixes_wildcards(
        texts in list(),
        first in "[ab]{0,3}",
        last in "[ab]{0,3}",
        pattern in "[ab*]{0,5}",
    ) {
        let keys = build(&texts).0;
        let all = strings(&keys);
        let chosen = |range: std::ops::Range<usize>| all[range].to_vec();
        let picked = |found: Vec<u32>| -> Vec<String> {
            found.iter().map(|at| all[*at as usize].clone()).collect()
        };
        let want = |keep: &dyn Fn(&str) -> bool| -> Vec<String> {
            all.iter().filter(|key| keep(key)).cloned().collect()
        };
        let (low, high) = (first.as_bytes(), last.as_bytes());
        prop_assert_eq!(
            chosen(keys.range(Some(low), Some(high))),
            want(&|key| *first <= *key && *key <= *last)
        );
        prop_assert_eq!(chosen(keys.range(None, Some(high))), want(&|key| *key <= *last));
        prop_assert_eq!(chosen(keys.range(Some(low), None)), want(&|key| *key >= *first));
        prop_assert_eq!(chosen(keys.prefix(low)), want(&|key| key.starts_with(&first)));
        let found = picked(keys.wildcard(pattern.as_bytes()));
        prop_assert_eq!(found, want(&|key| matches(key.as_bytes(), pattern.as_bytes())));
        let found = picked(keys.containing(&[b"ab", b"\0"]));
        prop_assert_eq!(found, want(&|key| key.contains("ab") || key.contains('\0')));
    }

    #[test]
    fn utf32_goes_there_and_back(texts in list()) {
        let keys = build(&texts).0;
        let width = keys.longest_in_characters();
        match keys.to_utf32(width) {
            None => prop_assert!(strings(&keys).iter().any(|key| key.ends_with('\0'))),
            Some(units) if width > 0 => {
                let back = Text::from_utf32(&units, width).unwrap();
                prop_assert_eq!(Keys::from_text(&back).unwrap(), keys);
            }
            Some(_) => prop_assert!(keys.len() <= 1),
        }
    }
}

#[test]
fn many_keys_grow_the_table() {
    let texts: Vec<String> = (0..300_000_u32)
        .map(|at| format!("{}", at.wrapping_mul(2_654_435_761) % 200_003))
        .collect();
    let (keys, inverse) = build(&texts);
    assert_eq!(strings(&keys), sorted(&set(&texts)));
    assert!(
        texts
            .iter()
            .zip(inverse)
            .all(|(text, at)| keys.get(at as usize) == Some(text.as_bytes()))
    );
}

#[test]
fn bad_input_is_refused() {
    assert_eq!(
        Text::from_parts(b"ab\xffc", &[0, 2, 3, 4]),
        Err(Error::NotUtf8 { position: 1 })
    );
    // Valid as a whole, cut through a character.
    assert_eq!(
        Text::from_parts("é".as_bytes(), &[0, 1, 2]),
        Err(Error::NotUtf8 { position: 0 })
    );
    assert_eq!(Text::from_parts(b"ab", &[0, 2, 1]), Err(Error::BadOffsets));
    assert_eq!(Text::from_parts(b"ab", &[0, 3]), Err(Error::BadOffsets));
    assert_eq!(Text::from_parts(b"ab", &[-1, 1]), Err(Error::BadOffsets));
    assert_eq!(
        Text::from_utf32(&[97, 0xd800], 1),
        Err(Error::NotUnicode { position: 1 })
    );
    assert_eq!(
        Text::from_fixed(b"a\0\xc3\0", 2),
        Err(Error::NotUtf8 { position: 1 })
    );
    let keys = build(&["a".to_owned(), "b".to_owned()]).0;
    assert_eq!(keys.take(&[1, 0]), Err(Error::NotAscending));
    assert!(matches!(keys.take(&[0, 2]), Err(Error::OutOfBounds { .. })));
    assert!(join((&keys, &[5]), b"|", (&keys, &[0])).is_err());
    assert!(join((&keys, &[1]), b"|", (&keys, &[])).is_err());
}

#[test]
fn texts_are_joined_and_cut() {
    let keys = build(&["x".to_owned(), "y".to_owned()]).0;
    let joined = join((&keys, &[0, MISSING, 1]), b"|", (&keys, &[1, 0, MISSING])).unwrap();
    assert_eq!(joined, Text::from_strs(["x|y", "x", "y"]));
    let list = concatenate(&keys, &[0, 1, 1], &[0, 2, 2, 3], b";").unwrap();
    assert_eq!(list, Text::from_strs(["x;y", "", "y"]));
    let keys = build(&["a|b|c".to_owned(), "d|".to_owned()]).0;
    let (left, right) = keys.split_once(b"|").unwrap();
    assert_eq!(left, Text::from_strs(["a", "d"]));
    assert_eq!(right, Text::from_strs(["b|c", ""]));
    assert_eq!(keys.split_once(b"c"), Err(1));
    assert_eq!(keys.first_containing(b"c"), Some(0));
}

#[test]
fn texts_fall_into_words() {
    let texts = ["", "The cat, the CAT!", "Größe_2 是 e\u{301}t", "..."];
    let keys = build(&texts.map(str::to_owned)).0;
    let (found, owners) = words(&keys, true).unwrap();
    let wanted = ["größe_2", "是", "e\u{301}t", "the", "cat", "the", "cat"];
    assert_eq!(found, Text::from_strs(wanted));
    let at = |text: &str| keys.find(text.as_bytes()).unwrap() as u32;
    assert_eq!(owners[..3], [at(texts[2]); 3]);
    assert_eq!(owners[3..], [at(texts[1]); 4]);
    let (found, _) = words(&keys, false).unwrap();
    assert_eq!(found.get(6), b"CAT");
}
