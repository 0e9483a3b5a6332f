//! The file of statements that were typed.

use std::path::{Path, PathBuf};

use rustyline::Editor;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;

use super::input::Helper;
use crate::failure::Failure;

/// Where statements are kept; nowhere if there is no home directory.
pub(super) struct History(Option<PathBuf>);

impl History {
    /// `OSTRAKON_HISTORY`, or `ostrakon/sql_history` in the directory for the state of programs. An empty
    /// `OSTRAKON_HISTORY` keeps none.
    pub(super) fn find() -> Self {
        let named = std::env::var_os("OSTRAKON_HISTORY");
        if let Some(named) = named {
            return Self((!named.is_empty()).then(|| PathBuf::from(named)));
        }
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let state = set("XDG_STATE_HOME").map(PathBuf::from);
        let state = state.or_else(|| Some(PathBuf::from(set("HOME")?).join(".local/state")));
        Self(state.map(|state| state.join("ostrakon").join("sql_history")))
    }

    /// Loads what was kept. A history that cannot be read does not keep the prompt from working.
    pub(super) fn load(&self, editor: &mut Editor<Helper, FileHistory>) {
        if let Some(path) = &self.0
            && path.exists()
            && let Err(error) = editor.load_history(path)
        {
            warn("the history of statements cannot be read", path, &error);
        }
    }

    /// Adds the statements since the last call. The file is readable by its owner alone.
    pub(super) fn save(&self, editor: &mut Editor<Helper, FileHistory>) {
        let Some(path) = &self.0 else {
            return;
        };
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let saved = made
            .map_err(ReadlineError::from)
            .and_then(|()| editor.append_history(path));
        if let Err(error) = saved {
            warn("the history of statements cannot be written", path, &error);
        }
    }
}

fn warn(message: &str, path: &Path, error: &ReadlineError) {
    Failure::warning(message)
        .with("file", path.display().to_string())
        .with("reason", error.to_string())
        .next("make the file readable and writable for you alone; the prompt works without it")
        .warn();
}
