//! The values in force: defaults, the levels that override them, and their effect here.

use std::collections::BTreeMap;

use ostrakon_cell::{
    IteratorScope, IteratorSetting, Properties, PropertyEffect, PropertyInfo, PropertyLevel,
};

use super::names::{KNOWN, PREFIXES_WITHOUT_EFFECT, SERVER_PREFIXES, WITHOUT_EFFECT};
use super::values::STAND_INS;

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
