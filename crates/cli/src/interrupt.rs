//! Ctrl-C, SIGTERM, and SIGHUP, which is sent when the terminal is closed.
//!
//! Without a [`Watch`], a signal ends the process at once, which the store survives like any crash.
//! Work that can stop cleanly starts a watch and polls [`Watch::stopped`]. It may also register a
//! call that makes blocking work return. A second signal ends the process at once, unless both are
//! SIGHUP: the shell and the kernel each send one. In every case the exit code is that of the signal,
//! and files that are not complete are removed.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::failure::{Failure, Result};
use crate::files::Identity;

type Call = Box<dyn FnMut() + Send>;

/// What is kept of the work of a command that a signal ends at once.
static KEPT: Mutex<Option<&'static str>> = Mutex::new(None);

static REQUESTED: AtomicBool = AtomicBool::new(false);
static WATCHED: AtomicBool = AtomicBool::new(false);
/// Whether a prompt is open.
static PROMPTING: AtomicBool = AtomicBool::new(false);
/// The last signal; 0 before the first.
static SIGNAL: AtomicU8 = AtomicU8::new(0);
/// What to call on a signal, in addition to setting the flag.
static CALL: Mutex<Option<Call>> = Mutex::new(None);
/// Files and directories that are worthless if the process ends now, in the order of their removal.
static INCOMPLETE: Mutex<Vec<Vec<Worthless>>> = Mutex::new(Vec::new());

const HANG_UP: u8 = 1;
const CTRL_C: u8 = 2;
/// Shell convention: this and the number of the signal.
const ENDED_BY_SIGNAL: u8 = 128;

/// Handles signals from now on, in a thread of its own.
pub(crate) fn handle_signals() {
    if let Err(error) = install() {
        Failure::warning("Ctrl-C cannot be handled, and will end the command at once")
            .with("reason", error.to_string())
            .warn();
    }
}

#[cfg(unix)]
fn install() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

    // A file that may not grow any more is an error of the write, as a full disk is.
    let unused = std::sync::Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGXFSZ, unused)?;
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    if !ignores_hang_up() {
        signals.add_signal(SIGHUP)?;
    }
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            for signal in signals.forever() {
                on_signal(u8::try_from(signal).unwrap_or(CTRL_C));
            }
        })?;
    Ok(())
}

/// Whether the process was started to outlive its terminal, as `nohup` does. Where this cannot be found out, it is assumed.
#[cfg(unix)]
fn ignores_hang_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_none_or(|mask| mask & (1 << (HANG_UP - 1)) != 0)
}

#[cfg(not(unix))]
fn install() -> io::Result<()> {
    ctrlc::set_handler(|| on_signal(CTRL_C)).map_err(io::Error::other)
}

/// The exit code if a signal asked the process to end, whatever the command returned.
pub(crate) fn exit_code() -> Option<u8> {
    match SIGNAL.load(Ordering::SeqCst) {
        0 => None,
        signal => Some(ENDED_BY_SIGNAL + signal),
    }
}

/// Forgets a Ctrl-C that ended one piece of work but not the program. False if the signal was another one, which
/// ends the program.
#[cfg(feature = "sql")]
pub(crate) fn forget_ctrl_c() -> bool {
    SIGNAL
        .compare_exchange(CTRL_C, 0, Ordering::SeqCst, Ordering::SeqCst)
        .is_ok()
}

/// Whether the work of the current watch is to stop.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// While this exists, a signal requests a stop instead of ending the process.
#[derive(Debug)]
pub(crate) struct Watch(());

impl Watch {
    /// Starts watching.
    pub(crate) fn start() -> Self {
        REQUESTED.store(false, Ordering::SeqCst);
        WATCHED.store(true, Ordering::SeqCst);
        Self(())
    }

    /// Starts watching, and runs `call` on a signal: for work that blocks inside the store.
    pub(crate) fn with_call(call: impl FnMut() + Send + 'static) -> Self {
        *lock(&CALL) = Some(Box::new(call));
        Self::start()
    }

    /// Whether the user has pressed Ctrl-C, or the process received SIGTERM or SIGHUP.
    pub(crate) fn stopped(&self) -> bool {
        requested()
    }

    /// An error once the work is to stop; `kept` says what is kept.
    pub(crate) fn check(&self, kept: &str) -> Result<()> {
        match self.stopped() {
            true => Err(stopped_by(SIGNAL.load(Ordering::SeqCst), Some(kept))),
            false => Ok(()),
        }
    }
}

/// The error of a command that a signal has ended.
fn stopped_by(signal: u8, kept: Option<&str>) -> Failure {
    let signal = match signal {
        CTRL_C => "Ctrl-C",
        HANG_UP => "SIGHUP",
        _ => "SIGTERM",
    };
    Failure::interrupted(match kept {
        Some(kept) => format!("stopped by {signal}; {kept}"),
        None => format!("stopped by {signal}"),
    })
}

/// While this exists, a signal that ends the process at once says what is kept of its work.
#[derive(Debug)]
pub(crate) struct Kept(());

impl Kept {
    pub(crate) fn new(what: &'static str) -> Self {
        *lock(&KEPT) = Some(what);
        Self(())
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        *lock(&KEPT) = None;
    }
}

/// How long the end of the process waits for a reader of stderr.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Prints an error, unless stderr is a pipe that nobody reads.
fn say_at_once(error: Failure) {
    let (printed, is_printed) = std::sync::mpsc::channel();
    let print = move || {
        error.report_at_once();
        let _ = printed.send(());
    };
    if std::thread::Builder::new().spawn(print).is_ok() {
        let _ = is_printed.recv_timeout(LAST_WORDS);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        WATCHED.store(false, Ordering::SeqCst);
        REQUESTED.store(false, Ordering::SeqCst);
        *lock(&CALL) = None;
    }
}

/// While this exists, Ctrl-C does not end the process: neither between two statements of a prompt, nor if it is pressed
/// again while a statement is about to stop.
#[cfg(feature = "sql")]
#[derive(Debug)]
pub(crate) struct Prompt(());

#[cfg(feature = "sql")]
impl Prompt {
    pub(crate) fn start() -> Self {
        PROMPTING.store(true, Ordering::SeqCst);
        Self(())
    }
}

#[cfg(feature = "sql")]
impl Drop for Prompt {
    fn drop(&mut self) {
        PROMPTING.store(false, Ordering::SeqCst);
    }
}

/// While this exists, a signal that ends the process at once removes files or directories first.
#[derive(Debug)]
pub(crate) struct Incomplete(Vec<Worthless>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Worthless {
    path: PathBuf,
    /// The file that is meant: another program may give the name to another one.
    file: Option<Identity>,
}

impl Incomplete {
    /// Removes `path` as long as it leads to `file`.
    pub(crate) fn file(path: &Path, file: &File) -> Self {
        Self::add(vec![Worthless {
            path: path.to_owned(),
            file: Identity::of(file).ok(),
        }])
    }

    /// A path is removed only if those before it are gone.
    pub(crate) fn in_order(paths: Vec<PathBuf>) -> Self {
        let all = paths.into_iter();
        Self::add(all.map(|path| Worthless { path, file: None }).collect())
    }

    fn add(all: Vec<Worthless>) -> Self {
        lock(&INCOMPLETE).push(all.clone());
        Self(all)
    }

    /// Removes them, while others may be writing into them.
    #[cfg(feature = "sql")]
    pub(crate) fn remove(&self) {
        remove(&self.0);
    }
}

impl Drop for Incomplete {
    fn drop(&mut self) {
        lock(&INCOMPLETE).retain(|all| *all != self.0);
    }
}

/// The mode of the terminal, which a prompt changes while it reads a line.
#[cfg(all(unix, feature = "sql"))]
pub(crate) mod terminal {
    use std::io::{Write as _, stdin};
    use std::sync::Mutex;

    use rustix::process::getpgrp;
    use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

    use super::lock;

    static MODE: Mutex<Option<Termios>> = Mutex::new(None);

    /// A signal that ends the process at once gives the terminal its present mode.
    pub(crate) fn keep() {
        *lock(&MODE) = tcgetattr(stdin()).ok();
    }

    pub(super) fn restore() {
        // In the background, the terminal has the mode of the shell, and a process that changes it is stopped.
        let in_background = tcgetpgrp(stdin()).is_ok_and(|group| group != getpgrp());
        if !in_background && let Some(mode) = &*lock(&MODE) {
            // The prompt asked the terminal to mark what is pasted.
            let _ = std::io::stdout().write_all(b"\x1b[?2004l");
            let _ = std::io::stdout().flush();
            // The process ends: a terminal that is gone needs no mode.
            let _ = tcsetattr(stdin(), OptionalActions::Now, mode);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs on the handler's own thread, not inside the signal.
#[expect(clippy::exit, reason = "without a watch, a signal ends the process")]
fn on_signal(signal: u8) {
    let before = SIGNAL.swap(signal, Ordering::SeqCst);
    if signal == HANG_UP && before == HANG_UP && requested() {
        return;
    }
    let ends_nothing = !WATCHED.load(Ordering::SeqCst) || requested();
    if signal == CTRL_C && PROMPTING.load(Ordering::SeqCst) && ends_nothing {
        return;
    }
    let is_watched = WATCHED.load(Ordering::SeqCst);
    if !is_watched || REQUESTED.swap(true, Ordering::SeqCst) {
        remove_incomplete();
        #[cfg(all(unix, feature = "sql"))]
        terminal::restore();
        if !is_watched {
            let kept = *lock(&KEPT);
            say_at_once(stopped_by(signal, kept));
        }
        std::process::exit(i32::from(ENDED_BY_SIGNAL + signal));
    }
    // Printed at once, because the work may take a moment to stop. A failure to print it does not matter.
    let hint = match signal {
        CTRL_C if PROMPTING.load(Ordering::SeqCst) => "\nstopping",
        CTRL_C => "\nstopping; press Ctrl-C again to end at once",
        _ => "stopping",
    };
    let _ = writeln!(io::stderr(), "{hint}");
    if let Some(call) = lock(&CALL).as_mut() {
        call();
    }
}

/// The main thread may still be writing.
fn remove_incomplete() {
    // The lock is held until the process ends, so that no file is added.
    for all in lock(&INCOMPLETE).iter() {
        remove(all);
    }
}

/// Removes files and directories until one cannot be removed.
fn remove(all: &[Worthless]) {
    for Worthless { path, file } in all {
        if file.is_some_and(|file| !file.is_at(path).unwrap_or(false)) {
            continue;
        }
        if !is_removed(path) {
            return;
        }
    }
}

/// Removes a file or a directory. A directory can get another file while it is removed.
fn is_removed(path: &Path) -> bool {
    const TRIES: usize = 20;
    (0..TRIES).any(|_| {
        let removed = match path.is_dir() {
            true => std::fs::remove_dir_all(path),
            false => std::fs::remove_file(path),
        };
        removed.is_ok() || !path.exists()
    })
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    #[test]
    fn a_file_of_another_program_is_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.partial");
        let own = File::create(&path).unwrap();
        let incomplete = Incomplete::file(&path, &own);
        std::fs::remove_file(&path).unwrap();
        // `own` is still open, so the new file is another one.
        std::fs::write(&path, "other").unwrap();
        remove(&incomplete.0);
        assert!(path.exists());
        let other = File::open(&path).unwrap();
        remove(&Incomplete::file(&path, &other).0);
        assert!(!path.exists());
    }
}
