//! Resolves a range, a prefix, a wildcard or a part of a text to positions.

use std::ops::Range;

use memchr::memmem;

use super::dictionary::Keys;

impl Keys {
    /// Positions of the keys from `first` to `last`, both included; `None` is an open end. Bounds need
    /// not be keys; a range that lies outside, or is upside down, is empty.
    #[must_use]
    pub fn range(&self, first: Option<&[u8]>, last: Option<&[u8]>) -> Range<usize> {
        let start = first.map_or(0, |first| self.lower_bound(first));
        let stop = last.map_or(self.len(), |last| self.upper_bound(last));
        start..stop.max(start)
    }

    /// Positions of the keys that begin with `prefix`.
    #[must_use]
    pub fn prefix(&self, prefix: &[u8]) -> Range<usize> {
        let start = self.lower_bound(prefix);
        // The last byte that can be raised is; then everything above has another prefix.
        let mut above = prefix.to_vec();
        while above.last() == Some(&u8::MAX) {
            above.pop();
        }
        let stop = match above.last_mut() {
            Some(last) => {
                *last += 1;
                self.lower_bound(&above)
            }
            None => self.len(),
        };
        start..stop
    }

    /// Positions of the keys that match a pattern in which `*` matches any text, including the empty one.
    #[must_use]
    pub fn wildcard(&self, pattern: &[u8]) -> Vec<u32> {
        let mut parts = pattern.split(|byte| *byte == b'*');
        let head = parts.next().unwrap_or_default();
        let mut middle: Vec<&[u8]> = parts.collect();
        let Some(tail) = middle.pop() else {
            return self.find(head).map(|at| at as u32).into_iter().collect();
        };
        self.prefix(head)
            .filter(|position| {
                let key = self.at(*position);
                let Some(rest) = key[head.len()..].strip_suffix(tail) else {
                    return false;
                };
                in_order(rest, &middle)
            })
            .map(|position| position as u32)
            .collect()
    }

    /// Positions of the keys that hold at least one of the pieces.
    #[must_use]
    pub fn containing(&self, pieces: &[&[u8]]) -> Vec<u32> {
        let finders: Vec<_> = pieces
            .iter()
            .map(|piece| memmem::Finder::new(*piece))
            .collect();
        (0..self.len())
            .filter(|position| {
                let key = self.at(*position);
                finders.iter().any(|finder| finder.find(key).is_some())
            })
            .map(|position| position as u32)
            .collect()
    }
}

/// Whether `text` contains the pieces in order and without overlap. Taking the leftmost place
/// for each piece leaves the most text for the next, so no choice has to be revised.
fn in_order(mut text: &[u8], pieces: &[&[u8]]) -> bool {
    for piece in pieces {
        let Some(at) = memmem::find(text, piece) else {
            return false;
        };
        text = &text[at + piece.len()..];
    }
    true
}
