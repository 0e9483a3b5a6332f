//! Calls that read files: `FROM read_csv('visits.txt', header = false)`.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, DictionaryField, Expr, FunctionArg, FunctionArgExpr, Ident,
    ObjectName, Statement as Ast, TableAlias, TableFactor, TimezoneInfo, Value, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use ostrakon_cell::{Error, ErrorKind, Result};

use super::walk::visit_mut;
use crate::files::{Called, CalledContent, CsvOptions, NULL_BYTES, is_delimiter};
use crate::records::ColumnType;

/// The options of `read_csv`, for errors.
const OPTIONS: &str = "header, delim, nullstr, names, columns, all_varchar";

/// Puts the names of files in place of the calls that read them.
///
/// # Errors
/// A call has no path, an option that there is not, or a value that the option cannot have.
pub(super) fn name_files(statement: &mut Ast) -> Result<()> {
    match visit_mut(statement, &mut Calls) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Calls;

impl VisitorMut for Calls {
    type Break = Error;

    fn pre_visit_table_factor(&mut self, relation: &mut TableFactor) -> ControlFlow<Error> {
        match name_file(relation) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

fn name_file(relation: &mut TableFactor) -> Result<()> {
    let TableFactor::Table {
        name,
        alias,
        args: Some(args),
        ..
    } = &*relation
    else {
        return Ok(());
    };
    let Some(mut content) = content_of(name) else {
        return Ok(());
    };
    let mut given = args.args.iter();
    let path = match given.next() {
        Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))) => text(expr),
        _ => None,
    };
    let path = path.ok_or_else(|| {
        refused("the first argument of a call that reads a file is its path, in quotes: read_csv('data.csv')")
    })?;
    let mut seen = Vec::new();
    for option in given {
        let (name, value) = option_of(option)?;
        let CalledContent::Csv(options) = &mut content else {
            return Err(refused("only read_csv has options").with("option", name));
        };
        // Two names of one option are the same one.
        let name = match name.as_str() {
            "sep" | "delimiter" => "delim".to_owned(),
            _ => name,
        };
        if seen.contains(&name) {
            return Err(refused("an option is given twice").with("option", name));
        }
        set(options, &name, value)?;
        seen.push(name);
    }
    if let CalledContent::Csv(options) = &content {
        check(options)?;
    }
    let alias = alias.clone().unwrap_or_else(|| TableAlias {
        explicit: true,
        name: Ident::with_quote('"', path.clone()),
        columns: Vec::new(),
        at: None,
    });
    let called = Called { path, content };
    *relation = TableFactor::Table {
        name: ObjectName::from(vec![Ident::with_quote('"', called.name())]),
        alias: Some(alias),
        args: None,
        with_hints: Vec::new(),
        version: None,
        with_ordinality: false,
        partitions: Vec::new(),
        json_path: None,
        sample: None,
        index_hints: Vec::new(),
    };
    Ok(())
}

/// What the files of a function have in them; `None` for other functions.
fn content_of(function: &ObjectName) -> Option<CalledContent> {
    match function.to_string().to_lowercase().as_str() {
        "read_csv" | "read_csv_auto" => Some(CalledContent::Csv(CsvOptions::default())),
        "read_json" | "read_json_auto" | "read_ndjson" => Some(CalledContent::Json),
        "read_parquet" => Some(CalledContent::Parquet),
        _ => None,
    }
}

/// The name and the value of an option: `header = false`, `header => false` or `header := false`.
fn option_of(option: &FunctionArg) -> Result<(String, &Expr)> {
    let (name, value) = match option {
        FunctionArg::Named { name, arg, .. } => (Some(name.value.clone()), arg),
        FunctionArg::ExprNamed {
            name: Expr::Identifier(name),
            arg,
            ..
        } => (Some(name.value.clone()), arg),
        // The parser takes `header = false` for a condition.
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::BinaryOp {
            left,
            op: BinaryOperator::Eq,
            right,
        })) => match &**left {
            Expr::Identifier(name) => return Ok((name.value.to_lowercase(), right)),
            _ => (None, &FunctionArgExpr::Wildcard),
        },
        FunctionArg::ExprNamed { arg, .. } | FunctionArg::Unnamed(arg) => (None, arg),
    };
    match (name, value) {
        (Some(name), FunctionArgExpr::Expr(value)) => Ok((name.to_lowercase(), value)),
        _ => Err(refused(
            "an option has a name and a value: read_csv('data.csv', header = false)",
        )),
    }
}

fn set(options: &mut CsvOptions, name: &str, value: &Expr) -> Result<()> {
    let wrong = |wanted: &str| {
        refused(&format!("the option needs {wanted}"))
            .with("option", name)
            .with("value", value)
    };
    match name {
        "header" => {
            options.header = Some(truth(value).ok_or_else(|| wrong("true or false"))?);
        }
        "all_varchar" => {
            options.all_text = truth(value).ok_or_else(|| wrong("true or false"))?;
        }
        "delim" => {
            let delimiter = text(value).as_deref().and_then(delimiter_of);
            let wanted =
                "one ASCII character other than a quote or an end of line, as in delim = ';'";
            options.delimiter = Some(delimiter.ok_or_else(|| wrong(wanted))?);
        }
        "nullstr" => {
            let null = text(value).filter(|null| null.len() <= NULL_BYTES);
            options.null = Some(null.ok_or_else(|| wrong("a short text, as in nullstr = 'NA'"))?);
        }
        "names" => {
            if options.types.is_some() {
                return Err(refused("`columns` has names: leave `names` out"));
            }
            let names = list(value);
            options.names = Some(names.ok_or_else(|| wrong("a list, as in names = ['a', 'b']"))?);
        }
        "columns" => {
            let wanted = "names with types, as in columns = {'a': 'BIGINT', 'b': 'VARCHAR'}";
            let Expr::Dictionary(fields) = value else {
                return Err(wrong(wanted));
            };
            if options.names.is_some() || fields.is_empty() {
                return Err(refused(
                    "`columns` has names, and at least one: leave `names` out",
                ));
            }
            let columns = fields.iter().map(column).collect::<Result<Vec<_>>>()?;
            let (names, types) = columns.into_iter().unzip();
            (options.names, options.types) = (Some(names), Some(types));
        }
        _ => {
            return Err(refused("read_csv has no such option")
                .with("option", name)
                .with("options", OPTIONS));
        }
    }
    Ok(())
}

/// Refuses options that contradict each other.
fn check(options: &CsvOptions) -> Result<()> {
    if options.all_text && options.types.is_some() {
        return Err(refused("`columns` has types: leave `all_varchar` out"));
    }
    let Some(names) = &options.names else {
        return Ok(());
    };
    // Without this, the first record of a file would be lost or a line of names be a record.
    if options.header.is_none() {
        return Err(refused(
            "with `names` or `columns`, say whether the first line of the file has names that are left out: header = true \
             or header = false",
        ));
    }
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair.first() == pair.last()) {
        Some(pair) => Err(refused("a column is named twice").with("column", pair[0])),
        None => Ok(()),
    }
}

/// A column with its type.
fn column(field: &DictionaryField) -> Result<(String, String)> {
    let name = field.key.value.clone();
    let written = text(&field.value);
    let kind = written.as_deref().and_then(type_of).ok_or_else(|| {
        refused(
            "a column of read_csv has one of the types BIGINT, BIGINT UNSIGNED, DOUBLE, BOOLEAN, DATE, TIMESTAMP and VARCHAR, \
             in quotes",
        )
        .with("column", &name)
        .with("type", &field.value)
    })?;
    Ok((name, kind.as_str().to_owned()))
}

/// The type of a column whose type is written like this.
fn type_of(written: &str) -> Option<ColumnType> {
    let mut parser = Parser::new(&GenericDialect {}).try_with_sql(written).ok()?;
    let kind = parser.parse_data_type().ok()?;
    let unsigned = matches!(kind, DataType::UBigInt) || written.to_lowercase().contains("unsigned");
    Some(match kind {
        _ if parser.peek_token().token != datafusion::sql::sqlparser::tokenizer::Token::EOF => {
            return None;
        }
        DataType::UBigInt
        | DataType::BigIntUnsigned(_)
        | DataType::IntUnsigned(_)
        | DataType::IntegerUnsigned(_)
        | DataType::SmallIntUnsigned(_)
        | DataType::TinyIntUnsigned(_) => ColumnType::Uint,
        _ if unsigned => return None,
        DataType::BigInt(_)
        | DataType::Int(_)
        | DataType::Integer(_)
        | DataType::Int2(_)
        | DataType::Int4(_)
        | DataType::Int8(_)
        | DataType::SmallInt(_)
        | DataType::TinyInt(_) => ColumnType::Int,
        DataType::Double(_)
        | DataType::DoublePrecision
        | DataType::Float(_)
        | DataType::Float4
        | DataType::Float8
        | DataType::Real => ColumnType::Float,
        DataType::Bool | DataType::Boolean => ColumnType::Bool,
        DataType::Date => ColumnType::Date,
        DataType::Datetime(_)
        | DataType::TimestampNtz(_)
        | DataType::Timestamp(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            ColumnType::DatetimeUs
        }
        DataType::Varchar(_)
        | DataType::CharacterVarying(_)
        | DataType::Char(_)
        | DataType::Character(_)
        | DataType::Text
        | DataType::String(_) => ColumnType::Text,
        _ => return None,
    })
}

fn delimiter_of(text: &str) -> Option<u8> {
    match text.as_bytes() {
        // As it is written in shells and other systems.
        b"\\t" => Some(b'\t'),
        [byte] if is_delimiter(*byte) => Some(*byte),
        _ => None,
    }
}

fn text(value: &Expr) -> Option<String> {
    match value {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}

fn truth(value: &Expr) -> Option<bool> {
    match value {
        Expr::Value(value) => match &value.value {
            Value::Boolean(truth) => Some(*truth),
            Value::Number(number, _) if number == "1" => Some(true),
            Value::Number(number, _) if number == "0" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

fn list(value: &Expr) -> Option<Vec<String>> {
    match value {
        Expr::Array(array) if !array.elem.is_empty() => array.elem.iter().map(text).collect(),
        _ => None,
    }
}

fn refused(reason: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, reason.to_owned())
}
