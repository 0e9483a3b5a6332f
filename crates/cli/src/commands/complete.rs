//! Names that the shell completes.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ostrakon_cell::Source;
use ostrakon_events::EventStore;

use super::access::{Absent, Access};

/// The tables of the store that the completed command line names; none if it cannot be opened at once.
pub(crate) fn table_names() -> Vec<String> {
    names(|source| {
        let tables = source.tables().unwrap_or_default();
        tables.into_iter().map(|table| table.name).collect()
    })
}

/// The event types of that store.
pub(crate) fn event_types() -> Vec<String> {
    names(|source| {
        let types = EventStore::new(source).types().unwrap_or_default();
        types.into_iter().map(|one| one.name).collect()
    })
}

fn names(list: impl FnOnce(Arc<dyn Source>) -> Vec<String>) -> Vec<String> {
    let access = Access {
        data: data_of(std::env::args_os())
            .or_else(|| std::env::var_os("OSTRAKON_DATA").map(PathBuf::from)),
        memory: None,
        read_only: true,
        allow_damage: true,
        accept_log_loss: false,
        wait: Duration::ZERO,
        reads: true,
        restricted: true,
    };
    let Ok(store) = access.open(Absent::Refuse) else {
        return Vec::new();
    };
    let names = list(store.clone());
    // Nothing was written.
    let _ = store.close();
    names
}

/// The value of `--data`. The shell passes the words of the command line after `--`.
fn data_of(words: impl Iterator<Item = OsString>) -> Option<PathBuf> {
    let mut words = words.skip_while(|word| word != "--");
    while let Some(word) = words.next() {
        if word == "--data" {
            return words.next().map(PathBuf::from);
        }
        if let Some(value) = word.to_str().and_then(|word| word.strip_prefix("--data=")) {
            return Some(PathBuf::from(value));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_is_read_from_the_words() {
        let data = |line: &str| data_of(line.split(' ').map(OsString::from));
        assert_eq!(data("o -- o --data a scan"), Some("a".into()));
        assert_eq!(data("o -- o scan --data=b "), Some("b".into()));
        assert_eq!(data("o --data c -- o scan"), None);
    }
}
