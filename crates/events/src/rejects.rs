//! The file of rejected lines that the program and the Python package write.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

/// Its first line: the columns, separated by tabs.
pub const REJECTS_HEADER: &str = "file\tline\treason\ttext\n";

/// Whether nothing is lost if rejected lines are written to `path`: there is no such file, it is empty, or it has rejected
/// lines of an earlier run, perhaps only a part of the header. Devices and pipes are written as they are.
///
/// # Errors
/// The file cannot be read.
pub fn takes_rejects(path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    }
    let mut start = Vec::new();
    let length = REJECTS_HEADER.len() as u64;
    File::open(path)?.take(length).read_to_end(&mut start)?;
    Ok(REJECTS_HEADER.as_bytes().starts_with(&start))
}
