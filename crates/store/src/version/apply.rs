//! Builds the next version of a table from the previous one and the changes of a transaction.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::files::TableFile;
use super::rows::RowBounds;
use super::table_version::{Chunk, TableVersion, chunks_of};
use super::tablet::{TabletFile, TabletView};
use crate::catalog::{Fence, FileId, FileReference, TabletChange};
use crate::error::{Error, ErrorKind, StoreResult};

/// How the error of an edit begins that breaks an invariant.
const BROKEN: &str = "a change of a table was refused because it breaks an invariant";

/// With debug assertions, each edit of a table with at most this many tablets checks all of them,
const CHECKED_ALWAYS: usize = 32;

/// and one in so many edits of larger tables does.
const CHECKED_EVERY: u64 = 64;

/// A chunk smaller than this is joined with the previous one when either is edited.
const SMALL_CHUNK: usize = 64;

impl TableVersion {
    /// The version after `changes`, which are in row order. `file` returns the files that this
    /// version does not have.
    ///
    /// Unchanged tablets are shared. An edit that breaks an invariant is rejected, and its
    /// transaction must not be committed.
    ///
    /// # Errors
    /// `Internal` with the invariant that would be broken; those of `file`.
    pub fn apply(
        &self,
        changes: &[TabletChange],
        mut file: impl FnMut(FileId) -> StoreResult<Arc<TableFile>>,
    ) -> StoreResult<Self> {
        let replaced = changes.iter().filter_map(|change| {
            let tablet = match &change.end {
                Some(row) => self.tablets().get(self.position(row)),
                None => self.tablets().last(),
            };
            tablet.filter(|tablet| tablet.extent.through == change.end)
        });
        let known: BTreeMap<FileId, &Arc<TableFile>> = replaced
            .flat_map(|tablet| &tablet.files)
            .map(|file| (file.reference.file, &file.file))
            .collect();
        let mut chunks: Vec<Arc<Chunk>> = Vec::with_capacity(self.chunks.len() + 1);
        let mut changes = changes.iter().peekable();
        // The end row of the previous tablet.
        let mut end: Option<Vec<u8>> = None;
        for chunk in &self.chunks {
            let is_inside = |change: &TabletChange| match (chunk.last_row(), &change.end) {
                (None, _) => true,
                (Some(last), Some(row)) => row.as_slice() <= last,
                (Some(_), None) => false,
            };
            let begins_elsewhere = chunk
                .tablets
                .first()
                .is_some_and(|first| first.extent.after != end);
            let is_edited = changes.peek().is_some_and(|change| is_inside(change));
            if !is_edited && !begins_elsewhere {
                end = chunk.last_row().map(<[u8]>::to_vec);
                chunks.push(chunk.clone());
                continue;
            }
            let mut edits = Edits::new();
            while let Some(change) = changes.next_if(|change| is_inside(change)) {
                edits.insert(EndRow::of(change.end.as_deref()), change.files.as_deref());
            }
            let edit = ChunkEdit {
                known: &known,
                file: &mut file,
                end,
                tablets: Vec::with_capacity(chunk.tablets.len() + edits.len()),
            };
            let mut tablets = edit.run(chunk, edits)?;
            end = match tablets.last() {
                Some(last) => last.extent.through.clone(),
                None => chunks
                    .last()
                    .and_then(|before| before.last_row())
                    .map(<[u8]>::to_vec),
            };
            if tablets.len() < SMALL_CHUNK
                && let Some(before) = chunks.pop_if(|before| before.tablets.len() < SMALL_CHUNK)
            {
                tablets.splice(0..0, before.tablets.iter().cloned());
            }
            chunks.extend(chunks_of(tablets));
        }
        let next = Self::of_chunks(chunks);
        let ends_open = next
            .tablets()
            .last()
            .is_some_and(|last| last.extent.through.is_none());
        if !ends_open || changes.peek().is_some() {
            return Err(broken("the tablets do not cover the table"));
        }
        if cfg!(debug_assertions) && next.is_checked_whole() {
            self.refuse_new_problems(&next)?;
        }
        Ok(next)
    }

    /// Whether an edit that leads to this version checks all of its tablets, and not only those that it
    /// touches: every edit of a small table, and some of a large one.
    fn is_checked_whole(&self) -> bool {
        static EDITS: AtomicU64 = AtomicU64::new(0);
        self.tablets().len() <= CHECKED_ALWAYS
            || EDITS
                .fetch_add(1, Ordering::Relaxed)
                .is_multiple_of(CHECKED_EVERY)
    }

    /// Rejects an edit after which an invariant is broken that held before.
    pub(super) fn refuse_new_problems(&self, next: &Self) -> StoreResult<()> {
        let problems = next.problems();
        match problems.first() {
            Some(problem) if self.problems().is_empty() => Err(Error::new(
                ErrorKind::Internal,
                format!("{BROKEN}: {problem}"),
            )),
            _ => Ok(()),
        }
    }

    /// Checks every invariant of every tablet, and returns the broken ones; empty for a valid
    /// version.
    ///
    /// Two files that a version before catalog format 3 wrote may tie: their ids decide, as they did then.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut end: Option<&[u8]> = None;
        for (at, tablet) in self.tablets().iter().enumerate() {
            let extent = &tablet.extent;
            if extent.after.as_deref() != end || (at > 0 && end.is_none()) {
                problems.push(format!(
                    "tablet {at} does not begin where the one before it ends"
                ));
            }
            end = extent.through.as_deref();
            if extent.is_empty() {
                problems.push(format!("tablet {at} has no rows"));
            }
            if let Err(error) = check_files(tablet, &|_| true, true) {
                problems.push(format!("tablet {at}: {}", error.message()));
            }
        }
        if end.is_some() {
            problems.push("the last tablet does not reach the end of the table".to_owned());
        }
        let bytes: u64 = self.tablets().iter().map(|tablet| tablet.bytes()).sum();
        let files = self.tablets().iter().map(|tablet| tablet.files.len());
        if bytes != self.bytes() || files.max().unwrap_or(0) != self.most_files() {
            problems.push("the sums over all tablets are wrong".to_owned());
        }
        problems
    }
}

/// An end row, ordered as tablets are: no end comes last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EndRow<'a> {
    Row(&'a [u8]),
    Infinite,
}

impl<'a> EndRow<'a> {
    fn of(end: Option<&'a [u8]>) -> Self {
        end.map_or(Self::Infinite, Self::Row)
    }
}

/// Builds the tablets of a chunk after its edits.
struct ChunkEdit<'a, F> {
    /// The files of the tablets that are edited.
    known: &'a BTreeMap<FileId, &'a Arc<TableFile>>,
    file: F,
    /// The end row of the previous tablet.
    end: Option<Vec<u8>>,
    tablets: Vec<Arc<TabletView>>,
}

type Edits<'a> = BTreeMap<EndRow<'a>, Option<&'a [FileReference]>>;

impl<'a, F: FnMut(FileId) -> StoreResult<Arc<TableFile>>> ChunkEdit<'a, F> {
    fn run<'e>(
        mut self,
        chunk: &'e Chunk,
        mut edits: Edits<'e>,
    ) -> StoreResult<Vec<Arc<TabletView>>> {
        for old in &chunk.tablets {
            let this = EndRow::of(old.extent.through.as_deref());
            // New tablets that end before this one.
            while let Some(first) = edits.first_entry()
                && *first.key() < this
            {
                let (at, files) = first.remove_entry();
                self.push(at, files)?;
            }
            match edits.remove(&this) {
                Some(files) => self.push(this, files)?,
                None if old.extent.after == self.end => {
                    self.end.clone_from(&old.extent.through);
                    self.tablets.push(old.clone());
                }
                // It took over rows of an earlier tablet, whose files it lacks.
                None => return Err(broken("a tablet grew without being edited")),
            }
        }
        for (at, files) in edits {
            self.push(at, files)?;
        }
        Ok(self.tablets)
    }

    /// Adds the tablet with this end, unless it was removed.
    fn push(
        &mut self,
        through: EndRow<'_>,
        references: Option<&[FileReference]>,
    ) -> StoreResult<()> {
        let Some(references) = references else {
            return Ok(());
        };
        let mut files = Vec::with_capacity(references.len());
        for reference in references {
            files.push(TabletFile {
                file: match self.known.get(&reference.file) {
                    Some(file) => (*file).clone(),
                    None => (self.file)(reference.file)?,
                },
                reference: reference.clone(),
            });
        }
        let through = match through {
            EndRow::Row(row) => Some(row.to_vec()),
            EndRow::Infinite => None,
        };
        let extent = Fence::new(self.end.take(), through.clone());
        self.end = through;
        if extent.is_empty() {
            return Err(broken("a tablet has no rows"));
        }
        let tablet = TabletView::new(extent, files);
        check_files(&tablet, &|id| !self.known.contains_key(&id), false)?;
        self.tablets.push(Arc::new(tablet));
        Ok(())
    }
}

/// Checks a tablet's files: no file ties with another that shares keys with it, if one of them
/// `is_new`; references to one file share no row. With `old_may_tie` two files without an identity, which
/// catalogs before format 3 did not have, may tie.
fn check_files(
    tablet: &TabletView,
    is_new: &dyn Fn(FileId) -> bool,
    old_may_tie: bool,
) -> StoreResult<()> {
    let files: Vec<_> = tablet
        .files
        .iter()
        .map(|file| {
            let id = file.reference.file;
            let bounds = RowBounds::of(file, &tablet.extent);
            let is_old = old_may_tie && file.file.record().identity == 0;
            (id, file.ages(), bounds, is_new(id), is_old)
        })
        .collect();
    let mut seen = BTreeSet::new();
    for (at, (id, ages, rows, new, is_old)) in files.iter().enumerate() {
        if ages.oldest > ages.newest {
            return Err(broken("a file is older than itself").with("file", *id));
        }
        let is_again = !seen.insert(*id);
        if !new && !is_again {
            continue;
        }
        for (other_at, (other, other_ages, other_rows, _, other_is_old)) in files.iter().enumerate()
        {
            // A pair of new files is checked once.
            let was_seen = other_at == at || (other_at > at && files[other_at].3);
            if was_seen || !rows.meets(*other_rows) {
                continue;
            }
            if id != other && *is_old && *other_is_old {
                continue;
            }
            if id == other {
                return Err(broken("a tablet reads rows of a file twice").with("file", *id));
            }
            if *new && ages.intersects(*other_ages) {
                return Err(broken("two files share keys and ages")
                    .with("file", *id)
                    .with("ages", ages)
                    .with("other", *other)
                    .with("other ages", other_ages));
            }
        }
    }
    Ok(())
}

fn broken(what: &'static str) -> Error {
    Error::new(ErrorKind::Internal, format!("{BROKEN}: {what}"))
}
