//! Reads the beginning of a log, and infers the type of its events.

use ostrakon_cell::{Error, Result};

use super::{EventType, check_type_name, infer};
use crate::parse::{RecordSource, Step};
use crate::record::Record;

/// Records from which a type is inferred; fewer if they are long.
const RECORDS: usize = 1000;
const BYTES: usize = 16 << 20;
/// Lines that are read for them, rejected ones included.
const LINES: usize = 100_000;
/// Bytes of a rejected line in an error.
const SHOWN: usize = 80;

/// The beginning of a log.
#[derive(Default)]
struct Sample {
    records: Vec<Record>,
    rejected: usize,
    /// The first rejected line: its number, its beginning, and why it is no record.
    first: Option<(u64, Vec<u8>, String)>,
}

/// Infers a type from the first records of a log: see [`infer()`].
///
/// # Errors
/// The log cannot be read, or has no records; those of [`infer()`].
pub fn infer_log(
    name: &str,
    source: &mut dyn RecordSource,
    time: Option<&str>,
) -> Result<EventType> {
    check_type_name(name)?;
    let sample = sample(source)?;
    if sample.records.is_empty() {
        return Err(sample.without_records().with("type", name));
    }
    infer(name, source.names(), source.kinds(), &sample.records, time)
}

/// The first records, so many that they fit in little memory; at least one.
fn sample(source: &mut dyn RecordSource) -> Result<Sample> {
    let mut sample = Sample::default();
    let (mut record, mut bytes) = (Record::default(), 0);
    while sample.records.len() < RECORDS
        && bytes < BYTES
        && sample.records.len() + sample.rejected < LINES
    {
        match source.next(&mut record)? {
            Step::End => break,
            Step::Record => {
                bytes += record.fields().map(|(_, value)| value.len()).sum::<usize>();
                sample.records.push(record.clone().at_line(source.line()));
            }
            Step::Rejected(reason) => {
                let text = source.text();
                bytes += text.len();
                sample.rejected += 1;
                sample.first.get_or_insert_with(|| {
                    let start = text.iter().take(SHOWN).copied().collect();
                    (source.line(), start, reason)
                });
            }
        }
    }
    Ok(sample)
}

impl Sample {
    /// The error of a log without records.
    fn without_records(&self) -> Error {
        let Some((line, text, reason)) = &self.first else {
            return Error::invalid(
                "the file has no records from which to infer the type: it is empty, or has a header alone. Name a log with \
                 records, or write the type as TOML",
            );
        };
        Error::invalid(
            "no line of the file is a record of its format, so that the type cannot be inferred: name another format with \
             --format, in Python format=, or write the type as TOML",
        )
        .with("lines read", self.rejected)
        .with("first line", line)
        .with("text", ostrakon_cell::Escaped(text))
        .with("reason", reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Endless records of so many bytes, or endless rejected lines.
    struct Endless {
        bytes: usize,
        rejected: bool,
        read: usize,
        most: usize,
    }

    impl RecordSource for Endless {
        fn next(&mut self, record: &mut Record) -> Result<Step> {
            if self.read == self.most {
                return Ok(Step::End);
            }
            self.read += 1;
            record.clear();
            record.push(0, &vec![b'x'; self.bytes]);
            Ok(match self.rejected {
                true => Step::Rejected("no".into()),
                false => Step::Record,
            })
        }

        fn names(&self) -> &[String] {
            &[]
        }

        fn line(&self) -> u64 {
            self.read as u64 + 1
        }

        fn text(&self) -> &[u8] {
            b"ab\x01"
        }
    }

    #[test]
    fn a_sample_is_bounded_in_records_lines_and_bytes() {
        for (bytes, rejected, read) in
            [(1, false, RECORDS), (BYTES / 2, false, 2), (1, true, LINES)]
        {
            let mut source = Endless {
                bytes,
                rejected,
                read: 0,
                most: usize::MAX,
            };
            sample(&mut source).expect("memory");
            assert_eq!(source.read, read);
        }
    }

    #[test]
    fn a_log_without_records_says_what_was_looked_at() {
        let infer = |most| {
            let mut source = Endless {
                bytes: 1,
                rejected: true,
                read: 0,
                most,
            };
            let error = infer_log("web", &mut source, None).expect_err("no records");
            error.to_string()
        };
        for part in [
            "--format",
            "format=",
            "lines read: 3",
            "first line: 2",
            "text: ab\\x01",
            "reason: no",
        ] {
            assert!(infer(3).contains(part), "{part}: {}", infer(3));
        }
        assert!(infer(0).contains("header alone"), "{}", infer(0));
    }
}
