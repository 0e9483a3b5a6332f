//! The driver, and databases: open stores.

use std::sync::Arc;

use adbc_core::error::Result;
use adbc_core::options::{OptionConnection, OptionDatabase, OptionValue};
use adbc_core::{Database, Driver, Optionable};
use ostrakon_cell::Source;
use ostrakon_events::register_event_iterators;
use ostrakon_graph::register_graph_iterators;
use ostrakon_sql::SqlSession;
use ostrakon_store::{Components, Store};

use crate::OstrakonConnection;
use crate::error::{IntoAdbc, invalid, wrong_state};
use crate::panics::caught;
use crate::settings::Settings;

/// The driver: makes databases.
#[derive(Debug, Default)]
pub struct OstrakonDriver;

impl Driver for OstrakonDriver {
    type DatabaseType = OstrakonDatabase;

    fn new_database(&mut self) -> Result<OstrakonDatabase> {
        self.new_database_with_opts([])
    }

    fn new_database_with_opts(
        &mut self,
        options: impl IntoIterator<Item = (OptionDatabase, OptionValue)>,
    ) -> Result<OstrakonDatabase> {
        caught(|| {
            let mut settings = Settings::default();
            for (option, value) in options {
                settings.set(&option, &value)?;
            }
            open(settings)
        })
    }
}

fn open(settings: Settings) -> Result<OstrakonDatabase> {
    let uri = settings.uri.as_ref();
    let uri =
        uri.ok_or_else(|| invalid("the option \"uri\", the directory of a store, is not set"))?;
    // Tables may have iterators of these crates, also those that compactions run.
    let mut components = Components::default();
    register_graph_iterators(&mut components.iterators);
    register_event_iterators(&mut components.iterators);
    let store = Store::open_with(components, uri, settings.store()).into_adbc()?;
    Ok(OstrakonDatabase { store, settings })
}

/// An open store. It is closed when the database and all of its connections are dropped.
#[derive(Debug)]
pub struct OstrakonDatabase {
    store: Arc<Store>,
    settings: Settings,
}

impl Database for OstrakonDatabase {
    type ConnectionType = OstrakonConnection;

    fn new_connection(&self) -> Result<OstrakonConnection> {
        self.new_connection_with_opts([])
    }

    fn new_connection_with_opts(
        &self,
        options: impl IntoIterator<Item = (OptionConnection, OptionValue)>,
    ) -> Result<OstrakonConnection> {
        caught(|| {
            let source: Arc<dyn Source> = self.store.clone();
            let (authorizations, settings) = self.settings.session();
            let session = SqlSession::new(source, authorizations, settings).into_adbc()?;
            let mut connection = OstrakonConnection::new(session, self.settings.read_only);
            for (option, value) in options {
                connection.set_option(option, value)?;
            }
            Ok(connection)
        })
    }
}

impl Optionable for OstrakonDatabase {
    type Option = OptionDatabase;

    fn set_option(&mut self, key: OptionDatabase, _: OptionValue) -> Result<()> {
        let name = key.as_ref();
        Err(wrong_state(format!(
            "the option {name:?} cannot be changed once the store is open"
        )))
    }

    fn get_option_string(&self, key: OptionDatabase) -> Result<String> {
        self.settings.get(&key)
    }

    fn get_option_bytes(&self, key: OptionDatabase) -> Result<Vec<u8>> {
        self.settings.get(&key).map(String::into_bytes)
    }

    fn get_option_int(&self, key: OptionDatabase) -> Result<i64> {
        let text = self.settings.get(&key)?;
        text.parse()
            .map_err(|_| invalid("the option is not a number"))
    }

    fn get_option_double(&self, key: OptionDatabase) -> Result<f64> {
        let text = self.settings.get(&key)?;
        text.parse()
            .map_err(|_| invalid("the option is not a number"))
    }
}
