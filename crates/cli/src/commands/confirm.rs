//! Asks for confirmation before data is deleted.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use crate::failure::{Failure, Result};

/// Succeeds if `--yes` was given or the user types yes; fails without a terminal.
pub(super) fn confirm(yes: bool, question: &str) -> Result<()> {
    if yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(
            Failure::usage(format!("{question} Cannot ask without a terminal."))
                .next("use --yes to confirm"),
        );
    }
    let ask = || -> io::Result<String> {
        let mut err = io::stderr();
        write!(err, "{question} [y/N] ")?;
        err.flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        Ok(answer)
    };
    let answer = ask().map_err(|error| {
        Failure::io("cannot read the answer", &error).next("use --yes to confirm")
    })?;
    if matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    Err(Failure::outcome("nothing was deleted").next("answer y, or use --yes"))
}
