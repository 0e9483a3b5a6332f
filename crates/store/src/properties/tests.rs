//! Defaults, refusals, effects, and groups.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::sync::Arc;

use ostrakon_cell::{
    ConstraintRegistry, Durability, IteratorRegistry, Properties, PropertyEffect, PropertyLevel,
};

use super::check::*;
use super::config::*;
use super::levels::*;
use super::names::*;
use super::values::*;
use crate::codec::Compression;
use crate::error::{ErrorKind, StoreResult};

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
