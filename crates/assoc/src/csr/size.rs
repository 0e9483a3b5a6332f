//! The size of a product, computed before anything is allocated for it.

use super::cat::CatText;
use super::matrix::View;
use super::product::{Inner, Marks};
use crate::error::Result;
use crate::keys::Keys;

/// What is known of a product without multiplying.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Multiplications.
    pub products: u64,
    /// The maximum number of entries of the result.
    pub most_entries: u64,
    /// The minimum number of places of the result (including nulls): as many in each row as the longest
    /// matching row of the right matrix.
    pub least_entries: u64,
}

/// Counts the multiplications of a product, in time proportional to the entries of the left matrix.
///
/// # Errors
/// As [`super::product()`].
pub fn product_size<A, B>(
    left: &View<'_, A>,
    inner: Option<&[u32]>,
    right: &View<'_, B>,
) -> Result<Size> {
    let inner = Inner::new(left, inner, right)?;
    let mut size = Size::default();
    for row in 0..left.height() {
        let (mut products, mut longest) = (0, 0);
        inner.each_row(left, right, row, |_, entries| {
            products += entries.len() as u64;
            longest = longest.max(entries.len() as u64);
        });
        size.products += products;
        size.most_entries += products.min(right.width as u64);
        size.least_entries += longest;
    }
    Ok(size)
}

/// Counts the places of a product, nulls among them; stops when there are more than `most`. Takes about
/// as long as the product.
///
/// # Errors
/// As [`super::product()`].
pub fn product_entries<A, B>(
    left: &View<'_, A>,
    inner: Option<&[u32]>,
    right: &View<'_, B>,
    most: u64,
) -> Result<u64> {
    let inner = Inner::new(left, inner, right)?;
    // A bit for each column: never more than the keys of these columns take.
    let mut marks = Marks::new(right.width);
    let mut entries = 0;
    for row in 0..left.height() {
        inner.each(left, right, row, |column, _, _| {
            entries += u64::from(marks.set(column));
        });
        marks.drain(|_| ());
        if entries > most {
            break;
        }
    }
    Ok(entries)
}

/// Bytes of all texts that [`super::cat_product()`] writes.
///
/// # Errors
/// As [`super::product()`].
pub fn cat_bytes(
    left: &View<'_, u32>,
    inner: Option<&[u32]>,
    right: &View<'_, u32>,
    write: CatText<'_>,
) -> Result<u64> {
    let inner = Inner::new(left, inner, right)?;
    let mut bytes = 0;
    for row in 0..left.height() {
        match write {
            CatText::Keys { keys, delimiter } => {
                inner.each_row(left, right, row, |mine, theirs| {
                    let text = length(keys, left.columns[mine]) + delimiter.len() as u64;
                    bytes += text * theirs.len() as u64;
                });
            }
            CatText::Values {
                left: left_values,
                right: right_values,
                pair_delimiter,
                delimiter,
            } => {
                let around = 2 * pair_delimiter.len() as u64 + delimiter.len() as u64;
                inner.each_row(left, right, row, |mine, theirs| {
                    let text = length(left_values, left.values[mine]) + around;
                    bytes += text * theirs.len() as u64;
                    let theirs = &right.values[theirs];
                    bytes += theirs
                        .iter()
                        .map(|value| length(right_values, *value))
                        .sum::<u64>();
                });
            }
        }
    }
    Ok(bytes)
}

fn length(keys: &Keys, position: u32) -> u64 {
    keys.get(position as usize).map_or(0, <[u8]>::len) as u64
}
