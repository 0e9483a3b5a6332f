//! Verifies that the catalog is consistent.

use std::collections::{BTreeMap, BTreeSet};

use redb::ReadableTable;

use super::fence::Fence;
use super::format;
use super::records::{FileId, NamespaceId, TableId, namespace_of};
use super::view::{self, CatalogView};
use crate::error::StoreResult;

impl CatalogView {
    /// Reads every record and reports each contradiction as a sentence; empty for a valid catalog.
    ///
    /// Checked: names and tables match; each table has a last tablet; files and references match; each
    /// fence has rows inside its tablet; ids are below the next ones. What concerns the files of a tablet
    /// together, as ties between them, is checked by `TableVersion::problems`.
    pub fn check(&self) -> StoreResult<Vec<String>> {
        let mut problems = Vec::new();
        let store = view::store(&self.meta, &self.failing)?;
        let tables: BTreeSet<TableId> = self.check_tables(store.next_table, &mut problems)?;
        let wanted = self.check_tablets(&tables, &mut problems)?;
        self.check_references(&wanted, &mut problems)?;

        let mut known = BTreeSet::new();
        for file in self.files()? {
            known.insert(file.id);
            if !wanted.contains_key(&file.id) {
                problems.push(format!(
                    "file {} is kept but no tablet refers to it",
                    file.id
                ));
            }
            if file.first_row > file.last_row {
                problems.push(format!("file {} begins after its end", file.id));
            }
            if file.id.0 >= store.next_file {
                problems.push(format!("file {} has an id that was never given", file.id));
            }
        }
        for id in wanted.keys().filter(|id| !known.contains(id)) {
            problems.push(format!(
                "a tablet refers to file {id}, which is not in the catalog"
            ));
        }
        Ok(problems)
    }

    fn check_tables(
        &self,
        next_table: u32,
        problems: &mut Vec<String>,
    ) -> StoreResult<BTreeSet<TableId>> {
        let mut ids = BTreeSet::new();
        let namespaces: BTreeMap<NamespaceId, String> = self
            .namespaces()?
            .into_iter()
            .map(|one| (one.id, one.name))
            .collect();
        let names: BTreeSet<&String> = namespaces.values().collect();
        if names.len() < namespaces.len() {
            problems.push("two namespaces have one name".to_owned());
        }
        for table in self.tables()? {
            ids.insert(table.id);
            if namespaces.get(&table.namespace).map(String::as_str)
                != Some(namespace_of(&table.name))
            {
                problems.push(format!(
                    "table {} is named {:?}, and its namespace is {}",
                    table.id, table.name, table.namespace
                ));
            }
            if self.table_id(&table.name)? != Some(table.id) {
                problems.push(format!(
                    "table {} is not found by its name {:?}",
                    table.id, table.name
                ));
            }
            if table.id.0 >= next_table {
                problems.push(format!("table {} has an id that was never given", table.id));
            }
        }
        for record in self.names.iter().map_err(|e| self.failing.error(e))? {
            let (name, value) = record.map_err(|e| self.failing.error(e))?;
            let id = format::decode_name(name.value(), value.value())
                .map_err(|e| self.failing.record(e))?;
            if !ids.contains(&id) {
                problems.push(format!("a name leads to table {id}, which does not exist"));
            }
        }
        Ok(ids)
    }

    /// Checks tablets; returns the keys of tablets by the file they refer to.
    fn check_tablets(
        &self,
        tables: &BTreeSet<TableId>,
        problems: &mut Vec<String>,
    ) -> StoreResult<BTreeMap<FileId, BTreeSet<Vec<u8>>>> {
        let mut wanted: BTreeMap<FileId, BTreeSet<Vec<u8>>> = BTreeMap::new();
        let mut complete = BTreeSet::new();
        // The table and the end row of the tablet before.
        let mut before: Option<(TableId, Option<Vec<u8>>)> = None;
        for record in self.tablets.iter().map_err(|e| self.failing.error(e))? {
            let (key, value) = record.map_err(|e| self.failing.error(e))?;
            let (table, end) =
                format::decode_tablet_key(key.value()).map_err(|e| self.failing.record(e))?;
            if end.is_none() {
                complete.insert(table);
            }
            if !tables.contains(&table) {
                problems.push(format!(
                    "a tablet belongs to table {table}, which does not exist"
                ));
            }
            let files = format::decode_tablet(key.value(), value.value())
                .map_err(|e| self.failing.record(e))?;
            let end = end.map(<[u8]>::to_vec);
            let after = before
                .replace((table, end.clone()))
                .and_then(|(other, row)| row.filter(|_| other == table));
            let extent = Fence::new(after, end);
            for reference in files {
                if reference.fence.intersection(&extent).is_none() {
                    problems.push(format!(
                        "a tablet of table {table} reads no row of file {}",
                        reference.file
                    ));
                }
                wanted
                    .entry(reference.file)
                    .or_default()
                    .insert(key.value().to_vec());
            }
        }
        for table in tables.difference(&complete) {
            problems.push(format!("table {table} lacks its last tablet"));
        }
        Ok(wanted)
    }

    fn check_references(
        &self,
        wanted: &BTreeMap<FileId, BTreeSet<Vec<u8>>>,
        problems: &mut Vec<String>,
    ) -> StoreResult<()> {
        let mut found = 0_usize;
        for record in self.references.iter().map_err(|e| self.failing.error(e))? {
            let (key, _) = record.map_err(|e| self.failing.error(e))?;
            let (file, tablet) =
                format::decode_reference_key(key.value()).map_err(|e| self.failing.record(e))?;
            if wanted
                .get(&file)
                .is_some_and(|tablets| tablets.contains(tablet))
            {
                found += 1;
            } else {
                problems.push(format!(
                    "a reference to file {file} is kept that no tablet makes"
                ));
            }
        }
        let missing = wanted.values().map(BTreeSet::len).sum::<usize>() - found;
        if missing > 0 {
            problems.push(format!(
                "{missing} references of tablets to files are not kept"
            ));
        }
        Ok(())
    }
}
