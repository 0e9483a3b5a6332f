//! Asks for confirmation before data is deleted.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use crate::failure::{Failure, Result};

/// Succeeds if `--yes` was given or the user types yes; fails without a terminal, and tells what would have been done.
pub(super) fn confirm(yes: bool, question: &str, effect: &str) -> Result<()> {
    if yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(
            Failure::usage(format!("{effect}, and there is no terminal to ask"))
                .next("confirm with --yes"),
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
