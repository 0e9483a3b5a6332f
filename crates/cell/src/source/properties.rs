//! Properties: at which level a value is set, which value is in force, and what it does.

use std::collections::BTreeMap;

/// Properties by Accumulo's names (`table.split.threshold`, …).
pub type Properties = BTreeMap<String, String>;

/// A change of properties: names with the value to set, or `None` to remove what is set.
pub type PropertyChange = (String, Option<String>);

/// The level a value comes from. The last level at which a value is set is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PropertyLevel {
    /// Not set at any level.
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
    /// The property works as its name says.
    Full,
    /// None: the value is stored and returned, for programs that set it.
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

/// The properties set at one level, without inherited ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VersionedProperties {
    /// Grows with each change, so that a change can name the version it is based on.
    pub version: u64,
    /// The properties.
    pub properties: Properties,
}

/// An owner of properties other than a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PropertyOwner<'a> {
    /// The whole source.
    System,
    /// The namespace of this name; the empty name is that of tables without a namespace.
    Namespace(&'a str),
}
