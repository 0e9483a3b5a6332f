//! Accumulo's table properties: names, defaults, and what their values look like.

use std::sync::LazyLock;

use ostrakon_cell::iterator::{IteratorRegistry, IteratorScope, IteratorSetting};
use ostrakon_cell::{Durability, Error, ErrorKind, Properties, Result, VisibilityExpression};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bool,
    Bytes,
    Count,
    Duration,
    Durability,
    Fraction,
    Text,
}

/// Name, default (empty for none) and kind, as Accumulo 2.1 has them.
const KNOWN: &[(&str, &str, Kind)] = &[
    (
        "table.balancer",
        "org.apache.accumulo.core.spi.balancer.SimpleLoadBalancer",
        Kind::Text,
    ),
    ("table.bloom.enabled", "false", Kind::Bool),
    ("table.bloom.error.rate", "0.5%", Kind::Fraction),
    ("table.bloom.hash.type", "murmur", Kind::Text),
    (
        "table.bloom.key.functor",
        "org.apache.accumulo.core.file.keyfunctor.RowFunctor",
        Kind::Text,
    ),
    ("table.bloom.load.threshold", "1", Kind::Count),
    ("table.bloom.size", "1048576", Kind::Count),
    ("table.bulk.max.tablets", "0", Kind::Count),
    ("table.bulk.metadata.skip.distance", "0", Kind::Count),
    ("table.cache.block.enable", "false", Kind::Bool),
    ("table.cache.index.enable", "true", Kind::Bool),
    ("table.class.loader.context", "", Kind::Text),
    ("table.classpath.context", "", Kind::Text),
    ("table.compaction.configurer", "", Kind::Text),
    (
        "table.compaction.dispatcher",
        "SimpleCompactionDispatcher",
        Kind::Text,
    ),
    ("table.compaction.input.drop.cache", "ALL", Kind::Text),
    (
        "table.compaction.major.everything.idle",
        "1h",
        Kind::Duration,
    ),
    (
        "table.compaction.major.output.drop.cache",
        "false",
        Kind::Bool,
    ),
    ("table.compaction.major.ratio", "3", Kind::Fraction),
    ("table.compaction.minor.idle", "5m", Kind::Duration),
    ("table.compaction.minor.logs.threshold", "3", Kind::Count),
    (
        "table.compaction.minor.output.drop.cache",
        "false",
        Kind::Bool,
    ),
    (
        "table.compaction.selection.expiration.ms",
        "2m",
        Kind::Duration,
    ),
    ("table.compaction.selector", "", Kind::Text),
    ("table.delete.behavior", "process", Kind::Text),
    ("table.durability", "sync", Kind::Durability),
    ("table.failures.ignore", "false", Kind::Bool),
    ("table.file.blocksize", "0B", Kind::Bytes),
    ("table.file.compress.blocksize", "100k", Kind::Bytes),
    ("table.file.compress.blocksize.index", "128k", Kind::Bytes),
    ("table.file.compress.type", "gz", Kind::Text),
    ("table.file.ec", "inherit", Kind::Text),
    ("table.file.ec.policy", "", Kind::Text),
    ("table.file.max", "15", Kind::Count),
    ("table.file.replication", "0", Kind::Count),
    ("table.file.summary.maxSize", "256k", Kind::Bytes),
    ("table.file.type", "rf", Kind::Text),
    ("table.formatter", "DefaultFormatter", Kind::Text),
    ("table.groups.enabled", "", Kind::Text),
    ("table.interepreter", "", Kind::Text),
    ("table.majc.compaction.strategy", "", Kind::Text),
    ("table.replication", "false", Kind::Bool),
    ("table.sampler", "", Kind::Text),
    ("table.scan.dispatcher", "SimpleScanDispatcher", Kind::Text),
    ("table.scan.max.memory", "512k", Kind::Bytes),
    ("table.security.scan.visibility.default", "", Kind::Text),
    ("table.shuffle.sources", "false", Kind::Bool),
    ("table.split.endrow.size.max", "10k", Kind::Bytes),
    ("table.split.threshold", "1G", Kind::Bytes),
    ("table.suspend.duration", "0s", Kind::Duration),
    ("table.walog.enabled", "true", Kind::Bool),
];

/// Families of names that users make up.
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

/// Whether a property is one of Accumulo's servers rather than of tables.
pub(super) fn is_of_servers(name: &str) -> bool {
    const FAMILIES: [&str; 8] = [
        "tserver.",
        "manager.",
        "master.",
        "general.",
        "instance.",
        "gc.",
        "monitor.",
        "compaction.",
    ];
    FAMILIES.iter().any(|family| name.starts_with(family))
}

static DEFAULTS: LazyLock<Properties> = LazyLock::new(|| {
    KNOWN
        .iter()
        .map(|(name, default, _)| ((*name).to_owned(), (*default).to_owned()))
        .collect()
});

/// What a table without any property of its own has.
pub(super) fn defaults() -> &'static Properties {
    &DEFAULTS
}

/// Checks everything set on a table together; nothing may be set before this agrees.
pub(super) fn check(set: &Properties, registry: &IteratorRegistry) -> Result<()> {
    for (name, value) in set {
        check_one(name, value)?;
    }
    super::plain_constraints::check(set)?;
    for scope in IteratorScope::ALL {
        for setting in IteratorSetting::from_properties(set, scope)? {
            registry
                .validate(&setting, scope)
                .map_err(|error| error.with("iterator", &setting.name))?;
        }
    }
    Ok(())
}

fn check_one(name: &str, value: &str) -> Result<()> {
    let Some((_, _, kind)) = KNOWN.iter().find(|(known, _, _)| *known == name) else {
        let family = PREFIXES
            .iter()
            .any(|prefix| name.len() > prefix.len() && name.starts_with(prefix));
        return if family { Ok(()) } else { Err(unknown(name)) };
    };
    if name == "table.security.scan.visibility.default" {
        VisibilityExpression::parse(value).map_err(|error| {
            Error::invalid("the default visibility is not a valid expression").with_source(error)
        })?;
    }
    let sound = match kind {
        Kind::Text => true,
        Kind::Bool => matches!(value, "true" | "false"),
        Kind::Count => value.parse::<u64>().is_ok(),
        Kind::Bytes => number_with_unit(value, &["", "B", "b", "K", "k", "M", "m", "G", "g"]),
        Kind::Duration => number_with_unit(value, &["", "ms", "s", "m", "h", "d"]),
        Kind::Fraction => value
            .strip_suffix('%')
            .unwrap_or(value)
            .parse::<f64>()
            .is_ok_and(|number| number >= 0.0),
        Kind::Durability => return value.parse::<Durability>().map(drop),
    };
    if sound {
        Ok(())
    } else {
        Err(Error::invalid(format!("the property takes a {kind:?}"))
            .with("property", name)
            .with("given", value))
    }
}

fn number_with_unit(value: &str, units: &[&str]) -> bool {
    units.iter().any(|unit| {
        value
            .strip_suffix(unit)
            .is_some_and(|number| number.parse::<u64>().is_ok())
    })
}

fn unknown(name: &str) -> Error {
    let near = KNOWN
        .iter()
        .map(|(known, _, _)| (strsim::damerau_levenshtein(known, name), *known))
        .min();
    let hint = near
        .filter(|(distance, _)| *distance <= name.len() / 3)
        .map_or(String::new(), |(_, known)| {
            format!("; did you mean {known}?")
        });
    Error::new(ErrorKind::NotFound, format!("no such table property{hint}")).with("property", name)
}
