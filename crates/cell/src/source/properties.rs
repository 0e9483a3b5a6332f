//! Properties: where they are set, which of them is in force, and what it does.

use std::collections::BTreeMap;

/// Properties by Accumulo's names (`table.split.threshold`, …).
pub type Properties = BTreeMap<String, String>;

/// A change of properties: names with the value to set, or `None` to remove what is set.
pub type PropertyChange = (String, Option<String>);

/// Where a value comes from. Of several the last one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PropertyLevel {
    /// Nobody set it.
    Default,
    /// Set for all tables of the source.
    System,
    /// Set for the tables of a namespace.
    Namespace,
    /// Set for the table.
    Table,
}

impl PropertyLevel {
    /// The level in one lower-case word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::System => "system",
            Self::Namespace => "namespace",
            Self::Table => "table",
        }
    }
}

/// What a value does in this source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PropertyEffect {
    /// What its name says.
    Full,
    /// Nothing: it is kept and given back, for programs that set it.
    None,
    /// The source uses this value instead.
    Instead(String),
}

/// A property in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PropertyInfo {
    /// The value.
    pub value: String,
    /// Where it is set.
    pub level: PropertyLevel,
    /// What it does.
    pub effect: PropertyEffect,
}

/// What is set at one level, without what is inherited.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VersionedProperties {
    /// Grows with each change, so that a change can say what it was made of.
    pub version: u64,
    /// The properties.
    pub properties: Properties,
}

/// Who has properties besides tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PropertyOwner<'a> {
    /// The whole source.
    System,
    /// The namespace of this name; the empty name is that of tables without a namespace.
    Namespace(&'a str),
}
