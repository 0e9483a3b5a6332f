//! Properties as a register with a version: read, set, and set if the version is as given.

use std::sync::Arc;

use ostrakon_cell::{
    ErrorKind, PropertyOwner, Result, Source, Table, TableOptions, VersionedProperties,
};
use rand::RngExt;

use super::checker::Model;
use super::record::{Event, Recorder};
use super::runs::{CALLS, on_all_threads};

/// A property that any number can be the value of.
const PROPERTY: &str = "table.file.max";

/// What is asked of the properties of one level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PropertyCall {
    /// The version, and the value if there is one.
    Read,
    /// Sets the value, if the version is as given.
    Set(Option<u64>, u32),
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PropertyAnswer {
    /// What is set.
    Value(u64, Option<u32>),
    /// It was set, and this is the version now.
    Version(u64),
    /// The version is another one.
    Refused,
}

/// The properties of one level; `start` is what they were before.
#[derive(Debug, Clone, Copy)]
pub struct VersionedValue {
    /// The version, and the value if there was one.
    pub start: (u64, Option<u32>),
}

impl Model for VersionedValue {
    type State = (u64, Option<u32>);
    type Call = PropertyCall;
    type Answer = PropertyAnswer;

    fn start(&self) -> Self::State {
        self.start
    }

    fn step(
        &self,
        state: &Self::State,
        call: &PropertyCall,
        answer: &PropertyAnswer,
    ) -> Option<Self::State> {
        let is_meant = |version: &Option<u64>| version.is_none_or(|version| version == state.0);
        match (call, answer) {
            (PropertyCall::Read, PropertyAnswer::Value(version, value)) => {
                ((*version, *value) == *state).then_some(*state)
            }
            (PropertyCall::Set(version, value), PropertyAnswer::Version(now)) => {
                (is_meant(version) && *now > state.0).then_some((*now, Some(*value)))
            }
            (PropertyCall::Set(version, _), PropertyAnswer::Refused) => {
                (!is_meant(version)).then_some(*state)
            }
            _ => None,
        }
    }
}

/// The history of one level.
pub(super) type PropertyHistory = (VersionedValue, Vec<Event<PropertyCall, PropertyAnswer>>);

/// Where properties are set.
enum Level<'a> {
    System(&'a Arc<dyn Source>),
    Table(Arc<dyn Table>),
}

impl Level<'_> {
    fn own(&self) -> Result<(u64, Option<u32>)> {
        let own: VersionedProperties = match self {
            Self::System(source) => source.own_properties(PropertyOwner::System)?,
            Self::Table(table) => table.own_properties()?,
        };
        let value = own.properties.get(PROPERTY);
        Ok((own.version, value.and_then(|value| value.parse().ok())))
    }

    fn set(&self, version: Option<u64>, value: u32) -> Result<u64> {
        let change = [(PROPERTY.to_owned(), Some(value.to_string()))];
        match self {
            Self::System(source) => {
                source.change_properties(PropertyOwner::System, version, &change)
            }
            Self::Table(table) => table.change_properties(version, &change),
        }
    }

    fn answer(&self, call: &PropertyCall) -> Result<PropertyAnswer> {
        match call {
            PropertyCall::Read => self
                .own()
                .map(|(version, value)| PropertyAnswer::Value(version, value)),
            PropertyCall::Set(version, value) => match self.set(*version, *value) {
                Ok(version) => Ok(PropertyAnswer::Version(version)),
                Err(error) if error.kind() == ErrorKind::ConcurrentModification => {
                    Ok(PropertyAnswer::Refused)
                }
                Err(error) => Err(error),
            },
        }
    }
}

/// Reads and changes a property of the source and of a new table; one history for each.
///
/// # Errors
/// Those of the source.
pub fn property_history(
    source: &Arc<dyn Source>,
    name: &str,
    seed: u64,
) -> Result<Vec<PropertyHistory>> {
    source.create_table(name, &TableOptions::default())?;
    let levels = [Level::System(source), Level::Table(source.table(name)?)];
    let starts = levels
        .iter()
        .map(|level| level.own().map(|start| VersionedValue { start }))
        .collect::<Result<Vec<_>>>()?;
    let recorders = [Recorder::default(), Recorder::default()];
    on_all_threads(seed, |thread, dice| {
        for number in 0..CALLS {
            let at = dice.random_range(0..levels.len());
            let value = (1 + thread * CALLS + number) as u32;
            let call = match dice.random_range(0..6) {
                0 | 1 => PropertyCall::Read,
                2 => PropertyCall::Set(None, value),
                _ => PropertyCall::Set(Some(levels[at].own()?.0), value),
            };
            let mut failed = None;
            recorders[at].record(thread, call, |call| {
                levels[at].answer(call).unwrap_or_else(|error| {
                    failed = Some(error);
                    PropertyAnswer::Refused
                })
            });
            if let Some(error) = failed {
                return Err(error);
            }
        }
        Ok(())
    })?;
    source.delete_table(name)?;
    let histories = recorders.into_iter().map(Recorder::into_events);
    Ok(starts.into_iter().zip(histories).collect())
}
