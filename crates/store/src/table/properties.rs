//! Changes of a table's own properties.

use std::sync::Arc;

use ostrakon_cell::{
    ConstraintRegistry, ConstraintSet, IteratorScope, IteratorSetting, Properties, PropertyChange,
};

use super::core::TableCore;
use crate::catalog::PropertiesRecord;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::properties::TableConfig;

/// `own` with changes, each checked by `check` for itself, and a new version.
///
/// # Errors
/// The first wrong change.
pub(crate) fn changed(
    mut own: PropertiesRecord,
    changes: &[PropertyChange],
    constraints: &ConstraintRegistry,
    check: impl Fn(&str, &str) -> StoreResult<()>,
) -> StoreResult<PropertiesRecord> {
    for (name, value) in changes {
        match value {
            Some(value) => {
                check(name, value)?;
                ConstraintSet::check_property(name, value, constraints)?;
                own.properties.insert(name.clone(), value.clone());
            }
            None if own.properties.remove(name).is_some() => {}
            // Taking back what is not set is fine, of a name that could be set.
            None => match check(name, "") {
                Err(error) if error.kind() == ErrorKind::NotFound => return Err(error),
                _ => {}
            },
        }
    }
    own.version += 1;
    Ok(own)
}

/// An error if somebody changed what is at version `now` after the caller read `wanted`.
pub(crate) fn refuse_version(now: u64, wanted: Option<u64>) -> StoreResult<()> {
    match wanted {
        Some(wanted) if wanted != now => Err(Error::new(
            ErrorKind::ConcurrentModification,
            "the properties were changed meanwhile: read them again and repeat the change",
        )
        .with("version", now)
        .with("expected", wanted)),
        _ => Ok(()),
    }
}

/// Says which iterators share a priority that did not before.
fn warn_of_equal_priorities(table: &str, new: &TableConfig, old: &TableConfig) {
    for scope in IteratorScope::ALL {
        let equal = |config: &TableConfig| {
            let stack = config.iterators(scope).unwrap_or_default().to_vec();
            let pair = IteratorSetting::equal_priorities(&stack);
            pair.map(|(first, second)| format!("{first}, {second}"))
        };
        let now = equal(new);
        if let Some(iterators) = &now
            && now != equal(old)
        {
            tracing::warn!(
                table,
                scope = scope.as_str(),
                iterators,
                "iterators of one priority run in the order of their names"
            );
        }
    }
}

impl TableCore {
    /// Changes the table's own properties, if they have this version. Answers the new one.
    pub(super) fn set_properties(
        &self,
        version: Option<u64>,
        changes: &[PropertyChange],
    ) -> StoreResult<u64> {
        let context = &self.context;
        context.health.check_writable()?;
        let inherited = context.inherited.read();
        let _structure = self.structure.lock();
        // Under the lock: what is refused or set belongs to a table that exists.
        self.check_open()?;
        let status = self.status();
        refuse_version(status.properties_version, version)?;
        let own = PropertiesRecord {
            version: status.properties_version,
            properties: Properties::clone(&status.properties),
        };
        let own = changed(
            own,
            changes,
            &context.constraints,
            crate::properties::check_property,
        )?;
        let properties = Arc::new(own.properties.clone());
        let config = context.table_config(&inherited.merged(status.namespace, &properties));
        // What is wrong already may stay wrong: a table is repaired one property after the other.
        config.check_no_worse_than(&status.config)?;
        warn_of_equal_priorities(&status.name, &config, &status.config);
        let version = own.version;
        let _ = context
            .catalog
            .transaction(|change| change.update_table(self.id, |record| record.own = own))?;
        self.set_status(|status| {
            status.properties = properties;
            status.properties_version = version;
            status.config = Arc::new(config);
        });
        // What failed may work now.
        self.retry();
        Ok(version)
    }
}
