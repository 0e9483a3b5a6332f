//! The stream of results: buffered stdout, either text or JSON lines.

use std::fmt;
use std::io::{self, BufWriter, Write};

use serde::Serialize;

use super::json::write_json_line;
use crate::failure::Result;

/// Enough to write several hundred lines at once.
const BUFFER_BYTES: usize = 128 << 10;

/// The stream of results.
pub(crate) struct Output {
    out: BufWriter<Box<dyn Write + Send>>,
    json: bool,
}

impl Output {
    /// Results to stdout.
    pub(crate) fn stdout(json: bool) -> Self {
        // Not locked, because threads of a workload also write lines.
        Self::to(Box::new(io::stdout()), json)
    }

    /// Results to any stream.
    pub(crate) fn to(stream: Box<dyn Write + Send>, json: bool) -> Self {
        Self {
            out: BufWriter::with_capacity(BUFFER_BYTES, stream),
            json,
        }
    }

    /// Whether results are JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// The stream itself.
    pub(crate) fn stream(&mut self) -> &mut (dyn Write + Send) {
        &mut self.out
    }

    /// Writes one object as JSON, or as a line of text.
    pub(crate) fn object(
        &mut self,
        object: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> Result<()> {
        if self.json {
            write_json_line(&mut self.out, object)?;
        } else {
            let text = text();
            if !text.is_empty() {
                writeln!(self.out, "{text}")?;
            }
        }
        Ok(())
    }

    /// Writes out what is buffered, for a reader who waits for it.
    #[cfg(feature = "sql")]
    pub(crate) fn flush(&mut self) -> Result<()> {
        Ok(self.out.flush()?)
    }

    /// Writes everything out.
    pub(crate) fn finish(mut self) -> Result<()> {
        Ok(self.out.flush()?)
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Output (json: {})", self.json)
    }
}
