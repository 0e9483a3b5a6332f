//! A file that gets its name only when it is complete.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;

use super::Packing;
use crate::failure::{Failure, Result};
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

/// The file, and the name that it will have.
pub(crate) struct Target {
    path: PathBuf,
    /// `None` for a device or a pipe, which is written as it is: renaming a file to its name would remove it.
    partial: Option<(PathBuf, Incomplete)>,
    file: Packed,
}

impl Target {
    /// Begins the file; `force` replaces one of that name at the end.
    pub(crate) fn create(path: &Path, packing: Packing, force: bool) -> Result<Self> {
        let shown = path.display().to_string();
        let special = fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
        if !force && !special && path.exists() {
            return Err(Failure::outcome("the file already exists")
                .with("file", shown)
                .next("choose another name, or use --force to replace the file"));
        }
        let partial = (!special).then(|| partial_of(path));
        let partial = partial.map(|partial| (partial.clone(), Incomplete::new(&partial)));
        let file = match &partial {
            Some((partial, _)) => File::create(partial),
            None => File::options().write(true).open(path),
        };
        let file = file.and_then(|file| Packed::new(file, packing));
        let file = file.map_err(|error| {
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
            partial,
            file,
        })
    }

    /// Writes the content, and gives the file its name. If that fails, nothing is left.
    pub(crate) fn fill<T>(
        self,
        write: impl FnOnce(&mut (dyn Write + Send)) -> Result<T>,
    ) -> Result<T> {
        let Self {
            path,
            partial,
            mut file,
        } = self;
        let written = write(&mut file).and_then(|written| {
            file.finish()?;
            if let Some((partial, _)) = &partial {
                fs::rename(partial, &path)?;
            }
            Ok(written)
        });
        if let (Err(_), Some((partial, _))) = (&written, &partial) {
            // The incomplete file is useless. If it cannot be removed, the error stays the same.
            let _ = fs::remove_file(partial);
        }
        written.map_err(|failure| failure.about_file("cannot write the file", &path))
    }
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
