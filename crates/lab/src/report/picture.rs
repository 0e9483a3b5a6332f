//! Charts of points and lines on plain or logarithmic axes, and pictures of matrices.

use std::fmt::Write as _;

use ostrakon_cell::{Error, ErrorKind, Result};
use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;

use super::chart::{INK, colour, figure_of, legend, series_colour, themed};
use crate::experiments::Plot;
use crate::experiments::short;
use crate::graphs::Spy;

const SIZE: (u32, u32) = (560, 340);

/// A matrix is as high as it is wide.
const SPY_SIZE: (u32, u32) = (560, 548);

/// The charts that a record brings along.
pub(super) fn pictures(plots: &[Plot]) -> Result<String> {
    plots.iter().map(figure).collect()
}

fn figure(plot: &Plot) -> Result<String> {
    let points: usize = plot.series.iter().map(|series| series.points.len()).sum();
    if plot.spy.is_none() && points < 3 {
        return Ok(String::new());
    }
    let mut svg = String::new();
    let drawn = match &plot.spy {
        Some(spy) => draw_spy(plot, spy, &mut svg),
        None => draw(plot, &mut svg),
    };
    if !drawn.map_err(|error| Error::new(ErrorKind::Internal, error))? {
        return Ok(String::new());
    }
    let title = format!("{}: {} against {}", plot.title, plot.y, plot.x);
    let names = plot.series.iter().enumerate();
    let names = names.map(|(group, series)| (group, series.name.as_str(), series.hollow));
    Ok(figure_of(
        &plot.title,
        &themed(&svg, &title),
        &legend(names),
    ))
}

/// The ends of an axis that holds all values; `None` if there is nothing to show.
fn ends(values: impl Iterator<Item = f64>, log: bool) -> Option<(f64, f64)> {
    let shown = values.filter(|value| value.is_finite() && (!log || *value > 0.0));
    let (low, high) = shown.fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    if high <= 0.0 {
        return None;
    }
    Some(if log {
        (low / 1.6, high * 1.6)
    } else {
        (0.0, high * 1.06)
    })
}

/// Whether there was anything to draw.
fn draw(plot: &Plot, svg: &mut String) -> Result<bool, String> {
    let points = || plot.series.iter().flat_map(|series| &series.points);
    let across = ends(points().map(|point| point.0), plot.log);
    let up = ends(points().map(|point| point.1), plot.log);
    let (Some(across), Some(up)) = (across, up) else {
        return Ok(false);
    };
    let text = |error: DrawingAreaErrorKind<_>| error.to_string();
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    let mut builder = ChartBuilder::on(&area);
    builder
        .margin(8)
        .margin_right(16)
        .x_label_area_size(40)
        .y_label_area_size(64);
    let (across, up) = (across.0..across.1, up.0..up.1);
    if plot.log {
        let chart = builder.build_cartesian_2d(across.log_scale(), up.log_scale());
        series(plot, &mut chart.map_err(text)?).map_err(text)?;
    } else {
        let chart = builder.build_cartesian_2d(across, up);
        series(plot, &mut chart.map_err(text)?).map_err(text)?;
    }
    area.present().map_err(text)?;
    drop(area);
    Ok(true)
}

fn series<'a, DB, X, Y>(
    plot: &Plot,
    chart: &mut ChartContext<'a, DB, Cartesian2d<X, Y>>,
) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>>
where
    DB: DrawingBackend + 'a,
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    mesh(plot, chart)?;
    // Many points are small, so that they do not hide each other.
    let crowded = plot.series.iter().any(|series| series.points.len() > 60);
    for (group, series) in plot.series.iter().enumerate() {
        let colour = series_colour(group);
        let points = || {
            let shown = |point: &&(f64, f64)| !plot.log || (point.0 > 0.0 && point.1 > 0.0);
            series.points.iter().filter(shown).copied()
        };
        if series.lines {
            chart.draw_series(LineSeries::new(points(), colour.stroke_width(2)))?;
        }
        let radius = if crowded && !series.lines { 2 } else { 4 };
        let style = match series.hollow {
            true => colour.stroke_width(2),
            false => colour.filled(),
        };
        chart.draw_series(points().map(|point| Circle::new(point, radius, style)))?;
    }
    Ok(())
}

fn mesh<'a, DB, X, Y>(
    plot: &Plot,
    chart: &mut ChartContext<'a, DB, Cartesian2d<X, Y>>,
) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>>
where
    DB: DrawingBackend + 'a,
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let label = ("sans-serif", 13).into_font().color(&INK);
    chart
        .configure_mesh()
        .disable_x_mesh()
        .max_light_lines(0)
        .x_labels(8)
        .y_labels(6)
        .x_desc(&plot.x)
        .y_desc(&plot.y)
        .x_label_formatter(&|value| short(*value))
        .y_label_formatter(&|value| short(*value))
        .label_style(label.clone())
        .axis_desc_style(label)
        .axis_style(INK.mix(0.6))
        .bold_line_style(INK.mix(0.15))
        .draw()
}

/// The library draws the axes; the cells are one path for each number of edges, since an element a cell would make the
/// page a hundred times as large.
fn draw_spy(plot: &Plot, spy: &Spy, svg: &mut String) -> Result<bool, String> {
    let side = spy.cells.len();
    if side == 0 {
        return Ok(false);
    }
    let text = |error: DrawingAreaErrorKind<_>| error.to_string();
    let area = SVGBackend::with_string(svg, SPY_SIZE).into_drawing_area();
    let vertices = spy.vertices as f64;
    // Rows count downwards, as in a matrix.
    let mut chart = ChartBuilder::on(&area)
        .margin(8)
        .margin_right(16)
        .x_label_area_size(40)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..vertices, vertices..0.0)
        .map_err(text)?;
    mesh(plot, &mut chart).map_err(text)?;
    let (across, down) = chart.plotting_area().get_pixel_range();
    area.present().map_err(text)?;
    drop(chart);
    drop(area);
    let scale = |pixels: std::ops::Range<i32>| f64::from(pixels.end - pixels.start) / side as f64;
    let mut paths = format!(
        "<g transform=\"translate({} {}) scale({:.4} {:.4})\" fill=\"{}\">",
        across.start,
        down.start,
        scale(across.clone()),
        scale(down.clone()),
        colour(0)
    );
    for level in '1'..='9' {
        let path = path_of(&spy.cells, level);
        if !path.is_empty() {
            let opacity = 0.35 + 0.65 * f64::from(level as u32 - '1' as u32) / 8.0;
            let _ = write!(paths, "<path fill-opacity=\"{opacity:.2}\" d=\"{path}\"/>");
        }
    }
    paths += "</g></svg>";
    let end = svg.rfind("</svg>").unwrap_or(svg.len());
    svg.replace_range(end.., &paths);
    Ok(true)
}

/// The cells of a level, neighbours in a row as one bar.
fn path_of(cells: &[String], level: char) -> String {
    let mut path = String::new();
    for (down, row) in cells.iter().enumerate() {
        let row = row.as_bytes();
        let mut at = 0;
        while at < row.len() {
            if char::from(row[at]) != level {
                at += 1;
                continue;
            }
            let width = row[at..]
                .iter()
                .take_while(|cell| char::from(**cell) == level)
                .count();
            let _ = write!(path, "M{at} {down}h{width}v1h-{width}");
            at += width;
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::PlotSeries;

    #[test]
    fn points_and_lines_are_drawn_on_both_kinds_of_axes() {
        for log in [false, true] {
            let plot = Plot {
                title: "A <b>".to_owned(),
                log,
                series: vec![PlotSeries {
                    name: "one & two".to_owned(),
                    points: vec![(1.0, 10.0), (100.0, 0.5), (0.0, 3.0)],
                    lines: true,
                    ..PlotSeries::default()
                }],
                ..Plot::default()
            };
            let page = pictures(&[plot]).unwrap();
            // A logarithmic axis has no place for nothing.
            assert_eq!(page.matches("<circle").count(), if log { 2 } else { 3 });
            assert!(page.contains("<polyline") && page.contains("one &amp; two"));
            assert!(page.contains("A &lt;b&gt;") && page.contains("currentColor"));
        }
        assert_eq!(pictures(&[Plot::default()]).unwrap(), "");
    }

    #[test]
    fn a_matrix_becomes_bars() {
        let cells = vec!["11 2".to_owned(), "   1".to_owned()];
        assert_eq!(path_of(&cells, '1'), "M0 0h2v1h-2M3 1h1v1h-1");
        let plot = Plot {
            spy: Some(Spy {
                vertices: 8,
                shown: 5,
                cells,
            }),
            ..Plot::default()
        };
        let page = pictures(&[plot]).unwrap();
        assert_eq!(page.matches("<path").count(), 2);
        assert!(page.ends_with("</figure>") && page.contains("</g></svg>"));
    }
}
