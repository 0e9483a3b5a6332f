//! The run: makes the table, starts the clients, measures, flushes and compacts.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ostrakon_cell::{Capability, CompactOptions, ErrorKind, Result, Source, Table, TableOptions};

use super::super::rows::even_splits;
use super::super::stats::Collector;
use super::options::{IngestFigures, IngestOptions, Settle};
use super::writer::{Client, Written};
use crate::Progress;
use crate::control::Control;
use crate::measure::{RateSampler, Watched, max_rate};
use crate::threads::{in_threads, seed, thread_seed};

/// Writes linked lists: for each writer, repeatedly,
///
/// 1. as many first entries as the flush interval says, which point to nothing; flush;
/// 2. as many rounds as the depth says, in each of which every list gets an entry that points to
///    its newest; flush after each;
/// 3. the first entry of every list is written again to point to the newest of the next list, so
///    that all become one; flush.
///
/// An entry is written only after the one it points to was acknowledged.
///
/// # Errors
/// Bad options, the table cannot be created, or a write fails.
pub fn run_ingest(
    source: &Arc<dyn Source>,
    options: &IngestOptions,
    progress: &dyn Progress,
) -> Result<IngestFigures> {
    options.check()?;
    let table = table(source, options)?;
    let seed = seed(options.seed);
    let mut figures = IngestFigures {
        writers: options.writers,
        tablets_before: table.tablets()?.len(),
        flush_interval: options.flush_interval(),
        durability: durability(&*table, options)?,
        seed,
        ..IngestFigures::default()
    };
    progress.phase("ingest", options.entries);
    // The clients keep to their quotas; the control ends the run on time or on request.
    let control = Control::new(options.duration, None, progress);
    let (clients, samples) = std::thread::scope(|scope| {
        let sampler = RateSampler::start(
            scope,
            Watched {
                counter: &control.done,
                progress,
                unit: "entries",
                seconds: options.sample_seconds,
            },
        )?;
        let stats = options
            .stats_seconds
            .map(|seconds| {
                let interval = Duration::from_secs_f64(seconds.clamp(0.1, 86_400.0));
                Collector::new(source, &options.table).start(scope, interval, progress)
            })
            .transpose()?;
        let clients = in_threads(
            "ingest",
            options.writers,
            || control.stop(),
            |number| {
                let client = Client {
                    number,
                    seed: thread_seed(seed, number),
                    quota: quota(options, number),
                    options,
                    control: &control,
                    progress,
                };
                client.run(Arc::clone(&table))
            },
        );
        figures.seconds = control.seconds();
        drop(stats);
        let samples = sampler.finish();
        clients.map(|clients| (clients, samples))
    })?;
    let total = clients.into_iter().fold(Written::default(), |mut a, b| {
        a.entries += b.entries;
        a.rewritten += b.rewritten;
        a.deleted += b.deleted;
        a.bytes += b.bytes;
        a.flushes.extend(b.flushes);
        a
    });
    figures.entries = total.entries;
    figures.rewritten = total.rewritten;
    figures.deleted = total.deleted;
    figures.bytes = total.bytes;
    figures.flushes = total.flushes.into();
    debug_assert_eq!(total.entries, control.done.load(Ordering::Relaxed));
    figures.entries_per_second = per_second(total.entries, figures.seconds);
    figures.max_entries_per_second = max_rate(&samples);
    figures.samples = samples;

    let compacts = table.capabilities().has(Capability::Compaction);
    match options.settle {
        Settle::No => {}
        // Brings memory to files too, and writes it only once.
        Settle::Compact if compacts => {
            progress.phase("compact", None);
            table.compact(&CompactOptions::default())?;
        }
        Settle::Flush | Settle::Compact => {
            progress.phase("flush", None);
            table.flush(true)?;
        }
    }
    figures.settled_seconds = match options.settle {
        Settle::No => figures.seconds,
        Settle::Flush | Settle::Compact => control.seconds(),
    };
    figures.settled_entries_per_second = per_second(total.entries, figures.settled_seconds);
    figures.tablets = table.tablets()?.len();
    Ok(figures)
}

fn per_second(count: u64, seconds: f64) -> f64 {
    count as f64 / seconds.max(1e-9)
}

fn quota(options: &IngestOptions, number: usize) -> u64 {
    options.entries.map_or(u64::MAX, |entries| {
        let writers = options.writers as u64;
        entries / writers + u64::from((number as u64) < entries % writers)
    })
}

fn table(source: &Arc<dyn Source>, options: &IngestOptions) -> Result<Arc<dyn Table>> {
    match source.table(&options.table) {
        Err(error) if error.kind() == ErrorKind::TableNotFound => {
            let create = TableOptions {
                splits: even_splits(options.rows, options.splits),
                properties: options.properties.clone(),
                ..TableOptions::default()
            };
            source.create_table(&options.table, &create)?;
            source.table(&options.table)
        }
        table => table,
    }
}

fn durability(table: &dyn Table, options: &IngestOptions) -> Result<String> {
    if let Some(durability) = options.durability {
        return Ok(durability.to_string());
    }
    let properties = table.properties()?;
    let property = properties
        .get("table.durability")
        .map_or("", String::as_str);
    Ok(match property {
        "" | "default" => "table default".to_owned(),
        set => set.to_owned(),
    })
}
