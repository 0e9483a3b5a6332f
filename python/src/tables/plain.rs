//! What a scan gives as plain buffers: bytes one after the other and where each entry begins, numbers
//! where all values are numbers. Associative arrays are made of these.

use ostrakon_cell::{Batch, Error, Result, Slot};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::batches::{FIELDS, Reader};

/// A column of entries.
pub(super) enum Plain {
    /// Bytes, and where each entry begins; one more for the end.
    Bytes(Vec<u8>, Vec<i64>),
    /// Values that were all whole numbers.
    Integers(Vec<i64>),
    /// Values that were all numbers.
    Floats(Vec<f64>),
}

/// Bytes of the columns that are collected.
struct Lane {
    of: for<'a> fn(&'a Batch, &Slot) -> &'a [u8],
    data: Vec<u8>,
    offsets: Vec<i64>,
}

impl Reader {
    /// Reads the rest of the scan, or as many whole rows as `entries` entries need: the last row is
    /// read to its end. With `numbers`, values become numbers when all of them are.
    ///
    /// # Errors
    /// More than `limit_bytes` are needed; fields that are not bytes.
    pub(super) fn read_plain(
        &mut self,
        entries: Option<u64>,
        limit_bytes: u64,
        numbers: bool,
    ) -> Result<Vec<Plain>> {
        let fields = self.fields();
        let mut lanes = Vec::with_capacity(fields.len());
        for field in &fields {
            let of: for<'a> fn(&'a Batch, &Slot) -> &'a [u8] = match *field {
                "row" => |batch, slot| batch.bytes(slot.row),
                "family" => |batch, slot| batch.bytes(slot.family),
                "qualifier" => |batch, slot| batch.bytes(slot.qualifier),
                "visibility" => |batch, slot| batch.visibility(slot.visibility),
                "value" => |batch, slot| batch.bytes(slot.value),
                other => {
                    return Err(Error::invalid(
                        "only row, family, qualifier, visibility and value are columns of plain bytes",
                    )
                    .with("field", other));
                }
            };
            lanes.push(Lane {
                of,
                data: Vec::new(),
                offsets: vec![0],
            });
        }
        let wanted = entries.unwrap_or(u64::MAX).max(1);
        let (mut taken, mut bytes) = (0_u64, 0_u64);
        let mut last_row: Vec<u8> = Vec::new();
        while let Some((batch, from)) = self.rest()? {
            let slots = batch.slots();
            let mut to = slots.len();
            if let Some(cut) = from.checked_add((wanted - taken.min(wanted)) as usize)
                && cut < to
            {
                // The row of the last entry goes on to its end.
                if cut > from {
                    last_row.clear();
                    last_row.extend_from_slice(batch.row(cut - 1));
                }
                let torn = (cut..to).take_while(|at| batch.row(*at) == last_row);
                to = cut + torn.count();
            }
            for lane in &mut lanes {
                for slot in &slots[from..to] {
                    lane.data.extend_from_slice((lane.of)(batch, slot));
                    lane.offsets.push(lane.data.len() as i64);
                }
            }
            taken += (to - from) as u64;
            let over = to < slots.len();
            if taken >= wanted && !over && to > from {
                last_row.clear();
                last_row.extend_from_slice(batch.row(to - 1));
            }
            self.advance_to(to);
            let held = lanes.iter().map(|lane| lane.data.capacity() as u64);
            bytes = held.sum::<u64>() + taken * 8 * lanes.len() as u64;
            if bytes > limit_bytes {
                break;
            }
            if over {
                break;
            }
        }
        if bytes > limit_bytes {
            return Err(Error::invalid(
                "the result does not fit into memory: ask for fewer rows or columns, or read it in \
                 chunks of whole rows",
            )
            .with("limit_bytes", limit_bytes)
            .with("entries_read", taken));
        }
        let columns = fields.into_iter().zip(lanes).map(|(field, lane)| {
            if numbers && field == "value" {
                all_numbers(lane)
            } else {
                Plain::Bytes(lane.data, lane.offsets)
            }
        });
        Ok(columns.collect())
    }

    fn fields(&self) -> Vec<&'static str> {
        self.shape().fields.iter().map(|at| FIELDS[*at]).collect()
    }
}

/// Whole numbers that a 64-bit float holds exactly end here.
const EXACT: i64 = 1 << 53;

/// Numbers, if the text of every value is one and could be written back as it is.
fn all_numbers(lane: Lane) -> Plain {
    let values = || {
        let ends = lane.offsets.windows(2);
        ends.map(|pair| match pair {
            [from, to] => &lane.data[*from as usize..*to as usize],
            _ => &[],
        })
    };
    if lane.offsets.len() == 1 {
        return Plain::Integers(Vec::new());
    }
    if let Some(integers) = values().map(integer).collect::<Option<Vec<i64>>>() {
        return Plain::Integers(integers);
    }
    match values().map(float).collect::<Option<Vec<f64>>>() {
        Some(floats) => Plain::Floats(floats),
        None => Plain::Bytes(lane.data, lane.offsets),
    }
}

/// A whole number in the only form it is written in: no plus sign, no leading zeros.
fn integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        all => (false, all),
    };
    match digits {
        [b'0'] if !negative => return Some(0),
        [b'1'..=b'9', ..] if digits.len() <= 19 => {}
        _ => return None,
    }
    digits.iter().try_fold(0_i64, |number, digit| {
        let digit = i64::from(digit.wrapping_sub(b'0'));
        if digit > 9 {
            return None;
        }
        let digit = if negative { -digit } else { digit };
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// A number with or without fraction and exponent. `007` and `1.50` are texts: as numbers they would
/// come back as something else. So are infinities, `-0`, and numbers that a float cannot hold.
fn float(text: &[u8]) -> Option<f64> {
    if let Some(integer) = integer(text) {
        return (-EXACT..=EXACT)
            .contains(&integer)
            .then_some(integer as f64);
    }
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let at = digits.iter().position(|byte| matches!(byte, b'e' | b'E'));
    let (mantissa, exponent) = match at {
        Some(at) => (digits.get(..at)?, Some(digits.get(at + 1..)?)),
        None => (digits, None),
    };
    if let Some(exponent) = exponent {
        let exponent = exponent.strip_prefix(b"+").unwrap_or(exponent);
        let exponent = exponent.strip_prefix(b"-").unwrap_or(exponent);
        if exponent.is_empty() || !exponent.iter().all(u8::is_ascii_digit) {
            return None;
        }
    }
    let at = mantissa.iter().position(|byte| *byte == b'.');
    let (whole, fraction) = match at {
        Some(at) => (mantissa.get(..at)?, Some(mantissa.get(at + 1..)?)),
        None => (mantissa, None),
    };
    match whole {
        [b'0'] => {}
        [b'1'..=b'9', rest @ ..] if rest.iter().all(u8::is_ascii_digit) => {}
        _ => return None,
    }
    match fraction {
        None | Some([b'0']) => {}
        Some([all @ .., b'1'..=b'9']) if all.iter().all(u8::is_ascii_digit) => {}
        Some(_) => return None,
    }
    let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let is_kept = number.is_finite() && keeps_digits(mantissa, number);
    // An array has no negative zero.
    let is_lost = number == 0.0 && text.starts_with(b"-");
    (is_kept && !is_lost).then_some(number)
}

/// Whether a number is the one that was written, and not the nearest one that a float can hold.
fn keeps_digits(mantissa: &[u8], number: f64) -> bool {
    /// A float holds all numbers of so many digits, with a point.
    const SHORT: usize = f64::DIGITS as usize + 1;
    if mantissa.len() <= SHORT && number.is_normal() {
        return true;
    }
    let shown = format!("{:e}", number.abs());
    let digits = shown.split('e').next().unwrap_or_default();
    let is_whole = || format!("{:.0}", number.abs()).as_bytes() == mantissa;
    significant(mantissa).eq(significant(digits.as_bytes())) || is_whole()
}

/// The digits of a number without the zeros at its ends.
fn significant(mantissa: &[u8]) -> impl Iterator<Item = u8> {
    let is_digit = |byte: &u8| (b'1'..=b'9').contains(byte);
    let first = mantissa.iter().position(is_digit);
    let last = mantissa.iter().rposition(is_digit);
    let digits = match first.zip(last) {
        Some((first, last)) => mantissa.get(first..=last).unwrap_or_default(),
        None => &[],
    };
    digits.iter().copied().filter(u8::is_ascii_digit)
}

/// A column as Python gets it: what it is, its bytes, and where entries begin if they are texts.
pub(super) type PythonColumn<'py> = (
    &'static str,
    Bound<'py, PyBytes>,
    Option<Bound<'py, PyBytes>>,
);

/// Eight bytes per number, in the machine's order.
fn words<'py, W: Copy>(
    py: Python<'py>,
    numbers: &[W],
    bytes: fn(W) -> [u8; 8],
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, numbers.len() * 8, |buffer| {
        for (place, number) in buffer.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&bytes(*number));
        }
        Ok(())
    })
}

impl Plain {
    pub(super) fn into_python(self, py: Python<'_>) -> PyResult<PythonColumn<'_>> {
        Ok(match self {
            Self::Bytes(data, offsets) => (
                "bytes",
                PyBytes::new(py, &data),
                Some(words(py, &offsets, i64::to_ne_bytes)?),
            ),
            Self::Integers(numbers) => ("int", words(py, &numbers, i64::to_ne_bytes)?, None),
            Self::Floats(numbers) => ("float", words(py, &numbers, f64::to_ne_bytes)?, None),
        })
    }
}
