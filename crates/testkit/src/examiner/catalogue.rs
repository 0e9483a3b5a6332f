//! All scenarios, numbered. A number is never given again.

use ostrakon_cell::Capability::{
    self, BulkImport, Check as CanCheck, Checkpoint, Clone as CanClone, Compaction,
    ConditionalWrite, Constraints, IsolatedScan, Namespaces, Offline, OwnProperties,
    PropertyLevels, ScanIterators, ScanLimits, ScanResume, Tablets, WriteDurability,
};

use super::bench::{Bench, Check};
use super::scenarios::{
    atomicity, bulk, columns, conditional, constraints, copies, iterators, labels, maintenance,
    namespaces, properties, ranges, scans, tables, tablets, timestamps, versions, writing,
};

/// One thing every source must do, if it can.
pub(super) struct Scenario {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) needs: &'static [Capability],
    pub(super) run: fn(&Bench<'_>) -> Check,
}

const fn scenario(
    id: &'static str,
    title: &'static str,
    needs: &'static [Capability],
    run: fn(&Bench<'_>) -> Check,
) -> Scenario {
    Scenario {
        id,
        title,
        needs,
        run,
    }
}

#[rustfmt::skip]
pub(super) const SCENARIOS: &[Scenario] = &[
    scenario("T1", "created tables are listed", &[], tables::created_tables_are_listed),
    scenario("T2", "names are checked", &[CanClone, Offline], tables::names_are_checked),
    scenario("T3", "handles follow a rename", &[], tables::handles_follow_a_rename),
    scenario("T4", "deleted tables are gone", &[], tables::deleted_tables_are_gone),
    scenario("T5", "clones go their own way", &[CanClone, Tablets, Compaction], tables::clones_go_their_own_way),
    scenario("T6", "off-line tables say so", &[Offline], tables::offline_tables_answer_offline),
    scenario("T7", "ids belong to tables", &[], tables::ids_belong_to_tables),
    scenario("T8", "clones of off-line tables are exact", &[CanClone, Offline], tables::clones_of_offline_tables_are_exact),
    scenario("W1", "all key parts and odd bytes come back", &[], writing::all_key_parts_come_back),
    scenario("W2", "batches apply in order", &[], writing::batches_apply_in_order),
    scenario("W3", "a mutation carries many updates", &[], writing::a_mutation_carries_many_updates),
    scenario("W4", "the batch writer tells what failed", &[], writing::the_batch_writer_tells_what_failed),
    scenario("W5", "large keys and values fit", &[], writing::large_keys_and_values_fit),
    scenario("W6", "many small writes all arrive", &[], writing::many_small_writes_all_arrive),
    scenario("W7", "durability may be chosen per write", &[WriteDurability], writing::durability_may_be_chosen_per_write),
    scenario("S1", "milliseconds do not go back", &[], timestamps::millis_do_not_go_back),
    scenario("S2", "logical time counts batches", &[], timestamps::logical_time_counts_batches),
    scenario("S3", "explicit timestamps are kept", &[], timestamps::explicit_timestamps_are_kept),
    scenario("D1", "a marker hides what is not newer", &[], versions::a_marker_hides_what_is_not_newer),
    scenario("D2", "a marker hides its own column only", &[], versions::a_marker_hides_its_own_column_only),
    scenario("D3", "nothing deleted comes back", &[Compaction], versions::nothing_deleted_comes_back),
    scenario("V1", "the newest version is shown", &[], versions::the_newest_version_is_shown),
    scenario("V2", "three versions are shown", &[Compaction], versions::three_versions_are_shown),
    scenario("V3", "all versions are shown", &[], versions::all_versions_are_shown),
    scenario("V4", "versions outlive files", &[Compaction], versions::versions_outlive_files),
    scenario("V5", "a range may begin inside a column", &[], versions::a_range_may_begin_inside_a_column),
    scenario("L1", "labels decide who sees", &[Compaction], labels::labels_decide_who_sees),
    scenario("L2", "a broken label hides its entry", &[], labels::a_broken_label_hides_its_entry),
    scenario("L3", "entries without label may get one", &[], labels::entries_without_label_may_get_one),
    scenario("C1", "only the columns asked for", &[Compaction], columns::only_the_columns_asked_for),
    scenario("R1", "rows between two bounds", &[], ranges::rows_between_two_bounds),
    scenario("R2", "rows that begin alike", &[], ranges::rows_that_begin_alike),
    scenario("R3", "keys inside a row", &[], ranges::keys_inside_a_row),
    scenario("R4", "ranges without entries", &[], ranges::ranges_without_entries),
    scenario("R5", "overlapping ranges give each entry once", &[], ranges::overlapping_ranges_give_each_entry_once),
    scenario("R6", "thousands of ranges", &[], ranges::thousands_of_ranges),
    scenario("R7", "batches of any size", &[], ranges::batches_of_any_size),
    scenario("N1", "a scan can start over", &[], scans::a_scan_can_start_over),
    scenario("N2", "a scan sees one snapshot", &[IsolatedScan, Compaction], scans::a_scan_sees_one_snapshot),
    scenario("N3", "a scan can be interrupted", &[ScanLimits], scans::a_scan_can_be_interrupted),
    scenario("N4", "a scan ends with its table", &[Offline], scans::a_scan_ends_with_its_table),
    scenario("N5", "what was not read can be read", &[ScanResume], scans::what_was_not_read_can_be_read),
    scenario("A1", "mutations are seen whole", &[IsolatedScan], atomicity::mutations_are_seen_whole),
    scenario("K1", "conditions hold or nothing happens", &[ConditionalWrite], conditional::conditions_hold_or_nothing_happens),
    scenario("K2", "exactly one wins a race", &[ConditionalWrite], conditional::exactly_one_wins_a_race),
    scenario("P1", "splits leave entries alone", &[Tablets, Compaction], tablets::splits_leave_entries_alone),
    scenario("P2", "too long split points are refused", &[Tablets], tablets::too_long_split_points_are_refused),
    scenario("P3", "merges leave entries alone", &[Tablets, Compaction], tablets::merges_leave_entries_alone),
    scenario("P4", "row ranges are deleted", &[Tablets, Compaction], tablets::row_ranges_are_deleted),
    scenario("M1", "flush and compaction change nothing", &[Compaction], maintenance::flush_and_compaction_change_nothing),
    scenario("M2", "a compaction may rewrite", &[Compaction, Tablets, ScanIterators], maintenance::a_compaction_may_rewrite),
    scenario("M3", "a compaction can be cancelled", &[Compaction], maintenance::a_compaction_can_be_cancelled),
    scenario("I1", "a scan may bring iterators", &[ScanIterators], iterators::a_scan_may_bring_iterators),
    scenario("I2", "table iterators are live", &[], iterators::table_iterators_are_live),
    scenario("I3", "unknown classes are refused at once", &[ScanIterators, Compaction], iterators::unknown_classes_are_refused_at_once),
    scenario("I4", "sums stay right through files", &[Compaction], iterators::sums_stay_right_through_files),
    scenario("O1", "properties are set and removed", &[], properties::properties_are_set_and_removed),
    scenario("O2", "wrong properties change nothing", &[], properties::wrong_properties_change_nothing),
    scenario("O3", "durability changes live", &[], properties::durability_changes_live),
    scenario("O4", "own properties are told from inherited ones", &[OwnProperties], properties::own_properties_are_told_apart),
    scenario("O5", "of two changes of one version one succeeds", &[OwnProperties], properties::one_of_two_changes_succeeds),
    scenario("O6", "tables inherit properties", &[OwnProperties, PropertyLevels, Namespaces], properties::tables_inherit_properties),
    scenario("O7", "properties of Accumulo without effect are kept", &[OwnProperties], properties::properties_without_effect_are_kept),
    scenario("O8", "locality groups are set one after another", &[], properties::groups_are_set_one_after_another),
    scenario("G1", "namespaces have ids, and names of their own", &[Namespaces], namespaces::namespaces_come_and_go),
    scenario("G2", "names of namespaces are checked", &[Namespaces], namespaces::names_are_checked),
    scenario("G3", "a namespace with tables stays", &[Namespaces], namespaces::full_ones_stay),
    scenario("Q1", "constraints refuse whole mutations", &[Constraints], constraints::constraints_refuse_whole_mutations),
    scenario("Q2", "batch writers sum up refusals", &[Constraints], constraints::batch_writers_sum_up_refusals),
    scenario("Q3", "unknown constraints are refused at once", &[Constraints], constraints::unknown_constraints_are_refused_at_once),
    scenario("B1", "imports come at once", &[BulkImport, Compaction], bulk::imports_come_at_once),
    scenario("B2", "unsorted imports are refused", &[BulkImport], bulk::unsorted_imports_are_refused),
    scenario("Z1", "a checkpoint is a store", &[Checkpoint, Tablets], copies::a_checkpoint_is_a_store),
    scenario("Z2", "a sound store checks clean", &[CanCheck], copies::a_sound_store_checks_clean),
];
