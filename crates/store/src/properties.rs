//! Table properties under Accumulo's names: the known names, their meaning here, and their
//! defaults.

use std::collections::BTreeMap;
use std::sync::Arc;

use ostrakon_cell::{
    ConstraintRegistry, ConstraintSet, Durability, IteratorRegistry, IteratorScope,
    IteratorSetting, Properties, PropertyEffect, PropertyInfo, PropertyLevel, VisibilityExpression,
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

/// The kind of value a property takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bytes,
    Count,
    Time,
    Fraction,
    Boolean,
    Durability,
    Compression,
    Functor,
    Behaviour,
    Visibility,
    /// Any text.
    Text,
}

/// Every property with a fixed name: its default and its kind of value.
const KNOWN: &[(&str, &str, Kind)] = &[
    (
        "table.balancer",
        "org.apache.accumulo.core.spi.balancer.SimpleLoadBalancer",
        Kind::Text,
    ),
    ("table.bloom.enabled", "false", Kind::Boolean),
    ("table.bloom.error.rate", "0.5%", Kind::Fraction),
    ("table.bloom.hash.type", "xxh3", Kind::Text),
    ("table.bloom.key.functor", "RowFunctor", Kind::Functor),
    ("table.bloom.load.threshold", "1", Kind::Count),
    ("table.bloom.size", "1048576", Kind::Count),
    ("table.bulk.max.tablets", "0", Kind::Count),
    ("table.bulk.metadata.skip.distance", "0", Kind::Count),
    ("table.cache.block.enable", "true", Kind::Boolean),
    ("table.cache.index.enable", "true", Kind::Boolean),
    ("table.class.loader.context", "", Kind::Text),
    ("table.classpath.context", "", Kind::Text),
    ("table.compaction.configurer", "", Kind::Text),
    ("table.compaction.dispatcher", "", Kind::Text),
    ("table.compaction.input.drop.cache", "ALL", Kind::Text),
    ("table.compaction.major.everything.idle", "1h", Kind::Time),
    (
        "table.compaction.major.output.drop.cache",
        "false",
        Kind::Boolean,
    ),
    ("table.compaction.major.ratio", "3", Kind::Fraction),
    ("table.compaction.minor.idle", "5m", Kind::Text),
    ("table.compaction.minor.logs.threshold", "3", Kind::Count),
    (
        "table.compaction.minor.output.drop.cache",
        "false",
        Kind::Boolean,
    ),
    ("table.compaction.selection.expiration.ms", "2m", Kind::Text),
    ("table.compaction.selector", "", Kind::Text),
    ("table.delete.behavior", "process", Kind::Behaviour),
    ("table.durability", "sync", Kind::Durability),
    ("table.failures.ignore", "false", Kind::Boolean),
    ("table.file.blocksize", "0B", Kind::Bytes),
    ("table.file.compress.blocksize", "32K", Kind::Bytes),
    ("table.file.compress.blocksize.index", "32K", Kind::Bytes),
    ("table.file.compress.type", "lz4", Kind::Compression),
    ("table.file.ec", "inherit", Kind::Text),
    ("table.file.ec.policy", "", Kind::Text),
    ("table.file.max", "15", Kind::Count),
    ("table.file.replication", "0", Kind::Count),
    ("table.file.summary.maxSize", "256k", Kind::Bytes),
    ("table.file.type", "sorted", Kind::Text),
    ("table.formatter", "", Kind::Text),
    ("table.groups.enabled", "", Kind::Text),
    ("table.interepreter", "", Kind::Text),
    ("table.majc.compaction.strategy", "", Kind::Text),
    ("table.replication", "false", Kind::Boolean),
    ("table.sampler", "", Kind::Text),
    ("table.scan.dispatcher", "", Kind::Text),
    ("table.scan.max.memory", "512K", Kind::Bytes),
    (
        "table.security.scan.visibility.default",
        "",
        Kind::Visibility,
    ),
    ("table.shuffle.sources", "false", Kind::Boolean),
    ("table.split.endrow.size.max", "10K", Kind::Bytes),
    ("table.split.threshold", "1G", Kind::Bytes),
    ("table.suspend.duration", "0s", Kind::Text),
    ("table.walog.enabled", "true", Kind::Boolean),
];

/// Prefixes of properties with variable names.
const PREFIXES: &[&str] = &[
    "table.compaction.configurer.opts.",
    "table.compaction.dispatcher.opts.",
    "table.compaction.selector.opts.",
    "table.constraint.",
    "table.crypto.opts.",
    "table.custom.",
    "table.group.",
    "table.iterator.",
    "table.majc.compaction.strategy.opts.",
    "table.replication.target.",
    "table.sampler.opt.",
    "table.scan.dispatcher.opts.",
    "table.summarizer.",
];

/// Properties that are stored and returned for programs that set them, and have no effect here.
const WITHOUT_EFFECT: &[&str] = &[
    "table.balancer",
    "table.bloom.hash.type",
    "table.bloom.load.threshold",
    "table.bloom.size",
    "table.bulk.max.tablets",
    "table.bulk.metadata.skip.distance",
    "table.cache.index.enable",
    "table.class.loader.context",
    "table.classpath.context",
    "table.compaction.configurer",
    "table.compaction.dispatcher",
    "table.compaction.input.drop.cache",
    "table.compaction.major.output.drop.cache",
    "table.compaction.minor.idle",
    "table.compaction.minor.logs.threshold",
    "table.compaction.minor.output.drop.cache",
    "table.compaction.selection.expiration.ms",
    "table.compaction.selector",
    "table.failures.ignore",
    "table.file.blocksize",
    "table.file.compress.blocksize.index",
    "table.file.ec",
    "table.file.ec.policy",
    "table.file.replication",
    "table.file.summary.maxSize",
    "table.file.type",
    "table.formatter",
    "table.interepreter",
    "table.majc.compaction.strategy",
    "table.replication",
    "table.sampler",
    "table.scan.dispatcher",
    "table.scan.max.memory",
    "table.shuffle.sources",
    "table.suspend.duration",
];

/// Prefixes of properties without effect. Custom properties have only the meaning their users give
/// them.
const PREFIXES_WITHOUT_EFFECT: &[&str] = &[
    "table.compaction.configurer.opts.",
    "table.compaction.dispatcher.opts.",
    "table.compaction.selector.opts.",
    "table.crypto.opts.",
    "table.majc.compaction.strategy.opts.",
    "table.replication.target.",
    "table.sampler.opt.",
    "table.scan.dispatcher.opts.",
    "table.summarizer.",
];

/// Prefixes of Accumulo's server properties, which may be set for the whole store.
const SERVER_PREFIXES: &[&str] = &[
    "compaction.",
    "compactor.",
    "gc.",
    "general.",
    "instance.",
    "manager.",
    "master.",
    "monitor.",
    "replication.",
    "rpc.",
    "sserver.",
    "trace.",
    "tserver.",
];

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

/// All properties in force: the defaults, overridden by `changed`.
#[must_use]
pub fn effective(changed: &Properties) -> Properties {
    let mut all = defaults();
    all.extend(
        changed
            .iter()
            .map(|(name, value)| (name.clone(), value.clone())),
    );
    all
}

fn defaults() -> Properties {
    let known = KNOWN.iter();
    known
        .map(|(name, default, _)| ((*name).into(), (*default).into()))
        .collect()
}

/// All properties in force with the level that each comes from and its effect. The levels come with
/// the values set at them, ordered from the farthest from the table to the nearest.
#[must_use]
pub fn describe(levels: &[(PropertyLevel, &Properties)]) -> BTreeMap<String, PropertyInfo> {
    let mut all = BTreeMap::new();
    let defaults = defaults();
    for (level, properties) in [(PropertyLevel::Default, &defaults)].iter().chain(levels) {
        for (name, value) in *properties {
            let info = PropertyInfo {
                value: value.clone(),
                level: *level,
                effect: effect_of(name, value),
            };
            all.insert(name.clone(), info);
        }
    }
    all
}

/// The effect of a settable property in this store.
#[must_use]
pub fn effect_of(name: &str, value: &str) -> PropertyEffect {
    let has_prefix = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if WITHOUT_EFFECT.contains(&name)
        || has_prefix(PREFIXES_WITHOUT_EFFECT)
        || has_prefix(SERVER_PREFIXES)
    {
        return PropertyEffect::None;
    }
    let instead = STAND_INS.iter().find(|(codec, _)| *codec == value);
    match instead {
        Some((_, used)) if name == "table.file.compress.type" => {
            PropertyEffect::Instead((*used).to_owned())
        }
        _ => PropertyEffect::Full,
    }
}

/// The values set for a table at all levels together. The levels are ordered as in [`describe`].
#[must_use]
pub fn merged(levels: &[&Properties]) -> Properties {
    let mut all = Properties::new();
    for properties in levels {
        for (name, value) in *properties {
            all.insert(name.clone(), value.clone());
        }
    }
    all
}

/// The default iterator of new tables, as properties: the newest version of each column.
#[must_use]
pub fn default_iterators() -> Properties {
    IteratorSetting::new(
        20,
        "vers",
        "org.apache.accumulo.core.iterators.user.VersioningIterator",
    )
    .with("maxVersions", "1")
    .to_properties(&IteratorScope::ALL)
}

/// Checks one property's name and value for the whole store, which also accepts the properties of
/// Accumulo's servers; these have no effect here.
///
/// # Errors
/// As [`check_property`].
pub fn check_system_property(name: &str, value: &str) -> StoreResult<()> {
    let is_of_servers = SERVER_PREFIXES
        .iter()
        .any(|prefix| name.len() > prefix.len() && name.starts_with(prefix));
    if is_of_servers {
        return Ok(());
    }
    check_property(name, value)
}

/// Checks one property's name and value.
///
/// # Errors
/// [`NotFound`](ostrakon_cell::ErrorKind::NotFound) for an unknown name, with the nearest known one
/// as `similar`; [`InvalidArgument`](ostrakon_cell::ErrorKind::InvalidArgument) for a malformed
/// value.
pub fn check_property(name: &str, value: &str) -> StoreResult<()> {
    let Some((_, _, kind)) = KNOWN.iter().find(|(known, _, _)| *known == name) else {
        if PREFIXES
            .iter()
            .any(|prefix| name.len() > prefix.len() && name.starts_with(prefix))
        {
            return Ok(());
        }
        return Err(unknown(name));
    };
    let takes = match kind {
        Kind::Bytes if parse_bytes(value).is_none() => "a number of bytes such as 512K, 64M or 1G",
        Kind::Count if value.parse::<u64>().is_err() => "a whole number",
        Kind::Time if parse_millis(value).is_none() => "a time such as 500ms, 30s, 5m, 1h or 2d",
        Kind::Fraction if parse_fraction(value).is_none() => "a number such as 3, 0.5 or 0.5%",
        Kind::Boolean if !matches!(value, "true" | "false") => "true or false",
        Kind::Durability if value.parse::<Durability>().is_err() => "none, log, flush or sync",
        Kind::Compression if parse_compression(value).is_none() => {
            "none, lz4, zstd or zstd:LEVEL with a level from 1 to 19, or a codec of Accumulo's in place of which one \
             of these is used: gz, bzip2, snappy, lzo"
        }
        Kind::Functor if parse_functor(value).is_none() => {
            "RowFunctor, ColumnFamilyFunctor or ColumnQualifierFunctor"
        }
        Kind::Behaviour if !matches!(value, "process" | "fail") => "process or fail",
        Kind::Visibility if !value.is_empty() => return parse_visibility(value).map(drop),
        _ => return Ok(()),
    };
    Err(Error::invalid(format!("this property takes {takes}"))
        .with("property", name)
        .with("given", value))
}

fn unknown(name: &str) -> Error {
    let known = KNOWN.iter().map(|(known, _, _)| *known);
    let nearest = known
        .chain(PREFIXES.iter().copied())
        .map(|known| (strsim::damerau_levenshtein(known, name), known))
        .min();
    let error = Error::not_found("no such table property").with("property", name);
    match nearest {
        Some((distance, known)) if distance <= known.len() / 4 => error.with("similar", known),
        _ => error,
    }
}

/// The default of a property that has one.
#[must_use]
pub fn default_of(name: &str) -> Option<&'static str> {
    KNOWN
        .iter()
        .find(|(known, _, _)| *known == name)
        .map(|(_, default, _)| *default)
}

fn locality_groups(changed: &Properties) -> StoreResult<Vec<(String, Vec<Vec<u8>>)>> {
    let enabled = changed
        .get("table.groups.enabled")
        .map(String::as_str)
        .unwrap_or_default();
    let mut groups: Vec<(String, Vec<Vec<u8>>)> = Vec::new();
    for name in enabled
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
    {
        let Some(families) = changed.get(&format!("table.group.{name}")) else {
            return Err(Error::invalid(
                "table.groups.enabled names a group without families: set table.group.<name> first",
            )
            .with("group", name));
        };
        let families: Vec<Vec<u8>> = families
            .split(',')
            .filter(|family| !family.is_empty())
            .map(decode_family)
            .collect::<StoreResult<_>>()?;
        let taken = groups
            .iter()
            .find(|(_, known)| known.iter().any(|one| families.contains(one)));
        if let Some((other, _)) = taken {
            return Err(Error::invalid("two locality groups share a family")
                .with("groups", format!("{other}, {name}")));
        }
        groups.push((name.to_owned(), families));
    }
    Ok(groups)
}

/// Decodes a family: properties write bytes outside printable ASCII as `\xNN`, as Accumulo does.
fn decode_family(text: &str) -> StoreResult<Vec<u8>> {
    let wrong = || Error::invalid("a family is written with \\xNN and \\\\").with("given", text);
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        if first != b'\\' {
            bytes.push(first);
            rest = tail;
        } else if let Some(tail) = tail.strip_prefix(b"\\") {
            bytes.push(b'\\');
            rest = tail;
        } else {
            let digits = tail
                .strip_prefix(b"x")
                .and_then(|hex| hex.split_at_checked(2));
            let (digits, tail) = digits.ok_or_else(wrong)?;
            let digits = std::str::from_utf8(digits).map_err(|_| wrong())?;
            bytes.push(u8::from_str_radix(digits, 16).map_err(|_| wrong())?);
            rest = tail;
        }
    }
    Ok(bytes)
}

fn parse_visibility(label: &str) -> StoreResult<VisibilityExpression> {
    VisibilityExpression::parse(label).map_err(|error| {
        Error::invalid("the default visibility is not a valid expression")
            .with("property", "table.security.scan.visibility.default")
            .with_source(error)
    })
}

/// Bytes with Accumulo's suffixes: `B` (or none), `K`, `M`, `G`, powers of 1,024.
#[must_use]
pub fn parse_bytes(text: &str) -> Option<u64> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at_checked(end)?;
    let number: u64 = digits.parse().ok()?;
    let shift = match unit {
        "" | "B" | "b" => 0,
        "K" | "k" => 10,
        "M" | "m" => 20,
        "G" | "g" => 30,
        "T" | "t" => 40,
        _ => return None,
    };
    number.checked_mul(1 << shift)
}

/// A time with Accumulo's suffixes: `ms`, `s` (or none), `m`, `h`, `d`.
fn parse_millis(text: &str) -> Option<i64> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at_checked(end)?;
    let number: i64 = digits.parse().ok()?;
    let millis = match unit {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.checked_mul(millis)
}

fn parse_fraction(text: &str) -> Option<f64> {
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.parse::<f64>().ok()? / 100.0,
        None => text.parse::<f64>().ok()?,
    };
    (value.is_finite() && value >= 0.0).then_some(value)
}

/// Codecs of Accumulo that this store does not have, with their replacements.
const STAND_INS: &[(&str, &str)] = &[
    ("bzip2", "zstd:9"),
    ("gz", "zstd"),
    ("lzo", "lz4"),
    ("snappy", "lz4"),
];

fn parse_compression(text: &str) -> Option<Compression> {
    let stand_in = STAND_INS.iter().find(|(codec, _)| *codec == text);
    match stand_in.map_or(text, |(_, used)| *used) {
        "none" => Some(Compression::None),
        "lz4" => Some(Compression::Lz4),
        "zstd" => Some(Compression::Zstd(3)),
        text => {
            let level = text.strip_prefix("zstd:")?.parse().ok()?;
            (1..=19)
                .contains(&level)
                .then_some(Compression::Zstd(level))
        }
    }
}

fn parse_functor(text: &str) -> Option<BloomFunctor> {
    match text.rsplit('.').next()? {
        "RowFunctor" => Some(BloomFunctor::Row),
        "ColumnFamilyFunctor" => Some(BloomFunctor::RowFamily),
        "ColumnQualifierFunctor" => Some(BloomFunctor::RowFamilyQualifier),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::error::ErrorKind;

    fn properties(pairs: &[(&str, &str)]) -> Properties {
        pairs
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect()
    }

    fn read_config(pairs: &[(&str, &str)]) -> StoreResult<TableConfig> {
        let constraints = ConstraintRegistry::new();
        TableConfig::new(&properties(pairs), &IteratorRegistry::new(), &constraints)
    }

    #[test]
    fn defaults_are_those_of_the_table_above() {
        let config = read_config(&[]).unwrap();
        assert_eq!((config.split_threshold, config.file_max), (1 << 30, 15));
        assert_eq!(
            (config.durability, config.compression),
            (Durability::Sync, Compression::Lz4)
        );
        assert!(config.bloom.is_none() && config.locality_groups.is_empty());
        assert!(KNOWN.is_sorted_by_key(|(name, _, _)| *name) && PREFIXES.is_sorted());
        for (name, value, _) in KNOWN {
            check_property(name, value).unwrap();
        }
    }

    #[test]
    fn a_misspelt_property_is_rejected_with_a_suggestion() {
        let error = check_property("table.split.treshold", "1G").unwrap_err();
        assert!(
            error.to_string().contains("similar: table.split.threshold"),
            "{error}"
        );
        for name in ["table.zzz", "table.nonsense"] {
            let error = check_property(name, "1").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound);
            assert!(!error.to_string().contains("similar"), "{error}");
        }
        check_property("table.custom.mine", "anything").unwrap();
    }

    #[test]
    fn malformed_values_are_rejected() {
        for (name, value) in [
            ("table.split.threshold", "1X"),
            ("table.split.threshold", "-1"),
            ("table.split.threshold", "99999999999G"),
            ("table.durability", "fsync"),
            ("table.file.compress.type", "zip"),
            ("table.bloom.enabled", "yes"),
            ("table.security.scan.visibility.default", "a&"),
        ] {
            let error = check_property(name, value).unwrap_err();
            assert_eq!(
                error.kind(),
                ErrorKind::InvalidArgument,
                "{name}={value}: {error}"
            );
        }
    }

    /// A value of a property that is not its default.
    fn another(kind: Kind, default: &str) -> &'static str {
        match kind {
            Kind::Bytes => "77K",
            Kind::Count => "77",
            Kind::Time => "77s",
            Kind::Fraction => "0.77",
            Kind::Boolean if default == "true" => "false",
            Kind::Boolean => "true",
            Kind::Durability => "log",
            Kind::Compression => "none",
            Kind::Functor => "ColumnFamilyFunctor",
            Kind::Behaviour => "fail",
            Kind::Visibility => "a&b",
            Kind::Text => "none",
        }
    }

    /// Verifies the list of properties without effect: those in it change nothing, all others do.
    #[test]
    fn a_property_has_an_effect_unless_it_is_listed_without() {
        let with_bloom = |name: &str, value: &str| {
            let mut config = TableConfig::stored(
                &Arc::new(properties(&[
                    ("table.bloom.enabled", "true"),
                    (name, value),
                ])),
                &IteratorRegistry::new(),
                &ConstraintRegistry::new(),
            );
            config.set = Arc::default();
            format!("{config:?}")
        };
        for (name, default, kind) in KNOWN {
            let value = match *name {
                "table.bloom.enabled" => "false",
                _ => another(*kind, default),
            };
            let changes = with_bloom(name, value) != with_bloom("table.custom.none", "");
            let effect = effect_of(name, value);
            assert_eq!(changes, effect == PropertyEffect::Full, "{name}");
        }
        assert!(WITHOUT_EFFECT.is_sorted() && PREFIXES_WITHOUT_EFFECT.is_sorted());
        for prefix in PREFIXES_WITHOUT_EFFECT {
            assert!(PREFIXES.contains(prefix), "{prefix}");
        }
    }

    #[test]
    fn codecs_of_accumulo_have_replacements() {
        for (codec, used) in STAND_INS {
            let name = "table.file.compress.type";
            let instead = PropertyEffect::Instead((*used).to_owned());
            assert_eq!(effect_of(name, codec), instead);
            assert_eq!(parse_compression(codec), parse_compression(used));
            assert_eq!(effect_of(name, used), PropertyEffect::Full);
        }
    }

    #[test]
    fn nearer_levels_override_farther_ones() {
        let system = properties(&[("table.file.max", "5"), ("table.durability", "log")]);
        let own = properties(&[("table.durability", "none")]);
        let levels = [
            (PropertyLevel::System, &system),
            (PropertyLevel::Table, &own),
        ];
        let all = describe(&levels);
        let of = |name: &str| (all[name].value.as_str(), all[name].level);
        assert_eq!(of("table.file.max"), ("5", PropertyLevel::System));
        assert_eq!(of("table.durability"), ("none", PropertyLevel::Table));
        assert_eq!(of("table.split.threshold"), ("1G", PropertyLevel::Default));
        assert_eq!(merged(&[&system, &own])["table.durability"], "none");
    }

    #[test]
    fn properties_of_servers_are_for_the_whole_store() {
        let name = "tserver.compaction.major.service.cs1.planner";
        check_system_property(name, "anything").unwrap();
        assert_eq!(effect_of(name, "anything"), PropertyEffect::None);
        check_system_property("table.file.max", "7").unwrap();
        assert!(check_system_property("tserver.", "x").is_err());
        assert!(check_system_property("nothing.of.ours", "x").is_err());
        assert!(check_property(name, "anything").is_err());
    }

    #[test]
    fn locality_groups_must_not_share_families() {
        let read = |pairs: &[(&str, &str)]| read_config(pairs).map(|config| config.locality_groups);
        let groups = read(&[
            ("table.groups.enabled", "g1,g2"),
            ("table.group.g1", "a,b\\x00"),
            ("table.group.g2", "c"),
        ]);
        let expected = vec![
            ("g1".to_owned(), vec![b"a".to_vec(), b"b\0".to_vec()]),
            ("g2".to_owned(), vec![b"c".to_vec()]),
        ];
        assert_eq!(groups.unwrap(), expected);
        assert!(read(&[("table.groups.enabled", "g1")]).is_err());
        assert!(
            read(&[
                ("table.groups.enabled", "g1,g2"),
                ("table.group.g1", "a"),
                ("table.group.g2", "a"),
            ])
            .is_err()
        );
    }
}
