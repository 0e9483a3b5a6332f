//! The catalog's two copies: which of them a store is opened from, and how the other is repaired.
//!
//! The first copy is authoritative as long as it is undamaged. An undamaged mirror has every commit
//! that returned: the files it refers to still exist, since files and log segments that a commit
//! made unneeded are deleted after it returned.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::backend::{Copied, Failing, Pair};
use super::open::{self, FILE_NAME, MIRROR_NAME};
use crate::error::{Error, ErrorKind, StoreResult};
use crate::vfs::{RandomAccessFile, Vfs};

/// From this format on a store has a mirror, whichever version wrote it last.
const MIRRORED_FROM: u32 = 3;

/// Memory to check a copy, which is read once, in bytes.
const CACHE_BYTES: usize = 1 << 20;

/// The two files of a store's directory.
pub(super) struct Copies<'a> {
    vfs: &'a dyn Vfs,
    dir: &'a Path,
    first: PathBuf,
    mirror: PathBuf,
}

/// An undamaged copy, from which a store can be opened.
struct Sound {
    /// Number of commits in it.
    commits: u64,
    /// The store it belongs to.
    instance: String,
    format: u32,
}

/// The copy to open.
pub(super) struct Chosen {
    pub(super) path: PathBuf,
    /// Why the mirror was chosen instead of the first copy.
    instead: Option<String>,
    /// The error of the mirror, if the first copy is chosen.
    mirror: Option<Error>,
}

impl<'a> Copies<'a> {
    pub(super) fn of(vfs: &'a dyn Vfs, dir: &'a Path) -> Self {
        Self {
            vfs,
            dir,
            first: dir.join(FILE_NAME),
            mirror: dir.join(MIRROR_NAME),
        }
    }

    /// Opens both files, equal, if at least one of them is undamaged: after damage, or a power
    /// failure between the writes to the two, they are made equal first.
    pub(super) fn open(&self) -> StoreResult<Arc<Pair>> {
        // The usual case by far, and no further check is needed: the first copy is verified when it
        // is opened, and the mirror equals it.
        if !self.are_equal()? {
            self.mend()?;
        }
        self.pair()
    }

    /// Both files, which must exist and be equal.
    pub(super) fn pair(&self) -> StoreResult<Arc<Pair>> {
        let open = |path: &Path| self.vfs.open_in_place(path);
        Ok(Pair::of(open(&self.first)?, open(&self.mirror)?))
    }

    /// The bytes of the two files if they are equal, and at most this many.
    pub(super) fn equal_bytes(&self, most: u64) -> Option<Vec<u8>> {
        let first = self.vfs.read_to_vec(&self.first, most).ok()?;
        let mirror = self.vfs.read_to_vec(&self.mirror, most).ok()?;
        (first == mirror && !first.is_empty()).then_some(first)
    }

    /// Creates a mirror of a first file with these bytes.
    pub(super) fn make_mirror(&self, first: &[u8]) -> StoreResult<Arc<dyn RandomAccessFile>> {
        self.replace(&self.mirror, first)?;
        self.vfs.open_random(&self.mirror)
    }

    /// Writes a copy anew.
    fn replace(&self, path: &Path, bytes: &[u8]) -> StoreResult<()> {
        if self.is_directory(path)? {
            return Err(
                Error::corruption(format!("{DIRECTORY}; {MOVE_IT}")).with("file", path.display())
            );
        }
        self.vfs.replace(path, bytes)
    }

    fn is_directory(&self, path: &Path) -> StoreResult<bool> {
        let listed = self.vfs.list(self.dir)?;
        let entry = listed
            .iter()
            .find(|one| Some(&*one.name) == path.file_name());
        Ok(entry.is_some_and(|one| one.is_dir))
    }

    fn are_equal(&self) -> StoreResult<bool> {
        const PIECE_BYTES: u64 = 256 << 10;
        let (Ok(first), Ok(mirror)) = (self.vfs.open(&self.first), self.vfs.open(&self.mirror))
        else {
            // The check of each copy finds the reason.
            return Ok(false);
        };
        let len = first.len()?;
        if len != mirror.len()? {
            return Ok(false);
        }
        let mut pieces = [vec![0; PIECE_BYTES as usize], vec![0; PIECE_BYTES as usize]];
        let mut at = 0;
        while at < len {
            let [one, other] = &mut pieces;
            one.truncate((len - at) as usize);
            other.truncate((len - at) as usize);
            let read = first
                .read_at(at, one)
                .and_then(|()| mirror.read_at(at, other));
            if read.is_err() || one != other {
                return Ok(false);
            }
            at += one.len() as u64;
        }
        Ok(true)
    }

    /// Makes the copies equal, from the one that is chosen as correct.
    fn mend(&self) -> StoreResult<()> {
        let chosen = self.choose()?;
        let bytes = self.vfs.read_to_vec(&chosen.path, u64::MAX)?;
        if let Some(found) = chosen.instead {
            self.replace(&self.first, &bytes)?;
            tracing::warn!(
                file = %self.first.display(),
                found,
                "the catalog was restored from its mirror; nothing is lost"
            );
            return Ok(());
        }
        self.replace(&self.mirror, &bytes)?;
        match chosen.mirror {
            Some(error) if error.kind() != ErrorKind::NotFound => tracing::warn!(
                file = %self.mirror.display(),
                found = reason(&error),
                "the mirror of the catalog was damaged and was made anew"
            ),
            _ => tracing::info!(
                file = %self.mirror.display(),
                "the mirror of the catalog was missing or behind and was made anew"
            ),
        }
        Ok(())
    }

    /// The copy to read without changing anything.
    pub(super) fn readable(&self) -> StoreResult<Chosen> {
        if !self.are_equal()? {
            return match self.choose() {
                // One of them cannot be read now, or by this user: use the first if it is
                // undamaged.
                Err(error) if is_refusal(&error) => match self.look_at(&self.first)? {
                    Ok(_) => Ok(Chosen {
                        path: self.first.clone(),
                        instead: None,
                        mirror: Some(error),
                    }),
                    Err(_) => Err(error),
                },
                chosen => chosen,
            };
        }
        Ok(Chosen {
            path: self.first.clone(),
            instead: None,
            mirror: None,
        })
    }

    /// The copy to use: the first, unless it is damaged or missing, or lacks commits that are in
    /// the mirror. That may be damage too: after a crash redb takes an unreadable commit for one
    /// that was in progress.
    fn choose(&self) -> StoreResult<Chosen> {
        let first = self.look_at(&self.first)?;
        let mirror = self.look_at(&self.mirror)?;
        let from_mirror = |instead| {
            Ok(Chosen {
                path: self.mirror.clone(),
                instead: Some(instead),
                mirror: None,
            })
        };
        match (first, mirror) {
            (Ok(first), Ok(mirror)) if first.instance != mirror.instance => Err(Error::new(
                ErrorKind::Corruption,
                "the catalog and its mirror belong to different stores: delete the one that is not this store's, and it \
                 is made anew from the other",
            )
            .with("file", self.first.display())
            .with("mirror", self.mirror.display())),
            (Ok(first), Ok(mirror)) if first.commits < mirror.commits => from_mirror(
                "its last commit is damaged, or was cut off by a loss of power".to_owned(),
            ),
            (Err(error), Ok(_)) => from_mirror(reason(&error)),
            (Ok(_), mirror) => Ok(Chosen {
                path: self.first.clone(),
                instead: None,
                mirror: mirror.err(),
            }),
            (Err(first), Err(mirror)) => Err(match (first.kind(), mirror.kind()) {
                (ErrorKind::NotFound, ErrorKind::NotFound) => open::not_a_store(self.vfs, self.dir),
                // The path of the error is that of the copy that is there.
                (ErrorKind::NotFound, _) => mirror.with("its mirror", "the other copy is missing"),
                (_, ErrorKind::NotFound) => first.with("its mirror", "missing"),
                _ => first.with("its mirror", "damaged as well"),
            }),
        }
    }

    /// The problems of each copy, as sentences that say what to do: empty if both are undamaged.
    pub(super) fn check(&self, pair: Option<&Pair>) -> StoreResult<Vec<(PathBuf, String)>> {
        // A copy that this user may not read is reported as a problem, but not as damaged.
        let of = |path| match self.look_at(path) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(Err(error)),
            found => found,
        };
        let look = || StoreResult::Ok((of(&self.first)?, of(&self.mirror)?));
        let (first, mirror) = pair.map_or_else(look, |pair| pair.at_rest(look))?;
        let is_open = pair.is_some();
        let mut problems = Vec::new();
        match (first, mirror) {
            (Ok(first), Ok(mirror)) if first.instance != mirror.instance => problems.push((
                self.mirror.clone(),
                "the mirror belongs to another store than the catalog: delete the one that is not this store's"
                    .to_owned(),
            )),
            (Ok(first), Ok(mirror)) if first.commits < mirror.commits => {
                problems.push((
                    self.first.clone(),
                    format!("the catalog lacks the last commit; {RESTORED}"),
                ));
            }
            (Ok(first), Ok(mirror)) if is_open && mirror.commits < first.commits => {
                problems.push((
                    self.mirror.clone(),
                    format!("the mirror of the catalog is behind; {MADE_ANEW}"),
                ));
            }
            (Ok(_), Ok(_)) => {}
            // A store that was created by an earlier version and not written since has no mirror
            // yet.
            (Ok(first), Err(error))
                if error.kind() == ErrorKind::NotFound
                    && !is_open
                    && first.format < MIRRORED_FROM => {}
            (Ok(_), Err(error)) if is_refusal(&error) => {
                problems.push((
                    self.mirror.clone(),
                    unreadable("the mirror of the catalog", &error),
                ));
            }
            (Err(error), Ok(_)) if is_refusal(&error) => {
                problems.push((self.first.clone(), unreadable("the catalog", &error)));
            }
            (Ok(_), Err(error)) => problems.push((
                self.mirror.clone(),
                self.problem("the mirror of the catalog", &self.mirror, &error, MADE_ANEW)?,
            )),
            (Err(error), Ok(_)) => problems.push((
                self.first.clone(),
                self.problem("the catalog", &self.first, &error, RESTORED)?,
            )),
            (Err(first), Err(mirror)) => {
                for (path, error) in [(&self.first, first), (&self.mirror, mirror)] {
                    problems.push((
                        path.clone(),
                        format!("{}; export what can be read, or {BACK}", reason(&error)),
                    ));
                }
            }
        }
        Ok(problems)
    }

    /// What is wrong with one of the copies, and how it is repaired from the other.
    fn problem(&self, what: &str, path: &Path, error: &Error, repair: &str) -> StoreResult<String> {
        Ok(match self.is_directory(path)? {
            true => format!("{what}: {DIRECTORY}; {MOVE_IT}"),
            false => format!("{what}: {}; {repair}", reason(error)),
        })
    }

    /// Reads a copy as redb would, without changing it. The outer error is not about the copy.
    fn look_at(&self, path: &Path) -> StoreResult<StoreResult<Sound>> {
        let bytes = match self.vfs.read_to_vec(path, u64::MAX) {
            Ok(bytes) => bytes,
            Err(error) if is_damage(&error) || error.kind() == ErrorKind::NotFound => {
                return Ok(Err(error));
            }
            Err(error) => return Err(error),
        };
        let failing = Failing::new(path);
        if bytes.is_empty() {
            return Ok(Err(open::empty(&failing)));
        }
        // Not kept: a caller that needs the bytes reads them again, so that a large catalog is in
        // memory only once.
        let copied = Copied(Mutex::new(bytes));
        let database = match open::open_database(&failing, copied, CACHE_BYTES) {
            Ok(database) => database,
            Err(error) if is_damage(&error) => return Ok(Err(error)),
            Err(error) => return Err(error),
        };
        match open::read_meta(&database, &failing) {
            Ok(meta) => Ok(Ok(Sound {
                commits: meta.commits,
                instance: meta.store.instance,
                format: meta.format,
            })),
            // Its checksum is valid: it is not damaged, and must not be replaced.
            Err(error) if error.kind() == ErrorKind::NewerFormat => Err(error),
            Err(error) if is_damage(&error) => Ok(Err(error)),
            Err(error) => Err(error),
        }
    }
}

impl Chosen {
    /// Logs a warning if the first copy was not used and stays as it is.
    pub(super) fn warn_of_damage(&self) {
        if let Some(found) = &self.instead {
            tracing::warn!(
                file = %self.path.display(),
                found,
                "the catalog is read from its mirror; opening the store for writing restores it"
            );
        }
    }
}

/// Whether a damaged file may cause this error, and not a busy or full machine.
fn is_damage(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Corruption
            | ErrorKind::NewerFormat
            | ErrorKind::InvalidArgument
            | ErrorKind::Io
            | ErrorKind::Internal
    )
}

/// Whether the system did not allow reading a copy, so that its state is unknown.
fn is_refusal(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::PermissionDenied | ErrorKind::TooManyOpenFiles
    )
}

fn unreadable(what: &str, error: &Error) -> String {
    format!(
        "{what} could not be looked at, so it is not known to be sound: {}",
        error.message()
    )
}

/// The reason, without advice for a copy that has no other.
fn reason(error: &Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "the file is missing".to_owned(),
        ErrorKind::Corruption => match std::error::Error::source(error) {
            Some(source) => format!("the file is damaged ({source})"),
            None => "the file is damaged".to_owned(),
        },
        _ => error.message().to_owned(),
    }
}

const BACK: &str = "restore the store from a checkpoint";
const RESTORED: &str = "the next opening for writing restores it from its mirror";
const DIRECTORY: &str = "a directory is in the place of this file";
const MOVE_IT: &str =
    "move it away, and the next opening for writing makes the file anew from the other copy";
const MADE_ANEW: &str = "the next opening for writing makes it anew";
