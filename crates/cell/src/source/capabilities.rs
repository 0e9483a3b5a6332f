//! What a source supports.

use std::fmt;

/// A feature that not every source supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Capability {
    /// Isolated scans: never part of a row.
    IsolatedScan,
    /// Conditional mutations.
    ConditionalWrite,
    /// Iterators given with a scan.
    ScanIterators,
    /// Iterators of native classes, registered when the source was opened (a real Accumulo runs
    /// Java classes).
    NativeIterators,
    /// Splits, merges, row-range deletes.
    Tablets,
    /// Compaction on request, with iterators.
    Compaction,
    /// Sorted bulk import.
    BulkImport,
    /// Clones that share files.
    Clone,
    /// Durability chosen per write.
    WriteDurability,
    /// Taking tables off-line.
    Offline,
    /// Copying the whole store while it runs.
    Checkpoint,
    /// Verifying every stored byte.
    Check,
    /// Constraints that writes must pass.
    Constraints,
    /// Scans that can be interrupted, that have a timeout, and that return in time without entries.
    ScanLimits,
    /// Scans that report which ranges they have not read.
    ScanResume,
    /// Properties of tables by level, with versions, changed by compare and set.
    OwnProperties,
    /// Properties of the whole source and of namespaces, which tables inherit.
    PropertyLevels,
    /// Creating, renaming and deleting namespaces.
    Namespaces,
    /// Looking up which classes it can run.
    ClassLookup,
    /// Calls on behalf of a principal, with a deadline.
    CallContext,
    /// Scans of samples.
    Sampling,
}

impl Capability {
    /// Every capability.
    pub const ALL: [Self; 21] = [
        Self::IsolatedScan,
        Self::ConditionalWrite,
        Self::ScanIterators,
        Self::NativeIterators,
        Self::Tablets,
        Self::Compaction,
        Self::BulkImport,
        Self::Clone,
        Self::WriteDurability,
        Self::Offline,
        Self::Checkpoint,
        Self::Check,
        Self::Constraints,
        Self::ScanLimits,
        Self::ScanResume,
        Self::OwnProperties,
        Self::PropertyLevels,
        Self::Namespaces,
        Self::ClassLookup,
        Self::CallContext,
        Self::Sampling,
    ];
}

/// A set of [`Capability`].
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities(u32);

impl Capabilities {
    /// No capability.
    #[must_use]
    pub const fn none() -> Self {
        Self(0)
    }

    /// Every capability.
    #[must_use]
    pub fn all() -> Self {
        Capability::ALL.into_iter().fold(Self::none(), Self::with)
    }

    /// The set with one more.
    #[must_use]
    pub fn with(self, capability: Capability) -> Self {
        Self(self.0 | 1 << capability as u8)
    }

    /// The set with one less.
    #[must_use]
    pub fn without(self, capability: Capability) -> Self {
        Self(self.0 & !(1 << capability as u8))
    }

    /// Whether the source has it.
    #[must_use]
    pub fn has(self, capability: Capability) -> bool {
        self.0 & 1 << capability as u8 != 0
    }
}

impl fmt::Debug for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(Capability::ALL.into_iter().filter(|one| self.has(*one)))
            .finish()
    }
}
