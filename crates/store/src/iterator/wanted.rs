//! Finds where the next selected column of a row begins.

use ostrakon_cell::{ColumnSelection, Key};

/// Moves `key` to the first place of its row, not before itself, where a selected column may begin:
/// the start of that column, or the start of the next row if none is left in this one. Returns
/// `false` and leaves the key unchanged if it is in a selected column already. The selection must
/// not be that of all columns.
pub(crate) fn first_wanted(columns: &ColumnSelection, key: &mut Key) -> bool {
    let columns = columns.columns();
    // A whole family sorts as its first qualifier, so it may be the previous one.
    let next = columns.partition_point(|column| {
        let family = column.family.as_slice().cmp(&key.family);
        match &column.qualifier {
            Some(qualifier) => family
                .then_with(|| qualifier.as_slice().cmp(&key.qualifier))
                .is_lt(),
            None => family.is_lt(),
        }
    });
    let Some(column) = columns.get(next) else {
        key.row.push(0);
        start_column(key, &[], &[]);
        return true;
    };
    let qualifier = column.qualifier.as_deref();
    if column.family == key.family && qualifier.is_none_or(|wanted| wanted == key.qualifier) {
        return false;
    }
    start_column(key, &column.family, qualifier.unwrap_or_default());
    true
}

fn start_column(key: &mut Key, family: &[u8], qualifier: &[u8]) {
    key.family.clear();
    key.family.extend_from_slice(family);
    key.qualifier.clear();
    key.qualifier.extend_from_slice(qualifier);
    key.visibility.clear();
    key.timestamp = i64::MAX;
    key.deleted = true;
}

#[cfg(test)]
mod tests {
    use ostrakon_cell::Column;

    use super::*;

    fn moved(
        columns: &[Column],
        family: &str,
        qualifier: &str,
    ) -> Option<(String, String, String)> {
        let mut key = Key::new("r", family, qualifier);
        let before = key.clone();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if !first_wanted(&ColumnSelection::new(columns.to_vec()), &mut key) {
            assert_eq!(key, before);
            return None;
        }
        assert_eq!((key.timestamp, key.deleted), (i64::MAX, true));
        Some((text(&key.row), text(&key.family), text(&key.qualifier)))
    }

    #[test]
    fn the_next_column_of_the_row_or_the_next_row() {
        let columns = [
            Column::new("b", "3"),
            Column::new("b", "5"),
            Column::family("d"),
        ];
        let to = |row: &str, family: &str, qualifier: &str| {
            Some((row.to_owned(), family.to_owned(), qualifier.to_owned()))
        };
        assert_eq!(moved(&columns, "", ""), to("r", "b", "3"));
        assert_eq!(moved(&columns, "b", ""), to("r", "b", "3"));
        assert_eq!(moved(&columns, "b", "3"), None);
        assert_eq!(moved(&columns, "b", "30"), to("r", "b", "5"));
        assert_eq!(moved(&columns, "b", "5"), None);
        assert_eq!(moved(&columns, "b", "6"), to("r", "d", ""));
        assert_eq!(moved(&columns, "c", "x"), to("r", "d", ""));
        assert_eq!(moved(&columns, "d", ""), None);
        assert_eq!(moved(&columns, "d", "x"), None);
        assert_eq!(moved(&columns, "e", ""), to("r\0", "", ""));
    }
}
