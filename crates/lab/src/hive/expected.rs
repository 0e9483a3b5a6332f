//! The answers, computed from the generator.

use std::collections::BTreeMap;

use super::data::HiveData;

/// What the queries must answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    /// Groups of the aggregation.
    pub groups: u64,
    /// The sum of all revenues.
    pub revenue: f64,
    /// The row of the join; `None` if no visit of the year is to a page with a rank.
    pub top: Option<Top>,
}

/// The source with the highest revenue.
#[derive(Debug, Clone, PartialEq)]
pub struct Top {
    /// Its address. Of several with the same revenue, any.
    pub addresses: Vec<String>,
    /// Its revenue.
    pub revenue: f64,
}

impl Expected {
    /// The answers about this data.
    #[must_use]
    pub fn of(data: &HiveData) -> Self {
        let mut all: BTreeMap<u32, f64> = BTreeMap::new();
        let mut year: BTreeMap<u32, f64> = BTreeMap::new();
        for number in 0..data.visits() {
            let visit = data.visit(number);
            *all.entry(visit.address).or_default() += visit.revenue;
            let date = data.date(visit.day);
            let wanted = ("1999-01-01"..="2000-01-01").contains(&date);
            if wanted && data.rank(visit.page).is_some() {
                *year.entry(visit.address).or_default() += visit.revenue;
            }
        }
        let most = year.values().copied().max_by(f64::total_cmp);
        let top = most.map(|revenue| Top {
            addresses: year
                .iter()
                .filter(|(_, one)| **one == revenue)
                .map(|(address, _)| {
                    let [a, b, c, d] = address.to_be_bytes();
                    format!("{a}.{b}.{c}.{d}")
                })
                .collect(),
            revenue,
        });
        Self {
            groups: all.len() as u64,
            revenue: all.values().sum(),
            top,
        }
    }
}
