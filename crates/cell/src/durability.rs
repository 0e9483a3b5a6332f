//! Durability of a write when it is acknowledged.

use crate::{Error, Result};

/// What an acknowledged write survives: Accumulo's four levels, on one machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Durability {
    /// No write-ahead log: a crash loses the write until the next flush.
    None,
    /// In the log. The embedded store treats it as [`Flush`](Self::Flush); other sources may lose
    /// the last writes when a server crashes.
    Log,
    /// Handed to the operating system: survives `kill -9`, not power loss.
    Flush,
    /// On the disk: survives power loss. The default.
    #[default]
    Sync,
}

impl Durability {
    /// The level's name in `table.durability`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Log => "log",
            Self::Flush => "flush",
            Self::Sync => "sync",
        }
    }
}

impl std::str::FromStr for Durability {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "none" => Ok(Self::None),
            "log" => Ok(Self::Log),
            "flush" => Ok(Self::Flush),
            "sync" => Ok(Self::Sync),
            _ => Err(
                Error::invalid("durability is one of none, log, flush, sync").with("given", text),
            ),
        }
    }
}

impl std::fmt::Display for Durability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
