//! One ingest client, which repeats the three steps.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ostrakon_cell::{BatchWriter, BatchWriterConfig, ColumnUpdate, Result, Table};
use rand::RngExt;

use super::super::generator::{Generator, Place};
use super::super::layout::{COLUMN_BYTES, ROW_BYTES, format_row, hex4};
use super::options::{FLUSHES_MAX, Flush, IngestOptions, LabelChoice};
use crate::Progress;
use crate::control::Control;

/// Entries between two looks at the clock and the shared counter.
const STRIDE: u64 = 1024;

/// What one client wrote.
#[derive(Debug, Clone, Default)]
pub(super) struct Written {
    pub(super) entries: u64,
    pub(super) rewritten: u64,
    pub(super) deleted: u64,
    pub(super) bytes: u64,
    /// The newest flushes.
    pub(super) flushes: VecDeque<Flush>,
}

/// What a client is given.
pub(super) struct Client<'a> {
    pub(super) number: usize,
    pub(super) seed: u64,
    /// Entries it may write.
    pub(super) quota: u64,
    pub(super) options: &'a IngestOptions,
    pub(super) control: &'a Control<'a>,
    pub(super) progress: &'a dyn Progress,
}

struct Writer<'a> {
    client: Client<'a>,
    generator: Generator,
    writer: BatchWriter,
    written: Written,
    /// Entries not yet added to the shared counter.
    uncounted: u64,
    /// When this writer flushed last, in seconds since the start of the run.
    last_flush: f64,
    label: Vec<u8>,
    /// The label of each list of this round, where each has its own: its place among the labels.
    list_labels: Vec<usize>,
    over: bool,
}

impl Client<'_> {
    pub(super) fn run(self, table: Arc<dyn Table>) -> Result<Written> {
        let options = self.options;
        let config = BatchWriterConfig {
            batch_bytes: options.batch_bytes.max(1),
            max_memory: options.buffer_bytes,
            durability: options.durability,
            // It flushes by itself, and often.
            max_latency: None,
            ..BatchWriterConfig::default()
        };
        let mut writer = Writer {
            generator: Generator::new(options.generator(self.seed))?,
            writer: BatchWriter::new(table, config),
            written: Written::default(),
            uncounted: 0,
            last_flush: 0.0,
            label: Vec::new(),
            list_labels: Vec::new(),
            over: self.quota == 0,
            client: self,
        };
        while !writer.over {
            writer.lists()?;
        }
        Ok(writer.written)
    }
}

impl Writer<'_> {
    /// One round of the three steps: `flush_interval` lists, made, lengthened, joined.
    fn lists(&mut self) -> Result<()> {
        let options = self.client.options;
        let width = options.flush_interval();
        self.draw_labels(width);
        let delete = options.delete_probability > 0.0
            && self
                .generator
                .random()
                .random_bool(options.delete_probability);
        // Only lists that will be deleted need be remembered whole.
        let mut rounds: Vec<Vec<Place>> = Vec::new();

        let mut first: Vec<Place> = Vec::with_capacity(width as usize);
        for at in 0..width as usize {
            if self.over {
                break;
            }
            let place = self.generator.draw_place();
            self.put(at, place, None)?;
            first.push(place);
        }
        self.flush()?;

        let mut last: Vec<u64> = first.iter().map(|place| place.row).collect();
        for _ in 0..options.max_depth {
            if self.over {
                return Ok(());
            }
            let mut round = Vec::new();
            for (at, row) in last.iter_mut().enumerate() {
                if self.over {
                    break;
                }
                let place = self.generator.draw_place();
                self.put(at, place, Some(*row))?;
                *row = place.row;
                if delete {
                    round.push(place);
                }
            }
            // Everything the next round points to is acknowledged before the next round begins.
            self.flush()?;
            rounds.push(round);
        }
        if self.over {
            return Ok(());
        }
        if delete {
            rounds.insert(0, first);
            return self.delete(&rounds);
        }
        for (at, (place, next_last)) in first.iter().zip(last.iter().skip(1)).enumerate() {
            if self.over {
                break;
            }
            if self.list_labels.get(at) != self.list_labels.get(at + 1) {
                continue;
            }
            self.put(at, *place, Some(*next_last))?;
            self.written.rewritten += 1;
        }
        self.flush()
    }

    /// Draws the labels of a round of lists.
    fn draw_labels(&mut self, lists: u64) {
        let options = self.client.options;
        let labels = options.visibilities.len();
        if labels == 0 {
            return;
        }
        self.list_labels.clear();
        if options.label_choice == LabelChoice::List {
            let random = self.generator.random();
            let drawn = (0..lists).map(|_| random.random_range(0..labels));
            self.list_labels.extend(drawn);
            return;
        }
        let at = self.generator.random().random_range(0..labels);
        self.label.clone_from(&options.visibilities[at]);
        self.generator.set_label(&self.label);
    }

    /// Sets the label of the next entry, which belongs to the list `at`.
    #[inline]
    fn set_label(&mut self, at: usize, row: u64) {
        let options = self.client.options;
        match options.label_choice {
            LabelChoice::Round => return,
            LabelChoice::List => {
                let label = self.list_labels.get(at).copied();
                let Some(label) = label.and_then(|label| options.visibilities.get(label)) else {
                    return;
                };
                if *label == self.label {
                    return;
                }
                self.label.clone_from(label);
            }
            LabelChoice::Entry => {
                let Some(shared) = options.visibilities.first() else {
                    return;
                };
                self.label.clone_from(shared);
                self.label.extend_from_slice(b"|u");
                self.label.extend_from_slice(&format_row(row));
            }
        }
        self.generator.set_label(&self.label);
    }

    #[inline]
    fn put(&mut self, at: usize, place: Place, previous: Option<u64>) -> Result<()> {
        self.set_label(at, place.row);
        let (row, update) = self.generator.make(place, previous);
        let value = update.value.map_or(0, <[u8]>::len);
        self.writer.put(row, update)?;
        self.written.bytes += (ROW_BYTES + 2 * COLUMN_BYTES + self.label.len() + value) as u64;
        self.written.entries += 1;
        if self.written.entries >= self.client.quota {
            self.over = true;
        }
        self.uncounted += 1;
        if self.uncounted >= STRIDE {
            self.count();
        }
        Ok(())
    }

    fn count(&mut self) {
        self.client
            .control
            .done
            .fetch_add(self.uncounted, Ordering::Relaxed);
        self.uncounted = 0;
        self.over |= !self.client.control.goes_on();
    }

    fn flush(&mut self) -> Result<()> {
        self.writer.flush()?;
        self.count();
        let present = self.written.entries - self.written.rewritten - self.written.deleted;
        self.client.progress.flushed(self.client.number, present);
        let flushes = &mut self.written.flushes;
        let seconds = self.client.control.seconds();
        if flushes.len() == FLUSHES_MAX {
            flushes.pop_front();
        }
        flushes.push_back(Flush {
            writer: self.client.number,
            seconds,
            since_last: seconds - self.last_flush,
            entries: self.written.entries,
        });
        self.last_flush = seconds;
        Ok(())
    }

    /// Newest first, so that no entry is left that points to a deleted one.
    fn delete(&mut self, rounds: &[Vec<Place>]) -> Result<()> {
        for round in rounds.iter().rev() {
            for (at, place) in round.iter().enumerate() {
                self.set_label(at, place.row);
                let update = ColumnUpdate {
                    family: &hex4(place.family),
                    qualifier: &hex4(place.qualifier),
                    visibility: &self.label,
                    timestamp: None,
                    value: None,
                };
                self.writer.put(&format_row(place.row), update)?;
                self.written.deleted += 1;
            }
            self.flush()?;
            self.over |= !self.client.control.goes_on();
        }
        Ok(())
    }
}
