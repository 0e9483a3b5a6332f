//! `lab ycsb …`: passes a table to the workloads of YCSB, and prints their report.

use std::io::Write as _;
use std::sync::Arc;

use ostrakon_cell::{CompactOptions, ErrorKind, Source, Table, TableOptions};
use ostrakon_lab::ycsb::{
    CoreWorkload, Database, TableAccess, TableClient, WorkloadProperties, Writes, YcsbOptions,
    YcsbPhase, YcsbReport, check_ycsb, run_ycsb,
};
use serde_json::json;

use super::access::{Absent, Access, find_table};
use super::lab_progress::{LabProgress, Lines};
use crate::args::{SettleChoice, WritesChoice, YcsbArgs, YcsbCommand};
use crate::failure::{Failure, Result, nearest};
use crate::output::Output;

/// Hashed keys are `user` and a number below 2^63, mostly of 19 digits: these are the first four.
const FIRST_DIGITS: (usize, usize) = (1000, 9223);

/// Runs one of the commands.
pub(super) fn run(access: &Access, command: YcsbCommand, out: &mut Output) -> Result<()> {
    match command {
        YcsbCommand::Load(args) => {
            let properties = properties(&args.common)?;
            let name = table_name(&properties);
            // A command that cannot succeed leaves no store behind.
            check_ycsb(&properties, &options(YcsbPhase::Load, &args.common))?;
            access.rehearse(|source| create(source, name, args.splits))?;
            access.with_store(Absent::Create, |source| {
                create(&*source, name, args.splits)?;
                let table = find_table(&*source, name)?;
                work(&table, YcsbPhase::Load, &properties, &args.common, out)?;
                match args.settle {
                    SettleChoice::No => {}
                    SettleChoice::Flush => table.flush(true)?,
                    SettleChoice::Compact => table.compact(&CompactOptions::default())?,
                }
                Ok(())
            })
        }
        YcsbCommand::Run(args) => {
            let properties = properties(&args)?;
            check_ycsb(&properties, &options(YcsbPhase::Run, &args))?;
            access.with_store(Absent::Refuse, |source| {
                let table = find_table(&*source, table_name(&properties)).map_err(loaded_first)?;
                work(&table, YcsbPhase::Run, &properties, &args, out)
            })
        }
    }
}

fn loaded_first(failure: Failure) -> Failure {
    match failure.is_kind(ErrorKind::TableNotFound) {
        true => failure.next("run `ostrakon lab ycsb load` first"),
        false => failure,
    }
}

fn options(phase: YcsbPhase, args: &YcsbArgs) -> YcsbOptions {
    YcsbOptions {
        phase,
        seed: args.seed,
        duration: None,
        status_clock: args.status.then_some(now),
    }
}

fn table_name(properties: &WorkloadProperties) -> &str {
    properties.get("table").unwrap_or("usertable")
}

fn properties(args: &YcsbArgs) -> Result<WorkloadProperties> {
    let mut properties = WorkloadProperties::default();
    for workload in &args.workloads {
        properties.add_workload(workload)?;
    }
    for one in &args.properties {
        properties.set(&one.name, &one.value);
    }
    let options = [("threadcount", args.threads), ("target", args.target)];
    for (name, value) in options {
        if let Some(value) = value {
            properties.set(name, &value.to_string());
        }
    }
    for name in properties.unknown() {
        let warning = Failure::warning("this property has no effect").with("property", name);
        match nearest(name, WorkloadProperties::known()) {
            Some(nearest) => warning.next(format!("did you mean `{nearest}`?")).warn(),
            None => warning.warn(),
        }
    }
    Ok(properties)
}

fn create(source: &dyn Source, name: &str, splits: usize) -> Result<()> {
    let (first, last) = FIRST_DIGITS;
    let split = |at| format!("user{}", first + (last - first) * at / (splits + 1)).into_bytes();
    let options = TableOptions {
        splits: (1..=splits).map(split).collect(),
        ..TableOptions::default()
    };
    match source.create_table(name, &options) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        created => Ok(created?),
    }
}

fn work(
    table: &Arc<dyn Table>,
    phase: YcsbPhase,
    properties: &WorkloadProperties,
    args: &YcsbArgs,
    out: &mut Output,
) -> Result<()> {
    let writes = match (args.writes, phase) {
        (Some(WritesChoice::Buffered), _) | (None, YcsbPhase::Load) => Writes::Buffered,
        _ => Writes::Durable,
    };
    let access = TableAccess {
        family: args.family.clone(),
        visibility: args
            .visibility
            .as_ref()
            .map(|label| label.to_string().into_bytes())
            .unwrap_or_default(),
        authorizations: args.auths.clone(),
        writes,
        durability: args.durability,
    };
    let options = options(phase, args);
    let connect = |_: &CoreWorkload| {
        let client = TableClient::new(Arc::clone(table), access.clone());
        Ok(Box::new(client) as Box<dyn Database>)
    };
    let progress = LabProgress::start(if args.status {
        Lines::Shown
    } else {
        Lines::Hidden
    });
    let report = run_ycsb(properties, &options, &connect, &progress)?;
    progress.clear();
    show(&report, properties, writes, out)?;
    if progress.stopped() {
        return Err(Failure::interrupted(
            "stopped; the report counts what was done until then",
        ));
    }
    match report.error {
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}

/// The time as in a status line of YCSB, in UTC.
fn now() -> String {
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    now.strftime("%Y-%m-%d %H:%M:%S:%3f").to_string()
}

fn show(
    report: &YcsbReport,
    properties: &WorkloadProperties,
    writes: Writes,
    out: &mut Output,
) -> Result<()> {
    let raw = report.raw();
    match properties.get("measurement.raw.output_file") {
        Some(file) if !raw.is_empty() => append(file, &raw)?,
        _ if !out.is_json() => out.stream().write_all(raw.as_bytes())?,
        _ => {}
    }
    if !out.is_json() {
        let summary = properties.get("measurement.raw.no_summary") != Some("true");
        out.stream().write_all(report.text(summary).as_bytes())?;
        return Ok(());
    }
    let mut object = json!(report.figures()?);
    if let Some(fields) = object.as_object_mut() {
        fields.insert("writes".to_owned(), json!(writes.name()));
    }
    out.object(&object, String::new)
}

fn append(file: &str, text: &str) -> Result<()> {
    let opened = std::fs::File::options()
        .append(true)
        .create(true)
        .open(file);
    opened
        .and_then(|mut opened| opened.write_all(text.as_bytes()))
        .map_err(|error| Failure::io("cannot write the raw times", &error).with("file", file))
}
