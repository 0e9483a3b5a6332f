//! Converts errors of the operating system into errors that say what to do.

use std::error::Error as _;
use std::fmt;
use std::io;
use std::path::Path;

use rustix::io::Errno;

use crate::error::{Error, ErrorKind};

/// The operation on a path, for error messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Making a new file.
    Create,
    /// Opening a file.
    Open,
    /// Reading bytes.
    Read,
    /// Writing bytes.
    Write,
    /// Changing the length, or reserving space.
    Resize,
    /// Making bytes or names durable.
    Sync,
    /// Changing a name.
    Rename,
    /// Removing a name.
    Remove,
    /// Adding a second name.
    Link,
    /// Reading a directory.
    List,
    /// Making a directory.
    CreateDirectory,
    /// Taking the lock.
    Lock,
    /// Asking for length, existence or free space.
    Inspect,
}

impl Operation {
    /// Whether a denied permission means that this place cannot be written.
    fn writes(self) -> bool {
        !matches!(self, Self::Open | Self::Read | Self::List | Self::Inspect)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Create => "create",
            Self::Open => "open",
            Self::Read => "read",
            Self::Write => "write",
            Self::Resize => "resize",
            Self::Sync => "sync",
            Self::Rename => "rename",
            Self::Remove => "remove",
            Self::Link => "link",
            Self::List => "list",
            Self::CreateDirectory => "create directory",
            Self::Lock => "lock",
            Self::Inspect => "inspect",
        })
    }
}

/// The error for `operation` on `path` that failed with `cause`. For implementations of
/// [`Vfs`](super::Vfs), so that all file systems use the same messages.
#[must_use]
pub fn io_error(operation: Operation, path: &Path, cause: io::Error) -> Error {
    let (kind, message) = describe(operation, &cause);
    Error::new(kind, message)
        .with("file", path.display())
        .with_source(cause)
}

/// As [`io_error`], for a file that is written in place, and not through a symbolic link: a link in a store that was
/// unpacked or prepared by another user could name any file.
#[must_use]
pub fn not_followed(operation: Operation, path: &Path, cause: io::Error) -> Error {
    if cause.raw_os_error() != Some(Errno::LOOP.raw_os_error()) {
        return io_error(operation, path, cause);
    }
    Error::invalid(
        "a symbolic link is in the place of this file, and stores write through none: remove the link, or put the file \
         itself there",
    )
    .with("file", path.display())
    .with_source(cause)
}

/// The error for a sync of a directory that failed with `cause`. `Unsupported` on a file system that cannot sync
/// directories: an automounted one, and some that are read-only.
pub(super) fn not_synced(dir: &Path, cause: io::Error) -> Error {
    let errno = cause.raw_os_error().map(Errno::from_raw_os_error);
    match errno {
        Some(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Error::new(
            ErrorKind::Unsupported,
            "the file system cannot sync directories, so names in this one would not be durable: use another file system",
        )
        .with("file", dir.display())
        .with_source(cause),
        _ => io_error(Operation::Sync, dir, cause),
    }
}

/// Whether `error`, of reading a file, proves that its content is lost: the file is damaged or missing, or the device
/// cannot read it. Another error of the system may be gone at the next attempt (memory, network, time limits).
#[must_use]
pub fn is_loss(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Corruption | ErrorKind::NotFound => true,
        ErrorKind::Io => {
            let cause = error.source().and_then(|cause| cause.downcast_ref());
            let errno = cause.and_then(io::Error::raw_os_error);
            errno.is_some_and(|errno| is_of_device(Errno::from_raw_os_error(errno)))
        }
        _ => false,
    }
}

/// Whether a device, or a file system that checks what it reads, reports that content cannot be read.
fn is_of_device(errno: Errno) -> bool {
    #[cfg(target_os = "linux")]
    if matches!(errno, Errno::NODATA | Errno::REMOTEIO | Errno::UCLEAN) {
        return true;
    }
    matches!(errno, Errno::IO | Errno::NXIO | Errno::BADMSG)
}

fn describe(operation: Operation, cause: &io::Error) -> (ErrorKind, String) {
    let errno = cause.raw_os_error().map(Errno::from_raw_os_error);
    match errno {
        Some(Errno::NOSPC | Errno::DQUOT) => (
            ErrorKind::OutOfSpace,
            format!("cannot {operation}: disk full or quota used up"),
        ),
        Some(Errno::MFILE) => (
            ErrorKind::TooManyOpenFiles,
            format!("cannot {operation}: this process has too many open files"),
        ),
        Some(Errno::NFILE) => (
            ErrorKind::TooManyOpenFiles,
            format!("cannot {operation}: the machine has too many open files"),
        ),
        Some(Errno::ROFS) => (
            ErrorKind::ReadOnly,
            format!("cannot {operation}: the file system is read-only"),
        ),
        Some(Errno::ACCESS | Errno::PERM) if operation.writes() => (
            ErrorKind::ReadOnly,
            format!("cannot {operation}: this user may not write here"),
        ),
        Some(Errno::ACCESS | Errno::PERM) => (
            ErrorKind::PermissionDenied,
            format!("cannot {operation}: this user may not read it"),
        ),
        Some(Errno::LOOP) => (
            ErrorKind::Corruption,
            format!("cannot {operation}: it is a symbolic link that leads to itself"),
        ),
        Some(Errno::IO) => (
            ErrorKind::Io,
            format!("cannot {operation}: the device reported a failure"),
        ),
        _ => match cause.kind() {
            io::ErrorKind::NotFound => (
                ErrorKind::NotFound,
                format!("cannot {operation}: no such file or directory"),
            ),
            io::ErrorKind::AlreadyExists => (
                ErrorKind::AlreadyExists,
                format!("cannot {operation}: it exists already"),
            ),
            io::ErrorKind::NotADirectory => (
                ErrorKind::InvalidArgument,
                format!("cannot {operation}: not a directory"),
            ),
            io::ErrorKind::IsADirectory => (
                ErrorKind::InvalidArgument,
                format!("cannot {operation}: it is a directory"),
            ),
            io::ErrorKind::DirectoryNotEmpty => (
                ErrorKind::InvalidArgument,
                format!("cannot {operation}: the directory is not empty"),
            ),
            _ => (ErrorKind::Io, format!("cannot {operation}: {cause}")),
        },
    }
}

/// A file of `len` bytes that ends before the `wanted` ones at `offset`.
#[must_use]
pub fn short_file(path: &Path, offset: u64, wanted: usize, len: u64) -> Error {
    Error::new(
        ErrorKind::Corruption,
        format!(
            "the file ends at byte {len}, but {wanted} bytes are needed at {offset}: it was cut"
        ),
    )
    .with("file", path.display())
}

/// The id of this process, for [`check_process`].
#[must_use]
pub fn this_process() -> u32 {
    std::process::id()
}

/// Returns an error in any process but `owner`: a handle opened before a fork is unusable in the
/// child, which has none of its threads and shares the lock with its parent.
///
/// # Errors
/// [`ErrorKind::Unsupported`] in the child.
pub fn check_process(owner: u32, path: &Path) -> Result<(), Error> {
    if owner == std::process::id() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Unsupported,
        "this was opened before the process was forked, and only the parent may use it: fork before a store is opened, or \
         start a new program (in Python, the start method spawn)",
    )
    .with("file", path.display())
    .with("opened by process", owner))
}

/// The error of a file whose earlier write or sync failed.
#[must_use]
pub fn poisoned(operation: Operation, path: &Path) -> Error {
    Error::new(
        ErrorKind::Io,
        format!(
            "cannot {operation}: an earlier write or sync of this file failed, so its content is \
             not certain; reopen the store"
        ),
    )
    .with("file", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(operation: Operation, errno: Errno) -> Error {
        io_error(
            operation,
            Path::new("/data/x"),
            io::Error::from_raw_os_error(errno.raw_os_error()),
        )
    }

    #[test]
    fn kinds_tell_what_to_do() {
        let cases = [
            (
                Operation::Write,
                Errno::NOSPC,
                ErrorKind::OutOfSpace,
                "disk full",
            ),
            (
                Operation::Open,
                Errno::MFILE,
                ErrorKind::TooManyOpenFiles,
                "this process has too many",
            ),
            (
                Operation::Open,
                Errno::NFILE,
                ErrorKind::TooManyOpenFiles,
                "the machine has too many",
            ),
            (
                Operation::Create,
                Errno::ROFS,
                ErrorKind::ReadOnly,
                "read-only",
            ),
            (
                Operation::Create,
                Errno::ACCESS,
                ErrorKind::ReadOnly,
                "may not write",
            ),
            (
                Operation::Open,
                Errno::ACCESS,
                ErrorKind::PermissionDenied,
                "may not read",
            ),
            (
                Operation::Open,
                Errno::NOENT,
                ErrorKind::NotFound,
                "no such file",
            ),
            (
                Operation::Create,
                Errno::EXIST,
                ErrorKind::AlreadyExists,
                "exists already",
            ),
            (Operation::Sync, Errno::IO, ErrorKind::Io, "device"),
        ];
        for (operation, errno, kind, words) in cases {
            let error = error_of(operation, errno);
            let text = error.to_string();
            assert_eq!(error.kind(), kind, "{text}");
            assert!(text.contains(words), "{text}");
            assert!(text.contains("/data/x"), "{text}");
            assert!(text.contains(&operation.to_string()), "{text}");
        }
    }
}
