//! The parts of entries in a file that `export` wrote. CSV and TSV hold them with the escapes of the command
//! line. Other formats hold them exactly, and in base64 what is not UTF-8.

use std::borrow::Cow;

use super::fields::Fields;
use super::record::{Presence, Record};
use crate::failure::{Failure, Result, nearest};
use crate::output::{BASE64_SUFFIX, from_base64, unescape, visible};

/// The parts of an entry, as `export` writes them.
pub(super) const ENTRY_PARTS: [&str; 6] = [
    "row",
    "family",
    "qualifier",
    "visibility",
    "timestamp",
    "value",
];

/// The parts without which there is no entry.
pub(super) const REQUIRED_PARTS: [&str; 2] = ["row", "value"];

/// Whether a file has all fields that `export` writes.
pub(super) fn is_export(fields: &Fields) -> bool {
    let has = |name: &str| fields.has(name) || fields.has(&format!("{name}{BASE64_SUFFIX}"));
    ENTRY_PARTS.into_iter().all(has)
}

/// The fields that may hold a part of an entry.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Part {
    plain: Option<u32>,
    /// The same in base64, in formats that hold texts exactly.
    base64: Option<u32>,
}

/// Refuses a field that is no part of an entry: of a label under another name, nothing would protect the entry.
fn refuse_other_fields(fields: &Fields, exact: bool) -> Result<()> {
    let is_part = |name: &str| {
        let exactly = name.strip_suffix(BASE64_SUFFIX).filter(|_| exact);
        ENTRY_PARTS.contains(&exactly.unwrap_or(name))
    };
    let mut names = (0..fields.len() as u32).map(|id| fields.name(id));
    let Some(other) = names.find(|name| !is_part(name)) else {
        return Ok(());
    };
    let failure = Failure::usage("the file has a field that is not a part of an entry")
        .with("field", visible(other))
        .with("parts", ENTRY_PARTS.join(", "));
    let near = match other.to_lowercase().as_str() {
        "label" | "labels" => Some("visibility"),
        _ => nearest(other, ENTRY_PARTS.into_iter()),
    };
    Err(match near {
        Some(near) => failure.next(format!(
            "did you mean `{near}`? Rename the field, or remove it"
        )),
        None => failure.next("rename or remove the field, or import without --entries"),
    })
}

/// The fields that hold the parts of an entry; an error if one that is needed cannot come, or if there are others.
pub(super) fn entry_parts(fields: &Fields, exact: bool) -> Result<[Part; 6]> {
    refuse_other_fields(fields, exact)?;
    let mut parts = [Part::default(); 6];
    for (slot, name) in parts.iter_mut().zip(ENTRY_PARTS) {
        if exact {
            slot.base64 = fields
                .resolve(&format!("{name}{BASE64_SUFFIX}"))
                .unwrap_or(None);
        }
        slot.plain = match fields.resolve(name) {
            Err(failure) if slot.base64.is_none() && REQUIRED_PARTS.contains(&name) => {
                return Err(failure);
            }
            found => found.unwrap_or(None),
        };
    }
    Ok(parts)
}

/// The bytes of a part, if the record has it.
pub(super) fn part_bytes(
    record: &Record,
    part: Part,
    exact: bool,
) -> Result<Option<Cow<'_, [u8]>>, String> {
    let there = |id: Option<u32>| {
        let field = record.field(id?)?;
        (field.presence != Presence::Missing).then(|| record.bytes(field))
    };
    match (there(part.plain), there(part.base64)) {
        (Some(_), Some(_)) => Err(format!("given as text and as {BASE64_SUFFIX}")),
        (Some(text), None) if exact => Ok(Some(Cow::Borrowed(text))),
        (Some(text), None) => unescape(text).map(Some).map_err(|error| error.to_string()),
        (None, Some(text)) => Ok(Some(Cow::Owned(from_base64(text)?))),
        (None, None) => Ok(None),
    }
}
