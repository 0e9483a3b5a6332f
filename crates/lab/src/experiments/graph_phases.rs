//! Runs the phases that are about graphs.

use std::sync::Arc;
use std::time::Instant;

use ostrakon_cell::{Durability, Result, Source};
use ostrakon_graph::expectations;

use super::phases::{Outcome, Setting, TABLE};
use super::plan::Picture;
use super::record::{Plot, PlotSeries, RateSeries};
use crate::graphs::{
    BaseGraph, DegreeCurve, GraphFigures, GraphIngestOptions, GraphWorkload, RanksOptions, Spy,
    run_graph_ingest, run_ranks,
};

/// Cells along a side of a spy picture.
pub(super) const SPY_SIDE: usize = 320;

/// A spy picture shows one edge out of this number, as in the paper.
const SPY_SHARE: u64 = 10;

impl Outcome {
    pub(super) fn graph(
        &mut self,
        source: &Arc<dyn Source>,
        workload: &GraphWorkload,
        durability: Durability,
        setting: Setting<'_>,
    ) -> Result<()> {
        let options = GraphIngestOptions {
            table: TABLE.to_owned(),
            workload: workload.clone(),
            durability: Some(durability),
            ..GraphIngestOptions::default()
        };
        let figures = run_graph_ingest(source, &options, setting.progress)?;
        self.samples("ingest", &figures.samples);
        self.repetition.rates.push(RateSeries {
            name: "ingest, entries".to_owned(),
            samples: figures.samples.clone(),
        });
        self.graph_figures(&figures);
        Ok(())
    }

    pub(super) fn ranks(
        &mut self,
        source: &Arc<dyn Source>,
        workload: &GraphWorkload,
        setting: Setting<'_>,
    ) -> Result<()> {
        let Some(command) = setting.ranks else {
            return Ok(());
        };
        let options = RanksOptions {
            table: TABLE.to_owned(),
            workload: workload.clone(),
            directory: setting.scratch.join("ranks"),
        };
        let figures = run_ranks(source, &options, command, setting.progress)?;
        self.set("ingest", "import_seconds", figures.import_seconds);
        self.graph_figures(&figures);
        Ok(())
    }

    fn graph_figures(&mut self, figures: &GraphFigures) {
        self.entries += figures.entries;
        self.entry_bytes += figures.bytes;
        let seconds = figures.seconds.max(1e-9);
        let rate = figures.edges as f64 / seconds;
        for (name, value) in [
            ("edges", figures.edges as f64),
            ("entries", figures.entries as f64),
            ("seconds", figures.seconds),
            ("generating_seconds", figures.generating_seconds),
            ("rate", rate),
            ("stored_rate", figures.entries as f64 / seconds),
            ("writer_rate", rate / figures.writers.max(1) as f64),
            ("flushed_seconds", figures.flushed_seconds),
            (
                "flushed_rate",
                figures.edges as f64 / figures.flushed_seconds.max(1e-9),
            ),
            ("tablets", figures.tablets as f64),
        ] {
            self.set("ingest", name, value);
        }
    }

    pub(super) fn picture(&mut self, workload: &GraphWorkload, picture: Picture) -> Result<()> {
        let began = Instant::now();
        let base = BaseGraph::generate(workload, 0)?;
        let seconds = began.elapsed().as_secs_f64().max(1e-9);
        match picture {
            Picture::Spy => {
                let shown = base.sample(SPY_SHARE);
                let vertices = workload.tablet_rows();
                let side = SPY_SIDE.min(vertices as usize);
                let spy = Spy::of(&shown, vertices, side);
                let expected = expectations(&workload.generator(0));
                for (name, value) in [
                    ("vertices", vertices as f64),
                    ("edges", base.generated() as f64),
                    ("entries", base.entries() as f64),
                    ("expected_entries", expected.distinct_edges),
                    ("self_edges", base.self_edges() as f64),
                    ("shown", spy.shown as f64),
                    ("rate", base.generated() as f64 / seconds),
                ] {
                    self.set("graph", name, value);
                }
                let how = if workload.permuted {
                    "renumbered"
                } else {
                    "as generated"
                };
                self.plots.push(Plot {
                    title: format!("Edges of the graph, {how}"),
                    x: "ends at vertex".to_owned(),
                    y: "begins at vertex".to_owned(),
                    spy: Some(spy),
                    ..Plot::default()
                });
            }
            Picture::Degrees { distinct, share } => {
                let part = if share > 1 { base.sample(share) } else { base };
                self.degrees(&DegreeCurve::of_rows(&part, distinct), distinct, share);
            }
        }
        Ok(())
    }

    fn degrees(&mut self, curve: &DegreeCurve, distinct: bool, share: u64) {
        for (name, value) in [
            ("vertices", curve.vertices() as f64),
            ("one", curve.of_degree_one() as f64),
            ("largest", curve.largest() as f64),
            ("slope_ends", curve.slope_of_ends()),
            ("slope_fitted", curve.slope_fitted()),
        ] {
            self.set("degree", name, value);
        }
        let name = match (distinct, share) {
            (true, _) => "different neighbours".to_owned(),
            (false, 1) => "every edge".to_owned(),
            (false, share) => format!("one edge in {share}"),
        };
        let mut series = vec![PlotSeries {
            name,
            points: curve
                .counts
                .iter()
                .map(|&(degree, count)| (degree as f64, count as f64))
                .collect(),
            ..PlotSeries::default()
        }];
        if share > 10 {
            // The last row of the experiment adds what the paper gives: two points, and a slope that leads from the
            // first to 430 vertices at the second's degree.
            series.push(PlotSeries {
                name: "the paper: 18,884 of degree 1, one of 447".to_owned(),
                points: vec![(1.0, 18_884.0), (447.0, 1.0)],
                hollow: true,
                ..PlotSeries::default()
            });
            series.push(PlotSeries {
                name: "the paper: slope −0.62".to_owned(),
                points: vec![(1.0, 18_884.0), (447.0, 18_884.0 * 447_f64.powf(-0.62))],
                lines: true,
                ..PlotSeries::default()
            });
        }
        self.plots.push(Plot {
            title: "Vertices against their degree".to_owned(),
            x: "degree".to_owned(),
            y: "vertices".to_owned(),
            log: true,
            series,
            ..Plot::default()
        });
    }
}
