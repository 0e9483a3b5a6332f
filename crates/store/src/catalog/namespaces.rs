//! Namespaces, and the properties of levels above a table.

use std::collections::BTreeMap;

use super::backend::Failing;
use super::format::{self, CATALOG_FORMAT, PROPERTIES_KEY};
use super::open::{EVERY_TABLE, NAMESPACES};
use super::records::{
    GrantScope, NamespaceId, NamespaceRecord, PropertiesRecord, TableRecord, namespace_of,
};
use super::transaction::{CatalogTransaction, bug};
use super::view::{self, Bytes, CatalogView};
use crate::error::{Error, ErrorKind, StoreResult};

/// Name of the namespace that is reserved for system tables.
const RESERVED_NAME: &str = "accumulo";

impl CatalogView {
    /// All namespaces, by id. Those that always exist are included even without a record.
    pub fn namespaces(&self) -> StoreResult<Vec<NamespaceRecord>> {
        let opened = self.transaction.open_table(NAMESPACES);
        let table = opened.map_err(|e| self.failing.error(e))?;
        namespaces(&table, &self.failing)
    }

    /// The properties of the whole store.
    pub fn system_properties(&self) -> StoreResult<PropertiesRecord> {
        system_properties(&self.meta, &self.failing)
    }
}

impl CatalogTransaction<'_> {
    /// All namespaces, by id.
    pub fn namespaces(&self) -> StoreResult<Vec<NamespaceRecord>> {
        let opened = self.transaction.open_table(NAMESPACES);
        let table = opened.map_err(|e| self.failing.error(e))?;
        namespaces(&table, self.failing)
    }

    /// The namespace with this id; `NamespaceNotFound` if there is none.
    pub fn namespace(&self, id: NamespaceId) -> StoreResult<NamespaceRecord> {
        let all = self.namespaces()?;
        all.into_iter().find(|one| one.id == id).ok_or_else(|| {
            Error::new(
                ErrorKind::NamespaceNotFound,
                "the namespace does not exist any more",
            )
            .with("namespace", id)
        })
    }

    /// Creates a namespace. `AlreadyExists` if the name is taken.
    pub fn create_namespace(&mut self, name: &str, now_millis: i64) -> StoreResult<NamespaceId> {
        self.check_namespace_free(name)?;
        let id = NamespaceId(self.next_table_id()?.0);
        self.put_namespace(&NamespaceRecord::new(id, name, now_millis))?;
        Ok(id)
    }

    /// Deletes a namespace. `NotEmpty` while a table belongs to it.
    pub fn delete_namespace(&mut self, id: NamespaceId) -> StoreResult<()> {
        let namespace = self.namespace(id)?;
        let tables = self.tables_of(id)?.len();
        if tables > 0 {
            return Err(Error::new(
                ErrorKind::NotEmpty,
                "the namespace has tables: delete them first",
            )
            .with("namespace", namespace.name)
            .with("tables", tables));
        }
        {
            let opened = self.transaction.open_table(NAMESPACES);
            let mut records = opened.map_err(|e| self.failing.error(e))?;
            let removed = records.remove(&format::namespace_key(id)[..]);
            removed.map_err(|e| self.failing.error(e))?;
        }
        self.forget_grants(|scope, _| *scope == GrantScope::Namespace(id))
    }

    /// Renames a namespace and thereby its tables, whose old and new names it returns.
    /// `AlreadyExists` if the name is taken.
    pub fn rename_namespace(
        &mut self,
        id: NamespaceId,
        name: &str,
    ) -> StoreResult<Vec<(String, String)>> {
        let mut namespace = self.namespace(id)?;
        if namespace.name == name {
            return Ok(Vec::new());
        }
        self.check_namespace_free(name)?;
        name.clone_into(&mut namespace.name);
        self.put_namespace(&namespace)?;
        let mut renamed = Vec::new();
        for table in self.tables_of(id)? {
            let local = table.name.split_once('.').map_or("", |(_, local)| local);
            let whole = format!("{name}.{local}");
            self.rename_table(table.id, &whole)?;
            renamed.push((table.name, whole));
        }
        Ok(renamed)
    }

    /// Changes the properties of a namespace.
    pub fn set_namespace_properties(
        &mut self,
        id: NamespaceId,
        own: PropertiesRecord,
    ) -> StoreResult<()> {
        let namespace = self.namespace(id)?;
        self.put_namespace(&NamespaceRecord { own, ..namespace })
    }

    /// Changes the properties of the whole store.
    pub fn set_system_properties(&mut self, own: &PropertiesRecord) -> StoreResult<()> {
        self.meta
            .insert(PROPERTIES_KEY, &*format::encode_system_properties(own))
            .map_err(|e| self.failing.error(e))?;
        Ok(())
    }

    fn tables_of(&self, id: NamespaceId) -> StoreResult<Vec<TableRecord>> {
        let mut tables = self.tables()?;
        tables.retain(|table| table.namespace == id);
        Ok(tables)
    }

    fn check_namespace_free(&self, name: &str) -> StoreResult<()> {
        if self.namespaces()?.iter().any(|one| one.name == name) {
            return Err(
                Error::new(ErrorKind::AlreadyExists, "a namespace of this name exists")
                    .with("namespace", name),
            );
        }
        Ok(())
    }

    fn put_namespace(&self, namespace: &NamespaceRecord) -> StoreResult<()> {
        if is_always_there(namespace.id) && namespace.name != name_of_fixed(namespace.id) {
            return Err(bug(format!("namespace {} was renamed", namespace.id)));
        }
        let opened = self.transaction.open_table(NAMESPACES);
        let mut records = opened.map_err(|e| self.failing.error(e))?;
        let key = format::namespace_key(namespace.id);
        records
            .insert(&key[..], &*format::encode_namespace(namespace))
            .map_err(|e| self.failing.error(e))?;
        Ok(())
    }
}

/// Upgrades a catalog of an older format to this one: creates every missing redb table, and assigns
/// every table to its namespace. The commit raises the format number.
pub(super) fn upgrade(catalog: &mut CatalogTransaction<'_>) -> StoreResult<()> {
    if view::format(&catalog.meta, catalog.failing)? >= CATALOG_FORMAT {
        return Ok(());
    }
    for definition in EVERY_TABLE {
        if !catalog.is_open(definition) {
            let opened = catalog.transaction.open_table(definition);
            opened.map_err(|e| catalog.failing.error(e))?;
        }
    }
    let mut known: BTreeMap<String, NamespaceId> = catalog
        .namespaces()?
        .into_iter()
        .map(|one| (one.name, one.id))
        .collect();
    for table in catalog.tables()? {
        let name = namespace_of(&table.name);
        let namespace = match known.get(name) {
            Some(id) => *id,
            None => {
                let id = catalog.create_namespace(name, table.created_millis)?;
                known.insert(name.to_owned(), id);
                id
            }
        };
        catalog.put_table(&TableRecord { namespace, ..table })?;
    }
    Ok(())
}

fn is_always_there(id: NamespaceId) -> bool {
    id == NamespaceId::DEFAULT || id == NamespaceId::RESERVED
}

fn name_of_fixed(id: NamespaceId) -> &'static str {
    if id == NamespaceId::RESERVED {
        RESERVED_NAME
    } else {
        ""
    }
}

fn namespaces(table: &impl Bytes, failing: &Failing) -> StoreResult<Vec<NamespaceRecord>> {
    let mut found: BTreeMap<NamespaceId, NamespaceRecord> =
        [NamespaceId::DEFAULT, NamespaceId::RESERVED]
            .map(|id| (id, NamespaceRecord::new(id, name_of_fixed(id), 0)))
            .into();
    for record in table.iter().map_err(|e| failing.error(e))? {
        let (key, value) = record.map_err(|e| failing.error(e))?;
        let namespace =
            format::decode_namespace(key.value(), value.value()).map_err(|e| failing.record(e))?;
        found.insert(namespace.id, namespace);
    }
    Ok(found.into_values().collect())
}

fn system_properties(meta: &impl Bytes, failing: &Failing) -> StoreResult<PropertiesRecord> {
    match meta.get(PROPERTIES_KEY).map_err(|e| failing.error(e))? {
        None => Ok(PropertiesRecord::default()),
        Some(value) => {
            format::decode_system_properties(value.value()).map_err(|e| failing.record(e))
        }
    }
}
