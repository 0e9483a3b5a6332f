//! This program as one process of a parallel ingest: an experiment starts it to sort one part.

use std::path::Path;
use std::process::Command;

use ostrakon_cell::{BulkWriter, Error, ErrorKind};
use ostrakon_lab::graphs::{GraphWorkload, RankCommand, RankOptions, run_rank};
use ostrakon_store::sorted_file::{BulkFileWriter, WriterOptions};

use crate::args::RankArgs;
use crate::failure::{Failure, Result};
use crate::output::Output;

/// Starts this program again, as a rank.
pub(super) struct OwnRank;

impl RankCommand for OwnRank {
    fn rank_command(
        &self,
        options: &RankOptions,
        directory: &Path,
    ) -> ostrakon_cell::Result<Command> {
        let program = std::env::current_exe().map_err(|error| {
            Error::new(ErrorKind::Io, "cannot find this program's own executable")
                .with_source(error)
        })?;
        let workload = &options.workload;
        let mut command = Command::new(program);
        command.args(["lab", "rank"]).arg(directory);
        command
            .arg(format!("--rank={}", options.rank))
            .arg(format!("--ranks={}", workload.writers))
            .arg(format!("--tablets={}", workload.tablets))
            .arg(format!("--graph-scale={}", workload.scale))
            .arg(format!("--edges-per-vertex={}", workload.edges_per_vertex))
            .arg(format!("--seed={}", workload.seed))
            .arg(format!("--location={}", options.location))
            .arg("--splits")
            .arg(&options.splits);
        if workload.permuted {
            command.arg("--permuted");
        }
        Ok(command)
    }
}

/// Does the work of a rank and prints its figures as one line of JSON, which the parent reads.
pub(super) fn run(args: RankArgs, out: &mut Output) -> Result<()> {
    let options = RankOptions {
        workload: GraphWorkload {
            scale: args.graph_scale,
            edges_per_vertex: args.edges_per_vertex,
            writers: args.ranks,
            tablets: args.tablets,
            permuted: args.permuted,
            seed: args.seed,
        },
        rank: args.rank,
        splits: args.splits,
        location: args.location,
    };
    let figures = run_rank(&options, &|name| {
        let file = BulkFileWriter::create(&args.directory.join(name), WriterOptions::default())?;
        Ok(Box::new(file) as Box<dyn BulkWriter>)
    })?;
    let line = serde_json::to_string(&figures).map_err(|error| {
        Failure::bug("cannot write the figures as JSON").with("reason", error.to_string())
    })?;
    out.object(&figures, || line)
}
