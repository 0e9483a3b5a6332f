//! The present problems of the store, for administrators and monitors.

use ostrakon_cell::{Activity, ErrorKind, Problem};

use super::open::Store;

impl Store {
    pub(super) fn list_problems(&self) -> Vec<Problem> {
        let context = &self.context;
        let of_store = |activity, kind, message: String, way_out: &str| Problem {
            table: None,
            tablet: None,
            activity,
            kind,
            message,
            way_out: way_out.to_owned(),
            times: 1,
            since_millis: 0,
            next_try_millis: None,
            refuses_writes: activity == Activity::Write,
        };
        let mut problems = Vec::new();
        if let Err(error) = context.health.check_writable()
            && error.kind() == ErrorKind::ReadOnly
            && !context.options.read_only
        {
            let way_out = "look at the disk, then close the store and open it again";
            problems.push(of_store(
                Activity::Write,
                error.kind(),
                format!("{error:?}"),
                way_out,
            ));
        }
        problems.extend(self.damages().iter().map(|damage| {
            let way_out = "put the segment back if it was moved, or restore a checkpoint";
            let (kind, file) = (ErrorKind::Corruption, damage.path.display());
            let message = format!("{} (file: {file})", damage.to_text());
            of_store(Activity::Log, kind, message, way_out)
        }));
        let tables: Vec<_> = self.tables.read().values().cloned().collect();
        problems.extend(tables.iter().flat_map(|table| table.problems()));
        problems
    }
}
