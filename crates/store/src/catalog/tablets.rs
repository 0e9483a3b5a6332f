//! Changes of tablets, none of which touches a file.

use std::ops::Bound;

use redb::ReadableTable;

use super::fence::Fence;
use super::format;
use super::records::{FileReference, TableId, Tablet};
use super::transaction::{CatalogTransaction, bug};
use super::view;
use crate::error::{Error, ErrorKind, StoreResult};

impl CatalogTransaction<'_> {
    /// The tablet of `table` with this end row. `NotFound` if it was split or merged.
    pub fn tablet(&self, table: TableId, end_row: Option<&[u8]>) -> StoreResult<Tablet> {
        let key = format::tablet_key(table, end_row);
        let after = self.end_before(table, &key)?;
        self.tablet_at(&key, after)
            .map_err(|e| e.with("table", table))
    }

    /// The last row of the tablet before the one with this key.
    fn end_before(&self, table: TableId, key: &[u8]) -> StoreResult<Option<Vec<u8>>> {
        let first = format::tablet_key(table, Some(&[]));
        let mut before = self
            .tablets
            .range(&first[..]..key)
            .map_err(|e| self.failing.error(e))?;
        let Some(record) = before.next_back() else {
            return Ok(None);
        };
        let (key, _) = record.map_err(|e| self.failing.error(e))?;
        let (_, end) =
            format::decode_tablet_key(key.value()).map_err(|e| self.failing.record(e))?;
        Ok(end.map(<[u8]>::to_vec))
    }

    /// The tablet that contains this row: the first that does not end before it.
    fn tablet_of(&self, table: TableId, row: &[u8]) -> StoreResult<Tablet> {
        let (first, last) = (
            format::tablet_key(table, Some(row)),
            format::tablet_key(table, None),
        );
        let mut records = self
            .tablets
            .range(&first[..]..=&last[..])
            .map_err(|e| self.failing.error(e))?;
        let Some(record) = records.next() else {
            return Err(self.without_tablets(table));
        };
        let (key, value) = record.map_err(|e| self.failing.error(e))?;
        let after = self.end_before(table, key.value())?;
        view::tablet(self.failing, key.value(), value.value(), after)
    }

    /// Why a table has no tablets: it was deleted, or the catalog is inconsistent.
    fn without_tablets(&self, table: TableId) -> Error {
        let exists = self.table(table);
        exists
            .err()
            .unwrap_or_else(|| bug(format!("table {table} has no tablets")))
    }

    /// The tablets that overlap `range`, in row order. Reads no others.
    fn tablets_with(&self, table: TableId, range: &Fence) -> StoreResult<Vec<Tablet>> {
        // A tablet whose end is the row after which the range begins does not overlap it.
        let begin = match &range.after {
            Some(row) => Bound::Excluded(format::tablet_key(table, Some(row))),
            None => Bound::Included(format::tablet_key(table, Some(&[]))),
        };
        let begin = begin.as_ref().map(Vec::as_slice);
        let end = format::tablet_key(table, None);
        let mut found: Vec<Tablet> = Vec::new();
        let records = self
            .tablets
            .range::<&[u8]>((begin, Bound::Included(&end[..])))
            .map_err(|e| self.failing.error(e))?;
        for record in records {
            let (key, value) = record.map_err(|e| self.failing.error(e))?;
            let after = match found.last() {
                Some(before) => before.extent.through.clone(),
                None => self.end_before(table, key.value())?,
            };
            let tablet = view::tablet(self.failing, key.value(), value.value(), after)?;
            let is_last = match (&tablet.extent.through, &range.through) {
                (None, _) => true,
                (Some(_), None) => false,
                (Some(end), Some(wanted)) => end >= wanted,
            };
            found.push(tablet);
            if is_last {
                break;
            }
        }
        Ok(found)
    }

    /// Removes files from a tablet and adds others, for a flush, a compaction or an import.
    ///
    /// References to remove are found by file and fence; `NotFound` if one does not exist, since
    /// then the tablet has changed. Files to add must have been added to the catalog before.
    pub fn replace_files(
        &mut self,
        table: TableId,
        end_row: Option<&[u8]>,
        take: &[FileReference],
        give: &[FileReference],
    ) -> StoreResult<()> {
        let tablet = self.tablet(table, end_row)?;
        let mut files = tablet.files.clone();
        for taken in take {
            let found = files
                .iter()
                .position(|r| r.file == taken.file && r.fence == taken.fence);
            let index = found.ok_or_else(|| {
                Error::new(
                    ErrorKind::NotFound,
                    "the tablet does not refer to this file any more",
                )
                .with("table", table)
                .with("file", taken.file)
            })?;
            files.remove(index);
        }
        files.extend_from_slice(give);
        self.put_tablet(table, end_row, &tablet.files, Some(&files))
    }

    /// Splits tablets so that each of `rows` is the end of one; rows that already are ends are
    /// skipped. Files go to the tablets whose rows they may hold.
    pub fn add_splits(&mut self, table: TableId, rows: &[Vec<u8>]) -> StoreResult<()> {
        let mut rows: Vec<&Vec<u8>> = rows.iter().collect();
        rows.sort_unstable();
        rows.dedup();
        let mut rows = rows.into_iter().peekable();
        while let Some(row) = rows.peek() {
            let tablet = self.tablet_of(table, row)?;
            let mut points = Vec::new();
            while let Some(row) = rows.next_if(|row| tablet.extent.contains(row)) {
                if tablet.extent.through.as_ref() != Some(row) {
                    points.push(row.clone());
                }
            }
            if !points.is_empty() {
                self.split(table, &tablet, points)?;
            }
        }
        Ok(())
    }

    fn split(&mut self, table: TableId, tablet: &Tablet, points: Vec<Vec<u8>>) -> StoreResult<()> {
        let mut parts = Vec::with_capacity(points.len() + 1);
        let mut after = tablet.extent.after.clone();
        for row in points {
            parts.push(Fence::new(after, Some(row.clone())));
            after = Some(row);
        }
        parts.push(Fence::new(after, tablet.extent.through.clone()));
        let mut files = vec![Vec::new(); parts.len()];
        for reference in &tablet.files {
            for (index, part) in self.share(reference, &parts)? {
                let held: &mut Vec<FileReference> = files.get_mut(index).ok_or_else(out_of_step)?;
                held.push(part);
            }
        }
        // The old tablet has the end of the last part, so that part is written last, replacing it.
        let (last, others) = parts.split_last().ok_or_else(out_of_step)?;
        let last_files = files.pop().ok_or_else(out_of_step)?;
        for (part, files) in others.iter().zip(&files) {
            self.put_tablet(table, part.through.as_deref(), &[], Some(files))?;
        }
        self.put_tablet(
            table,
            last.through.as_deref(),
            &tablet.files,
            Some(&last_files),
        )
    }

    /// Merges all tablets that overlap `range` into one. Each file keeps the rows it was read for.
    pub fn merge_tablets(&mut self, table: TableId, range: &Fence) -> StoreResult<()> {
        let tablets = self.meeting(table, range)?;
        if tablets.len() > 1 {
            self.unite(table, &tablets, &[Fence::ALL])?;
        }
        Ok(())
    }

    /// Removes the rows of `range`: the tablets that overlap it become one, whose files keep only
    /// the rows outside. Unflushed writes are not affected; flush them first.
    pub fn delete_rows(&mut self, table: TableId, range: &Fence) -> StoreResult<()> {
        let tablets = self.meeting(table, range)?;
        let mut kept = Vec::new();
        if let Some(start) = &range.after {
            kept.push(Fence::new(None, Some(start.clone())));
        }
        if let Some(end) = &range.through {
            kept.push(Fence::new(Some(end.clone()), None));
        }
        self.unite(table, &tablets, &kept)
    }

    /// The tablets that overlap `range`.
    fn meeting(&self, table: TableId, range: &Fence) -> StoreResult<Vec<Tablet>> {
        if range.is_empty() {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "the range of rows is empty: its start must lie before its end",
            )
            .with("table", table));
        }
        let tablets = self.tablets_with(table, range)?;
        if tablets.is_empty() {
            return Err(self.without_tablets(table));
        }
        Ok(tablets)
    }

    /// Merges neighbouring tablets into one, with the rows of `kept` only.
    fn unite(&mut self, table: TableId, tablets: &[Tablet], kept: &[Fence]) -> StoreResult<()> {
        let (Some(first), Some(last)) = (tablets.first(), tablets.last()) else {
            return Ok(());
        };
        let extent = Fence::new(first.extent.after.clone(), last.extent.through.clone());
        let mut files = Vec::new();
        for tablet in tablets {
            let parts: Vec<Fence> = kept
                .iter()
                .filter_map(|part| part.intersection(&tablet.extent))
                .collect();
            for reference in &tablet.files {
                files.extend(
                    self.share(reference, &parts)?
                        .into_iter()
                        .map(|(_, part)| part),
                );
            }
        }
        let files = join(files, &extent);
        for tablet in tablets {
            let is_last = tablet.extent.through == extent.through;
            let after = is_last.then_some(&files[..]);
            self.put_tablet(
                table,
                tablet.extent.through.as_deref(),
                &tablet.files,
                after,
            )?;
        }
        Ok(())
    }

    /// Divides a reference among `parts`, and returns each share with the part's index; parts that
    /// cannot hold any of its rows are left out. Sizes are divided evenly, which the next
    /// compaction corrects. The fence of each share lies within its part, or is open if the part
    /// holds all rows of the file.
    fn share(
        &self,
        reference: &FileReference,
        parts: &[Fence],
    ) -> StoreResult<Vec<(usize, FileReference)>> {
        let file = self.file(reference.file)?.ok_or_else(|| {
            bug(format!(
                "a tablet refers to file {}, which is not in the catalog",
                reference.file
            ))
        })?;
        let mut shares = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            if let Some(fence) = reference.fence.intersection(part)
                && fence.meets(&file.first_row, &file.last_row)
            {
                let holds_all = fence.contains(&file.first_row) && fence.contains(&file.last_row);
                let fence = if holds_all { Fence::ALL } else { fence };
                shares.push((
                    index,
                    FileReference {
                        fence,
                        ..reference.clone()
                    },
                ));
            }
        }
        // A single part that holds less than the file counts as half of it.
        let divisor = match &shares[..] {
            [(_, only)] if !only.fence.is_all() && only.fence != reference.fence => 2,
            _ => shares.len().max(1) as u64,
        };
        for (_, share) in &mut shares {
            share.bytes = share.bytes.div_ceil(divisor);
            share.entries = share.entries.div_ceil(divisor);
        }
        Ok(shares)
    }
}

fn out_of_step() -> Error {
    bug("the parts of a split tablet are out of step".to_owned())
}

/// Joins references to the same file whose fences are adjacent, and opens fences that cover all of
/// `extent`.
fn join(mut files: Vec<FileReference>, extent: &Fence) -> Vec<FileReference> {
    files.sort_by(|a, b| (a.file, &a.fence).cmp(&(b.file, &b.fence)));
    let mut joined: Vec<FileReference> = Vec::with_capacity(files.len());
    for next in files {
        match joined.last_mut() {
            Some(last) if last.file == next.file && last.fence.adjoins(&next.fence) => {
                last.fence.through = next.fence.through;
                last.bytes += next.bytes;
                last.entries += next.entries;
            }
            _ => joined.push(next),
        }
    }
    for reference in &mut joined {
        if reference.fence.encloses(extent) {
            reference.fence = Fence::ALL;
        }
    }
    joined
}
