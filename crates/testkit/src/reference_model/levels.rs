//! Namespaces and inherited properties of the reference model.

use std::collections::BTreeMap;

use ostrakon_cell::iterator::IteratorRegistry;
use ostrakon_cell::{
    Error, ErrorKind, NamespaceInfo, PropertyChange, PropertyEffect, PropertyInfo, PropertyLevel,
    PropertyOwner, Result, VersionedProperties,
};

use super::map_source::base36;
use super::properties;
use super::state::{Namespace, State, TableState, namespace_of, no_such_namespace, word};

/// The namespaces of a source without any other.
pub(super) fn always_there() -> BTreeMap<String, Namespace> {
    [("", "+default"), ("accumulo", "+accumulo")]
        .map(|(name, id)| {
            let namespace = Namespace {
                id: id.to_owned(),
                ..Namespace::default()
            };
            (name.to_owned(), namespace)
        })
        .into()
}

/// `own` with changes, if it has this version.
pub(super) fn changed(
    own: &VersionedProperties,
    version: Option<u64>,
    changes: &[PropertyChange],
) -> Result<VersionedProperties> {
    if version.is_some_and(|version| version != own.version) {
        return Err(Error::new(
            ErrorKind::ConcurrentModification,
            "changed meanwhile",
        ));
    }
    let mut new = own.clone();
    for (name, value) in changes {
        match value {
            Some(value) => new.properties.insert(name.clone(), value.clone()),
            None => new.properties.remove(name),
        };
    }
    new.version += 1;
    Ok(new)
}

impl State {
    pub(super) fn list_namespaces(&self) -> Vec<NamespaceInfo> {
        let listed = self.namespaces.iter().map(|(name, one)| NamespaceInfo {
            name: name.clone(),
            id: one.id.clone(),
        });
        listed.collect()
    }

    pub(super) fn create_namespace(&mut self, name: &str) -> Result<()> {
        self.check_namespace_free(name)?;
        let namespace = Namespace {
            id: base36(self.next_id),
            ..Namespace::default()
        };
        self.next_id += 1;
        self.namespaces.insert(name.to_owned(), namespace);
        Ok(())
    }

    pub(super) fn delete_namespace(&mut self, name: &str) -> Result<()> {
        self.check_changeable(name)?;
        let tables = self.tables.values();
        if tables
            .into_iter()
            .any(|one| namespace_of(&one.name) == name)
        {
            return Err(Error::new(ErrorKind::NotEmpty, "it has tables"));
        }
        self.namespaces.remove(name);
        Ok(())
    }

    pub(super) fn rename_namespace(&mut self, from: &str, to: &str) -> Result<()> {
        self.check_changeable(from)?;
        if from == to {
            return Ok(());
        }
        self.check_namespace_free(to)?;
        if let Some(namespace) = self.namespaces.remove(from) {
            self.namespaces.insert(to.to_owned(), namespace);
        }
        for table in self.tables.values_mut() {
            if let Some((namespace, local)) = table.name.split_once('.')
                && namespace == from
            {
                table.name = format!("{to}.{local}");
            }
        }
        Ok(())
    }

    pub(super) fn level(&self, owner: PropertyOwner<'_>) -> Result<&VersionedProperties> {
        match owner {
            PropertyOwner::System => Ok(&self.system),
            PropertyOwner::Namespace(name) => {
                let namespace = self.namespaces.get(name);
                Ok(&namespace.ok_or_else(|| no_such_namespace(name))?.own)
            }
        }
    }

    pub(super) fn change_level(
        &mut self,
        owner: PropertyOwner<'_>,
        version: Option<u64>,
        changes: &[PropertyChange],
        registry: &IteratorRegistry,
    ) -> Result<u64> {
        let new = changed(self.level(owner)?, version, changes)?;
        let mut of_tables = new.properties.clone();
        if owner == PropertyOwner::System {
            of_tables.retain(|name, _| !properties::is_of_servers(name));
        }
        properties::check(&of_tables, registry)?;
        let version = new.version;
        let mut next = self.clone();
        match owner {
            PropertyOwner::System => next.system = new,
            PropertyOwner::Namespace(name) => {
                if let Some(namespace) = next.namespaces.get_mut(name) {
                    namespace.own = new;
                }
            }
        }
        let ids: Vec<u64> = next.tables.keys().copied().collect();
        for id in ids {
            let name = next.tables[&id].name.clone();
            let mut set = next.inherited(&name);
            if let Some(table) = next.tables.get_mut(&id) {
                set.extend(table.own.properties.clone());
                properties::check(&set, registry)?;
                super::reconcile::mark_weak(table);
                table.set = set;
            }
        }
        *self = next;
        Ok(version)
    }

    /// The properties in force of a table, with their levels.
    pub(super) fn describe(&self, table: &TableState) -> BTreeMap<String, PropertyInfo> {
        let mut all = BTreeMap::new();
        let namespace = self.namespaces.get(namespace_of(&table.name));
        let levels = [
            (PropertyLevel::Default, Some(properties::defaults())),
            (PropertyLevel::System, Some(&self.system.properties)),
            (
                PropertyLevel::Namespace,
                namespace.map(|one| &one.own.properties),
            ),
            (PropertyLevel::Table, Some(&table.own.properties)),
        ];
        for (level, set) in levels {
            for (name, value) in set.into_iter().flatten() {
                if properties::is_of_servers(name) {
                    continue;
                }
                let info = PropertyInfo {
                    value: value.clone(),
                    level,
                    effect: effect(name),
                };
                all.insert(name.clone(), info);
            }
        }
        all
    }

    fn check_namespace_free(&self, name: &str) -> Result<()> {
        if !word(name) || name == "accumulo" {
            return Err(Error::invalid("no name for a namespace"));
        }
        if self.namespaces.contains_key(name) {
            return Err(Error::new(ErrorKind::AlreadyExists, "the name is taken"));
        }
        Ok(())
    }

    fn check_changeable(&self, name: &str) -> Result<()> {
        if !self.namespaces.contains_key(name) {
            return Err(no_such_namespace(name));
        }
        if name.is_empty() || name == "accumulo" {
            return Err(Error::invalid("it is always there"));
        }
        Ok(())
    }
}

/// The reference model has no files: of what tells servers how to keep them nothing has an effect.
fn effect(name: &str) -> PropertyEffect {
    let decides = [
        "table.iterator.",
        "table.constraint.",
        "table.custom.",
        "table.group.",
        "table.security.",
    ];
    if decides.iter().any(|prefix| name.starts_with(prefix)) {
        PropertyEffect::Full
    } else {
        PropertyEffect::None
    }
}
