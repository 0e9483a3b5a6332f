//! Builds the iterator stacks of a tablet's scans and compactions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ostrakon_cell::visibility::Verdict;
use ostrakon_cell::{
    Authorizations, BoxedIterator, Interrupt, IteratorEnvironment, IteratorOptions,
    IteratorRegistry, IteratorScope, IteratorSetting, TableConfiguration,
};
use parking_lot::Mutex;

use super::chain::{FileChain, Link, Reading};
use crate::catalog::Fence;
use crate::codec::Compression;
use crate::compaction::Cancel;
use crate::error::StoreResult;
use crate::iterator::{LastRow, SystemOptions, system_stack};
use crate::memtable::{MemtableIterator, MemtableSnapshot};
use crate::properties::{BloomFunctor, TableConfig, default_of};
use crate::sorted_file::{FilterFunctor, FilterOptions, LabelFilter, LocalityGroup, WriterOptions};
use crate::version::{TabletFile, TabletView};

/// Builds the stacks of one table according to its properties at one moment.
#[derive(Clone)]
pub struct IteratorStackBuilder {
    /// The properties.
    pub config: Arc<TableConfig>,
    /// The available classes.
    pub registry: Arc<IteratorRegistry>,
    /// The table's name, for messages.
    pub table: Arc<str>,
    /// The table's id.
    pub table_id: Arc<str>,
    /// Options that a scan sets for iterators by name.
    pub iterator_options: BTreeMap<String, IteratorOptions>,
    /// Milliseconds since 1970, the same for all iterators of a stack.
    pub now_millis: i64,
    /// Whether scans may have to return before they have filled a batch.
    pub answers_early: bool,
    /// The interrupt that the iterators poll.
    pub interrupt: Interrupt,
    /// Where scans record their present row; `None` unless an error is being located.
    pub steps: Option<LastRow>,
    /// Memory for reading ahead per stack; `None` for as much as is useful.
    pub look_ahead_bytes: Option<usize>,
    /// Counts the malformed labels that scans meet.
    pub malformed: Arc<AtomicU64>,
}

impl IteratorStackBuilder {
    /// Builds stacks that stop when `cancel` is triggered.
    #[must_use]
    pub fn stopped_by(mut self, cancel: &Cancel) -> Self {
        self.interrupt = cancel.interrupt().clone();
        self
    }

    /// Builds stacks of flushes without the table's own iterators.
    #[must_use]
    pub fn without_flush_iterators(mut self) -> Self {
        self.config = Arc::new(self.config.without_flush_iterators());
        self
    }

    /// The stack of a scan: the entries of `sources` (newest first) that the reader may see.
    pub fn scan(
        &self,
        sources: Vec<BoxedIterator>,
        authorizations: &Arc<Authorizations>,
        iterators: &[IteratorSetting],
    ) -> StoreResult<BoxedIterator> {
        let environment = IteratorEnvironment {
            authorizations: authorizations.clone(),
            ..self.environment(IteratorScope::Scan)
        };
        self.stack(sources, environment, iterators)
    }

    /// The stack of a flush.
    pub fn minc(&self, sources: Vec<BoxedIterator>) -> StoreResult<BoxedIterator> {
        self.stack(sources, self.environment(IteratorScope::Minc), &[])
    }

    /// The stack of a compaction; `full` if it reads every file of its tablet, `user` if a user
    /// requested it, perhaps with additional `iterators`.
    pub fn majc(
        &self,
        sources: Vec<BoxedIterator>,
        full: bool,
        user: bool,
        iterators: &[IteratorSetting],
    ) -> StoreResult<BoxedIterator> {
        let environment = IteratorEnvironment {
            full_major_compaction: full,
            user_compaction: user,
            ..self.environment(IteratorScope::Majc)
        };
        self.stack(sources, environment, iterators)
    }

    /// Decides which labels a reader with `authorizations` may see, for sources that can skip
    /// blocks without any of them.
    #[must_use]
    pub fn label_filter(&self, authorizations: &Authorizations) -> LabelFilter {
        let unlabelled_is_public = self.config.default_visibility.is_none();
        let evaluator = Mutex::new(self.system_options().evaluator(authorizations));
        let malformed = self.malformed.clone();
        Arc::new(move |label| {
            if label.is_empty() && unlabelled_is_public {
                return true;
            }
            let verdict = evaluator.lock().evaluate(label);
            if verdict == Verdict::Unparsable {
                malformed.fetch_add(1, Ordering::Relaxed);
            }
            verdict.is_visible()
        })
    }

    fn system_options(&self) -> SystemOptions {
        SystemOptions {
            default_label: self.config.default_visibility.clone().unwrap_or_default(),
            deletes_fail: self.config.deletes_fail,
            yields: self.answers_early,
            steps: self.steps.clone(),
            look_ahead_bytes: self.look_ahead_bytes,
            malformed: Some(self.malformed.clone()),
            ..SystemOptions::default()
        }
    }

    fn environment(&self, scope: IteratorScope) -> IteratorEnvironment {
        IteratorEnvironment {
            now_millis: self.now_millis,
            table: self.table.clone(),
            table_id: self.table_id.clone(),
            configuration: TableConfiguration::new(self.config.set.clone(), default_of),
            interrupt: self.interrupt.clone(),
            ..IteratorEnvironment::new(scope)
        }
    }

    fn stack(
        &self,
        sources: Vec<BoxedIterator>,
        environment: IteratorEnvironment,
        extra: &[IteratorSetting],
    ) -> StoreResult<BoxedIterator> {
        let system = system_stack(sources, &environment, &self.system_options());
        let own = self
            .config
            .iterators(environment.scope)
            .map_err(|error| error.with("table", &self.table))?;
        if extra.is_empty() && self.iterator_options.is_empty() {
            return self.registry.stack(system, own, &environment);
        }
        let settings = IteratorSetting::merged(own, extra, &self.iterator_options);
        self.registry.stack(system, &settings, &environment)
    }
}

/// The sources of a scan of a tablet, newest first: memtables, then files without the blocks of
/// which `labels` admits none. `memtables` are newest first.
#[must_use]
pub fn tablet_sources(
    tablet: &TabletView,
    memtables: &[MemtableSnapshot],
    fill_cache: bool,
    labels: &LabelFilter,
) -> Vec<BoxedIterator> {
    let mut sources: Vec<BoxedIterator> = memtables
        .iter()
        .filter(|memtable| !memtable.is_empty())
        .map(|memtable| Box::new(MemtableIterator::new(memtable.clone())) as BoxedIterator)
        .collect();
    sources.extend(sources_of(&tablet.files, fill_cache, Some(labels)));
    sources
}

/// Iterators over files, in the files' order. A file that occurs several times, for different rows,
/// becomes one iterator with several fences. Neighbours that share no row become one iterator.
#[must_use]
pub fn file_sources(files: &[TabletFile], fill_cache: bool) -> Vec<BoxedIterator> {
    sources_of(files, fill_cache, None)
}

fn sources_of(
    files: &[TabletFile],
    fill_cache: bool,
    labels: Option<&LabelFilter>,
) -> Vec<BoxedIterator> {
    let reading = Reading {
        fill_cache,
        labels: labels.cloned(),
    };
    let mut sources: Vec<BoxedIterator> = Vec::with_capacity(files.len());
    let mut run: Vec<&TabletFile> = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let id = file.reference.file;
        let before = files.get(..at).unwrap_or_default();
        if before.iter().any(|other| other.reference.file == id) {
            continue;
        }
        // Where it belongs among the files of the run, if it shares no row with any.
        let (first, last) = rows_of(file);
        let place = run.partition_point(|other| rows_of(other).1 < first);
        if run.get(place).is_some_and(|other| rows_of(other).0 <= last) {
            sources.extend(source_of(&mut run, files, &reading));
            run.push(file);
        } else {
            run.insert(place, file);
        }
    }
    sources.extend(source_of(&mut run, files, &reading));
    sources
}

/// First and last row of a file.
fn rows_of(file: &TabletFile) -> (&[u8], &[u8]) {
    let record = file.file.record();
    (&record.first_row, &record.last_row)
}

/// The iterator over a run of files that share no row; empties it.
fn source_of(
    run: &mut Vec<&TabletFile>,
    files: &[TabletFile],
    reading: &Reading,
) -> Option<BoxedIterator> {
    let fences = |file: &TabletFile| -> Vec<Fence> {
        let id = file.reference.file;
        let same = files.iter().filter(|other| other.reference.file == id);
        same.map(|other| other.reference.fence.clone()).collect()
    };
    if let [only] = run.as_slice() {
        let iterator = reading.iterator(only.file.reader(), &fences(only));
        run.clear();
        return Some(Box::new(iterator));
    }
    let links: Vec<Link> = run
        .drain(..)
        .map(|file| Link {
            file: file.file.reader().clone(),
            fences: fences(file),
            first: rows_of(file).0.to_vec(),
            last: rows_of(file).1.to_vec(),
        })
        .collect();
    (!links.is_empty())
        .then(|| -> BoxedIterator { Box::new(FileChain::new(links, reading.clone())) })
}

/// How files of a table are written: flushes leave blocks uncompressed, since the next compaction
/// would have to decompress them again.
#[must_use]
pub fn writer_options(config: &TableConfig, scope: IteratorScope) -> WriterOptions {
    WriterOptions {
        block_bytes: config.block_bytes,
        compression: match scope {
            IteratorScope::Majc => config.compression,
            IteratorScope::Minc | IteratorScope::Scan => Compression::None,
        },
        filter: config.bloom.map(|bloom| FilterOptions {
            functor: match bloom.functor {
                BloomFunctor::Row => FilterFunctor::Row,
                BloomFunctor::RowFamily => FilterFunctor::RowFamily,
                BloomFunctor::RowFamilyQualifier => FilterFunctor::RowFamilyQualifier,
            },
            error_rate: bloom.error_rate,
        }),
        locality_groups: config
            .locality_groups
            .iter()
            .map(|(name, families)| LocalityGroup {
                name: name.clone(),
                families: families.clone(),
            })
            .collect(),
        ..WriterOptions::default()
    }
}
