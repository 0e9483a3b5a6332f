//! Dictionaries of keys.

use std::sync::Arc;
use std::thread;

use numpy::PyArray1;
use ostrakon_assoc::Result;
use ostrakon_assoc::keys::{Keys, Text, concatenate, join, words};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};

use super::running::run;
use super::source::{Built, Plain, Source, to_python};
use crate::arrays::{Close, Items};

/// Sorted, unique text keys in one buffer. Never changes.
#[pyclass(frozen, module = "ostrakon._native")]
pub(crate) struct NativeKeys {
    pub(crate) keys: Arc<Keys>,
}

type Positions<'py> = Bound<'py, PyArray1<u32>>;
type TextBuffers<'py> = (Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<i64>>);

impl NativeKeys {
    pub(super) fn new(keys: Keys) -> Self {
        Self {
            keys: Arc::new(keys),
        }
    }
}

#[pymethods]
impl NativeKeys {
    fn __len__(&self) -> usize {
        self.keys.len()
    }

    /// Bytes in memory.
    #[getter]
    fn nbytes(&self) -> usize {
        self.keys.memory_bytes()
    }

    /// Length of the longest key, in characters.
    #[getter]
    fn longest(&self) -> usize {
        self.keys.longest_in_characters()
    }

    fn get<'py>(&self, py: Python<'py>, position: usize) -> PyResult<Bound<'py, PyString>> {
        let key = self.keys.get(position).ok_or_else(|| {
            PyIndexError::new_err(format!("position {position} of {} keys", self.keys.len()))
        })?;
        text(py, key)
    }

    /// All keys as Python strings.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for position in 0..self.keys.len() {
            if let Some(key) = self.keys.get(position) {
                list.append(text(py, key)?)?;
            }
        }
        Ok(list)
    }

    /// The bytes of all keys, and the offsets between them.
    fn to_buffers<'py>(&self, py: Python<'py>) -> TextBuffers<'py> {
        let text = self.keys.text();
        (
            text.bytes().to_vec().into_closed(py),
            text.offsets().to_vec().into_closed(py),
        )
    }

    /// All keys as code points of a fixed width, or `None` when one ends in NUL.
    fn to_utf32<'py>(&self, py: Python<'py>, width: usize) -> Option<Positions<'py>> {
        let keys = &self.keys;
        py.detach(|| keys.to_utf32(width))
            .map(|units| units.into_closed(py))
    }

    fn equals(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.keys, &other.keys) || self.keys == other.keys
    }

    fn find(&self, key: &str) -> Option<usize> {
        self.keys.find(key.as_bytes())
    }

    /// Positions from the first key to the last, both included, as `start, stop`.
    fn range(&self, first: Option<&str>, last: Option<&str>) -> (usize, usize) {
        let range = self
            .keys
            .range(first.map(str::as_bytes), last.map(str::as_bytes));
        (range.start, range.end)
    }

    fn prefix(&self, prefix: &str) -> (usize, usize) {
        let range = self.keys.prefix(prefix.as_bytes());
        (range.start, range.end)
    }

    fn wildcard<'py>(&self, py: Python<'py>, pattern: &str) -> Positions<'py> {
        let keys = &self.keys;
        py.detach(|| keys.wildcard(pattern.as_bytes()))
            .into_closed(py)
    }

    #[expect(clippy::needless_pass_by_value, reason = "extracted from Python")]
    fn containing<'py>(&self, py: Python<'py>, pieces: Vec<String>) -> Positions<'py> {
        let keys = &self.keys;
        py.detach(|| {
            let pieces: Vec<&[u8]> = pieces.iter().map(String::as_bytes).collect();
            keys.containing(&pieces)
        })
        .into_closed(py)
    }

    fn first_containing(&self, piece: &str) -> Option<usize> {
        self.keys.first_containing(piece.as_bytes())
    }

    /// The keys at positions that ascend strictly.
    #[expect(clippy::needless_pass_by_value, reason = "extracted from Python")]
    fn take(&self, py: Python<'_>, positions: Items<u32>) -> PyResult<Self> {
        let (keys, positions) = (&self.keys, positions.as_slice());
        let taken = py.detach(|| keys.take(positions));
        taken
            .map(Self::new)
            .map_err(|error| to_python("positions", &error))
    }

    fn slice(&self, start: usize, stop: usize) -> Self {
        if start == 0 && stop >= self.keys.len() {
            return Self {
                keys: Arc::clone(&self.keys),
            };
        }
        Self::new(self.keys.slice(start, stop))
    }

    /// All keys of both, and where each key of either stands among them.
    fn union<'py>(
        &self,
        py: Python<'py>,
        other: &Self,
    ) -> PyResult<(Self, Positions<'py>, Positions<'py>)> {
        let (mine, theirs) = (&self.keys, &other.keys);
        let union = py
            .detach(|| mine.union(theirs))
            .map_err(|error| to_python("keys", &error))?;
        Ok((
            Self::new(union.keys),
            union.left.into_closed(py),
            union.right.into_closed(py),
        ))
    }

    /// Positions of the common keys, in each dictionary.
    fn intersection<'py>(&self, py: Python<'py>, other: &Self) -> (Positions<'py>, Positions<'py>) {
        let (mine, theirs) = (&self.keys, &other.keys);
        let both = py.detach(|| mine.intersection(theirs));
        (both.left.into_closed(py), both.right.into_closed(py))
    }

    /// Positions of the keys that the other lacks.
    fn difference<'py>(&self, py: Python<'py>, other: &Self) -> Positions<'py> {
        let (mine, theirs) = (&self.keys, &other.keys);
        py.detach(|| mine.difference(theirs)).into_closed(py)
    }

    /// For each key its position in the other, or 2³²−1.
    fn positions_in<'py>(&self, py: Python<'py>, other: &Self) -> Positions<'py> {
        let (mine, theirs) = (&self.keys, &other.keys);
        py.detach(|| mine.positions_in(theirs)).into_closed(py)
    }

    /// The words of all keys: a dictionary, the position of each word in it, and the key it is of.
    fn words<'py>(
        &self,
        py: Python<'py>,
        lower: bool,
    ) -> PyResult<(Self, Positions<'py>, Positions<'py>)> {
        let keys = &self.keys;
        let (found, positions, owners) = py
            .detach(|| {
                let (text, owners) = words(keys, lower)?;
                let (found, positions) = Keys::build(&text)?;
                Ok((found, positions, owners))
            })
            .map_err(|error| to_python("text", &error))?;
        Ok((
            Self::new(found),
            positions.into_closed(py),
            owners.into_closed(py),
        ))
    }

    /// Cuts each key at the first separator: two dictionaries with the position of each part.
    fn split_once<'py>(
        &self,
        py: Python<'py>,
        separator: &str,
        argument: &str,
    ) -> PyResult<(Self, Positions<'py>, Self, Positions<'py>)> {
        let keys = &self.keys;
        let cut = py.detach(|| -> std::result::Result<_, usize> {
            let (left, right) = keys.split_once(separator.as_bytes())?;
            Ok(Keys::build(&left).and_then(|left| Ok((left, Keys::build(&right)?))))
        });
        let built = cut.map_err(|position| {
            let key = String::from_utf8_lossy(keys.get(position).unwrap_or_default()).into_owned();
            PyValueError::new_err(format!(
                "{argument}: the key {key:?} holds no {separator:?}"
            ))
        })?;
        let ((left, left_at), (right, right_at)) =
            built.map_err(|error| to_python(argument, &error))?;
        Ok((
            Self::new(left),
            left_at.into_closed(py),
            Self::new(right),
            right_at.into_closed(py),
        ))
    }
}

fn text<'py>(py: Python<'py>, key: &[u8]) -> PyResult<Bound<'py, PyString>> {
    // Every way into a dictionary checks UTF-8.
    PyString::from_bytes(py, key)
}

/// Below this many items a thread costs more than it saves.
const THREAD_ITEMS: usize = 1 << 13;

/// Builds a dictionary of each source, in parallel: `(keys or numbers, positions)` for each.
#[pyfunction]
pub(super) fn assoc_keys<'py>(
    py: Python<'py>,
    sources: Vec<Source>,
    threads: usize,
) -> PyResult<Vec<Bound<'py, PyTuple>>> {
    let items = sources.iter().map(|source| source.plain().len()).sum();
    let (arguments, sources): (Vec<_>, Vec<_>) = sources
        .into_iter()
        .map(|source| (source.argument.clone(), source))
        .unzip();
    let built = run(py, items, move || {
        let plain: Vec<_> = sources.iter().map(Source::plain).collect();
        build_all(&plain, threads)
    })?;
    built
        .into_iter()
        .zip(&arguments)
        .map(
            |(built, argument)| match built.map_err(|error| to_python(argument, &error))? {
                Built::Keys(keys, inverse) => {
                    (NativeKeys::new(keys), inverse.into_closed(py)).into_pyobject(py)
                }
                Built::Numbers(numbers, inverse) => {
                    (numbers.into_closed(py), inverse.into_closed(py)).into_pyobject(py)
                }
            },
        )
        .collect()
}

fn build_all(sources: &[Plain<'_>], threads: usize) -> Vec<Result<Built>> {
    let large = sources
        .iter()
        .filter(|source| source.len() > THREAD_ITEMS)
        .count();
    if threads < 2 || large < 2 {
        return sources.iter().map(Plain::build).collect();
    }
    thread::scope(|scope| {
        let mut sources = sources.iter();
        let here = sources.next();
        let others: Vec<_> = sources
            .map(|source| scope.spawn(move || source.build()))
            .collect();
        let mut built: Vec<_> = here.map(Plain::build).into_iter().collect();
        for other in others {
            match other.join() {
                Ok(result) => built.push(result),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        built
    })
}

/// A dictionary of `left + separator + right` for each pair of positions.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "extracted from Python")]
pub(super) fn assoc_join<'py>(
    py: Python<'py>,
    left: &NativeKeys,
    left_at: Items<u32>,
    separator: &str,
    right: &NativeKeys,
    right_at: Items<u32>,
) -> PyResult<(NativeKeys, Positions<'py>)> {
    let (one, two) = (left_at.as_slice(), right_at.as_slice());
    let (left, right) = (&left.keys, &right.keys);
    let built = py.detach(|| {
        let text = join((left, one), separator.as_bytes(), (right, two))?;
        Keys::build(&text)
    });
    finish(py, built)
}

/// A dictionary of the keys of each group end to end.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "extracted from Python")]
pub(super) fn assoc_concatenate<'py>(
    py: Python<'py>,
    keys: &NativeKeys,
    positions: Items<u32>,
    starts: Items<u32>,
    separator: &str,
) -> PyResult<(NativeKeys, Positions<'py>)> {
    let (positions, starts) = (positions.as_slice(), starts.as_slice());
    let keys = &keys.keys;
    let built = py.detach(|| {
        let text = concatenate(keys, positions, starts, separator.as_bytes())?;
        Keys::build(&text)
    });
    finish(py, built)
}

/// Hands over a dictionary and positions.
pub(super) fn finish(
    py: Python<'_>,
    built: Result<(Keys, Vec<u32>)>,
) -> PyResult<(NativeKeys, Positions<'_>)> {
    let (keys, positions) = built.map_err(|error| to_python("values", &error))?;
    Ok((NativeKeys::new(keys), positions.into_closed(py)))
}

/// A dictionary of texts.
pub(super) fn dictionary(text: &Text) -> Result<(Keys, Vec<u32>)> {
    Keys::build(text)
}
