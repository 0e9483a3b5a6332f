//! The kind of a file, which its name tells.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use datafusion::common::{Result, plan_err};

use super::called::CalledContent;

/// Compressed bytes that are read at once.
const BUFFER_BYTES: usize = 128 << 10;
/// The largest window of zstd, as a power of two: what a reader of a file keeps in memory.
const WINDOW_LOG: u32 = 27;

/// What is in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Parquet,
    Arrow,
    Delimited(u8),
    Json,
}

/// How the bytes of a file are compressed as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    None,
    Gzip,
    Zstd,
}

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) content: Content,
    pub(super) packing: Packing,
}

impl Kind {
    /// The kind of a file of this name or pattern, and its ending as the name has it.
    ///
    /// # Errors
    /// An ending without a kind.
    pub(super) fn of(name: &str) -> Result<(Self, &str)> {
        let (rest, last) = split_ending(name);
        let packing = packing_of(last);
        let of_content = match packing {
            Packing::None => last,
            _ => split_ending(rest).1,
        };
        let content = match of_content.to_ascii_lowercase().as_str() {
            ".parquet" => Some(Content::Parquet),
            ".arrow" | ".arrows" | ".feather" => Some(Content::Arrow),
            ".csv" => Some(Content::Delimited(b',')),
            ".tsv" => Some(Content::Delimited(b'\t')),
            ".json" | ".jsonl" | ".ndjson" => Some(Content::Json),
            _ => None,
        };
        let ending = match packing {
            Packing::None => last,
            _ => name
                .get(name.len() - last.len() - of_content.len()..)
                .unwrap_or_default(),
        };
        match content {
            Some(content) => Ok((Self::checked(name, content, packing)?, ending)),
            None => plan_err!(
                "{name} is neither a table nor a file of a known kind: a file's name ends in .parquet, .arrow, .feather, \
                 .arrows, .csv, .tsv, .json, .jsonl or .ndjson, and the last five may be followed by .gz or .zst"
            ),
        }
    }

    /// The kind of a file that a query reads by a call. Only its compression is told by the ending, and tabs.
    ///
    /// # Errors
    /// A Parquet file that is compressed as a whole.
    pub(super) fn of_call(name: &str, content: &CalledContent) -> Result<Self> {
        let (rest, last) = split_ending(name);
        let packing = packing_of(last);
        let of_content = match packing {
            Packing::None => last,
            _ => split_ending(rest).1,
        };
        let content = match content {
            CalledContent::Parquet => Content::Parquet,
            CalledContent::Json => Content::Json,
            CalledContent::Csv(_) if of_content.eq_ignore_ascii_case(".tsv") => {
                Content::Delimited(b'\t')
            }
            CalledContent::Csv(_) => Content::Delimited(b','),
        };
        Self::checked(name, content, packing)
    }

    fn checked(name: &str, content: Content, packing: Packing) -> Result<Self> {
        match (content, packing) {
            (Content::Parquet | Content::Arrow, Packing::Gzip | Packing::Zstd) => plan_err!(
                "{name} is compressed as a whole: files of Parquet and Arrow are compressed inside; decompress it first"
            ),
            (content, packing) => Ok(Self { content, packing }),
        }
    }
}

fn packing_of(ending: &str) -> Packing {
    match ending.to_ascii_lowercase().as_str() {
        ".gz" => Packing::Gzip,
        ".zst" => Packing::Zstd,
        _ => Packing::None,
    }
}

/// A name without its last ending, and this ending with its dot.
fn split_ending(name: &str) -> (&str, &str) {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    match file.rfind('.') {
        Some(dot) => name.split_at(name.len() - file.len() + dot),
        None => (name, ""),
    }
}

/// The content of a file.
///
/// # Errors
/// The file cannot be opened.
pub(super) fn open(file: &Path, packing: Packing) -> io::Result<Box<dyn Read + Send>> {
    let file = File::open(file)?;
    let buffered = |file| BufReader::with_capacity(BUFFER_BYTES, file);
    Ok(match packing {
        Packing::None => Box::new(file),
        Packing::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(buffered(file))),
        Packing::Zstd => {
            let mut unpacked = zstd::stream::read::Decoder::with_buffer(buffered(file))?;
            unpacked.window_log_max(WINDOW_LOG)?;
            Box::new(unpacked)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_of_a_name_tells_the_kind() {
        let kind = |content, packing| Kind { content, packing };
        for (name, expected, ending) in [
            (
                "a.csv",
                kind(Content::Delimited(b','), Packing::None),
                ".csv",
            ),
            (
                "b/a.tsv.GZ",
                kind(Content::Delimited(b'\t'), Packing::Gzip),
                ".tsv.GZ",
            ),
            (
                "b.d/*.jsonl.zst",
                kind(Content::Json, Packing::Zstd),
                ".jsonl.zst",
            ),
            (
                "a.b.Feather",
                kind(Content::Arrow, Packing::None),
                ".Feather",
            ),
            (
                ".parquet",
                kind(Content::Parquet, Packing::None),
                ".parquet",
            ),
        ] {
            assert_eq!(Kind::of(name).unwrap(), (expected, ending), "{name}");
        }
        for name in [
            "a.gz",
            "a.txt",
            "a",
            "csv",
            "a.csv/b",
            "a.csv.bz2",
            ".gz",
            "",
            "ü.gz",
        ] {
            let error = Kind::of(name).unwrap_err().to_string();
            assert!(error.contains("file of a known kind"), "{name}: {error}");
        }
        let error = Kind::of("a.arrow.gz").unwrap_err().to_string();
        assert!(error.contains("compressed inside"), "{error}");
    }
}
