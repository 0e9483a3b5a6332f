//! The matrix product over any of the named semirings: row by row (Gustavson), with a dense row of sums
//! and a bitmap of three levels that gives the columns back in order without sorting them.

use std::thread;

use super::condense::{Condensed, condense};
use super::matrix::{Csr, View};
use super::semiring::{Add, Multiply, Number};
use crate::error::{Error, Result, checked_count};
use crate::keys::MISSING;

/// Wider results are summed by sorting: a dense row of this width is 32 MiB per thread.
const DENSE_WIDTH: usize = 1 << 22;

/// Below this many products a thread costs more than it saves.
const THREAD_PRODUCTS: u64 = 1 << 16;

/// Multiplies two matrices. `inner` gives for each column of the left one the row of the right one, or
/// [`MISSING`]; `None` if they have the same positions. Null results are dropped.
///
/// # Errors
/// [`Error::Uneven`] or [`Error::OutOfBounds`] when `inner` does not fit, [`Error::TooLarge`].
pub fn product<T: Number>(
    left: &View<'_, T>,
    inner: Option<&[u32]>,
    right: &View<'_, T>,
    (add, multiply): (Add, Multiply),
    threads: usize,
) -> Result<Condensed<T>> {
    let inner = Inner::new(left, inner, right)?;
    macro_rules! run {
        ($add:expr, $multiply:expr) => {
            multiply_rows(left, &inner, right, $add, $multiply, threads)
        };
    }
    macro_rules! with_add {
        ($add:expr) => {
            match multiply {
                Multiply::Times => run!($add, T::times),
                Multiply::Plus => run!($add, T::sum),
                Multiply::Min => run!($add, T::smaller),
                Multiply::Max => run!($add, T::larger),
                Multiply::First => run!($add, |left, _| left),
                Multiply::Second => run!($add, |_, right| right),
                Multiply::Pair => run!($add, |_, _| T::ONE),
            }
        };
    }
    match add {
        Add::Plus => with_add!(T::sum),
        Add::Min => with_add!(T::smaller),
        Add::Max => with_add!(T::larger),
        Add::Any => with_add!(|any, _| any),
    }
}

/// Every product on its own, for semirings that this crate does not provide.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Row of the result.
    pub rows: Vec<u32>,
    /// Column of the result.
    pub columns: Vec<u32>,
    /// Entry of the left matrix.
    pub left: Vec<u32>,
    /// Entry of the right matrix.
    pub right: Vec<u32>,
}

/// Lists the products by row of the result; at one place the inner positions ascend.
///
/// # Errors
/// As [`product`]; [`Error::TooLarge`] beyond `most` products.
pub fn expand<A, B>(
    left: &View<'_, A>,
    inner: Option<&[u32]>,
    right: &View<'_, B>,
    most: u64,
) -> Result<Pairs> {
    let inner = Inner::new(left, inner, right)?;
    let count = (0..left.height())
        .map(|row| inner.products(left, right, row))
        .sum();
    if count > most {
        return Err(Error::TooLarge {
            what: "products",
            count,
        });
    }
    let mut pairs = Pairs::default();
    for row in 0..left.height() {
        inner.each(left, right, row, |column, mine, theirs| {
            pairs.rows.push(row as u32);
            pairs.columns.push(column);
            pairs.left.push(mine as u32);
            pairs.right.push(theirs as u32);
        });
    }
    Ok(pairs)
}

/// From a column of the left matrix to a row of the right one.
pub(super) struct Inner<'a>(Option<&'a [u32]>);

impl<'a> Inner<'a> {
    pub(super) fn new<A, B>(
        left: &View<'_, A>,
        inner: Option<&'a [u32]>,
        right: &View<'_, B>,
    ) -> Result<Self> {
        let length = inner.map_or(right.height(), <[u32]>::len);
        if length != left.width {
            return Err(Error::Uneven {
                what: "inner keys",
                expected: left.width,
                found: length,
            });
        }
        let rows = inner.unwrap_or_default().iter();
        match rows.filter(|row| **row != MISSING).max() {
            Some(&position) if position as usize >= right.height() => Err(Error::OutOfBounds {
                what: "rows",
                position: position.into(),
                count: right.height(),
            }),
            _ => Ok(Self(inner)),
        }
    }

    #[inline]
    fn row(&self, column: u32) -> Option<usize> {
        match self.0 {
            None => Some(column as usize),
            Some(rows) => {
                let row = rows[column as usize];
                (row != MISSING).then_some(row as usize)
            }
        }
    }

    /// How many products a row of the left matrix makes.
    fn products<A, B>(&self, left: &View<'_, A>, right: &View<'_, B>, row: usize) -> u64 {
        left.row(row)
            .filter_map(|entry| self.row(left.columns[entry]))
            .map(|row| right.row(row).len() as u64)
            .sum()
    }

    /// Visits the products of a row: column of the result, entry left, entry right.
    #[inline]
    pub(super) fn each<A, B>(
        &self,
        left: &View<'_, A>,
        right: &View<'_, B>,
        row: usize,
        mut visit: impl FnMut(u32, usize, usize),
    ) {
        self.each_row(left, right, row, |mine, entries| {
            for theirs in entries {
                visit(right.columns[theirs], mine, theirs);
            }
        });
    }

    /// Visits the rows of the right matrix that match a row of the left one: entry left, entries right.
    #[inline]
    pub(super) fn each_row<A, B>(
        &self,
        left: &View<'_, A>,
        right: &View<'_, B>,
        row: usize,
        mut visit: impl FnMut(usize, std::ops::Range<usize>),
    ) {
        for mine in left.row(row) {
            if let Some(row) = self.row(left.columns[mine]) {
                visit(mine, right.row(row));
            }
        }
    }
}

/// Some rows of a result: entries in each row, columns, values.
struct Part<T> {
    lengths: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<T>,
}

fn multiply_rows<T: Number>(
    left: &View<'_, T>,
    inner: &Inner<'_>,
    right: &View<'_, T>,
    add: impl Fn(T, T) -> T + Copy + Send + Sync,
    multiply: impl Fn(T, T) -> T + Copy + Send + Sync,
    threads: usize,
) -> Result<Condensed<T>> {
    let products: Vec<u64> = (0..left.height())
        .map(|row| inner.products(left, right, row))
        .collect();
    let total: u64 = products.iter().sum();
    let parts = (threads as u64).min(total / THREAD_PRODUCTS).max(1);
    let work = |rows: std::ops::Range<usize>| {
        if right.width <= DENSE_WIDTH {
            dense_rows(left, inner, right, rows, add, multiply)
        } else {
            sorted_rows(left, inner, right, rows, add, multiply)
        }
    };
    let mut done: Vec<Part<T>> = Vec::new();
    if parts == 1 {
        done.push(work(0..left.height()));
    } else {
        let shares = even_shares(&products, total, parts);
        thread::scope(|scope| {
            let workers: Vec<_> = shares
                .into_iter()
                .map(|rows| scope.spawn(move || work(rows)))
                .collect();
            for worker in workers {
                match worker.join() {
                    Ok(part) => done.push(part),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
    }
    let entries: usize = done.iter().map(|part| part.columns.len()).sum();
    checked_count("entries", entries)?;
    let mut parts = done.into_iter();
    let mut starts = Vec::with_capacity(left.height() + 1);
    let mut end = 0;
    starts.push(end);
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    if let Some(first) = parts.next() {
        (columns, values) = (first.columns, first.values);
        columns.reserve_exact(entries - columns.len());
        values.reserve_exact(entries - values.len());
        for length in first.lengths {
            end += length;
            starts.push(end);
        }
    }
    for part in parts {
        columns.extend_from_slice(&part.columns);
        values.extend_from_slice(&part.values);
        for length in part.lengths {
            end += length;
            starts.push(end);
        }
    }
    Ok(condense(Csr {
        starts,
        columns,
        values,
        width: right.width,
    }))
}

/// Cuts the rows so that each share makes about as many products.
fn even_shares(products: &[u64], total: u64, parts: u64) -> Vec<std::ops::Range<usize>> {
    let mut shares = Vec::new();
    let (mut start, mut sum) = (0, 0);
    for (row, count) in products.iter().enumerate() {
        sum += count;
        if sum * parts >= total * (shares.len() as u64 + 1) && (shares.len() as u64) < parts - 1 {
            shares.push(start..row + 1);
            start = row + 1;
        }
    }
    shares.push(start..products.len());
    shares
}

fn dense_rows<T: Number>(
    left: &View<'_, T>,
    inner: &Inner<'_>,
    right: &View<'_, T>,
    rows: std::ops::Range<usize>,
    add: impl Fn(T, T) -> T,
    multiply: impl Fn(T, T) -> T,
) -> Part<T> {
    let mut sums = vec![T::default(); right.width];
    let mut marks = Marks::new(right.width);
    let mut part = Part {
        lengths: Vec::with_capacity(rows.len()),
        columns: Vec::new(),
        values: Vec::new(),
    };
    for row in rows {
        let before = part.columns.len();
        inner.each(left, right, row, |column, mine, theirs| {
            let value = multiply(left.values[mine], right.values[theirs]);
            let sum = &mut sums[column as usize];
            *sum = if marks.set(column) {
                value
            } else {
                add(*sum, value)
            };
        });
        marks.drain(|column| {
            let value = sums[column as usize];
            if !value.is_null() {
                part.columns.push(column);
                part.values.push(value);
            }
        });
        part.lengths.push((part.columns.len() - before) as u32);
    }
    part
}

fn sorted_rows<T: Number>(
    left: &View<'_, T>,
    inner: &Inner<'_>,
    right: &View<'_, T>,
    rows: std::ops::Range<usize>,
    add: impl Fn(T, T) -> T,
    multiply: impl Fn(T, T) -> T,
) -> Part<T> {
    let mut part = Part {
        lengths: Vec::with_capacity(rows.len()),
        columns: Vec::new(),
        values: Vec::new(),
    };
    let mut order: Vec<u64> = Vec::new();
    let mut products: Vec<T> = Vec::new();
    for row in rows {
        order.clear();
        products.clear();
        inner.each(left, right, row, |column, mine, theirs| {
            order.push(u64::from(column) << 32 | products.len() as u64);
            products.push(multiply(left.values[mine], right.values[theirs]));
        });
        order.sort_unstable();
        let before = part.columns.len();
        let same_column = |one: &u64, other: &u64| one >> 32 == other >> 32;
        for place in order.chunk_by(same_column) {
            let value = place
                .iter()
                .map(|entry| products[*entry as u32 as usize])
                .reduce(&add);
            if let Some(value) = value
                && !value.is_null()
            {
                part.columns.push((place[0] >> 32) as u32);
                part.values.push(value);
            }
        }
        part.lengths.push((part.columns.len() - before) as u32);
    }
    part
}

/// A set of columns that empties itself in ascending order. Each bit of a level says whether any of the 64
/// bits below it is set.
pub(super) struct Marks {
    ground: Vec<u64>,
    first: Vec<u64>,
    second: Vec<u64>,
}

impl Marks {
    pub(super) fn new(width: usize) -> Self {
        let ground = width.div_ceil(64);
        let first = ground.div_ceil(64);
        Self {
            ground: vec![0; ground],
            first: vec![0; first],
            second: vec![0; first.div_ceil(64)],
        }
    }

    /// Adds a column; whether it is new.
    #[inline]
    pub(super) fn set(&mut self, column: u32) -> bool {
        let at = column as usize;
        let bit = 1 << (at & 63);
        let word = &mut self.ground[at >> 6];
        let before = *word;
        if before & bit != 0 {
            return false;
        }
        *word = before | bit;
        if before == 0 {
            let word = &mut self.first[at >> 12];
            if *word == 0 {
                self.second[at >> 18] |= 1 << ((at >> 12) & 63);
            }
            *word |= 1 << ((at >> 6) & 63);
        }
        true
    }

    pub(super) fn drain(&mut self, mut visit: impl FnMut(u32)) {
        for (top, second) in self.second.iter_mut().enumerate() {
            for middle in bits(std::mem::take(second)) {
                let middle = top << 6 | middle;
                for low in bits(std::mem::take(&mut self.first[middle])) {
                    let low = middle << 6 | low;
                    for bit in bits(std::mem::take(&mut self.ground[low])) {
                        visit((low << 6 | bit) as u32);
                    }
                }
            }
        }
    }
}

/// Positions of the set bits, ascending.
#[inline]
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if word == 0 {
            return None;
        }
        let bit = word.trailing_zeros() as usize;
        word &= word - 1;
        Some(bit)
    })
}
