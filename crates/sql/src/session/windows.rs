//! Named windows, `WINDOW w AS (…)`. The engine knows `OVER w` in the columns of a query alone, and passes over the name in
//! `OVER (w ORDER BY …)` and in `WINDOW v AS (w …)`.

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, NamedWindowDefinition, NamedWindowExpr, Query, Select, SetExpr, Statement as Ast,
    VisitMut, VisitorMut, WindowSpec, WindowType,
};
use ostrakon_cell::{Error, ErrorKind, Result};

use super::spelling::normal;
use super::walk::{visit_expressions, visit_expressions_mut, visit_mut};

/// Writes out the windows that a statement names.
///
/// # Errors
/// A window that is not defined, or that changes what it takes over from another one: as in PostgreSQL, it adds ORDER BY and
/// a frame to a window without them.
pub(super) fn write_out(ast: &mut Ast) -> Result<()> {
    match visit_mut(ast, &mut Windows { written: 0 }) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// The windows of a query, by their names.
type Known = HashMap<String, WindowSpec>;

/// The most expressions in all windows that are written out. A window may have a query with windows that have queries, and
/// each use of it repeats all of them.
const WRITTEN_MAX: usize = 10_000;

struct Windows {
    /// The expressions that were written out so far.
    written: usize,
}

impl VisitorMut for Windows {
    type Break = Error;

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        let known = match self.defined(&mut select.named_window) {
            Ok(known) => known,
            Err(error) => return ControlFlow::Break(error),
        };
        // The windows of queries within this one were written out before.
        self.in_expressions(select, &known)
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let SetExpr::Select(select) = &mut *query.body else {
            return ControlFlow::Continue(());
        };
        match self.defined(&mut select.named_window) {
            Ok(known) => self.in_expressions(&mut query.order_by, &known),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl Windows {
    /// The windows of a query. Those that are defined by others are written out.
    fn defined(&mut self, windows: &mut [NamedWindowDefinition]) -> Result<Known> {
        let mut known = Known::new();
        for NamedWindowDefinition(name, window) in windows {
            let whole = match window {
                NamedWindowExpr::NamedWindow(other) => match known.get(&normal(other)) {
                    Some(whole) => whole.clone(),
                    None => return Err(unknown(&other.value)),
                },
                NamedWindowExpr::WindowSpec(window) => completed(window, &known)?,
            };
            self.count(&whole)?;
            *window = NamedWindowExpr::WindowSpec(whole.clone());
            // The engine refuses two of one name.
            known.insert(normal(name), whole);
        }
        Ok(known)
    }

    fn in_expressions<V: VisitMut>(&mut self, part: &mut V, known: &Known) -> ControlFlow<Error> {
        visit_expressions_mut(part, |expr| {
            let Expr::Function(function) = expr else {
                return ControlFlow::Continue(());
            };
            let whole = match &function.over {
                Some(WindowType::WindowSpec(window)) if window.window_name.is_none() => {
                    return ControlFlow::Continue(());
                }
                Some(WindowType::WindowSpec(window)) => completed(window, known),
                Some(WindowType::NamedWindow(name)) => {
                    let whole = known.get(&normal(name)).cloned();
                    whole.ok_or_else(|| unknown(&name.value))
                }
                None => return ControlFlow::Continue(()),
            };
            match whole.and_then(|whole| self.count(&whole).map(|()| whole)) {
                Ok(whole) => function.over = Some(WindowType::WindowSpec(whole)),
                Err(error) => return ControlFlow::Break(error),
            }
            ControlFlow::Continue(())
        })
    }

    /// Counts a window that is written out.
    ///
    /// # Errors
    /// All of them are too large.
    fn count(&mut self, window: &WindowSpec) -> Result<()> {
        let left = WRITTEN_MAX.saturating_sub(self.written);
        let mut size = 0;
        let counted = visit_expressions(window, |_| {
            size += 1;
            match size > left {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        self.written += size;
        match counted {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::invalid(
                "the windows of the statement are too long, because each use of a named window repeats it: compute what \
                 their queries compute once, with WITH",
            )
            .with("limit", format!("{WRITTEN_MAX} expressions"))),
        }
    }
}

/// The window with what it takes over from the one that it begins with.
fn completed(window: &WindowSpec, known: &Known) -> Result<WindowSpec> {
    let Some(name) = &window.window_name else {
        return Ok(window.clone());
    };
    let Some(first) = known.get(&normal(name)) else {
        return Err(unknown(&name.value));
    };
    let changed = [
        ("PARTITION BY", !window.partition_by.is_empty()),
        (
            "ORDER BY",
            !window.order_by.is_empty() && !first.order_by.is_empty(),
        ),
        ("frame", first.window_frame.is_some()),
    ];
    if let Some((what, _)) = changed.iter().find(|(_, is_changed)| *is_changed) {
        return Err(Error::invalid(
            "a window that begins with the name of another one keeps its PARTITION BY, adds ORDER BY only if that has \
             none, and needs one without a frame: write the window in full, or `OVER name` without parentheses",
        )
        .with("window", &name.value)
        .with("because of", what));
    }
    Ok(WindowSpec {
        window_name: None,
        partition_by: first.partition_by.clone(),
        order_by: match first.order_by.is_empty() {
            true => window.order_by.clone(),
            false => first.order_by.clone(),
        },
        window_frame: window.window_frame.clone(),
    })
}

fn unknown(name: &str) -> Error {
    Error::new(
        ErrorKind::InvalidArgument,
        "there is no such window: define it with WINDOW name AS (…) after HAVING, before those that begin with its name",
    )
    .with("window", name)
}
