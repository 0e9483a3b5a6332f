//! Inherited properties: those of the whole store and of namespaces.

use std::collections::BTreeMap;
use std::sync::Arc;

use ostrakon_cell::{Properties, PropertyInfo, PropertyLevel};

use crate::catalog::{CatalogView, NamespaceId, NamespaceRecord, PropertiesRecord};
use crate::error::{Error, ErrorKind, StoreResult};
use crate::properties::{describe, merged};

/// The levels above tables, as stored in the catalog.
#[derive(Debug, Clone, Default)]
pub(crate) struct Inherited {
    /// Of all tables.
    pub(crate) system: PropertiesRecord,
    /// The namespaces with their properties.
    pub(crate) namespaces: BTreeMap<NamespaceId, NamespaceRecord>,
    /// The store-wide properties that apply to tables.
    of_tables: Properties,
}

/// Whether a property applies to tables rather than to Accumulo's servers.
pub(crate) fn is_of_tables(name: &str) -> bool {
    name.starts_with("table.")
}

impl Inherited {
    /// Loads them.
    pub(crate) fn load(view: &CatalogView) -> StoreResult<Self> {
        let mut inherited = Self::default();
        for namespace in view.namespaces()? {
            inherited.namespaces.insert(namespace.id, namespace);
        }
        inherited.set_system(view.system_properties()?);
        Ok(inherited)
    }

    /// Replaces the properties of the whole store.
    pub(crate) fn set_system(&mut self, system: PropertiesRecord) {
        self.of_tables = system.properties.clone();
        self.of_tables.retain(|name, _| is_of_tables(name));
        self.system = system;
    }

    /// The namespace of this name.
    pub(crate) fn named(&self, name: &str) -> StoreResult<&NamespaceRecord> {
        let mut all = self.namespaces.values();
        all.find(|one| one.name == name).ok_or_else(|| {
            Error::new(ErrorKind::NamespaceNotFound, "no such namespace").with("namespace", name)
        })
    }

    /// All values set for a table of `namespace` with these own properties.
    pub(crate) fn merged(&self, namespace: NamespaceId, own: &Arc<Properties>) -> Arc<Properties> {
        let above = self.namespaces.get(&namespace);
        let above = above.filter(|namespace| !namespace.own.properties.is_empty());
        match above {
            None if self.of_tables.is_empty() => own.clone(),
            None => Arc::new(merged(&[&self.of_tables, own])),
            Some(above) => Arc::new(merged(&[&self.of_tables, &above.own.properties, own])),
        }
    }

    /// The properties in force of a table, with their levels.
    pub(crate) fn describe(
        &self,
        namespace: NamespaceId,
        own: &Properties,
    ) -> BTreeMap<String, PropertyInfo> {
        let mut levels = vec![(PropertyLevel::System, &self.of_tables)];
        if let Some(above) = self.namespaces.get(&namespace) {
            levels.push((PropertyLevel::Namespace, &above.own.properties));
        }
        levels.push((PropertyLevel::Table, own));
        describe(&levels)
    }
}
