//! Checks a file from another program before a table takes it over: everything except what is between
//! the first and the last entry of its blocks.

use std::sync::Arc;

use super::block::{Block, DecodeScratch};
use super::format::{HEADER_BYTES, check_header};
use super::index::IndexCursor;
use super::reader::SortedFile;
use super::verify::blocks_of;
use super::writer::FileSummary;
use crate::codec::Decompressor;
use crate::error::StoreResult;
use ostrakon_cell::Batch;

impl SortedFile {
    /// Checks header, footer, description, indexes and filters with their checksums, that the parts
    /// fill the file without gap, that the index ascends, that counts agree, and that the first and
    /// last blocks begin and end with the rows in the description. Of the blocks, it compares the
    /// checksums and checks the labels in their dictionaries; it does not decode their entries, which
    /// [`verify`](Self::verify) does.
    ///
    /// # Errors
    /// The first problem: `Corruption` with file and offset, `NewerFormat`, `InvalidArgument` for a
    /// malformed label, those of the disk.
    pub fn check_outline(&self) -> StoreResult<FileSummary> {
        let footer = self.footer()?;
        let description_place = footer.description;
        let description = self.read_description(&footer)?;
        let handle = self.handle()?;
        let len = handle.len()?;
        let mut header = [0; HEADER_BYTES];
        handle.read_at(0, &mut header)?;
        check_header(&header, footer.version).map_err(|error| self.format_error(0, error))?;
        let mut parts = vec![description_place];
        let mut blocks = Vec::new();
        for partition in &description.partitions {
            self.read_bloom(partition)?;
            parts.push(partition.place);
        }
        let (mut entries, mut first_row, mut last_row) = (0, None::<Vec<u8>>, None::<Vec<u8>>);
        for (at, group) in description.groups.iter().enumerate() {
            let index = self.read_index(&description, at)?;
            let bad = || self.bad_index(&description, at);
            parts.push(group.index);
            let mut row_before = Vec::new();
            let mut partition = index.one().cloned();
            for (partition_at, block) in blocks_of(&index) {
                if block == 0
                    && let Some(place) = index.place_of(partition_at)
                {
                    partition = Some(Arc::new(self.read_partition(&index, partition_at)?));
                    parts.push(place.into());
                }
                let partition = partition.as_ref().ok_or_else(bad)?;
                let place = partition.place(block).ok_or_else(bad)?;
                let row = partition.separator_row(block).ok_or_else(bad)?;
                let inside = place
                    .offset
                    .checked_add(u64::from(place.bytes))
                    .is_some_and(|end| end <= len);
                if !inside || row < row_before || row > description.last_row {
                    return Err(bad());
                }
                row_before = row;
                parts.push(place.into());
                blocks.push(place);
            }
            entries += index.entries();
            let Some(last) = index.blocks().checked_sub(1) else {
                continue;
            };
            let mut cursor = IndexCursor::new(Arc::new(index));
            let first = self.rows_of(&mut cursor, 0)?.map(|rows| rows.0);
            let last = self.rows_of(&mut cursor, last)?.map(|rows| rows.1);
            let (Some(first), Some(last)) = (first, last) else {
                return Err(bad());
            };
            first_row = Some(first_row.map_or_else(|| first.clone(), |row| row.min(first.clone())));
            last_row = last_row.max(Some(last));
        }
        let rows_agree = first_row.unwrap_or_default() == description.first_row
            && last_row.unwrap_or_default() == description.last_row;
        if entries != description.entries || !rows_agree {
            return Err(self.corrupt(
                description_place.offset,
                "the description does not agree with the entries",
            ));
        }
        // Now no block is named twice.
        self.verify_places(parts)?;
        self.check_labels(&blocks)?;
        Ok(description.summary(len, footer.identity))
    }

    /// First and last row of a block.
    fn rows_of(
        &self,
        index: &mut IndexCursor,
        block: usize,
    ) -> StoreResult<Option<(Vec<u8>, Vec<u8>)>> {
        let place = index.place(self, block, false)?;
        let mut stored = vec![0; place.bytes as usize];
        self.handle()?.read_at(place.offset, &mut stored)?;
        let mut decompressor = Decompressor::new();
        let block: Block = self.decode_block(place, &stored, Vec::new(), &mut decompressor)?;
        let mut batch = Batch::new();
        block
            .decode(
                0,
                block.entries(),
                &mut batch,
                &mut DecodeScratch::default(),
            )
            .map_err(|_| self.corrupt(place.offset, "a block is malformed"))?;
        let last = batch.len().checked_sub(1);
        Ok(last.map(|last| (batch.row(0).to_vec(), batch.row(last).to_vec())))
    }
}
