//! Namespaces, and the properties that tables inherit.
//!
//! All changes here hold [`Store::administration`], as every change of a name does. A change of a
//! level holds `inherited` for writing until its tables have their new properties, so that no table
//! is changed or created meanwhile with the old ones.

use std::sync::Arc;

use ostrakon_cell::{
    NamespaceInfo, Properties, PropertyChange, PropertyOwner, VersionedProperties,
};

use super::names::check_namespace;
use super::open::Store;
use crate::catalog::{NamespaceId, NamespaceRecord, PropertiesRecord, namespace_of};
use crate::error::{Error, ErrorKind, StoreResult};
use crate::properties::{TableConfig, check_property, check_system_property};
use crate::table::{Inherited, TableCore, changed, is_of_tables, refuse_version};

impl Store {
    /// The parsed properties of a table that is about to be created. Under `administration`.
    pub(super) fn config_of_new(
        &self,
        name: &str,
        properties: &Properties,
    ) -> StoreResult<TableConfig> {
        let context = &self.context;
        // First without the inherited properties, then together with them.
        context.new_table_config(properties)?;
        let namespace = self.namespace_for(name)?;
        let inherited = context.inherited.read();
        let of_level = |own| context.table_config(&inherited.merged(namespace, &Arc::new(own)));
        let config = of_level(properties.clone());
        config.check_no_worse_than(&of_level(Properties::new()))?;
        Ok(config)
    }

    /// The namespace of a table of that name.
    pub(super) fn namespace_for(&self, table: &str) -> StoreResult<NamespaceId> {
        let inherited = self.context.inherited.read();
        let namespace = inherited.named(namespace_of(table));
        Ok(namespace.map_err(|error| error.with("table", table))?.id)
    }

    pub(super) fn list_namespaces(&self) -> StoreResult<Vec<NamespaceInfo>> {
        self.context.health.check_open()?;
        let inherited = self.context.inherited.read();
        let listed = inherited.namespaces.values().map(|one| NamespaceInfo {
            name: one.name.clone(),
            id: one.id.to_string(),
        });
        let mut listed: Vec<_> = listed.collect();
        listed.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(listed)
    }

    pub(super) fn make_namespace(&self, name: &str) -> StoreResult<()> {
        check_namespace(name)?;
        self.context.health.check_writable()?;
        let _administration = self.administration.lock();
        let mut inherited = self.context.inherited.write();
        let now = self.context.clock.now_millis();
        let id = self
            .change(|change| change.create_namespace(name, now))?
            .value;
        let record = NamespaceRecord::new(id, name, now);
        inherited.namespaces.insert(id, record);
        Ok(())
    }

    pub(super) fn remove_namespace(&self, name: &str) -> StoreResult<()> {
        self.context.health.check_writable()?;
        let _administration = self.administration.lock();
        let mut inherited = self.context.inherited.write();
        let id = changeable(&inherited, name)?;
        let _ = self.change(|change| change.delete_namespace(id))?;
        inherited.namespaces.remove(&id);
        Ok(())
    }

    pub(super) fn move_namespace(&self, from: &str, to: &str) -> StoreResult<()> {
        check_namespace(to)?;
        self.context.health.check_writable()?;
        let mut changes = self.administration.lock();
        let mut inherited = self.context.inherited.write();
        let id = changeable(&inherited, from)?;
        let renamed = self.change(|change| change.rename_namespace(id, to))?.value;
        if let Some(namespace) = inherited.namespaces.get_mut(&id) {
            to.clone_into(&mut namespace.name);
        }
        let mut tables = self.tables.write();
        for (old, new) in &renamed {
            if let Some(table) = tables.remove(old) {
                table.set_status(|status| status.name = new.as_str().into());
                tables.insert(new.clone(), table);
            }
        }
        drop(tables);
        *changes += 1;
        for (_, name) in &renamed {
            self.compare_with_catalog(Some(name));
        }
        Ok(())
    }

    pub(super) fn properties_of(
        &self,
        owner: PropertyOwner<'_>,
    ) -> StoreResult<VersionedProperties> {
        self.context.health.check_open()?;
        let inherited = self.context.inherited.read();
        let PropertiesRecord {
            version,
            properties,
        } = match owner {
            PropertyOwner::System => inherited.system.clone(),
            PropertyOwner::Namespace(name) => inherited.named(name)?.own.clone(),
        };
        Ok(VersionedProperties {
            version,
            properties,
        })
    }

    /// Changes the properties of a level, and thereby those in force for the tables that inherit
    /// from it.
    pub(super) fn change_level(
        &self,
        owner: PropertyOwner<'_>,
        version: Option<u64>,
        changes: &[PropertyChange],
    ) -> StoreResult<u64> {
        let context = &self.context;
        context.health.check_writable()?;
        let _administration = self.administration.lock();
        let mut inherited = context.inherited.write();
        let mut next = inherited.clone();
        let (namespace, own) = match owner {
            PropertyOwner::System => (None, next.system.clone()),
            PropertyOwner::Namespace(name) => {
                let record = next.named(name)?;
                (Some(record.id), record.own.clone())
            }
        };
        refuse_version(own.version, version)?;
        let check = match owner {
            PropertyOwner::System => check_system_property,
            PropertyOwner::Namespace(_) => check_property,
        };
        let of_tables = |own: &PropertiesRecord| {
            let mut properties = own.properties.clone();
            properties.retain(|name, _| is_of_tables(name));
            context.table_config(&Arc::new(properties))
        };
        let before = of_tables(&own);
        let own = changed(own, changes, &context.constraints, check)?;
        // Without a table yet, the change must not make the first one invalid.
        of_tables(&own).check_no_worse_than(&before)?;
        match namespace {
            None => next.set_system(own.clone()),
            Some(id) => {
                if let Some(record) = next.namespaces.get_mut(&id) {
                    record.own = own.clone();
                }
            }
        }
        let tables = self.configs(&next, namespace)?;
        let version = own.version;
        let _ = self.change(|change| match namespace {
            None => change.set_system_properties(&own),
            Some(id) => change.set_namespace_properties(id, own),
        })?;
        *inherited = next;
        for (table, config) in tables {
            let before = table.config();
            table.set_status(|status| status.config = Arc::new(config));
            table.properties_changed(&before);
        }
        Ok(version)
    }

    /// The tables that inherit from a level, with the properties that will be in force for them.
    ///
    /// # Errors
    /// The first table that would get an additional problem.
    fn configs(
        &self,
        next: &Inherited,
        namespace: Option<NamespaceId>,
    ) -> StoreResult<Vec<(Arc<TableCore>, TableConfig)>> {
        let tables: Vec<_> = self.tables.read().values().cloned().collect();
        let mut configs = Vec::new();
        for table in tables {
            let status = table.status();
            if namespace.is_some_and(|namespace| namespace != status.namespace) {
                continue;
            }
            let set = next.merged(status.namespace, &status.properties);
            let config = self.context.table_config(&set);
            config
                .check_no_worse_than(&status.config)
                .map_err(|error| error.with("table", &status.name))?;
            configs.push((table, config));
        }
        Ok(configs)
    }
}

/// The id of a namespace, if it can be renamed and deleted.
fn changeable(inherited: &Inherited, name: &str) -> StoreResult<NamespaceId> {
    let id = inherited.named(name)?.id;
    if id == NamespaceId::DEFAULT || id == NamespaceId::RESERVED {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            "this namespace is always there: it is neither renamed nor deleted",
        )
        .with(
            "namespace",
            if name.is_empty() { "(default)" } else { name },
        ));
    }
    Ok(id)
}
