//! The formats, how they are told apart, and compressed files.

use std::io::{BufRead, BufReader, Read};

use ostrakon_cell::{Error, ErrorKind, Result};

use super::csv::Csv;
use super::dpkg::{self, Dpkg};
use super::json::JsonLines;
use super::squid::{self, Squid};
use super::syslog::{self, Syslog};
use super::web::{self, Web};
use super::zeek::Zeek;
use super::{LineSource, Lines, Names, RecordSource};

const BUFFER_BYTES: usize = 256 << 10;

/// A format of log files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Zeek's logs with header lines.
    Zeek,
    /// One JSON object per line, as Zeek and many programs write. Nested objects become fields with dots in their names.
    Json,
    /// The combined or common format of Apache and Nginx.
    Web,
    /// Squid's own access log.
    Squid,
    /// Syslog, as RFC 3164 and RFC 5424 have it, and with ISO 8601 times.
    Syslog,
    /// The log of dpkg.
    Dpkg,
    /// Fields separated by commas, with a header line.
    Csv,
    /// Fields separated by tabs, with a header line.
    Tsv,
}

impl LogFormat {
    /// Every format.
    pub const ALL: [Self; 8] = [
        Self::Zeek,
        Self::Json,
        Self::Web,
        Self::Squid,
        Self::Syslog,
        Self::Dpkg,
        Self::Csv,
        Self::Tsv,
    ];

    /// The name on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Zeek => "zeek",
            Self::Json => "json",
            Self::Web => "web",
            Self::Squid => "squid",
            Self::Syslog => "syslog",
            Self::Dpkg => "dpkg",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
        }
    }
}

/// The format of a file that begins with `start` and is called `name`, if that is clear.
#[must_use]
pub fn detect(name: &str, start: &[u8]) -> Option<LogFormat> {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let line = start
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let name = name.to_ascii_lowercase();
    let stem = name.trim_end_matches(".gz").trim_end_matches(".zst");
    let ending = stem.rsplit_once('.').map_or("", |(_, ending)| ending);
    // Other lines of Zeek's may come first.
    let fields = start.starts_with(b"#") && memchr::memmem::find(start, b"\n#fields\t").is_some();
    if start.starts_with(b"#separator ") || start.starts_with(b"#fields\t") || fields {
        return Some(LogFormat::Zeek);
    }
    // Empty lines are passed over.
    if start.trim_ascii_start().starts_with(b"{") {
        return Some(LogFormat::Json);
    }
    match ending {
        "csv" => return Some(LogFormat::Csv),
        "tsv" | "tab" => return Some(LogFormat::Tsv),
        _ => {}
    }
    [
        (LogFormat::Web, web::fits as fn(&[u8]) -> bool),
        (LogFormat::Squid, squid::fits),
        (LogFormat::Dpkg, dpkg::fits),
        (LogFormat::Syslog, syslog::fits),
    ]
    .into_iter()
    .find(|(_, fits)| fits(line))
    .map(|(format, _)| format)
}

/// The encoding of a text that begins with a byte order mark of UTF-16 or UTF-32. Text is read byte by byte, so that such a
/// text has no lines and no fields.
#[must_use]
pub fn wide_encoding(start: &[u8]) -> Option<&'static str> {
    let (name, rest) = match start {
        [0xff, 0xfe, 0, 0, rest @ ..] | [0, 0, 0xfe, 0xff, rest @ ..] => ("UTF-32", rest),
        [0xff, 0xfe, rest @ ..] | [0xfe, 0xff, rest @ ..] => ("UTF-16", rest),
        _ => return None,
    };
    // Values are bytes of any kind. Those of logs have digits or spaces, which have a byte 0 in these encodings.
    (rest.is_empty() || rest.contains(&0)).then_some(name)
}

/// Unpacks gzip and zstd, told by their first bytes; other input is passed on.
///
/// # Errors
/// The input cannot be read.
pub fn unpack(input: Box<dyn Read + Send>) -> Result<Box<dyn BufRead + Send>> {
    let mut input = BufReader::with_capacity(BUFFER_BYTES, input);
    let unreadable =
        |error| Error::new(ErrorKind::Io, "the log file cannot be read").with_source(error);
    let start = input.fill_buf().map_err(unreadable)?;
    if start.starts_with(&[0x1f, 0x8b]) {
        let unpacked = flate2::bufread::MultiGzDecoder::new(input);
        return Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, unpacked)));
    }
    if start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        let unpacked = zstd::stream::read::Decoder::with_buffer(input).map_err(unreadable)?;
        return Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, unpacked)));
    }
    Ok(Box::new(input))
}

/// A reader of records. `reference` is a moment in microseconds, usually the present: times without a year are of the
/// last year that puts them at most a day after it.
#[must_use]
pub fn open_log(
    format: LogFormat,
    input: Box<dyn BufRead + Send>,
    reference: i64,
) -> Box<dyn RecordSource> {
    open_lines(format, Lines::new(input), reference)
}

/// [`open_log`] for lines.
pub(crate) fn open_lines(format: LogFormat, lines: Lines, reference: i64) -> Box<dyn RecordSource> {
    match format {
        LogFormat::Zeek => Box::new(LineSource::new(lines, Zeek::default(), Names::default())),
        LogFormat::Web => Box::new(LineSource::new(lines, Web, Names::of(&web::NAMES))),
        LogFormat::Squid => Box::new(LineSource::new(lines, Squid, Names::of(&squid::NAMES))),
        LogFormat::Syslog => {
            let parser = Syslog { reference };
            Box::new(LineSource::new(lines, parser, Names::of(&syslog::NAMES)))
        }
        LogFormat::Dpkg => Box::new(LineSource::new(lines, Dpkg, Names::of(&dpkg::NAMES))),
        LogFormat::Csv => Box::new(LineSource::new(lines, Csv::new(b','), Names::default())),
        LogFormat::Tsv => Box::new(LineSource::new(lines, Csv::new(b'\t'), Names::default())),
        LogFormat::Json => Box::new(JsonLines::new(lines)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_encodings_are_told_by_their_mark() {
        let wide = |text: &str, big: bool| {
            let mut bytes = Vec::new();
            for unit in text.encode_utf16() {
                bytes.extend(if big {
                    unit.to_be_bytes()
                } else {
                    unit.to_le_bytes()
                });
            }
            bytes
        };
        for (start, expected) in [
            (wide("\u{feff}ts,host\n", false), Some("UTF-16")),
            (wide("\u{feff}ts,host\n", true), Some("UTF-16")),
            (b"\xff\xfe".to_vec(), Some("UTF-16")),
            (b"\xff\xfe\0\0t\0\0\0".to_vec(), Some("UTF-32")),
            (b"\0\0\xfe\xff\0\0\0t".to_vec(), Some("UTF-32")),
            (b"\xff\xfe,any bytes\n".to_vec(), None),
            (wide("ts,host\n", false), None),
            (b"\xef\xbb\xbfts,host\n".to_vec(), None),
            (Vec::new(), None),
        ] {
            assert_eq!(wide_encoding(&start), expected, "{start:?}");
        }
    }
}
