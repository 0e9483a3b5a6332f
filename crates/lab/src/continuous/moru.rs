//! Moru (many objects read, updated): reads every entry and writes its neighbour again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ostrakon_cell::{
    Authorizations, Batch, BatchWriter, BatchWriterConfig, Durability, Range, Result, Scan,
    ScanOptions, Source, Table,
};
use serde::Serialize;

use super::generator::{Generator, GeneratorOptions, Place};
use super::layout::{EntryError, parse_entry};
use super::pieces::pieces;
use crate::Progress;
use crate::control::Control;
use crate::threads::{in_threads, seed, thread_count, thread_seed};

/// Settings of [`run_moru`].
#[derive(Debug, Clone)]
pub struct MoruOptions {
    /// The table. Default `ci`.
    pub table: String,
    /// What the reader may see.
    pub authorizations: Authorizations,
    /// Threads, each with its own scan and batch writer. 0, the default, takes one a processor.
    pub threads: usize,
    /// Whether what is written carries a checksum. Default yes.
    pub checksum: bool,
    /// Bytes a writer may have under way. Default 100 MB.
    pub buffer_bytes: usize,
    /// Durability of the writes. `None`, the default, takes the table's.
    pub durability: Option<Durability>,
    /// The most pieces the table is cut into. Default 4,096.
    pub ranges_max: usize,
    /// Start of the random sequences. `None`, the default, draws one.
    pub seed: Option<u64>,
}

impl Default for MoruOptions {
    fn default() -> Self {
        Self {
            table: "ci".to_owned(),
            authorizations: Authorizations::default(),
            threads: 0,
            checksum: true,
            buffer_bytes: 100_000_000,
            durability: None,
            ranges_max: 4096,
            seed: None,
        }
    }
}

/// What moru did.
#[derive(Debug, Clone, Default, Serialize)]
pub struct MoruFigures {
    /// Entries read.
    pub entries: u64,
    /// Entries written: for each link read, one at the row it names that points back.
    pub written: u64,
    /// Entries read that this run itself had written.
    pub self_read: u64,
    /// Entries whose checksum or form is wrong.
    pub corrupt: u64,
    /// Entries of others; they are skipped.
    pub foreign: u64,
    /// Seconds by the clock.
    pub seconds: f64,
    /// Entries read a second.
    pub entries_per_second: f64,
    /// Entries written a second.
    pub written_per_second: f64,
}

/// Reads the whole table and, for every link, writes an entry at the row it names that points
/// back, in a random column and under the label of the entry read. So every row that is written
/// is one that was read about, and what it points to is there.
///
/// # Errors
/// No such table, a failed read or write.
pub fn run_moru(
    source: &Arc<dyn Source>,
    options: &MoruOptions,
    progress: &dyn Progress,
) -> Result<MoruFigures> {
    let table = source.table(&options.table)?;
    let threads = thread_count(options.threads);
    let pieces = pieces(&*table, threads, options.ranges_max)?;
    let seed = seed(options.seed);
    let control = Control::new(None, None, progress);
    progress.phase("moru", Some(pieces.len() as u64));
    // One name for all threads: none shall answer what another wrote a moment ago.
    let writer = Generator::new(generator(options, seed))?.uuid().to_vec();
    let next = AtomicUsize::new(0);
    let parts = in_threads(
        "moru",
        threads,
        || control.stop(),
        |number| {
            let mut part = Part::new(&table, options, thread_seed(seed, number), &writer)?;
            while control.goes_on() {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(piece) = pieces.get(at) else { break };
                part.piece(piece, &control)?;
                progress.done(at as u64);
            }
            part.writer.flush()?;
            Ok(part.figures)
        },
    )?;
    let seconds = control.seconds().max(1e-9);
    let mut figures = MoruFigures {
        seconds,
        ..MoruFigures::default()
    };
    for part in parts {
        figures.entries += part.entries;
        figures.written += part.written;
        figures.self_read += part.self_read;
        figures.corrupt += part.corrupt;
        figures.foreign += part.foreign;
    }
    figures.entries_per_second = figures.entries as f64 / seconds;
    figures.written_per_second = figures.written as f64 / seconds;
    Ok(figures)
}

fn generator(options: &MoruOptions, seed: u64) -> GeneratorOptions {
    GeneratorOptions {
        checksum: options.checksum,
        seed,
        ..GeneratorOptions::default()
    }
}

struct Part<'a> {
    scan: Box<dyn Scan>,
    batch: Batch,
    generator: Generator,
    writer: BatchWriter,
    own: &'a [u8],
    label: Vec<u8>,
    figures: MoruFigures,
}

impl<'a> Part<'a> {
    fn new(
        table: &Arc<dyn Table>,
        options: &MoruOptions,
        seed: u64,
        own: &'a [u8],
    ) -> Result<Self> {
        let scan = ScanOptions {
            authorizations: options.authorizations.clone(),
            ..ScanOptions::default()
        };
        let config = BatchWriterConfig {
            max_memory: options.buffer_bytes,
            durability: options.durability,
            ..BatchWriterConfig::default()
        };
        let mut generator = Generator::new(generator(options, seed))?;
        generator.set_uuid(own);
        Ok(Self {
            scan: table.scan(&[Range::row("")], &scan)?,
            batch: Batch::new(),
            generator,
            writer: BatchWriter::new(Arc::clone(table), config),
            own,
            label: Vec::new(),
            figures: MoruFigures::default(),
        })
    }

    fn piece(&mut self, piece: &Range, control: &Control<'_>) -> Result<()> {
        self.scan.restart(std::slice::from_ref(piece))?;
        while control.goes_on() && self.scan.next_batch(&mut self.batch)? {
            for entry in self.batch.iter() {
                self.figures.entries += 1;
                let link = match parse_entry(&entry) {
                    Ok(link) => link,
                    Err(EntryError::Foreign) => {
                        self.figures.foreign += 1;
                        continue;
                    }
                    Err(_) => {
                        self.figures.corrupt += 1;
                        continue;
                    }
                };
                if link.writer == self.own {
                    self.figures.self_read += 1;
                } else if let Some(previous) = link.previous {
                    if entry.key.visibility != self.label {
                        self.label.clear();
                        self.label.extend_from_slice(entry.key.visibility);
                        self.generator.set_label(&self.label);
                    }
                    let place = Place {
                        row: previous,
                        ..self.generator.draw_place()
                    };
                    let (row, update) = self.generator.make(place, Some(link.row));
                    self.writer.put(row, update)?;
                    self.figures.written += 1;
                }
            }
        }
        Ok(())
    }
}
