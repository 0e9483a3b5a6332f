//! The iterators under a tablet's scan or compaction, put together.

use std::sync::Arc;

use ostrakon_cell::{
    Authorizations, BoxedIterator, IteratorEnvironment, IteratorRegistry, IteratorScope,
    IteratorSetting,
};

use super::layout::{TabletFile, TabletView};
use crate::catalog::{Fence, FileId};
use crate::codec::Compression;
use crate::error::StoreResult;
use crate::iterator::{SystemOptions, system_stack};
use crate::memtable::{MemtableIterator, MemtableSnapshot};
use crate::properties::{BloomFunctor, TableConfig};
use crate::sorted_file::{FilterFunctor, FilterOptions, LocalityGroup, WriterOptions};

/// Builds the stacks of one table as its properties say at one moment.
#[derive(Clone)]
pub struct Stacker {
    /// The properties.
    pub config: Arc<TableConfig>,
    /// The classes that can be used.
    pub registry: Arc<IteratorRegistry>,
    /// The table's name, for messages.
    pub table: Arc<str>,
    /// Milliseconds since 1970, the same for all iterators of a stack.
    pub now_millis: i64,
}

impl Stacker {
    /// The stack of a scan: what the reader may see of `sources` (newest first).
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

    /// The stack of a compaction; `full` when it reads every file of its tablet, `user` when
    /// somebody asked for it, perhaps with `iterators` of their own.
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

    fn environment(&self, scope: IteratorScope) -> IteratorEnvironment {
        IteratorEnvironment {
            now_millis: self.now_millis,
            table: self.table.clone(),
            ..IteratorEnvironment::new(scope)
        }
    }

    fn stack(
        &self,
        sources: Vec<BoxedIterator>,
        environment: IteratorEnvironment,
        extra: &[IteratorSetting],
    ) -> StoreResult<BoxedIterator> {
        let options = SystemOptions {
            default_label: self.config.default_visibility.clone().unwrap_or_default(),
            deletes_fail: self.config.deletes_fail,
            ..SystemOptions::default()
        };
        let system = system_stack(sources, &environment, &options);
        let own = self.config.iterators(environment.scope);
        if extra.is_empty() {
            return self.registry.stack(system, own, &environment);
        }
        let mut settings = own.to_vec();
        settings.extend_from_slice(extra);
        self.registry.stack(system, &settings, &environment)
    }
}

/// What a tablet is read from, newest first: memtables, then files. `memtables` are newest first.
#[must_use]
pub fn tablet_sources(
    tablet: &TabletView,
    memtables: &[MemtableSnapshot],
    fill_cache: bool,
) -> Vec<BoxedIterator> {
    let mut sources: Vec<BoxedIterator> = memtables
        .iter()
        .filter(|memtable| !memtable.is_empty())
        .map(|memtable| Box::new(MemtableIterator::new(memtable.clone())) as BoxedIterator)
        .collect();
    sources.extend(file_sources(&tablet.files, fill_cache));
    sources
}

/// One iterator a file, in the files' order. A file that stands there several times, for different
/// rows, becomes one iterator with several fences.
#[must_use]
pub fn file_sources(files: &[TabletFile], fill_cache: bool) -> Vec<BoxedIterator> {
    let mut seen: Vec<FileId> = Vec::with_capacity(files.len());
    let mut sources: Vec<BoxedIterator> = Vec::with_capacity(files.len());
    for file in files {
        let id = file.reference.file;
        if seen.contains(&id) {
            continue;
        }
        seen.push(id);
        let fences: Vec<Fence> = files
            .iter()
            .filter(|other| other.reference.file == id)
            .map(|other| other.reference.fence.clone())
            .collect();
        let iterator = file.file.reader().iterator(&fences);
        sources.push(if fill_cache {
            Box::new(iterator)
        } else {
            Box::new(iterator.without_cache_fill())
        });
    }
    sources
}

/// How files of a table are written: flushes leave blocks uncompressed, since the next compaction
/// would only have to unpack them again.
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
    }
}
