//! Files of Arrow IPC, in the file format (`.arrow`, `.feather`) and the stream format (`.arrows`). Their content tells
//! which one it is.
//!
//! The library trusts the lengths in a file. So each part of a file is checked before memory is allocated for it.

mod frames;
mod message;
mod reader;

pub(super) use reader::Arrow;
