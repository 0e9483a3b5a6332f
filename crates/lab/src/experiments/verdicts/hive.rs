//! Sentences about the tables and queries of HiBench.

use super::super::unit::Unit;
use super::rows::{Rows, percent, rate, times};

impl Rows<'_> {
    /// What doubling the data costs a query.
    pub(super) fn growth_of_time(&self, query: &str, paper: &str) -> Option<String> {
        let factor =
            |metric: &str| self.factor("as 240 GB", "as 440 GB", &format!("{query}.{metric}"));
        Some(format!(
            "From 240 to 440 GB, {query}: data {}, time {}; the paper: data +100 %, time {paper}.",
            percent(factor("bytes")?),
            percent(factor("seconds")?)
        ))
    }

    pub(super) fn slower_query(&self, size: &str, paper: &str) -> Option<String> {
        let of = |metric: &str| self.of(size, metric);
        let (aggregation, join) = (of("aggregation.seconds")?, of("join.seconds")?);
        Some(format!(
            "The join takes {} the time of the aggregation; the paper {paper}.",
            times(join / aggregation)
        ))
    }

    pub(super) fn query_rates(&self) -> Option<String> {
        let of = |metric: &str| self.of("as 240 GB", metric);
        Some(format!(
            "{} visits/s in the aggregation and {} in the join, in one process; the paper about 600,000 and 740,000 on 8 \
             machines (1,100 M visits in 1,837 and 1,486 s, Table 17).",
            rate(of("aggregation.rate")?),
            rate(of("join.rate")?)
        ))
    }

    pub(super) fn bytes_of_rows(&self) -> Option<String> {
        let of = |metric: &str| self.of("as 240 GB", metric);
        let bytes = |value: f64| Unit::Exact.show(value.round());
        Some(format!(
            "A page has {} bytes and a visit {}. The sizes stated in the paper imply 83 and 200.",
            bytes(of("load.page_bytes")?),
            bytes(of("load.visit_bytes")?)
        ))
    }

    pub(super) fn growth_of_load(&self) -> Option<String> {
        let factor = |metric: &str| self.factor("as 240 GB", "as 440 GB", metric);
        Some(format!(
            "From 240 to 440 GB: visits {}, text {}, time of the load {}; the paper's rows grow by 100 %, and it gives no time.",
            percent(factor("load.visits")?),
            percent(factor("load.bytes")?),
            percent(factor("load.seconds")?)
        ))
    }
}
