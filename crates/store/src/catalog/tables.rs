//! Changes of whole tables.

use super::format;
use super::records::{GrantScope, NewTable, PropertiesRecord, TableId, TableRecord};
use super::transaction::{CatalogTransaction, bug};
use crate::error::{Error, ErrorKind, StoreResult};

impl CatalogTransaction<'_> {
    /// Creates a table with empty tablets. `AlreadyExists` if the name is taken.
    pub fn create_table(&mut self, name: &str, new: NewTable) -> StoreResult<TableId> {
        let NewTable {
            time_type,
            state,
            namespace,
            properties,
            mut splits,
            flushed_sequence,
            created_millis,
        } = new;
        let id = self.next_table_id()?;
        self.take_name(name, id)?;
        self.put_table(&TableRecord {
            id,
            name: name.to_owned(),
            time_type,
            state,
            namespace,
            own: PropertiesRecord {
                version: 0,
                properties,
            },
            flushed_sequence,
            flushed_time: 0,
            created_millis,
        })?;
        splits.sort_unstable();
        splits.dedup();
        for row in &splits {
            self.put_tablet(id, Some(row), &[], Some(&[]))?;
        }
        self.put_tablet(id, None, &[], Some(&[]))?;
        Ok(id)
    }

    /// Creates the table `name` with the present tablets of `from`, sharing its files. Its splits
    /// are those of `from`; those of `new` are ignored.
    pub fn clone_table(
        &mut self,
        from: TableId,
        name: &str,
        new: NewTable,
    ) -> StoreResult<TableId> {
        let origin = self.table(from)?;
        let id = self.create_table(
            name,
            NewTable {
                splits: Vec::new(),
                ..new
            },
        )?;
        self.update_table(id, |table| table.flushed_time = origin.flushed_time)?;
        for tablet in self.tablets(from)? {
            self.put_tablet(
                id,
                tablet.extent.through.as_deref(),
                &[],
                Some(&tablet.files),
            )?;
        }
        Ok(id)
    }

    /// Deletes a table and its tablets.
    pub fn delete_table(&mut self, id: TableId) -> StoreResult<()> {
        let table = self.table(id)?;
        for tablet in self.tablets(id)? {
            self.put_tablet(id, tablet.extent.through.as_deref(), &tablet.files, None)?;
        }
        let key = format::table_key(id);
        self.tables
            .remove(&key[..])
            .map_err(|e| self.failing.error(e))?;
        self.names
            .remove(table.name.as_bytes())
            .map_err(|e| self.failing.error(e))?;
        self.forget_problems(id)?;
        self.forget_grants(|scope, _| *scope == GrantScope::Table(id))
    }

    /// Renames a table. `AlreadyExists` if the name is taken.
    pub fn rename_table(&mut self, id: TableId, name: &str) -> StoreResult<()> {
        let mut table = self.table(id)?;
        if table.name == name {
            return Ok(());
        }
        self.take_name(name, id)?;
        self.names
            .remove(table.name.as_bytes())
            .map_err(|e| self.failing.error(e))?;
        name.clone_into(&mut table.name);
        self.put_table(&table)
    }

    /// Changes anything of a table except its id and name.
    pub fn update_table(
        &mut self,
        id: TableId,
        change: impl FnOnce(&mut TableRecord),
    ) -> StoreResult<()> {
        let mut table = self.table(id)?;
        let name = table.name.clone();
        change(&mut table);
        if table.id != id || table.name != name {
            return Err(bug(format!(
                "the id or name of table {id} was changed in passing"
            )));
        }
        self.put_table(&table)
    }

    /// Records that the files hold every write of a table up to `sequence`, and timestamps up to
    /// `time`. Neither decreases.
    pub fn set_flushed(&mut self, id: TableId, sequence: u64, time: i64) -> StoreResult<()> {
        self.update_table(id, |table| {
            table.flushed_sequence = table.flushed_sequence.max(sequence);
            table.flushed_time = table.flushed_time.max(time);
        })
    }

    pub(super) fn take_name(&mut self, name: &str, id: TableId) -> StoreResult<()> {
        if self.table_id(name)?.is_some() {
            return Err(
                Error::new(ErrorKind::AlreadyExists, "a table of this name exists")
                    .with("table", name),
            );
        }
        let value = format::encode_name(name.as_bytes(), id);
        self.names
            .insert(name.as_bytes(), &*value)
            .map_err(|e| self.failing.error(e))?;
        Ok(())
    }

    pub(super) fn put_table(&mut self, table: &TableRecord) -> StoreResult<()> {
        let key = format::table_key(table.id);
        let value = format::encode_table(table);
        self.tables
            .insert(&key[..], &*value)
            .map_err(|e| self.failing.error(e))?;
        Ok(())
    }
}
