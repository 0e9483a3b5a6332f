//! A file that gets its name only when it is complete, or a device or pipe that is written directly.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;
#[cfg(unix)]
use rustix::fs::OFlags;

use super::Packing;
use crate::failure::{Failure, Result};
use crate::files::{Identity, store_around};
use crate::interrupt::Incomplete;

const BUFFER_BYTES: usize = 256 << 10;
/// zstd's own default.
const ZSTD_LEVEL: i32 = 3;

/// The name of a file or directory until it is complete.
pub(crate) fn partial_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
    name.push(".partial");
    path.with_file_name(name)
}

/// How often an incomplete file is opened that other programs rename meanwhile.
const ATTEMPTS: usize = 100;

/// Links that are followed one after another, as the kernel does.
const LINKS_MAX: usize = 40;

/// Whether a name stands for stdout.
pub(crate) fn is_stdout(path: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]
        .iter()
        .any(|name| path == Path::new(name))
}

/// A file to write.
pub(crate) struct Target {
    path: PathBuf,
    /// What is complete only at the end. Devices and pipes are written directly, and never replaced.
    replaced: Option<Replaced>,
    file: Packed,
}

/// A regular file under construction.
struct Replaced {
    /// The name that it will have.
    path: PathBuf,
    partial: PathBuf,
    _incomplete: Incomplete,
    /// Held until the file has its name: no other program may write to the same incomplete file.
    lock: File,
    /// Whether another file of the name is replaced.
    force: bool,
}

impl Replaced {
    /// Gives the file its name.
    fn complete(&self) -> Result<()> {
        if !self.is_own()? {
            let partial = self.partial.display();
            return Err(
                Failure::outcome("the incomplete file was removed").next(format!(
                    "run the command again, and leave {partial} alone meanwhile"
                )),
            );
        }
        let renamed = match self.force {
            true => fs::rename(&self.partial, &self.path),
            false => rename_new(&self.partial, &self.path),
        };
        match renamed {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && self.path.is_file() => {
                let message = "another program has written the file since this one began";
                Err(Failure::outcome(message)
                    .next("choose another name, or use --force to replace the file"))
            }
            renamed => Ok(renamed?),
        }
    }

    /// Whether the incomplete file is still that of this program.
    fn is_own(&self) -> io::Result<bool> {
        Ok(is_pipe(&self.partial) || Identity::of(&self.lock)?.is_at(&self.partial)?)
    }
}

/// Gives a file a name that no other file has.
#[cfg(target_os = "linux")]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;

    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some file systems cannot.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => rename_if_new(from, to),
        renamed => Ok(renamed?),
    }
}

#[cfg(not(target_os = "linux"))]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    rename_if_new(from, to)
}

/// The same, if no file gets the name at this moment.
fn rename_if_new(from: &Path, to: &Path) -> io::Result<()> {
    match to.is_file() {
        true => Err(io::ErrorKind::AlreadyExists.into()),
        false => fs::rename(from, to),
    }
}

impl Target {
    /// Begins the file; `force` replaces a regular file of that name at the end. Symbolic links are followed.
    pub(crate) fn create(path: &Path, packing: Packing, force: bool) -> Result<Self> {
        let shown = path.display().to_string();
        let found = fs::metadata(path).ok();
        if !force && found.as_ref().is_some_and(fs::Metadata::is_file) {
            return Err(Failure::outcome("the file already exists")
                .with("file", shown)
                .next(
                    "choose another name, use --force to replace the file, or use - for stdout",
                ));
        }
        // A new file there would be taken for one of the store's.
        if let Some(store) =
            store_around(path).filter(|_| found.as_ref().is_none_or(fs::Metadata::is_file))
        {
            return Err(Failure::outcome("the file is part of a store")
                .with("file", shown)
                .with("store", store.display().to_string())
                .next("choose a file outside of the store"));
        }
        let begun = match found {
            Some(found) if !found.is_file() => File::options()
                .write(true)
                .open(path)
                .map(|file| (file, None)),
            _ => linked(path).and_then(|path| {
                let partial = partial_of(&path);
                let file = locked(&partial)?;
                let replaced = Replaced {
                    _incomplete: Incomplete::file(&partial, &file),
                    lock: file.try_clone()?,
                    path,
                    partial,
                    force,
                };
                Ok((file, Some(replaced)))
            }),
        };
        let begun = begun.and_then(|(file, replaced)| Ok((Packed::new(file, packing)?, replaced)));
        let (file, replaced) = begun.map_err(|error| {
            let failure = Failure::io("cannot write the file", &error).with("file", shown);
            let folder = path
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty());
            match (error.kind(), folder) {
                (io::ErrorKind::NotFound, Some(folder)) => failure.next(format!(
                    "create the directory first: mkdir -p {}",
                    folder.display()
                )),
                (io::ErrorKind::PermissionDenied, _) => {
                    failure.next("choose a directory that you may write to")
                }
                _ => failure,
            }
        })?;
        Ok(Self {
            path: path.to_owned(),
            replaced,
            file,
        })
    }

    /// Writes the content, and gives the file its name. If that fails, no incomplete file is left.
    pub(crate) fn fill<T>(
        self,
        write: impl FnOnce(&mut (dyn Write + Send)) -> Result<T>,
    ) -> Result<T> {
        let Self {
            path,
            replaced,
            mut file,
        } = self;
        let written = write(&mut file).and_then(|written| {
            file.finish()?;
            if let Some(replaced) = &replaced {
                replaced.complete()?;
            }
            Ok(written)
        });
        if written.is_err()
            && let Some(replaced) = &replaced
            && replaced.is_own().unwrap_or(false)
        {
            // The incomplete file is useless. If it cannot be removed, the error stays the same.
            let _ = fs::remove_file(&replaced.partial);
        }
        written.map_err(|failure| failure.about_file("cannot write the file", &path))
    }
}

/// Opens an incomplete file, which a killed program may have left, for this program alone.
fn locked(partial: &Path) -> io::Result<File> {
    if is_pipe(partial) {
        // Who put it there reads what is written.
        return File::options().write(true).open(partial);
    }
    for _ in 0..ATTEMPTS {
        let mut options = File::options();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::custom_flags(
            &mut options,
            // A link would lead to a file that is not to be replaced.
            OFlags::NOFOLLOW.bits().cast_signed(),
        );
        let file = options.open(partial)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other(format!(
                "{} is not a regular file",
                partial.display()
            )));
        }
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(busy(partial));
            }
            // Some file systems have no locks.
            Err(TryLockError::Error(_)) => {}
        }
        // The one who had the lock may have renamed or removed the file since it was opened.
        if Identity::of(&file)?.is_at(partial)? {
            file.set_len(0)?;
            return Ok(file);
        }
    }
    Err(busy(partial))
}

fn busy(partial: &Path) -> io::Error {
    let text = format!("another program is writing {}", partial.display());
    io::Error::new(io::ErrorKind::ResourceBusy, text)
}

#[cfg(unix)]
fn is_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt as _;

    fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_pipe(_: &Path) -> bool {
    false
}

/// The name to which symbolic links lead, whether a file of that name exists or not.
fn linked(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&path) {
            // The target of a link is relative to the directory of the link.
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// A file, compressed or not.
enum Packed {
    Plain(BufWriter<File>),
    Gzip(GzEncoder<BufWriter<File>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<File>>),
}

impl Packed {
    fn new(file: File, packing: Packing) -> io::Result<Self> {
        let file = BufWriter::with_capacity(BUFFER_BYTES, file);
        Ok(match packing {
            Packing::None => Self::Plain(file),
            Packing::Gzip => Self::Gzip(GzEncoder::new(file, flate2::Compression::default())),
            Packing::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(file, ZSTD_LEVEL)?;
                encoder.include_checksum(true)?;
                Self::Zstd(encoder)
            }
        })
    }

    fn stream(&mut self) -> &mut dyn Write {
        match self {
            Self::Plain(file) => file,
            Self::Gzip(file) => file,
            Self::Zstd(file) => file,
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(file) => Ok(file),
            Self::Gzip(file) => file.finish(),
            Self::Zstd(file) => file.finish(),
        }?
        .flush()
    }
}

impl Write for Packed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream().flush()
    }
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    #[test]
    fn an_incomplete_file_belongs_to_one_program() {
        let folder = tempfile::tempdir().unwrap();
        let partial = folder.path().join("x.csv.partial");
        // Of a program that was killed.
        fs::write(&partial, "rest").unwrap();
        let first = locked(&partial).unwrap();
        assert_eq!(first.metadata().unwrap().len(), 0);
        let error = locked(&partial).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ResourceBusy, "{error}");
        // It is complete, and the next one begins with another file.
        fs::rename(&partial, folder.path().join("x.csv")).unwrap();
        let next = locked(&partial).unwrap();
        drop((first, next));
        fs::remove_file(&partial).unwrap();
        std::os::unix::fs::symlink("x.csv", &partial).unwrap();
        locked(&partial).unwrap_err();
        fs::remove_file(&partial).unwrap();
        fs::create_dir(&partial).unwrap();
        locked(&partial).unwrap_err();
    }

    fn write(target: Target, text: &str) -> Result<()> {
        target.fill(|out| Ok(out.write_all(text.as_bytes())?))
    }

    #[test]
    fn a_program_leaves_the_files_of_others_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.csv");
        let begin = || Target::create(&path, Packing::None, false).unwrap();
        let first = begin();
        // Its incomplete file is removed, and another program begins one of the same name.
        fs::remove_file(partial_of(&path)).unwrap();
        let second = begin();
        let error = write(first, "first").unwrap_err().to_text("error");
        assert!(error.contains("was removed"), "{error}");
        write(second, "second").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
        // A file that appears meanwhile is not replaced.
        fs::remove_file(&path).unwrap();
        let third = begin();
        fs::write(&path, "other").unwrap();
        let error = write(third, "third").unwrap_err().to_text("error");
        assert!(error.contains("--force"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "other");
        assert!(!partial_of(&path).exists());
    }

    #[test]
    fn a_name_is_given_once() {
        let folder = tempfile::tempdir().unwrap();
        let [from, to] = ["a", "b"].map(|name| folder.path().join(name));
        for rename in [rename_new, rename_if_new] {
            fs::write(&from, "a").unwrap();
            rename(&from, &to).unwrap();
            fs::write(&from, "b").unwrap();
            let error = rename(&from, &to).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read_to_string(&to).unwrap(), "a");
            fs::remove_file(&to).unwrap();
        }
    }
}
