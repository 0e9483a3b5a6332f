//! Figures 3 and 4: pictures of the graph.

use super::super::graph_phases::SPY_SIDE;
use super::super::plan::{Phase, Picture, Plan, RowPlan, Sizes, Writers};
use super::super::unit::{Unit, short};
use super::paper;
use crate::graphs::GraphWorkload;

/// The paper's scale; the factor moves it by powers of two.
fn graph(sizes: Sizes, permuted: bool) -> GraphWorkload {
    GraphWorkload {
        scale: sizes.graph_scale(17),
        permuted,
        tablets: 1,
        ..GraphWorkload::default()
    }
}

fn row(name: &str, workload: GraphWorkload, picture: Picture) -> RowPlan {
    RowPlan {
        name: name.to_owned(),
        phases: vec![Phase::Picture(workload, picture)],
        ..RowPlan::default()
    }
}

/// The size of the graph against the paper's.
fn against(sizes: Sizes) -> String {
    match graph(sizes, false).scale {
        17 => "The paper's size: SCALE 17".to_owned(),
        scale => format!("SCALE {scale} instead of the paper's 17"),
    }
}

/// Figure 3: the matrix.
pub(in super::super) fn figure_3(sizes: Sizes) -> Plan {
    Plan {
        title: "The adjacency matrix of a Kronecker graph",
        paper: paper::FIGURE_3,
        scaling: format!(
            "{}, 8 edges a vertex, one edge in ten shown. Every cell of the picture holds the edges of about {} rows and \
             columns; darker ones hold more.",
            against(sizes),
            short(graph(sizes, false).tablet_rows() as f64 / SPY_SIDE as f64)
        ),
        timed: "generating, sorting and summing up equal edges, one thread",
        state: "no table".to_owned(),
        columns: &[
            ("graph.vertices", "Vertices", Unit::Exact),
            ("graph.edges", "Edges", Unit::Exact),
            ("graph.entries", "Distinct edges", Unit::Exact),
            ("graph.expected_entries", "Expected", Unit::Exact),
            ("graph.self_edges", "Self edges", Unit::Exact),
            ("graph.shown", "Shown", Unit::Exact),
            (
                "graph.rate",
                "Generated and sorted, edges/s",
                Unit::PerSecond,
            ),
        ],
        rows: vec![
            row("renumbered", graph(sizes, true), Picture::Spy),
            row("as generated", graph(sizes, false), Picture::Spy),
        ],
        clients: "",
        writers: Writers::None,
        plots: |_| Vec::new(),
    }
}

/// Figure 4: the degrees.
pub(in super::super) fn figure_4(sizes: Sizes) -> Plan {
    let degrees = |name, distinct, share| {
        let picture = Picture::Degrees { distinct, share };
        row(name, graph(sizes, true), picture)
    };
    Plan {
        title: "Degrees of a Kronecker graph",
        paper: paper::FIGURE_4,
        scaling: format!(
            "{}, 8 edges a vertex. Degrees are outgoing edges of vertices that have any, counted in four ways: every \
             generated edge, different neighbours, one edge in ten (the part that Figure 3 shows), one in twenty.",
            against(sizes)
        ),
        timed: "nothing",
        state: "no table".to_owned(),
        columns: &[
            ("degree.vertices", "Vertices with edges", Unit::Exact),
            ("degree.one", "Of degree 1", Unit::Exact),
            ("degree.largest", "Largest degree", Unit::Exact),
            ("degree.slope_ends", "Slope, end to end", Unit::Count),
            ("degree.slope_fitted", "Slope, fitted", Unit::Count),
        ],
        rows: vec![
            degrees("every edge", false, 1),
            degrees("different neighbours", true, 1),
            degrees("one edge in ten", false, 10),
            degrees("one edge in twenty", false, 20),
        ],
        clients: "",
        writers: Writers::None,
        plots: |_| Vec::new(),
    }
}
