//! `ostrakon namespace …` and `ostrakon config …`

use clap::{Args, Subcommand};

use super::values::Property;

/// `namespace …`
#[derive(Debug, Subcommand)]
pub(crate) enum NamespaceCommand {
    /// Create a namespace, so that tables NAMESPACE.NAME can be created
    Create {
        /// Its name
        name: String,
    },
    /// Delete a namespace that has no tables
    Delete {
        /// Its name
        name: String,
    },
    /// Give a namespace another name, and with it its tables
    Rename {
        /// Its present name
        from: String,
        /// Its new name
        to: String,
    },
    /// List the namespaces; the one of tables without a namespace is called (default)
    List,
}

/// Whose properties a command is about.
#[derive(Debug, Args)]
pub(crate) struct Level {
    /// A namespace, for its tables; the whole store without one
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
}

/// `config …`
#[derive(Debug, Subcommand)]
pub(crate) enum LevelCommand {
    /// Show what is set for the store or for a namespace
    #[command(after_help = "Examples:
  ostrakon config get
  ostrakon config get --namespace people
  ostrakon config get split                              only names with `split` in them

Only what is set at this level is shown; `ostrakon table config get TABLE` shows what is in force.")]
    Get {
        #[command(flatten)]
        level: Level,
        /// Show only properties with this text in their name
        filter: Option<String>,
    },
    /// Set properties that tables inherit, all in one step
    #[command(after_help = "Examples:
  ostrakon config set table.durability=flush
  ostrakon config set --namespace people table.file.compress.type=zstd

A table has the value that is set for it, else that of its namespace, else that of the store, else
the default. `ostrakon table config get TABLE --long` shows which.")]
    Set {
        #[command(flatten)]
        level: Level,
        /// What to set
        #[arg(required = true, value_name = "NAME=VALUE")]
        properties: Vec<Property>,
    },
    /// Take properties back, all in one step
    Delete {
        #[command(flatten)]
        level: Level,
        /// What to take back
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
}
