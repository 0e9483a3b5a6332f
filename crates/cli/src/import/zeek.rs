//! The header lines of Zeek's logs.
//! Source: the header that Zeek's ASCII log writer puts before its records.

use super::fields::Fields;
use super::record::Presence;
use crate::args::FieldType;
use crate::failure::{Failure, Result};
use crate::output::unescape;

/// The settings from the header lines read so far.
#[derive(Debug)]
pub(super) struct Zeek {
    separator: u8,
    unset: Vec<u8>,
    empty: Vec<u8>,
}

impl Default for Zeek {
    fn default() -> Self {
        Self {
            separator: b'\t',
            unset: b"-".to_vec(),
            empty: b"(empty)".to_vec(),
        }
    }
}

impl Zeek {
    /// Reads a line that begins with `#`; returns the separator if the line changed it.
    pub(super) fn directive(&mut self, line: &[u8], fields: &mut Fields) -> Result<Option<u8>> {
        if let Some(separator) = line.strip_prefix(b"#separator ") {
            let bytes = unescape(separator).map_err(|error| {
                Failure::usage("the #separator line of the Zeek log is invalid")
                    .with("reason", error.to_string())
                    .next("import it with --format tsv and --no-header or --fields")
            })?;
            let &[byte] = bytes.as_ref() else {
                return Err(
                    Failure::usage("the separator of a Zeek log must be one byte")
                        .next("import it with --format csv, --delimiter and --fields"),
                );
            };
            self.separator = byte;
            return Ok(Some(byte));
        }
        let mut parts = line.split(|byte| *byte == self.separator);
        let name = parts.next().unwrap_or_default();
        let text = |part: &[u8]| String::from_utf8_lossy(part).into_owned();
        match name {
            b"#unset_field" => self.unset = parts.next().unwrap_or_default().to_vec(),
            b"#empty_field" => self.empty = parts.next().unwrap_or_default().to_vec(),
            b"#fields" => fields.reset(parts.map(text))?,
            b"#types" => fields.set_types(parts.map(field_type)),
            _ => {}
        }
        Ok(None)
    }

    /// An error if records come before the names of their fields.
    pub(super) fn check_head(&self, named: bool) -> Result<()> {
        if named {
            return Ok(());
        }
        Err(
            Failure::usage("the Zeek log is incomplete: records come before a #fields line")
                .next("import it with --format tsv and --no-header or --fields"),
        )
    }

    pub(super) fn presence(&self, text: &[u8]) -> Presence {
        if text == self.unset {
            Presence::Missing
        } else {
            Presence::There
        }
    }

    pub(super) fn is_empty_field(&self, text: &[u8]) -> bool {
        text == self.empty
    }
}

/// The type that is checked for a Zeek type.
fn field_type(name: &[u8]) -> Option<FieldType> {
    Some(match name {
        b"count" | b"port" => FieldType::Uint,
        b"int" => FieldType::Int,
        b"double" | b"interval" | b"time" => FieldType::Float,
        b"bool" => FieldType::Bool,
        b"addr" => FieldType::Ip,
        _ => return None,
    })
}
