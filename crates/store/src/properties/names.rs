//! The known properties: their names, defaults and kinds of value, and which of them have no effect here.

/// The kind of value a property takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
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
pub(super) const KNOWN: &[(&str, &str, Kind)] = &[
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
pub(super) const PREFIXES: &[&str] = &[
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
pub(super) const WITHOUT_EFFECT: &[&str] = &[
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
pub(super) const PREFIXES_WITHOUT_EFFECT: &[&str] = &[
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
pub(super) const SERVER_PREFIXES: &[&str] = &[
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

/// The default of a property that has one.
#[must_use]
pub fn default_of(name: &str) -> Option<&'static str> {
    KNOWN
        .iter()
        .find(|(known, _, _)| *known == name)
        .map(|(_, default, _)| *default)
}
