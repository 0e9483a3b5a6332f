//! The label of a value that comes from several cells.

use std::collections::BTreeSet;

/// A label that requires all of some labels. What several of them require stands in it once: labels that are made of others
/// again and again do not grow.
pub(super) fn required<'a>(labels: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut rest: Vec<&[u8]> = labels.into_iter().collect();
    let mut terms = BTreeSet::new();
    while let Some(label) = rest.pop() {
        match parts(label) {
            Some(parts) => rest.extend(parts),
            None if label.is_empty() => {}
            None => {
                terms.insert(label);
            }
        }
    }
    let terms: Vec<&[u8]> = terms.into_iter().collect();
    if let [term] = terms.as_slice() {
        return term.to_vec();
    }
    let mut all = Vec::new();
    for (at, term) in terms.into_iter().enumerate() {
        if at > 0 {
            all.push(b'&');
        }
        // Around a name in quotes they do no harm.
        let [open, close]: [&[u8]; 2] = match term.contains(&b'|') {
            true => [b"(", b")"],
            false => [b"", b""],
        };
        all.extend([open, term, close].concat());
    }
    all
}

/// The parts of `a&(b|c)`, or what is within parentheses; `None` of a label that is one term.
fn parts(label: &[u8]) -> Option<Vec<&[u8]>> {
    let (mut depth, mut start, mut parts) = (0_usize, 0, Vec::new());
    let (mut is_quoted, mut is_escaped) = (false, false);
    // Whether the first parenthesis is closed by the last one.
    let mut is_whole = label.first() == Some(&b'(') && label.last() == Some(&b')');
    for (at, byte) in label.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            b'(' => depth += 1,
            b')' => {
                depth = depth.saturating_sub(1);
                is_whole &= depth > 0 || at + 1 == label.len();
            }
            b'|' if depth == 0 => return None,
            b'&' if depth == 0 => {
                parts.push(label.get(start..at)?);
                start = at + 1;
            }
            _ => {}
        }
    }
    if is_whole {
        return Some(vec![label.get(1..label.len() - 1)?]);
    }
    if parts.is_empty() {
        return None;
    }
    parts.push(label.get(start..)?);
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::required;

    #[test]
    fn what_labels_require_stands_once() {
        for (labels, expected) in [
            (&["a"][..], "a"),
            (&["", "a", ""], "a"),
            (&["b", "a"], "a&b"),
            (&["a", "b", "a&b", "b&a"], "a&b"),
            (&["a|b", "c", "(a|b)&c"], "(a|b)&c"),
            (&["(a&b)", "((c))"], "a&b&c"),
            (&["(a)&(b)", "(a|b)&(c|d)"], "a&(a|b)&b&(c|d)"),
            (&[r#""x&y""#, r#""p\"|q"&z"#], r#"("p\"|q")&"x&y"&z"#),
            (&[], ""),
        ] {
            let labels = labels.iter().map(|label| label.as_bytes());
            assert_eq!(String::from_utf8(required(labels)).unwrap(), expected);
        }
    }
}
