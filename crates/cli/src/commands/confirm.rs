//! Asks before something is lost.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use crate::failure::{Failure, Result};

/// Goes on if `--yes` was given or the user types yes; without a terminal there is nobody to ask.
pub(super) fn confirm(yes: bool, question: &str) -> Result<()> {
    if yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(
            Failure::usage(format!("{question} There is no terminal to ask on."))
                .next("say --yes if you mean it"),
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
        Failure::io("the answer cannot be read", &error).next("say --yes if you mean it")
    })?;
    if matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    Err(Failure::outcome("nothing was deleted"))
}
