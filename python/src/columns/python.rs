//! Any argument as a column. Its form is determined once per column, not once per entry.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use ostrakon_cell::Error;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyFrozenSet, PyInt, PyMapping, PySet, PyString};

use super::column::{Collector, Column};
use super::stamps::{Stamps, of_arrow};
use super::{arrow, numpy};
use crate::capsule;
use crate::errors::IntoPython;

/// Number of items after which signals are checked.
const LOOK_ITEMS: usize = 1 << 16;

/// Reads the argument `name`: one value for all entries, or a column with one per entry (Arrow,
/// NumPy, a list).
pub(crate) fn column(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Column> {
    let mut one = Collector::with_capacity(1, 0);
    if append(name, object, 0, &mut one)? {
        return Ok(Column::Constant(one.data));
    }
    if let Some(imported) = import(name, object)? {
        if matches!(imported.data_type, DataType::Struct(_)) {
            return Err(Error::invalid(format!(
                "`{name}` is a table and takes one column: name the column"
            ))
            .with("argument", name))
            .into_python();
        }
        let py = object.py();
        return py
            .detach(|| arrow::column(name, &imported.chunks))
            .into_python();
    }
    if let Some(column) = numpy::column(name, object)? {
        return Ok(column);
    }
    // Arrays of objects, and what can become an array: their items are objects already.
    let object = if object.hasattr("tolist")? {
        object.call_method0("tolist")?
    } else {
        object.clone()
    };
    if let Some(refusal) = no_column(name, &object)? {
        return Err(refusal).into_python();
    }
    let Ok(items) = object.try_iter() else {
        return Err(wrong(name, &object)).into_python();
    };
    let mut collector = Collector::with_capacity(object.len().unwrap_or(0), 0);
    for (at, item) in items.enumerate() {
        if at % LOOK_ITEMS == 0 {
            object.py().check_signals()?;
        }
        let item = item?;
        if item.is_none() {
            return Err(arrow::missing(name, at)).into_python();
        }
        if !append(name, &item, at, &mut collector)? {
            return Err(wrong(name, &item).with("entry", at)).into_python();
        }
    }
    Ok(Column::of_chunks(vec![collector.finish()]))
}

/// Reads a column that says what to read. An error about it does not say that nothing was written.
pub(crate) fn column_to_read(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Column> {
    column(name, object).inspect_err(|error| {
        let raised = error.value(object.py());
        let text = raised.to_string().replace("; nothing was written", "");
        // If that fails, the text stays as it is.
        let _ = raised.setattr("args", (text,));
    })
}

/// What the object offers by Arrow's interface; a library that cannot offer it is quoted.
fn import(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Option<capsule::Imported>> {
    capsule::import(object).or_else(|error| {
        Err(Error::invalid(format!(
            "`{name}` cannot be read by Arrow's interface: {}; nothing was written",
            error.value(object.py())
        ))
        .with("argument", name))
        .into_python()
    })
}

/// Why an object that can be iterated is not a column: its items have no order (a set), are only a part of it
/// (a dict), or can be read only once (a generator).
fn no_column(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Option<Error>> {
    let advice = if object.cast::<PyMapping>().is_ok() {
        "write its keys as one column and its values as another, or use put_dict"
    } else if object.is_instance_of::<PySet>() || object.is_instance_of::<PyFrozenSet>() {
        "its items have no order: sort them into a list"
    } else if object.hasattr("__next__")? {
        "it can be read once only: make a list of it"
    } else {
        return Ok(None);
    };
    let class = class_of(object);
    Ok(Some(
        Error::invalid(format!(
            "`{name}` is a {class}, which is not a column: {advice}; nothing was written"
        ))
        .with("argument", name),
    ))
}

fn class_of(object: &Bound<'_, PyAny>) -> String {
    let class = object.get_type().name();
    class.map_or_else(|_| "?".to_owned(), |class| class.to_string())
}

fn wrong(name: &str, object: &Bound<'_, PyAny>) -> Error {
    if object.is_none() {
        return Error::invalid(format!(
            "`{name}` is None, which has no form as bytes: leave the argument out, or pass b\"\" for \
             an empty one; nothing was written"
        ))
        .with("argument", name);
    }
    let class = class_of(object);
    Error::invalid(format!(
        "`{name}` takes str, bytes or numbers, one for all or a column of them (a list, a NumPy \
         array, anything with Arrow's interface), not {class}"
    ))
    .with("argument", name)
}

/// Appends a single value; `false` if the object is not one.
fn append(name: &str, item: &Bound<'_, PyAny>, at: usize, out: &mut Collector) -> PyResult<bool> {
    if append_python(name, item, at, out)? {
        return Ok(true);
    }
    // A NumPy scalar is not a Python number, and a one-dimensional array is not a scalar.
    if item.hasattr("dtype")? && item.hasattr("item")? && item.hasattr("ndim")? {
        if item.getattr("ndim")?.extract::<usize>()? > 0 {
            return Ok(false);
        }
        return append_python(name, &item.call_method0("item")?, at, out);
    }
    Ok(false)
}

/// Appends a value of Python's own types; `false` if the object is not one.
fn append_python(
    name: &str,
    item: &Bound<'_, PyAny>,
    at: usize,
    out: &mut Collector,
) -> PyResult<bool> {
    if let Ok(text) = item.cast::<PyString>() {
        match text.to_str() {
            Ok(text) => out.push(text.as_bytes()),
            Err(_) => return Err(numpy::no_text(name, at)).into_python(),
        }
    } else if let Ok(bytes) = item.cast::<PyBytes>() {
        out.push(bytes.as_bytes());
    } else if let Ok(truth) = item.cast::<PyBool>() {
        out.push(arrow::truth(truth.is_true()));
    } else if item.is_instance_of::<PyInt>() {
        out.push(item.str()?.to_str()?.as_bytes());
    } else if let Ok(number) = item.cast::<PyFloat>() {
        let number = number.value();
        if number.is_nan() {
            return Err(arrow::missing(name, at)).into_python();
        }
        out.push(format!("{number:?}").as_bytes());
    } else {
        return Ok(false);
    }
    Ok(true)
}

/// The arguments a frame may have columns for, by their own names unless told otherwise.
const ARGUMENTS: [&str; 6] = [
    "row",
    "family",
    "qualifier",
    "visibility",
    "timestamp",
    "value",
];

/// What a frame has: columns by argument, and timestamps if it has them.
pub(crate) type FrameColumns = (BTreeMap<String, Column>, Option<Stamps>);

/// The columns of a data frame: those `wanted`, or all that are named like an argument. `None` when
/// the object has no Arrow interface.
pub(crate) fn columns_of_frame(
    frame: &Bound<'_, PyAny>,
    wanted: &BTreeMap<String, String>,
) -> PyResult<Option<FrameColumns>> {
    let Some(imported) = import("frame", frame)? else {
        return Ok(None);
    };
    let DataType::Struct(fields) = &imported.data_type else {
        return Ok(None);
    };
    let known = || {
        let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
        names.join(", ")
    };
    let own = |name: &&&str| fields.iter().any(|field| field.name() == **name) || **name == "row";
    let named = ARGUMENTS.iter().filter(own);
    let named = named.map(|name| ((*name).to_owned(), (*name).to_owned()));
    let named = named.collect();
    let wanted = if wanted.is_empty() { &named } else { wanted };
    let mut columns = BTreeMap::new();
    let mut stamps = None;
    for (argument, name) in wanted {
        let Some(at) = fields.iter().position(|field| field.name() == name) else {
            return Err(Error::invalid(format!(
                "the frame has no column {name:?} for `{argument}`; it has: {}",
                known()
            ))
            .with("argument", argument))
            .into_python();
        };
        let chunks = imported.chunks.iter();
        let chunks: Vec<_> = chunks
            .filter_map(|chunk| chunk.as_struct().columns().get(at).cloned())
            .collect();
        if argument == "timestamp" {
            let mut each = Vec::new();
            for chunk in &chunks {
                of_arrow(chunk, &mut each).into_python()?;
            }
            stamps = Some(Stamps::Each(each));
        } else {
            let column = frame
                .py()
                .detach(|| arrow::column(argument, &chunks))
                .into_python()?;
            columns.insert(argument.clone(), column);
        }
    }
    Ok(Some((columns, stamps)))
}
