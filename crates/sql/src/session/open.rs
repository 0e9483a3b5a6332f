//! A session and its settings.

use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::datatypes::Schema;
use datafusion::common::{Result as QueryResult, SchemaError, TableReference};
use datafusion::error::DataFusionError;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::disk_manager::DiskManagerBuilder;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::execution::{SessionState, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{
    EmptyRecordBatchStream, ExecutionPlan, SendableRecordBatchStream, execute_stream,
};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Expr, Set, Statement as Ast, Value};
use ostrakon_cell::{Authorizations, Error, ErrorKind, Result, Source};

use super::letters::{self, PLANS_MAX};
use super::memory::QueryMemory;
use super::statement::{Kind, parse_statements};
use super::temporary::TemporaryFiles;
use super::workers::Workers;
use super::{
    SqlOptions, SqlRows, SqlStart, SqlStatement, change, create, exchange, is_unfinished, spelling,
    update,
};
use crate::catalog::{CELLS, D4M, MAIN, PUBLIC, Shared, SourceCatalog, View, is_closed, missing};
use crate::error::{missing_table_function, of_query};
use crate::files::{self, FileTables};

/// Bytes of a query's memory for each row of a batch, so that sorts have room for hundreds of batches of rows of a
/// hundred bytes. Batches are smaller than the engine's default only if there are less than 256 MiB.
const BATCH_ROW_SHARE: usize = 32 << 10;

/// Runs statements on the tables of a source, for a reader with certain authorizations.
///
/// The authorizations are those given to [`new`](Self::new), for as long as the session lives. No statement, setting
/// or function can change them.
///
/// Every scan of a query is started before the query returns or writes a row. A scan reads one snapshot of its table,
/// also if several threads share it. Two scans of one query may differ by what was written in between, and so may the
/// rounds of a recursive query, each of which starts its scans again.
///
/// Clones are the same session.
#[derive(Clone)]
pub struct SqlSession {
    pub(super) context: SessionContext,
    pub(super) source: Arc<dyn Source>,
    pub(super) authorizations: Arc<Authorizations>,
    pub(super) sees_layout: bool,
    label: Arc<Mutex<Vec<u8>>>,
    /// The most bytes that a function returns for one batch.
    pub(super) value_limit: usize,
    pub(super) workers: Workers,
}

impl SqlSession {
    /// A session.
    ///
    /// # Errors
    /// The directory for temporary files cannot be used.
    pub fn new(
        source: Arc<dyn Source>,
        authorizations: Authorizations,
        options: SqlOptions,
    ) -> Result<Self> {
        let authorizations = Arc::new(authorizations);
        let threads = options.threads.max(1);
        let files = Arc::new(TemporaryFiles::new(options.temporary)?);
        let memory = QueryMemory::new(options.memory_bytes, threads).with_files(files.clone());
        let environment = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(memory))
            .with_disk_manager_builder(DiskManagerBuilder::default().with_temp_file_factory(files))
            .build_arc()
            .map_err(of_query)?;
        let mut config = SessionConfig::new()
            .with_target_partitions(threads)
            .with_batch_size((options.memory_bytes / BATCH_ROW_SHARE).clamp(256, 8192))
            .with_information_schema(true)
            .with_default_catalog_and_schema(MAIN, PUBLIC)
            .with_create_default_catalog_and_schema(false);
        let settings = config.options_mut();
        // For columns that are found in other letters.
        settings.sql_parser.collect_spans = true;
        // What each sort keeps back to merge its spilled parts; the engine's default is more than small sessions have.
        let reserve = options.memory_bytes / (8 * threads);
        settings.execution.sort_spill_reservation_bytes = reserve.min(10 << 20);
        // The columns of rules here and of the engine may be nullable in one plan and not in the other.
        settings.execution.skip_physical_aggregate_schema_check = true;
        // Its groups with NaN are wrong.
        settings.optimizer.enable_topk_aggregation = false;
        settings.explain.physical_plan_only = true;
        settings.explain.format = datafusion::common::format::ExplainFormat::Indent;
        let value_limit = crate::checked::limit_of(options.memory_bytes);
        let state = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(environment)
            .with_expr_planners(vec![
                Arc::new(crate::checked::StructPlanner::new(value_limit)),
                Arc::new(crate::checked::SignedNumbers),
                Arc::new(crate::checked::Operators),
                Arc::new(crate::checked::Access),
                Arc::new(crate::checked::Extract),
            ])
            .with_relation_planners(vec![Arc::new(crate::checked::PlainRelations)])
            .with_default_features()
            .with_analyzer_rules(crate::checked::analyzer_rules())
            .with_optimizer_rules(crate::checked::optimizer_rules())
            .with_physical_optimizer_rules(crate::checked::physical_rules())
            .build();
        let context = SessionContext::new_with_state(state);
        let tables = options
            .files
            .then(|| Arc::new(FileTables::new(value_limit)));
        if let Some(tables) = &tables {
            tables.connect(&context);
        }
        for (name, view) in [(MAIN, View::Main), (CELLS, View::Cells), (D4M, View::D4m)] {
            let files = tables.clone().filter(|_| view == View::Main);
            let shared = Shared {
                source: source.clone(),
                authorizations: authorizations.clone(),
                sees_layout: options.sees_layout,
                files,
            };
            let catalog = SourceCatalog::new(shared, view);
            context.register_catalog(name, Arc::new(catalog));
        }
        crate::checked::register(&context, value_limit, files::has_own_nulls);
        context.add_optimizer_rule(Arc::new(crate::events::CountEvents));
        Ok(Self {
            context,
            source,
            authorizations,
            sees_layout: options.sees_layout,
            label: Arc::new(Mutex::new(options.label)),
            value_limit,
            workers: Workers::new(threads),
        })
    }

    /// Runs the only statement of a text, within the caller's tokio runtime. Rows come as they are found; a statement
    /// that writes returns one row with its `count` when it is done. Dropping the stream ends the statement.
    ///
    /// # Errors
    /// Not one statement, or those of [`execute`](Self::execute).
    pub async fn query(&self, text: &str) -> Result<SendableRecordBatchStream> {
        self.execute(only(text)?).await
    }

    /// As [`query`](Self::query), for callers without an async runtime: the session starts its own.
    ///
    /// # Errors
    /// As there.
    pub fn query_blocking(&self, text: &str) -> Result<SqlRows> {
        self.execute_blocking(only(text)?)
    }

    /// Runs a statement; see [`query`](Self::query).
    ///
    /// # Errors
    /// No such table, a type error, or those of the tables.
    pub async fn execute(&self, statement: SqlStatement) -> Result<SendableRecordBatchStream> {
        if statement.kind == Kind::Set {
            self.set(&statement.statement)?;
            return Ok(nothing());
        }
        files::once(self.execute_spelled(statement)).await
    }

    /// Runs a statement with the names of columns as their relations spell them.
    async fn execute_spelled(&self, statement: SqlStatement) -> Result<SendableRecordBatchStream> {
        let kind = statement.kind;
        let mut statement = spelling::spelled(&self.context, statement.statement).await?;
        for _ in 0..PLANS_MAX {
            let error = match self.start_statement(kind, &statement).await {
                Ok(stream) => return Ok(stream),
                Err(error) => error,
            };
            match letters::respelled(&error, &statement) {
                Some(respelled) => statement = respelled,
                None => return Err(self.explained(error, &statement).await),
            }
        }
        Err(Error::new(
            ErrorKind::InvalidArgument,
            "too many places of the statement have columns in other letters: write the names in double quotes, as the relations do",
        )
        .with("limit", PLANS_MAX))
    }

    async fn start_statement(
        &self,
        kind: Kind,
        statement: &Statement,
    ) -> QueryResult<SendableRecordBatchStream> {
        match kind {
            Kind::Insert => change::insert(self, statement.clone()).await,
            Kind::Update => update::update(self, statement.clone()).await,
            Kind::Delete => change::delete(self, statement.clone()).await,
            Kind::CreateTable => create::create(self, statement.clone()).await,
            Kind::DropTable => create::drop_tables(self, statement),
            Kind::Read | Kind::Set => self.read(statement.clone()).await,
        }
    }

    /// As [`execute`](Self::execute), for callers without an async runtime. The statement is planned and runs on the
    /// threads of the session.
    ///
    /// # Errors
    /// As there.
    pub fn execute_blocking(&self, statement: SqlStatement) -> Result<SqlRows> {
        self.start(statement)?.wait()
    }

    /// As [`execute_blocking`](Self::execute_blocking), without waiting until the statement is planned.
    ///
    /// # Errors
    /// The threads of the session cannot be started.
    pub fn start(&self, statement: SqlStatement) -> Result<SqlStart> {
        SqlStart::new(self.clone(), statement)
    }

    /// The names of tables that a statement may read.
    ///
    /// # Errors
    /// Those of the source.
    pub fn tables(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for table in self.source.tables()? {
            let is_closed = is_closed(&*self.source, self.sees_layout, &table.name);
            if !is_closed && !is_unfinished(&*self.source, &table.name)? {
                names.push(table.name);
            }
        }
        Ok(names)
    }

    async fn read(&self, statement: Statement) -> QueryResult<SendableRecordBatchStream> {
        if asks_for_tables(&statement) {
            let tables = super::describe::tables(self);
            let tables = tables.map_err(|error| DataFusionError::External(Box::new(error)))?;
            return super::describe::texts(["name", "rows"], tables);
        }
        let plan = self.context.state().statement_to_plan(statement).await?;
        // A query may have other statements inside.
        let reads = SQLOptions::new()
            .with_allow_ddl(false)
            .with_allow_dml(false)
            .with_allow_statements(false);
        reads.verify_plan(&plan)?;
        if let LogicalPlan::DescribeTable(table) = &plan {
            return super::describe::describe(&table.schema);
        }
        if let LogicalPlan::Explain(explain) = &plan {
            // Of a plan that is refused, the engine shows the steps before, or nothing.
            let mut state = self.context.state();
            self.planned(&mut state, &explain.plan).await?;
        }
        self.run(plan).await
    }

    /// Starts a plan that reads.
    pub(super) async fn run(&self, plan: LogicalPlan) -> QueryResult<SendableRecordBatchStream> {
        self.run_with(self.context.state(), plan).await
    }

    /// Starts a plan whose rows are returned in the order that its query says. Without one, the rows of
    /// a file come in the order of the file. Of rows with one key the last one stays.
    pub(super) async fn run_in_order(
        &self,
        plan: LogicalPlan,
    ) -> QueryResult<SendableRecordBatchStream> {
        let mut state = self.context.state();
        let optimizer = &mut state.config_mut().options_mut().optimizer;
        // What these distribute among threads is not sorted again.
        optimizer.enable_round_robin_repartition = false;
        optimizer.repartition_file_scans = false;
        self.run_with(state, plan).await
    }

    async fn run_with(
        &self,
        mut state: SessionState,
        plan: LogicalPlan,
    ) -> QueryResult<SendableRecordBatchStream> {
        let plan = self.planned(&mut state, &plan).await?;
        Prepared {
            plan,
            context: state.task_ctx(),
        }
        .start()
    }

    /// A plan that reads, which is started later.
    pub(super) async fn prepare(&self, plan: LogicalPlan) -> QueryResult<Prepared> {
        let mut state = self.context.state();
        let plan = self.planned(&mut state, &plan).await?;
        Ok(Prepared {
            plan,
            context: state.task_ctx(),
        })
    }

    /// The plan that is executed, and in `state` the options with which it is.
    async fn planned(
        &self,
        state: &mut SessionState,
        plan: &LogicalPlan,
    ) -> QueryResult<Arc<dyn ExecutionPlan>> {
        let plan = state.optimize(plan)?;
        crate::checked::check_joined(&plan)?;
        // With long constants, batches have fewer rows.
        let rows = crate::checked::rows_at_once(&plan, self.value_limit)?;
        let size = state.config().batch_size().min(rows);
        *state.config_mut() = state.config().clone().with_batch_size(size);
        let planner = state.query_planner();
        let plan = planner.create_physical_plan(&plan, state).await?;
        let plan = files::name_files(plan)?;
        exchange::with_one_sender(plan)
    }

    /// The label of records that are written without one.
    pub(super) fn label(&self) -> Vec<u8> {
        self.label
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set(&self, statement: &Statement) -> Result<()> {
        let refused = || {
            Error::new(
                ErrorKind::Unsupported,
                "there is no such setting: SET label = 'EXPRESSION' gives the label of records that are written without one",
            )
        };
        let Statement::Statement(ast) = statement else {
            return Err(refused());
        };
        let Ast::Set(Set::SingleAssignment {
            variable, values, ..
        }) = &**ast
        else {
            return Err(refused());
        };
        let value = match values.as_slice() {
            [Expr::Value(value)] => match &value.value {
                Value::SingleQuotedString(text) => text.clone(),
                _ => return Err(refused()),
            },
            _ => return Err(refused()),
        };
        if !variable.to_string().eq_ignore_ascii_case("label") {
            return Err(refused().with("setting", variable));
        }
        ostrakon_cell::VisibilityExpression::parse(value.as_bytes())?;
        *self.label.lock().unwrap_or_else(PoisonError::into_inner) = value.into_bytes();
        Ok(())
    }

    /// An error of planning, with the missing table if there is one.
    async fn explained(&self, error: DataFusionError, statement: &Statement) -> Error {
        let state = self.context.state();
        if let DataFusionError::SchemaError(inner, _) = error.find_root()
            && let SchemaError::FieldNotFound { field, .. } = &**inner
            && field.relation.is_none()
            && let Statement::Statement(ast) = statement
            && super::using::is_common_column(ast, &field.name)
            && super::using::has_inner_query(ast)
        {
            return Error::invalid(
                "a query inside of another one cannot name a common column of USING or NATURAL alone: name it with its \
                 relation, as in `a.k`, or `coalesce(a.k, b.k)` for an outer join",
            )
            .with("column", &field.name);
        }
        if let DataFusionError::Plan(reason) = error.find_root()
            && let Some(name) = missing_table_function(reason)
        {
            return Error::new(
                ErrorKind::Unsupported,
                "there is no such function of tables; a file is read by its name in quotes, as in FROM 'data.csv'",
            )
            .with("function", name);
        }
        if matches!(
            error.find_root(),
            DataFusionError::Plan(_) | DataFusionError::SchemaError(..)
        ) {
            let created = match statement {
                Statement::Statement(ast) => match &**ast {
                    Ast::CreateTable(create) => {
                        Some(TableReference::parse_str(&create.name.to_string()))
                    }
                    _ => None,
                },
                _ => None,
            };
            for reference in state
                .resolve_table_references(statement)
                .unwrap_or_default()
            {
                let file = files::is_file(reference.table());
                let foreign = reference.schema() == Some("information_schema");
                let there = self.context.table_provider(reference.clone()).await;
                let created = created.as_ref() == Some(&reference);
                let function = reference.schema().is_none()
                    && state.table_functions().contains_key(reference.table());
                if !file && !foreign && !created && !function && there.is_err() {
                    return missing(&*self.source, &reference);
                }
            }
        }
        of_query(error)
    }
}

/// A plan that was not started.
pub(super) struct Prepared {
    plan: Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
}

impl Prepared {
    /// Opens the scans of the plan, each of which reads a snapshot of this moment.
    pub(super) fn start(self) -> QueryResult<SendableRecordBatchStream> {
        crate::scan::open_scans(&self.plan)?;
        execute_stream(self.plan, self.context)
    }
}

impl std::fmt::Debug for SqlSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqlSession").finish_non_exhaustive()
    }
}

fn only(text: &str) -> Result<SqlStatement> {
    let mut statements = parse_statements(text)?;
    match (statements.pop(), statements.is_empty()) {
        (Some(statement), true) => Ok(statement),
        _ => Err(Error::invalid(
            "the text is not one statement: run its statements one by one",
        )),
    }
}

/// Whether a statement is SHOW TABLES, without any condition: the engine refuses those.
fn asks_for_tables(statement: &Statement) -> bool {
    let Statement::Statement(ast) = statement else {
        return false;
    };
    matches!(&**ast, Ast::ShowTables { .. }) && ast.to_string().eq_ignore_ascii_case("SHOW TABLES")
}

/// The outcome of a statement without rows.
pub(super) fn nothing() -> SendableRecordBatchStream {
    Box::pin(EmptyRecordBatchStream::new(Arc::new(Schema::empty())))
}
