//! Memory of NumPy arrays.
//!
//! Any thread may write to an array at any time: Python code between two calls, and NumPy even while this
//! thread holds the interpreter's lock. A slice of memory that Python owns would therefore be unsound.
//! Items are copied by pointer while the lock is held, and work without the lock uses the copy. The only
//! exception is an array that was made here: Rust owns its memory, and it is made read-only before Python
//! gets it, which NumPy does not allow Python code to undo ([`Close`]).
//!
//! Address, length, strides and type are read from NumPy's own struct, which NumPy checked when it made
//! the array. The attribute `__array_interface__` of an object is never used, because it may be wrong.

use numpy::npyffi::flags::NPY_ARRAY_WRITEABLE;
use numpy::{
    Element, IntoPyArray, Ix1, Ix2, PyArray, PyArray1, PyArrayDescrMethods, PyArrayMethods,
    PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyType};

/// The object as a NumPy array, or `None`. NumPy is not loaded for other objects.
pub(crate) fn untyped<'py>(
    object: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyUntypedArray>>> {
    if !object.hasattr(pyo3::intern!(object.py(), "dtype"))? {
        return Ok(None);
    }
    Ok(object.cast::<PyUntypedArray>().ok().cloned())
}

/// Appends the bytes of the items `from..to` of an array of one dimension, `None` when the array has no
/// such items (any more).
pub(crate) fn append_bytes(
    array: &Bound<'_, PyUntypedArray>,
    (from, to): (usize, usize),
    item_bytes: usize,
    out: &mut Vec<u8>,
) -> Option<()> {
    let (&[len], &[stride]) = (array.shape(), array.strides()) else {
        return None;
    };
    if to > len || from > to || array.dtype().itemsize() != item_bytes {
        return None;
    }
    let count = to - from;
    out.reserve(count * item_bytes);
    #[expect(unsafe_code, reason = "items of an array are reached by pointer")]
    // SAFETY: The struct belongs to an array that is held, and the lock is held, so its memory is not
    // moved. Items below its length lie in that memory at its strides, and `out` has the space. Bytes
    // that another thread changes meanwhile are copied in some state; any state is a byte.
    unsafe {
        let first = (*array.as_array_ptr())
            .fields
            .data
            .cast::<u8>()
            .cast_const();
        let mut place = out.as_mut_ptr().add(out.len());
        if stride == item_bytes as isize {
            let source = first.offset(stride * from as isize);
            std::ptr::copy_nonoverlapping(source, place, count * item_bytes);
        } else {
            for at in from..to {
                let source = first.offset(stride * at as isize);
                std::ptr::copy_nonoverlapping(source, place, item_bytes);
                place = place.add(item_bytes);
            }
        }
        out.set_len(out.len() + count * item_bytes);
    }
    Some(())
}

/// Items that kernels work with.
pub(crate) trait Item: Element + Copy {
    /// Whether any bytes are an item, so that memory may be read in place.
    const ANY_BYTES: bool;

    /// Copies `len` items.
    ///
    /// # Safety
    /// `source` has that many, aligned.
    #[expect(unsafe_code, reason = "copies from a pointer")]
    unsafe fn copied(source: *const Self, len: usize) -> Vec<Self>;
}

macro_rules! items {
    ($($item:ty),*) => {$(
        impl Item for $item {
            const ANY_BYTES: bool = true;

            #[expect(unsafe_code, reason = "copies from a pointer")]
            unsafe fn copied(source: *const Self, len: usize) -> Vec<Self> {
                let mut items = Vec::with_capacity(len);
                // SAFETY: the caller's promise; the space was reserved.
                unsafe {
                    std::ptr::copy_nonoverlapping(source, items.as_mut_ptr(), len);
                    items.set_len(len);
                }
                items
            }
        }
    )*};
}

items!(u8, u32, i64, f64);

impl Item for bool {
    // NumPy takes any byte but 0 for true, Rust 1 alone.
    const ANY_BYTES: bool = false;

    #[expect(unsafe_code, reason = "copies from a pointer")]
    unsafe fn copied(source: *const Self, len: usize) -> Vec<Self> {
        // SAFETY: the caller's promise; a byte is as wide.
        let bytes = unsafe { u8::copied(source.cast(), len) };
        bytes.into_iter().map(|byte| byte != 0).collect()
    }
}

/// The items of an array, readable without the lock and on any thread: a copy, or memory that cannot be
/// written to.
pub(crate) struct Items<T> {
    memory: Memory<T>,
    /// Items in a row of a table of cells; 1 in a list.
    pub(crate) width: usize,
}

enum Memory<T> {
    Closed {
        items: *const T,
        len: usize,
        /// Keeps the memory alive.
        _owner: Py<PyUntypedArray>,
    },
    Copy(Vec<T>),
}

#[expect(unsafe_code, reason = "a pointer into memory that is held")]
// SAFETY: The memory is not written to, and any thread may drop the owner.
unsafe impl<T: Item + Send> Send for Items<T> {}

#[expect(unsafe_code, reason = "a pointer into memory that is held")]
// SAFETY: as above.
unsafe impl<T: Item + Sync> Sync for Items<T> {}

impl<T: Item> Items<T> {
    /// The cells of an array of two dimensions, one row after the other.
    pub(crate) fn of_cells(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let array = object.cast::<PyArray<T, Ix2>>()?;
        let width = array.shape().last().copied().unwrap_or(0);
        Self::read(array.as_untyped(), width)
    }

    fn read(array: &Bound<'_, PyUntypedArray>, width: usize) -> PyResult<Self> {
        let len = array.len();
        if len == 0 {
            let memory = Memory::Copy(Vec::new());
            return Ok(Self { memory, width });
        }
        if !array.is_c_contiguous() || !array.is_aligned() {
            return Err(PyTypeError::new_err(
                "an array with gaps between its items: numpy.ascontiguousarray closes them",
            ));
        }
        #[expect(unsafe_code, reason = "items of an array are reached by pointer")]
        // SAFETY: the struct belongs to an array that is held.
        let items = unsafe { (*array.as_array_ptr()).fields.data.cast::<T>().cast_const() };
        let memory = if T::ANY_BYTES && is_closed(array)? {
            Memory::Closed {
                items,
                len,
                _owner: array.clone().unbind(),
            }
        } else {
            #[expect(unsafe_code, reason = "items of an array are reached by pointer")]
            // SAFETY: the type was checked by the caller, the layout above; the lock is held, so the
            // memory is not moved.
            Memory::Copy(unsafe { T::copied(items, len) })
        };
        Ok(Self { memory, width })
    }

    /// The items.
    pub(crate) fn as_slice(&self) -> &[T] {
        match &self.memory {
            Memory::Copy(items) => items,
            #[expect(unsafe_code, reason = "items of an array are reached by pointer")]
            // SAFETY: the owner is held, and its memory cannot be written to.
            Memory::Closed { items, len, .. } => unsafe {
                std::slice::from_raw_parts(*items, *len)
            },
        }
    }
}

impl<'py, T: Item> FromPyObject<'_, 'py> for Items<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let array = object.cast::<PyArray<T, Ix1>>()?;
        Self::read(array.as_untyped(), 1)
    }
}

/// Whether the memory of an array cannot be written to: the array and everything it is a view of are
/// read-only, and the memory belongs to Rust or to an immutable `bytes`.
fn is_closed(array: &Bound<'_, PyUntypedArray>) -> PyResult<bool> {
    let mut array = array.clone();
    loop {
        #[expect(unsafe_code, reason = "the flags and the base are in NumPy's struct")]
        // SAFETY: the struct belongs to an array that is held, as is its base by it.
        let (flags, base) = unsafe {
            let fields = &(*array.as_array_ptr()).fields;
            (
                fields.flags,
                Bound::from_borrowed_ptr_or_opt(array.py(), fields.base),
            )
        };
        let Some(base) = base.filter(|_| flags & NPY_ARRAY_WRITEABLE == 0) else {
            return Ok(false);
        };
        match base.cast_into::<PyUntypedArray>() {
            Ok(viewed) => array = viewed,
            Err(other) => {
                let owner = other.into_inner();
                return Ok(owner.is_exact_instance_of::<PyBytes>()
                    || owner.get_type().is(rust_owner(owner.py())?));
            }
        }
    }
}

/// The class of what owns the memory of arrays that Rust made.
fn rust_owner(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static OWNER: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = OWNER.get_or_try_init(py, || {
        let base = vec![0_u8].into_pyarray(py).getattr("base")?;
        PyResult::Ok(base.get_type().unbind())
    })?;
    Ok(class.bind(py))
}

/// A list as a read-only array.
pub(crate) trait Close<T> {
    /// The array, without a copy. No other array has this memory, and because Python does not own the
    /// memory, NumPy refuses to make it writable again.
    fn into_closed(self, py: Python<'_>) -> Bound<'_, PyArray1<T>>;
}

impl<T: Element> Close<T> for Vec<T> {
    fn into_closed(self, py: Python<'_>) -> Bound<'_, PyArray1<T>> {
        let array = self.into_pyarray(py);
        (*array.readwrite().make_nonwriteable()).clone()
    }
}
