//! Arithmetic on integers that fails instead of wrapping around, extremes of all numbers, bins of all times, times without
//! seconds, conditions on NULL, and limits on the size of values. Other rules correct plans that the engine changes into
//! plans with other answers, or cannot execute.

mod access;
mod arithmetic;
mod arrays;
mod between;
mod cast_of;
mod conditions;
mod date_bin;
mod date_part;
mod date_trunc;
mod dates;
mod dependencies;
mod digits;
mod distinct_pairs;
mod empty;
mod empty_sorts;
mod equalities;
mod expressions;
mod extremes;
mod floats;
mod groups;
mod intervals;
mod lengths;
mod local_times;
mod minutes;
mod now;
mod null_keys;
mod one_way;
mod operators;
mod orders;
mod physical;
mod projections;
mod regression;
mod repeated_keys;
mod rules;
mod same_type;
mod series;
mod set_operations;
mod size;
mod stored;
mod subqueries;
mod sum;
mod to_timestamp;
mod unsigned;
mod using;
mod varying_lists;
mod windows;

use std::sync::{Arc, LazyLock};

use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use datafusion::prelude::SessionContext;

pub(crate) use access::{Access, HasOwnNulls};
pub(crate) use cast_of::CAST_OF;
pub(crate) use date_part::Extract;
pub(crate) use dependencies::PlainRelations;
pub(crate) use one_way::one_way;
pub(crate) use operators::Operators;
pub(crate) use physical::physical_rules;
pub(crate) use rules::{analyzer_rules, optimizer_rules};
pub(crate) use size::{StructPlanner, limit_of, rows_at_once};
pub(crate) use stored::stored;
pub(crate) use subqueries::check_joined;
pub(crate) use unsigned::SignedNumbers;
pub(crate) use windows::WINDOW;

/// Makes the arithmetic of a session checked, and limits the bytes that a function returns for a batch. The session says
/// which relations have fields of structs that are NULL where the struct is.
pub(crate) fn register(context: &SessionContext, limit: usize, has_own_nulls: HasOwnNulls) {
    context.add_analyzer_rule(Arc::new(arithmetic::CheckedArithmetic));
    context.add_analyzer_rule(Arc::new(projections::RepeatedProjections));
    context.add_analyzer_rule(Arc::new(set_operations::CountedRows));
    context.add_analyzer_rule(Arc::new(using::CommonColumns));
    context.add_analyzer_rule(Arc::new(subqueries::Subqueries));
    context.add_analyzer_rule(Arc::new(empty::EmptySubqueries));
    context.add_analyzer_rule(Arc::new(varying_lists::VARYING_LISTS));
    context.add_analyzer_rule(Arc::new(floats::FloatKeys));
    let pool = Arc::clone(&context.runtime_env().memory_pool);
    context.add_analyzer_rule(Arc::new(windows::WindowFunctions::new(pool)));
    context.add_optimizer_rule(Arc::new(empty_sorts::EmptySorts));
    context.add_optimizer_rule(Arc::new(windows::SeparateWindows));
    context.add_optimizer_rule(Arc::new(equalities::HiddenEqualities));
    context.add_optimizer_rule(Arc::new(repeated_keys::RepeatedKeys));
    context.add_optimizer_rule(Arc::new(one_way::OneWay));
    context.add_optimizer_rule(Arc::new(null_keys::NullKeys::new()));
    context.register_udaf(AggregateUDF::from(sum::CheckedSum::new()));
    for function in regression::Regression::both() {
        context.register_udaf(function);
    }
    distinct_pairs::register(context);
    for extreme in extremes::Extreme::both() {
        context.register_udaf(extreme);
    }
    context.register_udf(ScalarUDF::from(cast_of::CastOf::new()));
    context.register_udf(ScalarUDF::from(date_bin::DateBin::new()));
    context.register_udf(ScalarUDF::from(date_part::DatePart::new()));
    context.register_udf(ScalarUDF::from(date_trunc::DateTrunc::new()));
    series::register(context);
    context.register_udf(ScalarUDF::from(now::Now::new()));
    let config = context.copied_config();
    let to_timestamp = to_timestamp::ToTimestamp::new(config.options());
    context.register_udf(ScalarUDF::from(to_timestamp));
    context.add_analyzer_rule(Arc::new(minutes::MINUTES_OF_TIMES));
    context.add_analyzer_rule(Arc::new(local_times::LOCAL_TIMES));
    context.add_analyzer_rule(Arc::new(lengths::LENGTHS));
    context.add_analyzer_rule(Arc::new(access::FieldsOfNull(has_own_nulls)));
    context.add_analyzer_rule(Arc::new(between::VOLATILE_BETWEEN));
    size::register(context, limit);
}

/// The sum of counts, which is not NULL.
pub(crate) fn sum_of_counts() -> Arc<AggregateUDF> {
    static SUM: LazyLock<Arc<AggregateUDF>> =
        LazyLock::new(|| Arc::new(AggregateUDF::from(sum::CheckedSum::of_counts())));
    SUM.clone()
}
