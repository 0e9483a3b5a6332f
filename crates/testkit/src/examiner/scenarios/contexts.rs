//! X: calls on behalf of somebody, until some time.

use std::time::Duration;

use ostrakon_cell::{
    CallContext, ColumnUpdate, CompactOptions, ErrorKind, Mutation, MutationBatch, Principal,
    Range, ScanOptions, TableOptions,
};

use crate::examiner::bench::{
    Bench, Check, auths, ensure, expect_equal, expect_refused, expect_values, read_all, read_with,
};

/// A batch of one mutation under a label.
fn labelled(row: &str, label: &str) -> Check<MutationBatch> {
    let mut mutation = Mutation::new(row);
    mutation.update(ColumnUpdate {
        family: b"f",
        qualifier: b"q",
        visibility: label.as_bytes(),
        timestamp: None,
        value: Some(row.as_bytes()),
    })?;
    let mut batch = MutationBatch::new();
    batch.push(&mutation)?;
    Ok(batch)
}

pub(in crate::examiner) fn constraints_know_the_principal(bench: &Bench<'_>) -> Check {
    let class = "org.apache.accumulo.core.data.constraints.VisibilityConstraint";
    let table = bench.table_with(&TableOptions {
        properties: [("table.constraint.2".to_owned(), class.to_owned())].into(),
        ..TableOptions::default()
    })?;
    let alice = table.within(&CallContext {
        principal: Some(Principal {
            name: "alice".to_owned(),
            authorizations: auths("a"),
        }),
        ..CallContext::default()
    })?;
    let outcome = alice.submit(labelled("1", "a")?, None)?.wait()?;
    ensure(outcome.rejections.is_empty(), || format!("{outcome:?}"))?;
    let outcome = alice.submit(labelled("2", "a&b")?, None)?.wait()?;
    let codes: Vec<i16> = outcome.rejections.iter().map(|one| one.code).collect();
    expect_equal(
        codes,
        vec![2],
        "codes for a label that the writer may not see",
    )?;
    // Whoever has the source open may write everything, through handles of before and after.
    let outcome = table.submit(labelled("3", "b")?, None)?.wait()?;
    ensure(outcome.rejections.is_empty(), || format!("{outcome:?}"))?;
    let options = ScanOptions {
        authorizations: auths("a,b"),
        ..ScanOptions::default()
    };
    let found = read_with(&table, &[Range::all()], &options)?;
    expect_values(&found, &["1", "3"], "what was written")
}

pub(in crate::examiner) fn calls_end_with_their_time(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    let within = |timeout| {
        table.within(&CallContext {
            timeout: Some(timeout),
            trace: Some("work-7".to_owned()),
            ..CallContext::default()
        })
    };
    let over = within(Duration::ZERO)?;
    let timed_out = &[ErrorKind::TimedOut];
    let written = over.submit(labelled("1", "")?, None).map(drop);
    let error = expect_refused(written, timed_out, "a write whose time is over")?;
    let named = error
        .context()
        .iter()
        .any(|(name, value)| *name == "trace" && value == "work-7");
    ensure(named, || {
        format!("the error does not say what it was for: {error}")
    })?;
    let scanned = over
        .scan(&[Range::all()], &ScanOptions::default())
        .map(drop);
    expect_refused(scanned, timed_out, "a scan whose time is over")?;
    let row = [b"5".to_vec()];
    let calls = [
        ("a flush", over.flush(true)),
        ("a compaction", over.compact(&CompactOptions::default())),
        ("a split", over.add_splits(&row)),
        ("a merge", over.merge(None, None)),
        ("a deletion of rows", over.delete_rows(None, None)),
    ];
    for (what, outcome) in calls {
        expect_refused(
            outcome,
            timed_out,
            &format!("{what} after the caller's time"),
        )?;
    }
    expect_values(&read_all(&table)?, &[], "after a write whose time was over")?;
    // Enough time changes nothing.
    let enough = within(Duration::from_secs(3600))?;
    enough.submit(labelled("1", "")?, None)?.wait()?;
    expect_values(&read_all(&enough)?, &["1"], "within an hour")
}

pub(in crate::examiner) fn handles_share_their_time(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    let of = |timeout| CallContext {
        timeout,
        ..CallContext::default()
    };
    let long = Some(Duration::from_secs(3600));
    let over = table.within(&of(Some(Duration::ZERO)))?;
    let enough = table.within(&of(long))?;
    let made = [
        ("no limit of its own", over.within(&of(None))?),
        ("a longer one", over.within(&of(long))?),
        ("one between", over.within(&of(None))?.within(&of(long))?),
        ("a shorter one", enough.within(&of(Some(Duration::ZERO)))?),
    ];
    for (what, handle) in made {
        let written = handle.submit(labelled("1", "")?, None).map(drop);
        let what = format!("a write through a handle with {what}");
        expect_refused(written, &[ErrorKind::TimedOut], &what)?;
    }
    expect_values(&read_all(&table)?, &[], "after writes whose time was over")?;
    // A handle keeps its own time, whatever was made of it.
    enough.submit(labelled("1", "")?, None)?.wait()?;
    let inner = enough.within(&of(None))?;
    expect_values(&read_all(&inner)?, &["1"], "within an hour")
}
