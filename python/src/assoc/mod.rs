//! Kernels of associative arrays for `ostrakon.assoc`: NumPy arrays in, NumPy arrays out, the
//! interpreter lock released while they run. What the operators mean is decided in Python.

mod keys;
mod matrix;
mod positions;
mod product;
mod running;
mod source;
mod values;

pub(crate) use self::keys::NativeKeys;
pub(crate) use self::register::register;

mod register;
