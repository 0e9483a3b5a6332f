//! Runs the phases that are queries of HiBench.

use std::sync::Arc;

use ostrakon_cell::{Result, Source};

use super::phases::{Outcome, Setting};
use super::plan::HiveStep;
use crate::hive::{Expected, HiveData, HiveQuery, load, run_query};

/// The same data in every run, so that runs can be compared.
const SEED: u64 = 2014;

impl Outcome {
    pub(super) fn hive(
        &mut self,
        source: &Arc<dyn Source>,
        step: &HiveStep,
        setting: Setting<'_>,
    ) -> Result<()> {
        let data = HiveData::new(step.pages, step.visits, SEED);
        self.tables = ["rankings", "uservisits"].map(str::to_owned).into();
        let Some(query) = step.query else {
            let loaded = load(source, &data, setting.scratch, setting.durability)?;
            let bytes = loaded.ranking_bytes + loaded.visit_bytes;
            // Two cells of a ranking and nine of a visit.
            self.entries += loaded.rankings * 2 + loaded.visits * 9;
            self.entry_bytes += bytes;
            self.set("load", "pages", data.pages() as f64);
            self.set("load", "rankings", loaded.rankings as f64);
            self.set("load", "visits", loaded.visits as f64);
            self.set("load", "bytes", bytes as f64);
            let of_each = |bytes: u64, rows: u64| bytes as f64 / rows.max(1) as f64;
            let (page, visit) = (
                of_each(loaded.ranking_bytes, data.pages()),
                of_each(loaded.visit_bytes, loaded.visits),
            );
            self.set("load", "page_bytes", page);
            self.set("load", "visit_bytes", visit);
            self.set("load", "seconds", loaded.seconds);
            let rows = (loaded.rankings + loaded.visits) as f64;
            self.set("load", "rate", rows / loaded.seconds.max(1e-9));
            // What the queries read, as text: the aggregation one table, the join both.
            self.set("aggregation", "bytes", loaded.visit_bytes as f64);
            self.set("join", "bytes", bytes as f64);
            return Ok(());
        };
        let figures = run_query(source, query, &Expected::of(&data), setting.scratch)?;
        let name = match query {
            HiveQuery::Aggregation => "aggregation",
            HiveQuery::Join => "join",
        };
        self.set(name, "rows", figures.rows as f64);
        self.set(name, "seconds", figures.seconds);
        let bytes = self
            .repetition
            .metrics
            .get(&format!("{name}.bytes"))
            .copied();
        let seconds = figures.seconds.max(1e-9);
        self.set(name, "byte_rate", bytes.unwrap_or_default() / seconds);
        self.set(name, "rate", step.visits as f64 / seconds);
        Ok(())
    }
}
