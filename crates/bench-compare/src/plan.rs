//! The order of a run: repetitions of every workload, with the engines in turn.

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

use crate::Outcome;
use crate::children::{Job, Step, ask};
use crate::figures::Work;
use crate::options::Options;
use crate::rivals::EngineKind;

/// All values by workload and engine, one per repetition.
pub(crate) type Figures = HashMap<(Work, EngineKind), Vec<f64>>;

/// Runs everything, and returns the measured values.
pub(crate) fn run(options: &Options) -> Outcome<Figures> {
    let scratch = match &options.dir {
        Some(dir) => {
            std::fs::create_dir_all(dir)?;
            tempfile::tempdir_in(dir)?
        }
        None => tempfile::tempdir_in(beside_program()?)?,
    };
    let engines = options.engines();
    let mut run = Run {
        options,
        started: Instant::now(),
        figures: Figures::new(),
    };
    for repetition in 0..options.repetitions() {
        // No engine always goes first, because the disk may become slower, or the processor hotter.
        let mut turn = engines.clone();
        turn.rotate_left(repetition % engines.len());
        let folder = |kind: EngineKind| scratch.path().join(kind.title().replace(' ', "-"));
        let steps: &[Step] = if options.ycsb {
            &[Step::YcsbLoad, Step::YcsbRead]
        } else {
            &[Step::Ingest, Step::FirstReads, Step::Read]
        };
        for &step in steps {
            for &engine in &turn {
                run.step(repetition, step, engine, &folder(engine))?;
            }
        }
        for &engine in &turn {
            remove(&folder(engine))?;
        }
        for step in Step::OSTRAKON.into_iter().filter(|_| !options.ycsb) {
            let with_full = matches!(step, Step::IngestUnsplit);
            if with_full || !options.full {
                let dir = folder(EngineKind::Ostrakon);
                run.step(repetition, step, EngineKind::Ostrakon, &dir)?;
                if step != Step::Crash {
                    remove(&dir)?;
                }
            }
        }
    }
    Ok(run.figures)
}

struct Run<'a> {
    options: &'a Options,
    started: Instant,
    figures: Figures,
}

impl Run<'_> {
    fn step(
        &mut self,
        repetition: usize,
        step: Step,
        engine: EngineKind,
        dir: &Path,
    ) -> Outcome<()> {
        eprintln!(
            "{:4.0} s: repetition {} of {}: {step:?}, {}",
            self.started.elapsed().as_secs_f64(),
            repetition + 1,
            self.options.repetitions(),
            engine.title(),
        );
        let job = Job {
            step,
            engine,
            dir: dir.to_owned(),
            entries: self.options.entries(),
            writers: self.options.writers.max(1),
            full: self.options.full,
        };
        for figure in ask(&job)? {
            let values = self.figures.entry((figure.work, engine)).or_default();
            values.push(figure.value);
        }
        Ok(())
    }
}

fn beside_program() -> Outcome<std::path::PathBuf> {
    let program = std::env::current_exe()?;
    let folder = program.parent().ok_or("the program lies in no folder")?;
    Ok(folder.to_owned())
}

fn remove(dir: &Path) -> Outcome<()> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
