//! What a loss in the store means for event types.

use ostrakon_cell::Source;
use ostrakon_events::{ConcernedType, types_concerned};
use serde_json::{Value, json};

use crate::failure::Result;

/// The event types that a loss concerns.
pub(in crate::commands) struct Concerned(Vec<ConcernedType>);

impl Concerned {
    /// Those to which these tables belong.
    pub(in crate::commands) fn by(source: &dyn Source, tables: &[String]) -> Result<Self> {
        Ok(Self(types_concerned(source, tables)?))
    }

    pub(in crate::commands) fn to_json(&self) -> Value {
        let types = self.0.iter();
        types
            .map(|one| json!({"type": one.name, "registered": one.is_registered}))
            .collect()
    }

    /// A line for each, which begins with a line feed: what to do.
    pub(in crate::commands) fn to_text(&self) -> String {
        let line = |one: &ConcernedType| {
            let name = &one.name;
            match one.is_registered {
                true => format!(
                    "\nevent type {name}: run `ostrakon events check {name}` with authorizations for all labels, and \
                     `ostrakon events repair {name}` if it fails"
                ),
                false => format!(
                    "\nevent type {name}: its definition is lost; `ostrakon events create {name} --schema FILE --adopt` \
                     keeps its events"
                ),
            }
        };
        self.0.iter().map(line).collect()
    }
}
