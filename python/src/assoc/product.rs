//! Matrix products.

use std::sync::Arc;

use ostrakon_assoc::csr::{
    Add, CatText, Multiply, View, cat_bytes, cat_product, expand, product, product_entries,
    product_size,
};
use ostrakon_assoc::keys::Keys;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::keys::{NativeKeys, dictionary};
use super::matrix::unknown;
use super::positions::{FourPositions, Map, Positions, four, slice};
use super::running::{LONG, run};
use super::source::to_python;
use super::values::{Made, Matrix, Values, made, with_numbers, with_values};
use crate::arrays::Close;

/// How much a product has to do: its multiplications, as far as they are few. Two small matrices may have very many.
fn work(left: &Matrix, inner: &Map, right: &Matrix) -> PyResult<usize> {
    let entries = left.len() + right.len();
    let most = left.len().saturating_mul(right.len());
    if entries >= LONG || most < LONG {
        return Ok(entries.max(most.min(LONG)));
    }
    let size = with_values!(&left.2, one => with_values!(&right.2, two => {
        product_size(&left.view(one)?, slice(inner), &right.view(two)?)
    }))
    .map_err(|error| to_python("product", &error))?;
    Ok(usize::try_from(size.products)
        .unwrap_or(usize::MAX)
        .max(entries))
}

/// The product over a named semiring. `inner` gives the row of the right matrix for each column of the left.
#[pyfunction]
pub(super) fn assoc_product<'py>(
    py: Python<'py>,
    left: Matrix,
    inner: Map,
    right: Matrix,
    add: &str,
    multiply: &str,
    threads: usize,
) -> PyResult<Bound<'py, PyTuple>> {
    let add = match add {
        "plus" => Add::Plus,
        "min" => Add::Min,
        "max" => Add::Max,
        "any" => Add::Any,
        other => return Err(unknown("addition", other)),
    };
    let multiply = match multiply {
        "times" => Multiply::Times,
        "plus" => Multiply::Plus,
        "min" => Multiply::Min,
        "max" => Multiply::Max,
        "first" => Multiply::First,
        "second" => Multiply::Second,
        "pair" => Multiply::Pair,
        other => return Err(unknown("multiplication", other)),
    };
    let product = run(py, work(&left, &inner, &right)?, move || {
        with_numbers!(&left.2, &right.2, one, two => {
            let (one, two) = (left.view(one)?, right.view(two)?);
            let product = product(&one, slice(&inner), &two, (add, multiply), threads);
            Ok(product.map(Made::from))
        })
    })?;
    made(py, product?)
}

/// Before a product: `(multiplications, most entries, least entries)`.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "extracted from Python")]
pub(super) fn assoc_product_size<'py>(
    py: Python<'py>,
    left: Matrix,
    inner: Map,
    right: Matrix,
) -> PyResult<(u64, u64, u64)> {
    let inner = slice(&inner);
    let size = with_values!(&left.2, one => with_values!(&right.2, two => {
        let (one, two) = (left.view(one)?, right.view(two)?);
        py.detach(|| product_size(&one, inner, &two))
    }))
    .map_err(|error| to_python("product", &error))?;
    Ok((size.products, size.most_entries, size.least_entries))
}

/// The places of a product, counted without values; stops above `most`.
#[pyfunction]
pub(super) fn assoc_product_entries<'py>(
    py: Python<'py>,
    left: Matrix,
    inner: Map,
    right: Matrix,
    most: u64,
) -> PyResult<u64> {
    let counted = run(py, work(&left, &inner, &right)?, move || {
        with_values!(&left.2, one => with_values!(&right.2, two => {
            let (one, two) = (left.view(one)?, right.view(two)?);
            PyResult::Ok(product_entries(&one, slice(&inner), &two, most))
        }))
    })?;
    counted?.map_err(|error| to_python("product", &error))
}

/// Every product on its own: `(rows, columns, left entries, right entries)`.
#[pyfunction]
pub(super) fn assoc_expand<'py>(
    py: Python<'py>,
    left: Matrix,
    inner: Map,
    right: Matrix,
    most: u64,
) -> PyResult<FourPositions<'py>> {
    let pairs = run(py, work(&left, &inner, &right)?, move || {
        with_values!(&left.2, one => with_values!(&right.2, two => {
            let (one, two) = (left.view(one)?, right.view(two)?);
            PyResult::Ok(expand(&one, slice(&inner), &two, most))
        }))
    })?;
    let pairs = pairs?.map_err(|error| to_python("product", &error))?;
    let lists = [pairs.rows, pairs.columns, pairs.left, pairs.right];
    Ok(four(py, lists))
}

/// Products that list the matching keys or values: `(starts, columns, dictionary, positions)`. With one dictionary the inner
/// keys are written, with two the pairs of values.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called from one place")]
pub(super) fn assoc_cat<'py>(
    py: Python<'py>,
    left: Matrix,
    inner: Map,
    right: Matrix,
    keys: &NativeKeys,
    right_values: Option<&NativeKeys>,
    pair_delimiter: &str,
    delimiter: &str,
) -> PyResult<(Positions<'py>, Positions<'py>, NativeKeys, Positions<'py>)> {
    let texts = Texts::new(keys, right_values, pair_delimiter, delimiter);
    let written = run(py, work(&left, &inner, &right)?, move || {
        let (one, two) = (positions(&left)?, positions(&right)?);
        PyResult::Ok(
            cat_product(&one, slice(&inner), &two, texts.written()).and_then(
                |(starts, columns, text)| {
                    let (keys, positions) = dictionary(&text)?;
                    Ok((starts, columns, keys, positions))
                },
            ),
        )
    })?;
    let (starts, columns, keys, positions) =
        written?.map_err(|error| to_python("product", &error))?;
    Ok((
        starts.into_closed(py),
        columns.into_closed(py),
        NativeKeys::new(keys),
        positions.into_closed(py),
    ))
}

/// Bytes of the texts that `assoc_cat` would write.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the same as assoc_cat")]
pub(super) fn assoc_cat_bytes<'py>(
    py: Python<'py>,
    left: Matrix,
    inner: Map,
    right: Matrix,
    keys: &NativeKeys,
    right_values: Option<&NativeKeys>,
    pair_delimiter: &str,
    delimiter: &str,
) -> PyResult<u64> {
    let texts = Texts::new(keys, right_values, pair_delimiter, delimiter);
    let counted = run(py, work(&left, &inner, &right)?, move || {
        let (one, two) = (positions(&left)?, positions(&right)?);
        PyResult::Ok(cat_bytes(&one, slice(&inner), &two, texts.written()))
    })?;
    counted?.map_err(|error| to_python("product", &error))
}

fn positions<'a>(matrix: &'a Matrix) -> PyResult<View<'a, u32>> {
    let Values::Position(values) = &matrix.2 else {
        return Err(PyTypeError::new_err(
            "values: positions in a dictionary are needed",
        ));
    };
    matrix.view(values.as_slice())
}

/// What is written for each product, without anything of Python's.
struct Texts {
    keys: Arc<Keys>,
    right_values: Option<Arc<Keys>>,
    pair_delimiter: String,
    delimiter: String,
}

impl Texts {
    fn new(
        keys: &NativeKeys,
        right_values: Option<&NativeKeys>,
        pair_delimiter: &str,
        delimiter: &str,
    ) -> Self {
        Self {
            keys: keys.keys.clone(),
            right_values: right_values.map(|right| right.keys.clone()),
            pair_delimiter: pair_delimiter.to_owned(),
            delimiter: delimiter.to_owned(),
        }
    }

    fn written(&self) -> CatText<'_> {
        let delimiter = self.delimiter.as_bytes();
        match &self.right_values {
            None => CatText::Keys {
                keys: &self.keys,
                delimiter,
            },
            Some(right) => CatText::Values {
                left: &self.keys,
                right,
                pair_delimiter: self.pair_delimiter.as_bytes(),
                delimiter,
            },
        }
    }
}
