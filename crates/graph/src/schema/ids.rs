//! Row keys that spread inserts over a table or put the newest first.

/// The bytes in reverse order: numbers that count up then differ in their first digits, so that
/// neighbours in time go to different tablets.
#[must_use]
pub fn flip(id: &[u8]) -> Vec<u8> {
    id.iter().rev().copied().collect()
}

/// The id of edge or record number `number`: decimal, zero-padded to `width` digits, flipped.
///
/// ```
/// use ostrakon_graph::edge_id;
/// assert_eq!(edge_id(1234, 6), b"432100");
/// ```
#[must_use]
pub fn edge_id(number: u64, width: usize) -> Vec<u8> {
    flip(format!("{number:0width$}").as_bytes())
}

/// Milliseconds since 1970 counted down from the largest 64-bit number, as 19 digits: rows that begin with it
/// come newest first.
///
/// ```
/// use ostrakon_graph::reversed_millis;
/// assert!(reversed_millis(2_000) < reversed_millis(1_000));
/// ```
#[must_use]
pub fn reversed_millis(millis: i64) -> String {
    format!("{:019}", i64::MAX - millis.max(0))
}
