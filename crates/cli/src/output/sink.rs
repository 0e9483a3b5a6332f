//! Where results go: stdout in one buffered stream, either as text or as JSON lines.

use std::fmt;
use std::io::{self, BufWriter, Write};

use serde::Serialize;

use crate::failure::Result;

/// Enough to make one write of several hundred lines.
const BUFFER_BYTES: usize = 128 << 10;

/// The results' stream.
pub(crate) struct Output {
    out: BufWriter<Box<dyn Write>>,
    json: bool,
}

impl Output {
    /// Results to stdout.
    pub(crate) fn stdout(json: bool) -> Self {
        // Not locked: threads of a workload write lines of their own meanwhile.
        Self::to(Box::new(io::stdout()), json)
    }

    /// Results to any stream.
    pub(crate) fn to(stream: Box<dyn Write>, json: bool) -> Self {
        Self {
            out: BufWriter::with_capacity(BUFFER_BYTES, stream),
            json,
        }
    }

    /// Whether machines read it.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// The stream itself.
    pub(crate) fn stream(&mut self) -> &mut dyn Write {
        &mut self.out
    }

    /// One object for machines, or a line for people.
    pub(crate) fn object(
        &mut self,
        object: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> Result<()> {
        if self.json {
            serde_json::to_writer(&mut self.out, object).map_err(io::Error::from)?;
            self.out.write_all(b"\n")?;
        } else {
            let text = text();
            if !text.is_empty() {
                writeln!(self.out, "{text}")?;
            }
        }
        Ok(())
    }

    /// Hands everything over.
    pub(crate) fn finish(mut self) -> Result<()> {
        Ok(self.out.flush()?)
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Output (json: {})", self.json)
    }
}
