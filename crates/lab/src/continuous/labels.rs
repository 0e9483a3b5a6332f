//! The two files of the cell-level security test: labels for ingest, authorizations for readers.

use std::path::Path;

use ostrakon_cell::{Authorizations, Error, ErrorKind, Result, VisibilityExpression};

/// Reads a file of visibility expressions, one a line. Empty lines and lines that begin with `#`
/// are skipped. Ingest draws one of them for each linked list.
///
/// # Errors
/// The file cannot be read, a line is not a visibility expression (the error has its number), or there is none.
pub fn read_visibilities(file: &Path) -> Result<Vec<Vec<u8>>> {
    lines(file, |line| {
        VisibilityExpression::parse(line)
            .map(|_| line.as_bytes().to_vec())
            .map_err(|error| {
                Error::invalid("the line is not a valid visibility expression").with_source(error)
            })
    })
}

/// Reads a file of authorization sets, one comma list a line, in the manner of
/// [`read_visibilities`]. A line of a single `-` is the empty set. Walkers draw one of them for each list
/// they follow.
///
/// # Errors
/// The file cannot be read, a line is not a list of authorizations (the error has its number), or there is none.
pub fn read_authorizations(file: &Path) -> Result<Vec<Authorizations>> {
    lines(file, |line| {
        if line == "-" {
            return Ok(Authorizations::empty());
        }
        Authorizations::parse(line).map_err(|error| {
            Error::invalid("the line is not a comma-separated list of authorizations")
                .with_source(error)
        })
    })
}

fn lines<T>(file: &Path, parse: impl Fn(&str) -> Result<T>) -> Result<Vec<T>> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        Error::new(ErrorKind::Io, "the file cannot be read")
            .with("file", file.display())
            .with_source(error)
    })?;
    let mut parsed = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            parsed.push(
                parse(line)
                    .map_err(|error| error.with("file", file.display()).with("line", at + 1))?,
            );
        }
    }
    if parsed.is_empty() {
        return Err(
            Error::invalid("the file has no line; write one set or expression per line")
                .with("file", file.display()),
        );
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_files_are_read_and_bad_lines_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("labels");
        std::fs::write(&file, "# labels\nA&B\n\n  C|D  \n").unwrap();
        assert_eq!(read_visibilities(&file).unwrap(), [b"A&B", b"C|D"]);
        std::fs::write(&file, "A,B\n-\n").unwrap();
        let sets = read_authorizations(&file).unwrap();
        assert_eq!((sets[0].len(), sets[1].len()), (2, 0));
        std::fs::write(&file, "A\nA&B|C\n").unwrap();
        let error = read_visibilities(&file).unwrap_err();
        assert!(error.to_string().contains("line: 2"), "{error}");
        std::fs::write(&file, "# nothing\n").unwrap();
        assert!(read_authorizations(&file).is_err());
    }
}
