//! The options of a database.

use adbc_core::error::Result;
use adbc_core::options::{OptionDatabase, OptionValue};
use ostrakon_cell::{Authorizations, VisibilityExpression};
use ostrakon_sql::SqlOptions;
use ostrakon_store::StoreOptions;

use crate::error::{invalid, no_option};

const AUTHS: &str = "adbc.ostrakon.auths";
const LABEL: &str = "adbc.ostrakon.label";
const FILES: &str = "adbc.ostrakon.files";
const READ_ONLY: &str = "adbc.ostrakon.read_only";
const MEMORY_BYTES: &str = "adbc.ostrakon.memory_bytes";

/// What a database is opened with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// The directory of the store.
    pub(crate) uri: Option<String>,
    /// Those of the reader; `None` for the owner of the store, who reads what has no label.
    auths: Option<Authorizations>,
    label: String,
    files: bool,
    pub(crate) read_only: bool,
    memory_bytes: Option<i64>,
}

impl Settings {
    /// # Errors
    /// There is no such option, or the value is not one of it.
    pub(crate) fn set(&mut self, option: &OptionDatabase, value: &OptionValue) -> Result<()> {
        let name = option.as_ref();
        match (option, name) {
            (OptionDatabase::Uri, _) => self.uri = Some(text(name, value)?.to_owned()),
            (OptionDatabase::Username | OptionDatabase::Password, _) => {
                return Err(invalid(format!(
                    "a store has no users, so that {name:?} cannot be set: give the authorizations as {AUTHS:?}"
                )));
            }
            (_, AUTHS) => {
                self.auths = Some(authorizations(name, text(name, value)?)?);
            }
            (_, LABEL) => {
                let label = text(name, value)?;
                VisibilityExpression::parse(label.as_bytes()).map_err(|error| {
                    invalid(format!(
                        "the option {name:?} is an expression of labels such as hr|(audit&self), and {label:?} is none: \
                         {error}"
                    ))
                })?;
                label.clone_into(&mut self.label);
            }
            (_, FILES) => self.files = flag(name, value)?,
            (_, READ_ONLY) => self.read_only = flag(name, value)?,
            (_, MEMORY_BYTES) => self.memory_bytes = Some(memory(name, value)?),
            _ => return no_option(name),
        }
        Ok(())
    }

    /// The value of an option as text.
    ///
    /// # Errors
    /// There is no such option, or it was not set.
    pub(crate) fn get(&self, option: &OptionDatabase) -> Result<String> {
        let name = option.as_ref();
        match (option, name) {
            (OptionDatabase::Uri, _) => self.uri.clone().map_or_else(|| no_option(name), Ok),
            (_, AUTHS) => match &self.auths {
                Some(auths) => Ok(auths.serialise()),
                None => no_option(name),
            },
            (_, LABEL) => Ok(self.label.clone()),
            (_, FILES) => Ok(self.files.to_string()),
            (_, READ_ONLY) => Ok(self.read_only.to_string()),
            (_, MEMORY_BYTES) => Ok(self.query_bytes().to_string()),
            _ => no_option(name),
        }
    }

    fn query_bytes(&self) -> usize {
        let usual = (StoreOptions::default().memory_budget_bytes / 2).max(256 << 20);
        let given = self
            .memory_bytes
            .and_then(|given| u64::try_from(given).ok());
        usize::try_from(given.unwrap_or(usual)).unwrap_or(usize::MAX)
    }

    /// How the store is opened.
    pub(crate) fn store(&self) -> StoreOptions {
        StoreOptions {
            read_only: self.read_only,
            ..StoreOptions::default()
        }
    }

    /// The reader of all sessions, and their settings.
    pub(crate) fn session(&self) -> (Authorizations, SqlOptions) {
        let options = SqlOptions {
            memory_bytes: self.query_bytes(),
            files: self.files,
            label: self.label.clone().into_bytes(),
            // With authorizations, it reads for somebody who may see less than the owner of the store.
            sees_layout: self.auths.is_none(),
            ..SqlOptions::default()
        };
        let auths = self.auths.clone();
        (auths.unwrap_or_else(Authorizations::empty), options)
    }
}

/// Names separated by commas, or Accumulo's serialised form, in which names may have any characters.
fn authorizations(name: &str, text: &str) -> Result<Authorizations> {
    let is_list = !text.starts_with("!AUTH1:");
    if is_list && text.contains(['|', '&', '(', ')', '"', '\'']) {
        return Err(invalid(format!(
            "the option {name:?} is a list of names such as hr,self, and {text:?} is an expression or has quotes, which are \
             for labels"
        )));
    }
    Authorizations::deserialise(text.as_bytes()).map_err(|error| {
        invalid(format!(
            "the option {name:?} is a list of names such as hr,self, and {text:?} is none: {error}"
        ))
    })
}

fn text<'a>(name: &str, value: &'a OptionValue) -> Result<&'a str> {
    match value {
        OptionValue::String(text) => Ok(text),
        _ => Err(invalid(format!("the option {name:?} is a text"))),
    }
}

fn flag(name: &str, value: &OptionValue) -> Result<bool> {
    bool::try_from(value)
        .map_err(|_| invalid(format!("the option {name:?} is \"true\" or \"false\"")))
}

/// The least memory of queries, as of a store.
const LEAST_MEMORY: i64 = 16 << 20;

/// A number of bytes; driver managers pass most options as text.
fn memory(name: &str, value: &OptionValue) -> Result<i64> {
    let number = match value {
        OptionValue::Int(number) => Some(*number),
        OptionValue::String(text) => text.parse().ok(),
        _ => None,
    };
    let number = number.filter(|number| *number >= LEAST_MEMORY);
    number.ok_or_else(|| {
        invalid(format!(
            "the option {name:?} is a number of bytes, at least {LEAST_MEMORY}"
        ))
    })
}
