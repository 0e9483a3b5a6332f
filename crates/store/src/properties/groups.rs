//! Locality groups: which families belong to which group.

use ostrakon_cell::Properties;

use crate::error::{Error, StoreResult};

pub(super) fn locality_groups(changed: &Properties) -> StoreResult<Vec<(String, Vec<Vec<u8>>)>> {
    let enabled = changed
        .get("table.groups.enabled")
        .map(String::as_str)
        .unwrap_or_default();
    let mut groups: Vec<(String, Vec<Vec<u8>>)> = Vec::new();
    for name in enabled
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
    {
        let Some(families) = changed.get(&format!("table.group.{name}")) else {
            return Err(Error::invalid(
                "table.groups.enabled names a group without families: set table.group.<name> first",
            )
            .with("group", name));
        };
        let families: Vec<Vec<u8>> = families
            .split(',')
            .filter(|family| !family.is_empty())
            .map(decode_family)
            .collect::<StoreResult<_>>()?;
        let taken = groups
            .iter()
            .find(|(_, known)| known.iter().any(|one| families.contains(one)));
        if let Some((other, _)) = taken {
            return Err(Error::invalid("two locality groups share a family")
                .with("groups", format!("{other}, {name}")));
        }
        groups.push((name.to_owned(), families));
    }
    Ok(groups)
}

/// Decodes a family: properties write bytes outside printable ASCII as `\xNN`, as Accumulo does.
fn decode_family(text: &str) -> StoreResult<Vec<u8>> {
    let wrong = || Error::invalid("a family is written with \\xNN and \\\\").with("given", text);
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        if first != b'\\' {
            bytes.push(first);
            rest = tail;
        } else if let Some(tail) = tail.strip_prefix(b"\\") {
            bytes.push(b'\\');
            rest = tail;
        } else {
            let digits = tail
                .strip_prefix(b"x")
                .and_then(|hex| hex.split_at_checked(2));
            let (digits, tail) = digits.ok_or_else(wrong)?;
            let digits = std::str::from_utf8(digits).map_err(|_| wrong())?;
            bytes.push(u8::from_str_radix(digits, 16).map_err(|_| wrong())?);
            rest = tail;
        }
    }
    Ok(bytes)
}
