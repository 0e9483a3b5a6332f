//! Reads options.

use ostrakon_cell::{Error, IteratorOptions, Result};

use crate::layout::{event_time, value_time};

/// Refuses unknown options: a misspelt one would silently have no effect.
pub(super) fn only(options: &IteratorOptions, known: &[&str]) -> Result<()> {
    match options.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(Error::invalid(format!(
            "unknown option; the options are {}",
            known.join(", ")
        ))
        .with("given", name)),
    }
}

/// A moment in microseconds, or the default.
pub(super) fn moment(options: &IteratorOptions, name: &'static str, default: i64) -> Result<i64> {
    options.get(name).map_or(Ok(default), |text| {
        text.parse().map_err(|_| {
            Error::invalid("the option takes a number")
                .with("option", name)
                .with("given", text)
        })
    })
}

/// One of the three tables of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    Event,
    Index,
    Aggregate,
}

impl Table {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Index => "index",
            Self::Aggregate => "aggregate",
        }
    }

    pub(super) fn named(options: &IteratorOptions) -> Result<Self> {
        let given = options.get("table").map_or("", String::as_str);
        [Self::Event, Self::Index, Self::Aggregate]
            .into_iter()
            .find(|table| table.as_str() == given)
            .ok_or_else(|| {
                Error::invalid("the option is one of event, index, aggregate")
                    .with("option", "table")
                    .with("given", given)
            })
    }

    /// The time in a row of the table.
    #[inline]
    pub(super) fn time_of(self, row: &[u8]) -> Option<i64> {
        match self {
            Self::Event => event_time(row),
            Self::Index | Self::Aggregate => value_time(row),
        }
    }
}
