//! The conjunction of two labels.

/// The label of an entry derived from entries with two labels: a reader must satisfy both.
///
/// ```
/// use ostrakon_cell::visibility::conjoin;
/// assert_eq!(conjoin(b"a|b", b"c"), b"(a|b)&c");
/// assert_eq!(conjoin(b"", b"c"), b"c");
/// ```
#[must_use]
pub fn conjoin(first: &[u8], second: &[u8]) -> Vec<u8> {
    if first.is_empty() || first == second {
        return second.to_vec();
    }
    if second.is_empty() {
        return first.to_vec();
    }
    let mut both = Vec::with_capacity(first.len() + second.len() + 5);
    for (at, label) in [first, second].into_iter().enumerate() {
        if at > 0 {
            both.push(b'&');
        }
        // Names joined by `&` alone need no parentheses; adding them in other cases is harmless.
        if label.contains(&b'|') {
            both.push(b'(');
            both.extend_from_slice(label);
            both.push(b')');
        } else {
            both.extend_from_slice(label);
        }
    }
    both
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::conjoin;
    use crate::visibility::validate;
    use crate::{Authorizations, VisibilityEvaluator};

    fn expression() -> impl Strategy<Value = String> {
        let name = prop::sample::select(vec!["a", "b", "c", "\"d|e\""]);
        let leaf = name.prop_map(str::to_owned);
        leaf.prop_recursive(3, 8, 3, |inner| {
            (
                prop::collection::vec(inner, 2..3),
                prop::sample::select(vec!["&", "|"]),
            )
                .prop_map(|(parts, operator)| {
                    let parts: Vec<String> = parts.iter().map(|part| format!("({part})")).collect();
                    parts.join(operator)
                })
        })
    }

    proptest! {
        #[test]
        fn a_reader_of_both_needs_both(
            first in prop_oneof![Just(String::new()), expression()],
            second in prop_oneof![Just(String::new()), expression()],
            held in prop::collection::btree_set(prop::sample::select(vec!["a", "b", "c", "d|e"]), 0..4),
        ) {
            let both = conjoin(first.as_bytes(), second.as_bytes());
            prop_assert!(both.is_empty() || validate(&both).is_ok());
            let held = Authorizations::new(held).expect("names");
            let mut evaluator = VisibilityEvaluator::new(&held);
            let mut sees = |label: &[u8]| evaluator.evaluate(label).is_visible();
            prop_assert_eq!(sees(&both), sees(first.as_bytes()) && sees(second.as_bytes()));
        }
    }
}
