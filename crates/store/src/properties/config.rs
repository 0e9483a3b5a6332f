//! The parsed properties of a table.

use std::sync::Arc;

use ostrakon_cell::{
    ConstraintRegistry, ConstraintSet, Durability, IteratorRegistry, IteratorScope,
    IteratorSetting, Properties, VisibilityExpression,
};

use super::check::check_property;
use super::groups::locality_groups;
use super::names::default_of;
use super::values::{
    parse_bytes, parse_compression, parse_fraction, parse_functor, parse_millis, parse_visibility,
};
use crate::codec::Compression;
use crate::error::{Error, StoreResult};

/// The parsed properties of one table.
#[derive(Debug, Clone)]
pub struct TableConfig {
    /// `table.split.threshold`: bytes of files at which a tablet is split.
    pub split_threshold: u64,
    /// `table.split.endrow.size.max`: longest row that may become a split point.
    pub split_row_max: usize,
    /// `table.file.max`: number of files at which a tablet is compacted whatever their sizes.
    pub file_max: usize,
    /// `table.compaction.major.ratio`: files are merged when together they hold at least this many
    /// times the bytes of the largest.
    pub major_ratio: f64,
    /// `table.compaction.major.everything.idle`, in milliseconds: a tablet without writes for this
    /// time is compacted fully.
    pub idle_millis: i64,
    /// `table.durability`.
    pub durability: Durability,
    /// `table.file.compress.type`, used by compactions; flushes write uncompressed blocks.
    pub compression: Compression,
    /// `table.file.compress.blocksize`: bytes of a block before compression.
    pub block_bytes: usize,
    /// `table.bloom.*`, when enabled.
    pub bloom: Option<BloomConfig>,
    /// `table.group.*` of the groups in `table.groups.enabled`.
    pub locality_groups: Vec<(String, Vec<Vec<u8>>)>,
    /// `table.security.scan.visibility.default`: the label of entries without one.
    pub default_visibility: Option<VisibilityExpression>,
    /// `table.delete.behavior` is `fail`: a scan that reads a delete marker fails.
    pub deletes_fail: bool,
    /// `table.constraint.*`: the constraints on mutations.
    pub constraints: ConstraintSet,
    /// `table.cache.block.enable`: whether scans leave blocks in the cache.
    pub cache_blocks: bool,
    /// Properties that could not be parsed; their defaults are in force.
    pub problems: Arc<[Error]>,
    /// Why the locality groups are not in force, if they are not: programs set them one property
    /// after another, and in between the properties may contradict one another.
    pub unfinished: Option<Arc<Error>>,
    /// All values set, at any level.
    pub set: Arc<Properties>,
    iterators: [Stack; 3],
}

/// The iterators of a scope, or the error that makes them unusable.
#[derive(Debug, Clone)]
enum Stack {
    Known(Arc<[IteratorSetting]>),
    Unusable(Arc<Error>),
}

/// Parameters of a bloom filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BloomConfig {
    /// The parts of a key that are hashed.
    pub functor: BloomFunctor,
    /// Share of point reads of absent keys that the filter lets pass.
    pub error_rate: f64,
}

/// The parts of a key in a filter: `table.bloom.key.functor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BloomFunctor {
    /// Rows.
    Row,
    /// Rows with family.
    RowFamily,
    /// Rows with family and qualifier.
    RowFamilyQualifier,
}

impl TableConfig {
    /// Parses the properties that differ from the defaults, when a user sets them.
    ///
    /// # Errors
    /// Those of [`check_property`], and iterators that are unknown or conflict. An unknown
    /// constraint is not an error here: it rejects every mutation, and the table stays readable.
    pub fn new(
        changed: &Properties,
        registry: &IteratorRegistry,
        constraints: &ConstraintRegistry,
    ) -> StoreResult<Self> {
        let config = Self::stored(&Arc::new(changed.clone()), registry, constraints);
        let problem = config.problems().next().map(Error::duplicate);
        problem.map_or(Ok(config), Err)
    }

    /// All errors in the properties.
    pub fn problems(&self) -> impl Iterator<Item = &Error> {
        self.problems.iter().chain(self.unfinished.as_deref())
    }

    /// Parses stored properties that differ from the defaults; they may come from a program with
    /// other iterator classes or from another version. Errors are among the
    /// [`problems`](Self::problems), and affect only what depends on them: a scope whose iterators
    /// are unknown or conflict cannot be used, a malformed default label hides entries from every
    /// reader, and every other property has its default.
    #[must_use]
    pub fn stored(
        changed: &Arc<Properties>,
        registry: &IteratorRegistry,
        constraints: &ConstraintRegistry,
    ) -> Self {
        let mut problems = Vec::new();
        let mut readable = Properties::clone(changed);
        for (name, value) in changed.iter() {
            if let Err(error) = check_property(name, value) {
                problems.push(error);
                readable.remove(name);
            }
        }
        let text = |name: &str| {
            readable
                .get(name)
                .map(String::as_str)
                .or_else(|| default_of(name))
                .unwrap_or_default()
        };
        let mut iterators =
            IteratorScope::ALL.map(|scope| Stack::read(changed, scope, registry, &mut problems));
        let label = "table.security.scan.visibility.default";
        if changed.contains_key(label) && !readable.contains_key(label) {
            let unreadable = Error::invalid(
                "the default visibility cannot be read, so that entries without a label are hidden: correct \
                 the property",
            );
            iterators[IteratorScope::Scan as usize] =
                Stack::Unusable(Arc::new(unreadable.with("property", label)));
        }
        let durability = if text("table.walog.enabled") == "false" {
            Durability::None
        } else {
            text("table.durability").parse().unwrap_or(Durability::Sync)
        };
        let bloom = if text("table.bloom.enabled") == "true" {
            Some(BloomConfig {
                functor: parse_functor(text("table.bloom.key.functor"))
                    .unwrap_or(BloomFunctor::Row),
                error_rate: parse_fraction(text("table.bloom.error.rate")).unwrap_or(0.005),
            })
        } else {
            None
        };
        let default_visibility = match text(label) {
            "" => None,
            label => parse_visibility(label).ok(),
        };
        let (groups, unfinished) = match locality_groups(&readable) {
            Ok(groups) => (groups, None),
            Err(error) => (Vec::new(), Some(Arc::new(error))),
        };
        let bytes = |name: &str| parse_bytes(text(name)).unwrap_or_default();
        Self {
            split_threshold: bytes("table.split.threshold").max(1),
            split_row_max: bytes("table.split.endrow.size.max") as usize,
            file_max: text("table.file.max").parse::<usize>().unwrap_or(15).max(2),
            major_ratio: parse_fraction(text("table.compaction.major.ratio")).unwrap_or(3.0),
            idle_millis: parse_millis(text("table.compaction.major.everything.idle"))
                .unwrap_or(i64::MAX),
            durability,
            compression: parse_compression(text("table.file.compress.type"))
                .unwrap_or(Compression::Lz4),
            block_bytes: (bytes("table.file.compress.blocksize") as usize).clamp(1 << 10, 4 << 20),
            bloom,
            locality_groups: groups,
            default_visibility,
            constraints: ConstraintSet::from_properties(changed, constraints),
            deletes_fail: text("table.delete.behavior") == "fail",
            cache_blocks: text("table.cache.block.enable") == "true",
            problems: problems.into(),
            unfinished,
            set: changed.clone(),
            iterators,
        }
    }

    /// Returns an error if these properties have a problem that `before` did not have. So a table
    /// with several problems can be repaired one property at a time.
    ///
    /// # Errors
    /// The first new problem.
    pub fn check_no_worse_than(&self, before: &Self) -> StoreResult<()> {
        let known: Vec<String> = before.problems.iter().map(Error::to_string).collect();
        let mut problems = self.problems.iter();
        match problems.find(|problem| !known.contains(&problem.to_string())) {
            Some(problem) => Err(problem.duplicate()),
            None => Ok(()),
        }
    }

    /// The iterator stack of a scope.
    ///
    /// # Errors
    /// If the table's properties for it are invalid.
    pub fn iterators(&self, scope: IteratorScope) -> StoreResult<&[IteratorSetting]> {
        match &self.iterators[scope as usize] {
            Stack::Known(settings) => Ok(settings),
            Stack::Unusable(error) => Err(error.duplicate()),
        }
    }

    /// The same properties without the flush iterators.
    #[must_use]
    pub fn without_flush_iterators(&self) -> Self {
        let mut config = self.clone();
        config.iterators[IteratorScope::Minc as usize] = Stack::Known(Arc::default());
        config
    }
}

impl Stack {
    fn read(
        properties: &Properties,
        scope: IteratorScope,
        registry: &IteratorRegistry,
        problems: &mut Vec<Error>,
    ) -> Self {
        let settings = match IteratorSetting::from_properties(properties, scope) {
            Ok(settings) => settings,
            Err(error) => {
                problems.push(error.duplicate());
                return Self::Unusable(Arc::new(error));
            }
        };
        let mut unusable = None;
        for setting in &settings {
            if let Err(error) = registry.validate(setting, scope) {
                let error = error
                    .with("scope", scope.as_str())
                    .with("iterator", &setting.name);
                problems.push(error.duplicate());
                unusable.get_or_insert(error);
            }
        }
        match unusable {
            Some(error) => Self::Unusable(Arc::new(error)),
            None => Self::Known(settings.into()),
        }
    }
}
