//! `ostrakon namespace …` and `ostrakon config …`

use clap::{Args, Subcommand};

use super::values::{Property, new_namespace};

/// `namespace …`
#[derive(Debug, Subcommand)]
pub(crate) enum NamespaceCommand {
    /// Create a namespace, so that tables NAMESPACE.NAME can be created
    Create {
        /// The namespace
        #[arg(value_parser = new_namespace)]
        name: String,
    },
    /// Delete an empty namespace
    #[command(after_help = "Examples:
  ostrakon namespace delete staff")]
    Delete {
        /// The namespace
        name: String,
    },
    /// Rename a namespace and its tables
    Rename {
        /// The old name
        from: String,
        /// The new name
        #[arg(value_parser = new_namespace)]
        to: String,
    },
    /// List the namespaces; tables without a namespace belong to (default)
    List,
}

/// The level whose properties a command reads or changes.
#[derive(Debug, Args)]
pub(crate) struct Level {
    /// The namespace whose tables inherit the properties [default: the whole store]
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
}

/// `config …`
#[derive(Debug, Subcommand)]
pub(crate) enum LevelCommand {
    /// Show the properties that are set for the store or for a namespace
    #[command(after_help = "Examples:
  ostrakon config get
  ostrakon config get --namespace people
  ostrakon config get split                              only names with `split` in them

Shows only what is set at this level. `ostrakon table config get TABLE` shows the properties in
effect for a table.")]
    Get {
        #[command(flatten)]
        level: Level,
        /// Show only properties whose names contain this text
        filter: Option<String>,
    },
    /// Set properties that tables inherit, atomically
    #[command(after_help = "Examples:
  ostrakon config set table.durability=flush
  ostrakon config set --namespace people table.file.compress.type=zstd

A table uses its own value if it has one, else that of its namespace, else that of the store, else
the default. `ostrakon table config get TABLE --long` shows where each value is set.")]
    Set {
        #[command(flatten)]
        level: Level,
        /// The properties to set
        #[arg(required = true, value_name = "NAME=VALUE")]
        properties: Vec<Property>,
    },
    /// Unset properties, atomically
    Delete {
        #[command(flatten)]
        level: Level,
        /// The properties to unset
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
}
