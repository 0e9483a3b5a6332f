//! Loads the tables and runs the queries.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::cast::AsArray as _;
use arrow_array::types::Float64Type;
use ostrakon_cell::{Authorizations, CompactOptions, Durability, Error, ErrorKind, Result, Source};
use ostrakon_sql::{SqlOptions, SqlSession};

use super::data::HiveData;
use super::expected::Expected;

/// What loading came to.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct HiveLoaded {
    /// Rows of `rankings`.
    pub rankings: u64,
    /// Rows of `uservisits`.
    pub visits: u64,
    /// Bytes of `rankings` as lines of text.
    pub ranking_bytes: u64,
    /// Bytes of `uservisits` as lines of text.
    pub visit_bytes: u64,
    /// Until both tables are loaded from files, flushed and compacted.
    pub seconds: f64,
}

/// One of the two queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HiveQuery {
    /// The revenue of each source.
    Aggregation,
    /// The source with the highest revenue of a year, and the mean rank of the pages it visited.
    Join,
}

/// What a query came to.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct QueryFigures {
    /// Rows of the answer.
    pub rows: u64,
    /// Until the last row.
    pub seconds: f64,
}

/// The tables, by the names that statements use.
const TABLES: [&str; 2] = ["rankings", "uservisits"];

/// `rankings` as in the paper. `uservisits` has no key there: ours is the number of the visit. An INT is a BIGINT.
const CREATE: [&str; 2] = [
    "CREATE TABLE rankings (pageurl VARCHAR, pagerank BIGINT, avgduration BIGINT, PRIMARY KEY (pageurl))",
    "CREATE TABLE uservisits (visit BIGINT, sourceip VARCHAR, desturl VARCHAR, visitdate VARCHAR, adrevenue DOUBLE, \
     useragent VARCHAR, countrycode VARCHAR, languagecode VARCHAR, searchword VARCHAR, duration BIGINT, PRIMARY KEY (visit))",
];

/// What is read from the files of text.
const SELECTED: [&str; 2] = [
    "SELECT pageurl, pagerank, avgduration FROM",
    "SELECT visit, CAST(sourceip AS VARCHAR), desturl, CAST(visitdate AS VARCHAR), CAST(adrevenue AS DOUBLE), useragent, \
     countrycode, languagecode, searchword, duration FROM",
];

impl HiveQuery {
    /// The statement, as the paper prints it. Two differences: `datediff(visitDate, DAY) >= 0` is `visitDate >= DAY`, the same
    /// for dates as text; and the mean has a name.
    #[must_use]
    pub fn statement(self) -> &'static str {
        match self {
            Self::Aggregation => {
                "SELECT sourceIP, SUM(adRevenue) FROM uservisits GROUP BY sourceIP"
            }
            Self::Join => {
                "SELECT sourceIP, sum(adRevenue) as totalRevenue, avg(pageRank) FROM rankings R JOIN (SELECT sourceIP, \
                 destURL, adRevenue FROM uservisits UV WHERE (UV.visitDate >= '1999-01-01' AND UV.visitDate <= \
                 '2000-01-01')) NUV ON (R.pageURL = NUV.destURL) GROUP BY sourceIP ORDER BY totalRevenue DESC limit 1"
            }
        }
    }
}

/// Makes both tables from files of text in `scratch`, which are removed again.
///
/// # Errors
/// Those of the source and of the files.
pub fn load(
    source: &Arc<dyn Source>,
    data: &HiveData,
    scratch: &Path,
    durability: Durability,
) -> Result<HiveLoaded> {
    let folder = tempfile::tempdir_in(scratch).map_err(|error| unwritable(scratch, error))?;
    let files = TABLES.map(|name| folder.path().join(format!("{name}.csv")));
    let [rankings, visits] = &files;
    let create = |file: &Path| {
        let file = File::create(file).map_err(|error| unwritable(scratch, error))?;
        Ok::<_, Error>(BufWriter::new(file))
    };
    let refuse = |error| unwritable(scratch, error);
    let mut loaded = HiveLoaded {
        rankings: data.rankings(),
        visits: data.visits(),
        ranking_bytes: data.write_rankings(create(rankings)?).map_err(refuse)?,
        visit_bytes: data.write_visits(create(visits)?).map_err(refuse)?,
        ..HiveLoaded::default()
    };
    let session = session(source, scratch, true)?;
    let started = Instant::now();
    let level = ("table.durability".to_owned(), Some(durability.to_string()));
    for (((name, create), select), file) in TABLES.iter().zip(CREATE).zip(SELECTED).zip(&files) {
        run(&session, create)?;
        let table = source.table(name)?;
        table.modify_properties(std::slice::from_ref(&level))?;
        let path = file.display().to_string().replace('\'', "''");
        run(&session, &format!("INSERT INTO {name} {select} '{path}'"))?;
        table.compact(&CompactOptions::default())?;
    }
    loaded.seconds = started.elapsed().as_secs_f64();
    Ok(loaded)
}

/// Runs a query, and compares its answer with what the generator says.
///
/// # Errors
/// Those of the query; the answer is wrong.
pub fn run_query(
    source: &Arc<dyn Source>,
    query: HiveQuery,
    expected: &Expected,
    scratch: &Path,
) -> Result<QueryFigures> {
    let session = session(source, scratch, false)?;
    let (started, mut figures) = (Instant::now(), QueryFigures::default());
    let (mut sum, mut sources) = (0.0, Vec::new());
    for batch in session.query_blocking(query.statement())? {
        let batch = batch?;
        figures.rows += batch.num_rows() as u64;
        let revenues = batch.column(1).as_primitive::<Float64Type>();
        sum += revenues.values().iter().sum::<f64>();
        if query == HiveQuery::Join {
            let shown = arrow_cast::cast(batch.column(0), &arrow_schema::DataType::Utf8);
            let shown =
                shown.map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
            let shown = shown.as_string::<i32>().iter().flatten();
            sources.extend(shown.map(str::to_owned));
        }
    }
    figures.seconds = started.elapsed().as_secs_f64();
    let right = match (query, &expected.top) {
        (HiveQuery::Aggregation, _) => figures.rows == expected.groups && sum == expected.revenue,
        (HiveQuery::Join, None) => figures.rows == 0,
        (HiveQuery::Join, Some(top)) => {
            figures.rows == 1
                && sum == top.revenue
                && sources.iter().all(|source| top.addresses.contains(source))
        }
    };
    if right {
        return Ok(figures);
    }
    Err(Error::new(
        ErrorKind::Internal,
        "the answer is wrong: it does not have what was made",
    )
    .with("query", query.statement())
    .with("rows", figures.rows)
    .with("revenue", sum)
    .with("expected", format!("{expected:?}")))
}

fn session(source: &Arc<dyn Source>, scratch: &Path, files: bool) -> Result<SqlSession> {
    let options = SqlOptions {
        temporary: Some(scratch.to_path_buf()),
        files,
        sees_layout: true,
        ..SqlOptions::default()
    };
    SqlSession::new(Arc::clone(source), Authorizations::default(), options)
}

fn run(session: &SqlSession, statement: &str) -> Result<()> {
    for batch in session.query_blocking(statement)? {
        batch?;
    }
    Ok(())
}

fn unwritable(directory: &Path, error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, "the tables cannot be written as text")
        .with("directory", directory.display())
        .with_source(error)
}
