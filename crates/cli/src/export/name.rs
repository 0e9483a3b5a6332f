//! What the name of a file says about its format.

use std::path::Path;

use super::target::is_stdout;
use crate::args::ExportFormat;
use crate::failure::{Failure, Result};

/// How the bytes of a file are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    None,
    Gzip,
    Zstd,
}

const FORMATS: &str = ".csv, .tsv, .tab, .jsonl, .ndjson and .parquet; the text formats also with .gz or .zst after it";

/// The format and compression of a file. A `given` format decides over the name; a name without extension
/// means JSON lines.
pub(crate) fn by_name(file: &Path, given: Option<ExportFormat>) -> Result<(ExportFormat, Packing)> {
    if is_stdout(file) {
        return Ok((given.unwrap_or(ExportFormat::Jsonl), Packing::None));
    }
    let extension = |path: &Path| {
        path.extension()
            .map(|found| found.to_string_lossy().to_ascii_lowercase())
    };
    let packing = match extension(file).as_deref() {
        Some("gz") => Packing::Gzip,
        Some("zst") => Packing::Zstd,
        _ => Packing::None,
    };
    let inner = match packing {
        Packing::None => file.to_owned(),
        _ => file.with_extension(""),
    };
    let format = match (given, extension(&inner).as_deref()) {
        (Some(format), _) => format,
        (None, None | Some("jsonl" | "ndjson")) => ExportFormat::Jsonl,
        (None, Some("csv")) => ExportFormat::Csv,
        (None, Some("tsv" | "tab")) => ExportFormat::Tsv,
        (None, Some("parquet")) => ExportFormat::Parquet,
        (None, Some(_)) => {
            return Err(
                Failure::usage("the file extension does not name a format of export")
                    .with("file", file.display().to_string())
                    .with("extensions", FORMATS)
                    .next("choose one of these extensions, or say the format with --format"),
            );
        }
    };
    if format == ExportFormat::Parquet && packing != Packing::None {
        return Err(
            Failure::usage("a Parquet file is compressed inside, and not as a whole")
                .with("file", file.display().to_string())
                .next("leave out .gz or .zst"),
        );
    }
    Ok((format, packing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_format_and_a_compression() {
        use ExportFormat::{Csv, Jsonl, Parquet, Tsv};
        for (name, expected) in [
            ("-", (Jsonl, Packing::None)),
            ("/dev/stdout", (Jsonl, Packing::None)),
            ("plain", (Jsonl, Packing::None)),
            ("a.b/plain", (Jsonl, Packing::None)),
            ("a.CSV", (Csv, Packing::None)),
            ("a.tab.gz", (Tsv, Packing::Gzip)),
            ("a.ndjson.zst", (Jsonl, Packing::Zstd)),
            ("a.gz", (Jsonl, Packing::Gzip)),
            ("a.parquet", (Parquet, Packing::None)),
        ] {
            assert_eq!(by_name(Path::new(name), None).expect(name), expected);
        }
        for name in ["a.xlsx", "a.json", "a.txt.gz", "a.parquet.gz"] {
            assert!(by_name(Path::new(name), None).is_err(), "{name}");
        }
        let given = by_name(Path::new("a.txt.gz"), Some(Csv)).expect("given");
        assert_eq!(given, (Csv, Packing::Gzip));
    }
}
