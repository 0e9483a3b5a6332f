//! Panics as errors. A panic must not leave a function that C calls, and one while the statement, connection or database is
//! locked would make it unusable.

use std::panic::{AssertUnwindSafe, catch_unwind};

use adbc_core::error::{Error, Result, Status};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};

use crate::rows::external;

/// The outcome of a call; a panic is its error. What it says may be about cells that the reader does not see, so the message
/// does not repeat it.
pub(crate) fn caught<T>(call: impl FnOnce() -> Result<T>) -> Result<T> {
    // What the call has left behind is dropped with the call, or has locks of its own.
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| {
        Err(Error::with_message_and_status(
            "the call has failed by a bug in Ostrakon: please report it with what was written to stderr",
            Status::Internal,
        ))
    })
}

/// A reader whose panics are errors, and its end.
pub(crate) struct Caught {
    /// `None` after a panic.
    reader: Option<Box<dyn RecordBatchReader + Send>>,
    schema: SchemaRef,
}

impl Caught {
    pub(crate) fn new(reader: Box<dyn RecordBatchReader + Send>) -> Self {
        Self {
            schema: reader.schema(),
            reader: Some(reader),
        }
    }
}

impl Iterator for Caught {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut reader = self.reader.take()?;
        let next = caught(move || {
            let next = reader.next();
            Ok((next, reader))
        });
        match next {
            Ok((next, reader)) => {
                self.reader = Some(reader);
                next
            }
            Err(error) => Some(Err(external(error))),
        }
    }
}

impl RecordBatchReader for Caught {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use adbc_core::options::{OptionDatabase, OptionValue};
    use adbc_core::{Connection as _, Database as _, Driver as _, Statement as _};
    use arrow_array::{Int64Array, RecordBatchIterator};
    use arrow_schema::{DataType, Field, Schema};

    use super::*;
    use crate::OstrakonDriver;

    /// Parameters, of which reading one row panics.
    fn parameters(panics_at: i64) -> Box<dyn RecordBatchReader + Send> {
        let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, true)]));
        let of_batches = schema.clone();
        let batches = (0..3).map(move |at| {
            assert_ne!(at, panics_at, "secret");
            let column = Arc::new(Int64Array::from(vec![at]));
            RecordBatch::try_new(of_batches.clone(), vec![column])
        });
        Box::new(RecordBatchIterator::new(batches, schema))
    }

    #[test]
    fn a_panic_is_an_error_of_its_call_alone() {
        let folder = std::env::temp_dir().join(format!("ostrakon-adbc-{}", std::process::id()));
        let uri = OptionValue::String(folder.join("store").display().to_string());
        let database = OstrakonDriver
            .new_database_with_opts([(OptionDatabase::Uri, uri)])
            .expect("opened");
        let mut connection = database.new_connection().expect("connected");
        let mut statement = connection.new_statement().expect("made");
        statement.set_sql_query("SELECT ? AS n").expect("parsed");
        for panics_at in [0, 2] {
            statement.bind_stream(parameters(panics_at)).expect("bound");
            let error = match statement.execute() {
                Err(error) => error.to_string(),
                Ok(rows) => {
                    let rows: Vec<_> = rows.collect();
                    assert_eq!(rows.len(), 3, "two rows, the error, and the end");
                    let last = rows.into_iter().last().expect("three");
                    last.expect_err("it panicked").to_string()
                }
            };
            assert!(error.contains("a bug in Ostrakon"), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
        statement.bind_stream(parameters(9)).expect("bound");
        let rows = statement.execute().expect("the statement works on");
        assert_eq!(
            rows.map(|batch| batch.expect("rows").num_rows())
                .sum::<usize>(),
            3
        );
        drop((statement, connection, database));
        let _ = std::fs::remove_dir_all(folder);
    }
}
