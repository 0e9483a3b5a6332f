//! Sets of row or column keys, written as D4M writes them.

use ostrakon_cell::{Error, Range, Result, following_prefix};

/// A set of keys: single keys, ranges with open ends, prefixes. Default: every key.
///
/// ```
/// use ostrakon_graph::KeyRanges;
/// let keys = KeyRanges::parse("alice,c,:,d,z*,")?;
/// assert!(keys.contains(b"alice") && keys.contains(b"carl") && keys.contains(b"zoe"));
/// assert!(!keys.contains(b"bob"));
/// // The last character separates; an end of a range may be missing.
/// assert!(KeyRanges::parse(":;b;")?.contains(b"a,b"));
/// # Ok::<(), ostrakon_cell::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRanges {
    /// Sorted by start, apart from each other: from the first (inclusive) to the second (exclusive,
    /// `None` for no end).
    spans: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Default for KeyRanges {
    fn default() -> Self {
        Self::all()
    }
}

impl KeyRanges {
    /// Every key.
    #[must_use]
    pub fn all() -> Self {
        Self {
            spans: vec![(Vec::new(), None)],
        }
    }

    /// Exactly these keys.
    pub fn keys<K: AsRef<[u8]>>(keys: impl IntoIterator<Item = K>) -> Self {
        let spans = keys.into_iter().map(|key| {
            let key = key.as_ref();
            (key.to_vec(), Some(after(key)))
        });
        Self::merged(spans.collect())
    }

    /// The keys that begin with `prefix`.
    #[must_use]
    pub fn prefix(prefix: &[u8]) -> Self {
        Self {
            spans: vec![(prefix.to_vec(), following_prefix(prefix))],
        }
    }

    /// Reads a list in D4M's form: keys, each followed by the separator, which is the last
    /// character; `:` between two keys makes a range that holds both, at the beginning or end of the list one
    /// without that end; `*` after a key makes it a prefix. The empty text and `:` mean every key.
    ///
    /// # Errors
    /// Two colons in a row, a range whose start is after its end, or a missing separator.
    pub fn parse(text: &str) -> Result<Self> {
        if text.is_empty() || text == ":" {
            return Ok(Self::all());
        }
        let wrong = |message: &'static str| Error::invalid(message).with("given", text);
        let Some(separator) = text.chars().last().filter(|last| !last.is_alphanumeric()) else {
            return Err(wrong(
                "a list of keys ends with its separator, for example alice,bob,",
            ));
        };
        if separator == ':' || separator == '*' {
            return Err(wrong("the colon and the asterisk cannot separate keys"));
        }
        let body = text.strip_suffix(separator).unwrap_or(text);
        let parts: Vec<&str> = body.split(separator).collect();
        let mut spans = Vec::new();
        let mut at = 0;
        while at < parts.len() {
            let part = parts[at];
            let to = |end: &str| match end {
                ":" => Err(wrong("two colons in a row do not form a range")),
                end => Ok(after(end.as_bytes())),
            };
            if part == ":" {
                // Only at the beginning: elsewhere the key before has taken it.
                let end = parts.get(at + 1).map(|end| to(end)).transpose()?;
                spans.push((Vec::new(), end));
                at += 2;
            } else if parts.get(at + 1) == Some(&":") {
                let end = parts.get(at + 2).map(|end| to(end)).transpose()?;
                if end.as_deref().is_some_and(|end| end <= part.as_bytes()) {
                    return Err(wrong("a range starts after its end: swap the two"));
                }
                spans.push((part.as_bytes().to_vec(), end));
                at += 3;
            } else {
                spans.push(match part.strip_suffix('*') {
                    Some(prefix) => (prefix.into(), following_prefix(prefix.as_bytes())),
                    None => (part.into(), Some(after(part.as_bytes()))),
                });
                at += 1;
            }
        }
        Ok(Self::merged(spans))
    }

    /// Whether every key is meant.
    #[must_use]
    pub fn is_all(&self) -> bool {
        matches!(self.spans.as_slice(), [(start, None)] if start.is_empty())
    }

    /// Whether `key` belongs to the set.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        let behind = self
            .spans
            .partition_point(|(start, _)| start.as_slice() <= key);
        behind
            .checked_sub(1)
            .and_then(|at| self.spans.get(at))
            .is_some_and(|(_, end)| end.as_deref().is_none_or(|end| key < end))
    }

    /// The set as ranges of rows, in order.
    #[must_use]
    pub fn to_ranges(&self) -> Vec<Range> {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        self.spans
            .iter()
            .map(|(start, end)| {
                Range::rows::<&[u8]>((
                    if start.is_empty() {
                        Unbounded
                    } else {
                        Included(start.as_slice())
                    },
                    end.as_deref().map_or(Unbounded, Excluded),
                ))
            })
            .collect()
    }

    /// The set as text for an iterator's option: pairs of hexadecimal start and end, `-` for no
    /// end.
    pub(crate) fn encode(&self) -> String {
        let hex =
            |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("{byte:02x}")).collect() };
        let spans: Vec<String> = self
            .spans
            .iter()
            .map(|(start, end)| {
                let end = end.as_deref().map_or_else(|| "-".to_owned(), hex);
                format!("{}:{end}", hex(start))
            })
            .collect();
        spans.join(",")
    }

    /// Reads what [`encode`](Self::encode) wrote.
    pub(crate) fn decode(text: &str) -> Result<Self> {
        fn bytes(hex: &str) -> Option<Vec<u8>> {
            let digits: Option<Vec<u32>> = hex.chars().map(|digit| digit.to_digit(16)).collect();
            let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
            Some(
                digits
                    .chunks_exact(2)
                    .map(|pair| (pair[0] * 16 + pair[1]) as u8)
                    .collect(),
            )
        }
        let span = |span: &str| {
            let (start, end) = span.split_once(':')?;
            let end = match end {
                "-" => None,
                end => Some(bytes(end)?),
            };
            Some((bytes(start)?, end))
        };
        let spans: Option<Vec<_>> = text.split(',').map(span).collect();
        spans.map(Self::merged).ok_or_else(|| {
            Error::invalid("keys are written as hexadecimal start:end pairs, - for no end")
                .with("given", text)
        })
    }

    fn merged(mut spans: Vec<(Vec<u8>, Option<Vec<u8>>)>) -> Self {
        spans.sort();
        let mut merged: Vec<(Vec<u8>, Option<Vec<u8>>)> = Vec::new();
        for (start, end) in spans {
            match merged.last_mut() {
                Some((_, last)) if last.as_ref().is_none_or(|last| *last >= start) => {
                    if let Some(to) = last
                        && end.as_ref().is_none_or(|end| end > to)
                    {
                        *last = end;
                    }
                }
                _ => merged.push((start, end)),
            }
        }
        Self { spans: merged }
    }
}

/// The smallest key greater than `key`.
fn after(key: &[u8]) -> Vec<u8> {
    let mut next = Vec::with_capacity(key.len() + 1);
    next.extend_from_slice(key);
    next.push(0);
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(text: &str) -> String {
        let keys = KeyRanges::parse(text).expect("sound");
        let again = KeyRanges::decode(&keys.encode()).expect("as written");
        assert_eq!(keys, again);
        ('a'..='i')
            .filter(|letter| keys.contains(letter.to_string().as_bytes()))
            .collect()
    }

    #[test]
    fn lists_mean_what_they_say() {
        assert_eq!(held("b,d,"), "bd");
        assert_eq!(held("b,:,d,"), "bcd");
        assert_eq!(held(":,b,d,f,:,g,i,:,"), "abdfgi");
        assert_eq!(held("d b c "), "bcd");
        assert_eq!(held("g,:,"), "ghi");
        assert_eq!(held(":,"), "abcdefghi");
        assert_eq!(held(":"), "abcdefghi");
        assert_eq!(held("b*,"), "b");
        assert_eq!(held("*,"), "abcdefghi");
        assert!(KeyRanges::parse("").expect("all").is_all());
        assert!(KeyRanges::parse("a,:,").expect("open").contains(b"zz"));
        assert!(!KeyRanges::parse("a,").expect("one").contains(b"aa"));
    }

    #[test]
    fn what_is_not_a_list_is_refused() {
        for text in ["a,b", "a:", "c,:,a,", "a,:,:,", "a*"] {
            assert!(KeyRanges::parse(text).is_err(), "{text}");
        }
        for text in ["", "a", "6:-", "zz:-", "\u{e9}:-"] {
            assert!(KeyRanges::decode(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ranges_of_rows_hold_the_same_keys() {
        let keys = KeyRanges::parse("b,d,:,f,h*,").expect("sound");
        let ranges = keys.to_ranges();
        for row in [
            "a", "b", "b\0", "c", "d", "e", "f", "f\0", "g", "h", "hh", "i",
        ] {
            let inside = ranges
                .iter()
                .any(|range| range.contains_row(row.as_bytes()));
            assert_eq!(inside, keys.contains(row.as_bytes()), "{row:?}");
        }
    }
}
