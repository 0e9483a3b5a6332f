//! Changes of a table's own properties.

use std::sync::Arc;

use ostrakon_cell::{
    ConstraintRegistry, ConstraintSet, IteratorScope, IteratorSetting, Properties, PropertyChange,
};

use super::core::TableCore;
use crate::catalog::PropertiesRecord;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::properties::TableConfig;

/// Applies changes to `own`, each checked by `check`, with a new version.
///
/// # Errors
/// The first invalid change.
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
            // Removing a property that is not set is allowed, if the name is valid.
            None => match check(name, "") {
                Err(error) if error.kind() == ErrorKind::NotFound => return Err(error),
                _ => {}
            },
        }
    }
    own.version += 1;
    Ok(own)
}

/// Returns an error if the properties, now at version `now`, changed after the caller read version
/// `wanted`.
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

/// Warns about iterators that share a priority, if they did not before.
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
    /// Changes the table's own properties, if they have this version. Returns the new version.
    pub(super) fn set_properties(
        &self,
        version: Option<u64>,
        changes: &[PropertyChange],
    ) -> StoreResult<u64> {
        let context = &self.context;
        context.health.check_writable()?;
        let inherited = context.inherited.read();
        let _structure = self.structure.lock();
        // Under the lock, so that the table still exists.
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
        // Existing problems may remain: a table is repaired one property at a time.
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
        // Work that failed may succeed now.
        self.properties_changed(&status.config);
        Ok(version)
    }
}
