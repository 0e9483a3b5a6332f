//! Random scans, and how their answers are compared.

use ostrakon_cell::iterator::IteratorSetting;
use ostrakon_cell::{
    Authorizations, Batch, BatchLimit, Column, ColumnSelection, Entry, EntryRef, Error, ErrorKind,
    Key, Range, Result, ScanOptions, Source,
};
use ostrakon_store::clock::Random;

use super::keys::START_MILLIS;
use super::operation::Operation;

pub(super) fn compare(
    found: &Result<Vec<Entry>>,
    expected: &Result<Vec<Entry>>,
) -> std::result::Result<String, String> {
    match (found, expected) {
        (Ok(found), Ok(expected)) => {
            let differ = found.iter().zip(expected).position(|(a, b)| a != b);
            if differ.is_none() && found.len() == expected.len() {
                return Ok(format!(
                    "{} entries, digest {:x}",
                    found.len(),
                    digest(found)
                ));
            }
            let at = differ.unwrap_or(found.len().min(expected.len()));
            let show = |entries: &[Entry]| {
                entries.get(at).map_or("nothing".to_owned(), |entry| {
                    let value = entry.value.get(..24).unwrap_or(&entry.value);
                    format!("{} = {}", entry.key, String::from_utf8_lossy(value))
                })
            };
            Err(format!(
                "{} entries, expected {}; entry {at} is {}, expected {}",
                found.len(),
                expected.len(),
                show(found),
                show(expected)
            ))
        }
        (Err(found), Err(expected)) if found.kind() == expected.kind() => {
            Ok(format!("refused: {}", found.kind().as_str()))
        }
        (found, expected) => {
            let show = |one: &Result<Vec<Entry>>| match one {
                Ok(entries) => format!("{} entries", entries.len()),
                Err(error) => format!("{error:?}"),
            };
            Err(format!(
                "answered {}, expected {}",
                show(found),
                show(expected)
            ))
        }
    }
}

/// FNV-1a over everything: transcripts are compared by it, and it is the same everywhere.
fn digest(entries: &[Entry]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        for byte in bytes.iter().chain(&[0xff]) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    };
    for Entry { key, value } in entries {
        for part in [
            &key.row,
            &key.family,
            &key.qualifier,
            &key.visibility,
            value,
        ] {
            add(part);
        }
        add(&key.timestamp.to_le_bytes());
    }
    hash
}

fn authorizations(list: &str) -> Authorizations {
    Authorizations::parse(list).unwrap_or_default()
}

/// Ranges and options of a scan.
pub(super) fn some_scan(random: &mut Random) -> (Vec<Range>, ScanOptions) {
    let key = |random: &mut Random| Key {
        timestamp: match random.below(4) {
            0 => i64::MAX,
            1 => random.below(60) as i64,
            _ => START_MILLIS + random.below(60) as i64,
        },
        ..Key::new(
            format!("r{:02}", random.below(8)),
            ["", "f", "g"][random.below(3) as usize],
            format!("q{}", random.below(3)),
        )
    };
    let ranges = (0..=random.below(4))
        .map(|_| match random.below(6) {
            0 => Range::all(),
            1 => Range::row(key(random).row),
            2 => Range::row_prefix(format!("r{}", random.below(4)).as_bytes()),
            3 => Range::row_family(key(random).row, "f"),
            _ => {
                let (a, b) = (key(random), key(random));
                let (start, end) = (a.clone().min(b.clone()), a.max(b));
                let (closed_start, closed_end) = (random.one_in(2), random.one_in(2));
                Range::keys(Some(start), closed_start, Some(end), closed_end).unwrap_or_default()
            }
        })
        .collect();
    let columns: Vec<Column> = match random.below(4) {
        0 => vec![Column::family("f")],
        1 => vec![Column::new("f", "q1"), Column::family("")],
        _ => Vec::new(),
    };
    let mut options = ScanOptions {
        columns: ColumnSelection::new(columns),
        authorizations: authorizations(["", "a", "b", "a,b,c"][random.below(4) as usize]),
        ordered: !random.one_in(4),
        ..ScanOptions::default()
    };
    if random.one_in(4) {
        options.batch = BatchLimit {
            entries: 1 + random.below(5) as usize,
            bytes: 1 << 20,
        };
    }
    options.isolated = random.one_in(4);
    if random.one_in(4) {
        let newest = IteratorSetting::new(35, "newest", "VersioningIterator");
        options.iterators.push(newest.with("maxVersions", "2"));
    }
    if random.one_in(6) {
        let sum = IteratorSetting::new(41, "sum all", "SummingCombiner");
        options
            .iterators
            .push(sum.with("all", "true").with("type", "STRING"));
    }
    if random.one_in(8) {
        let grep = IteratorSetting::new(42, "grep", "GrepIterator");
        options.iterators.push(grep.with("term", "2"));
    }
    (ranges, options)
}

/// What a scan gives, in key order.
pub(super) fn read(
    source: &dyn Source,
    table: u8,
    ranges: &[Range],
    options: &ScanOptions,
) -> Result<Vec<Entry>> {
    let name = Operation::name_of(table);
    let mut scan = source.table(&name)?.scan(ranges, options)?;
    let (mut batch, mut entries) = (Batch::new(), Vec::new());
    while scan.next_batch(&mut batch)? {
        entries.extend(batch.iter().map(EntryRef::to_entry));
    }
    if !options.ordered {
        // Stable: of equal keys the newer still comes first.
        entries.sort_by(|a, b| a.key.cmp(&b.key));
    } else if !entries.is_sorted_by(|a, b| a.key <= b.key) {
        return Err(Error::new(
            ErrorKind::Internal,
            "an ordered scan came out of order",
        ));
    }
    Ok(entries)
}
