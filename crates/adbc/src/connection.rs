//! Connections: sessions of SQL.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use adbc_core::error::Result;
use adbc_core::options::{InfoCode, ObjectDepth, OptionConnection, OptionValue};
use adbc_core::schemas::{GET_STATISTIC_NAMES_SCHEMA, GET_TABLE_TYPES_SCHEMA};
use adbc_core::{CancelHandle, Connection, Optionable};
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader, StringArray};
use arrow_schema::{Schema, SchemaRef};
use ostrakon_sql::SqlSession;

use crate::cancel::{Cancelling, Watch};
use crate::error::{invalid, no_option, not_implemented, wrong_state};
use crate::objects::{self, Asked};
use crate::panics::caught;
use crate::{OstrakonStatement, info, rows};

/// What the tables of a store are called in SQL.
pub(crate) const TABLE_TYPES: [&str; 2] = ["BASE TABLE", "VIEW"];

type Reader = Box<dyn RecordBatchReader + Send + 'static>;

/// A session of SQL. Its statements may run at the same time.
#[derive(Debug)]
pub struct OstrakonConnection {
    session: SqlSession,
    /// Also of the statements that there are already.
    read_only: Arc<AtomicBool>,
    cancelling: Cancelling,
}

impl OstrakonConnection {
    pub(crate) fn new(session: SqlSession, read_only: bool) -> Self {
        Self {
            session,
            read_only: Arc::new(AtomicBool::new(read_only)),
            cancelling: Cancelling::default(),
        }
    }

    fn watch(&self) -> Watch {
        Watch::new(&[&self.cancelling])
    }
}

/// A reader of batches that are there.
fn of_batches(schema: SchemaRef, batches: Vec<RecordBatch>) -> Reader {
    Box::new(RecordBatchIterator::new(
        batches.into_iter().map(Ok),
        schema,
    ))
}

impl Connection for OstrakonConnection {
    type StatementType = OstrakonStatement;

    fn new_statement(&mut self) -> Result<OstrakonStatement> {
        Ok(OstrakonStatement::new(
            self.session.clone(),
            self.read_only.clone(),
            self.cancelling.clone(),
        ))
    }

    fn get_cancel_handle(&self) -> Box<dyn CancelHandle> {
        Box::new(self.cancelling.clone())
    }

    fn get_info(&self, codes: Option<HashSet<InfoCode>>) -> Result<Reader> {
        let batch = info::info(codes.as_ref())?;
        Ok(of_batches(batch.schema(), vec![batch]))
    }

    fn get_objects(
        &self,
        depth: ObjectDepth,
        catalog: Option<&str>,
        db_schema: Option<&str>,
        table_name: Option<&str>,
        table_type: Option<Vec<&str>>,
        column_name: Option<&str>,
    ) -> Result<Reader> {
        let asked = Asked {
            depth,
            catalog,
            db_schema,
            table_name,
            table_type,
            column_name,
        };
        let batch = caught(|| objects::objects(&self.session, &self.watch(), &asked))?;
        Ok(of_batches(batch.schema(), vec![batch]))
    }

    fn get_table_schema(
        &self,
        catalog: Option<&str>,
        db_schema: Option<&str>,
        table_name: &str,
    ) -> Result<Schema> {
        if table_name.is_empty() {
            return Err(invalid("a table has a name"));
        }
        let parts = [catalog, db_schema, Some(table_name)];
        let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
        let quoted: Vec<String> = parts
            .map(|part| format!("\"{}\"", part.replace('"', "\"\"")))
            .collect();
        let query = format!("SELECT * FROM {} LIMIT 0", quoted.join("."));
        caught(|| {
            let statement = rows::only(&query)?;
            let rows = rows::start(&self.session, statement, &self.watch())?;
            Ok(Schema::clone(&rows.schema()))
        })
    }

    fn get_table_types(&self) -> Result<Reader> {
        let types = StringArray::from(TABLE_TYPES.to_vec());
        let schema = GET_TABLE_TYPES_SCHEMA.clone();
        let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(types)])?;
        Ok(of_batches(schema, vec![batch]))
    }

    fn get_statistic_names(&self) -> Result<Reader> {
        Ok(of_batches(GET_STATISTIC_NAMES_SCHEMA.clone(), Vec::new()))
    }

    fn get_statistics(
        &self,
        _: Option<&str>,
        _: Option<&str>,
        _: Option<&str>,
        _: bool,
    ) -> Result<Reader> {
        Err(not_implemented(
            "there are no statistics: those of a table would count cells that the reader may not see",
        ))
    }

    fn commit(&mut self) -> Result<()> {
        Err(wrong_state("each statement is committed by itself"))
    }

    fn rollback(&mut self) -> Result<()> {
        Err(wrong_state("each statement is committed by itself"))
    }

    fn read_partition(&self, _: impl AsRef<[u8]>) -> Result<Reader> {
        Err(not_implemented("results are not divided into partitions"))
    }
}

impl Optionable for OstrakonConnection {
    type Option = OptionConnection;

    fn set_option(&mut self, key: OptionConnection, value: OptionValue) -> Result<()> {
        match key {
            OptionConnection::AutoCommit => match bool::try_from(&value)? {
                true => Ok(()),
                false => Err(not_implemented(
                    "there are no transactions of several statements: each statement is committed by itself",
                )),
            },
            OptionConnection::ReadOnly => match bool::try_from(&value)? {
                true => {
                    self.read_only.store(true, Ordering::SeqCst);
                    Ok(())
                }
                false if self.read_only.load(Ordering::SeqCst) => {
                    Err(wrong_state("the connection is open for reading only"))
                }
                false => Ok(()),
            },
            other => no_option(other.as_ref()),
        }
    }

    fn get_option_string(&self, key: OptionConnection) -> Result<String> {
        match key {
            OptionConnection::AutoCommit => Ok("true".to_owned()),
            OptionConnection::ReadOnly => Ok(self.read_only.load(Ordering::SeqCst).to_string()),
            other => no_option(other.as_ref()),
        }
    }

    fn get_option_bytes(&self, key: OptionConnection) -> Result<Vec<u8>> {
        no_option(key.as_ref())
    }

    fn get_option_int(&self, key: OptionConnection) -> Result<i64> {
        no_option(key.as_ref())
    }

    fn get_option_double(&self, key: OptionConnection) -> Result<f64> {
        no_option(key.as_ref())
    }
}
