//! Where records come from, for types that keep equal records.
//!
//! A source is known by how it begins, so that a file may be renamed, moved or packed, and may grow. Within it, a record
//! is known by where it begins, or in a table without lines by its number.

use crate::parse::LogFormat;
use crate::record::Record;

/// The bytes at the beginning of a text by which it is known, at most.
pub const BEGINNING_BYTES: usize = 64 << 10;

/// What a source is known by.
pub(super) type SourceId = [u8; 16];

/// The place of a record.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Origin {
    pub(super) source: SourceId,
    pub(super) at: u64,
}

impl Origin {
    pub(super) fn to_bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        let parts = self.source.into_iter().chain(self.at.to_be_bytes());
        for (to, from) in bytes.iter_mut().zip(parts) {
            *to = from;
        }
        bytes
    }
}

/// What a text is known by: its first line that is not empty. Of CSV and TSV it is the first two, because the first is a
/// header, and Zeek's lines about the format do not count: logs of one program begin alike. An event is read once these
/// lines are complete, so that they are the same ones when the text has grown.
pub(super) fn source_of_text(format: LogFormat, text: &[u8]) -> SourceId {
    let text = text.get(..BEGINNING_BYTES).unwrap_or(text);
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let lines = match format {
        LogFormat::Csv | LogFormat::Tsv => 2,
        _ => 1,
    };
    let is_zeek = format == LogFormat::Zeek;
    let is_record = |line: &&[u8]| !(line.is_empty() || is_zeek && line.starts_with(b"#"));
    let all = text.split(|byte| *byte == b'\n');
    let all = all.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let mut hasher = blake3::Hasher::new();
    for line in all.filter(is_record).take(lines) {
        hasher.update(line);
        hasher.update(b"\n");
    }
    id(&hasher)
}

/// What a source of records is known by: its first record.
pub(super) fn source_of_record(names: &[String], record: &Record) -> SourceId {
    let mut hasher = blake3::Hasher::new();
    for (name, value) in record.fields() {
        let name = names.get(name as usize).map_or("", String::as_str);
        for part in [name.as_bytes(), value] {
            hasher.update(&(part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
    }
    id(&hasher)
}

fn id(hasher: &blake3::Hasher) -> SourceId {
    let hash = hasher.finalize();
    hash.as_bytes().first_chunk().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_known_by_its_first_records() {
        for (format, one, other, same) in [
            (LogFormat::Web, "a\nb\n", "a\nc\n", true),
            (LogFormat::Web, "a\n", "a\r\nb", true),
            (LogFormat::Web, "\n\na\n", "a", true),
            (LogFormat::Web, "#a\n", "#b\n", false),
            (LogFormat::Csv, "ts\n1\n2\n", "ts\n1\n", true),
            (LogFormat::Csv, "ts\n1\n", "ts\n2\n", false),
            (LogFormat::Csv, "\u{feff}ts\n1\n", "ts\n1\n", true),
            (LogFormat::Zeek, "#path\ta\n1\n", "#path\tb\n1\n2\n", true),
            (LogFormat::Zeek, "#path\ta\n1\n", "#path\ta\n2\n", false),
        ] {
            let ids = [one, other].map(|text| source_of_text(format, text.as_bytes()));
            assert_eq!(ids[0] == ids[1], same, "{one:?} {other:?}");
        }
        let long = vec![b'x'; 3 * BEGINNING_BYTES];
        let id = |bytes| source_of_text(LogFormat::Json, long.get(..bytes).unwrap_or_default());
        assert_eq!(id(BEGINNING_BYTES), id(2 * BEGINNING_BYTES));
        assert_ne!(id(BEGINNING_BYTES), id(BEGINNING_BYTES - 1));
    }
}
