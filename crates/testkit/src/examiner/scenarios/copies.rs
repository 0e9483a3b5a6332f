//! Z: checkpoints, and verifying everything.

use ostrakon_cell::{ErrorKind, TableOptions, TimeType};

use crate::examiner::bench::{
    Bench, Check, ensure, entry, expect_equal, expect_refused, expect_values, read_all, write,
};

pub(in crate::examiner) fn a_checkpoint_is_a_store(bench: &Bench<'_>) -> Check {
    let table = bench.table_with(&TableOptions {
        time_type: TimeType::Logical,
        splits: vec![b"m".to_vec()],
        properties: [("table.custom.mark".to_owned(), "1".to_owned())].into(),
        ..TableOptions::default()
    })?;
    write(&table, &[entry("a", "f:q", 1, "in a file")])?;
    table.flush(true)?;
    write(&table, &[entry("z", "f:q", 1, "in memory")])?;
    let folder = match tempfile::tempdir() {
        Ok(folder) => folder,
        Err(error) => return ensure(false, || format!("no temporary folder: {error}")),
    };
    let target = folder.path().join("copy");
    bench.source.checkpoint(&target)?;
    expect_refused(
        bench.source.checkpoint(&target),
        &[ErrorKind::AlreadyExists],
        "a checkpoint onto a directory that is there",
    )?;
    write(&table, &[entry("n", "f:q", 1, "later")])?;
    let Some(copy) = bench.open_copy(&target)? else {
        return Ok(());
    };
    let copied = copy.table(&table.name())?;
    let both = ["in a file", "in memory"];
    expect_values(&read_all(&copied)?, &both, "the copy")?;
    expect_equal(copied.tablets()?.len(), 2, "tablets of the copy")?;
    let mark = copied.properties()?.remove("table.custom.mark");
    expect_equal(mark.as_deref(), Some("1"), "a property of the copy")?;
    write(&copied, &[entry("o", "f:q", 1, "copy only")])?;
    let of_copy = ["in a file", "copy only", "in memory"];
    expect_values(&read_all(&copied)?, &of_copy, "the copy goes its own way")?;
    let original = ["in a file", "later", "in memory"];
    expect_values(
        &read_all(&table)?,
        &original,
        "the original goes its own way",
    )
}

pub(in crate::examiner) fn a_sound_store_checks_clean(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    for round in 0..3 {
        let rows: Vec<_> = (0..200)
            .map(|row| entry(&format!("{row:03}"), "f:q", round, "x"))
            .collect();
        write(&table, &rows)?;
        table.flush(true)?;
    }
    let mut steps = 0;
    let report = bench.source.check(&mut |done, total| {
        steps += 1;
        done <= total
    })?;
    ensure(report.problems.is_empty(), || {
        format!("a sound store has problems: {:?}", report.problems)
    })?;
    ensure(
        report.entries >= 200 && report.files > 0 && report.bytes > 0,
        || format!("next to nothing was read: {report:?}"),
    )?;
    let refused = bench.source.check(&mut |_, _| false);
    expect_refused(refused, &[ErrorKind::Cancelled], "a check told to stop").map(drop)
}
