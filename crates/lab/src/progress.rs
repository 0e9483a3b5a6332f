//! Progress reports of a long run to its caller.

/// Told about a running workload. The lab draws nothing itself: a terminal program shows bars, a
/// test passes [`NoProgress`].
///
/// Calls come from several threads, at most a few a second.
pub trait Progress: Sync {
    /// A phase begins: what it does, and how many units it has if that is known. The phase before
    /// is over.
    fn phase(&self, what: &str, total: Option<u64>) {
        let _ = (what, total);
    }

    /// The total number of units done in the present phase.
    fn done(&self, units: u64) {
        let _ = units;
    }

    /// One line for the reader: a rate sample, a statistics line, something found.
    fn line(&self, text: &str) {
        let _ = text;
    }

    /// The table acknowledged another flush of a writer. `entries` counts the entries this writer
    /// put into the table so far, rewritten ones counted once and deleted ones taken off. An ingest child
    /// under [`agitate`](crate::continuous::run_agitate) prints these as
    /// `flushed <writer> <entries>` lines on its standard output.
    fn flushed(&self, writer: usize, entries: u64) {
        let _ = (writer, entries);
    }

    /// Whether the run should end soon, in good order.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Reports nothing and never cancels.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {}
