//! One line chart as SVG. The library draws it; colours that follow the page's theme are inserted
//! afterwards, since the library knows only fixed ones.

use ostrakon_cell::{Error, ErrorKind, Result};
use plotters::prelude::*;

use super::text::escape;
use crate::experiments::short;

/// A line, or points, of a chart.
pub(super) struct Series {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
    /// Series of the same group share a colour.
    pub(super) group: usize,
}

/// What a chart shows.
pub(super) struct Chart<'a> {
    pub(super) title: &'a str,
    pub(super) x: &'a str,
    pub(super) y: &'a str,
    pub(super) series: Vec<Series>,
    /// Whether points are marked, for charts of few points.
    pub(super) marked: bool,
    pub(super) log_y: bool,
    /// Whether the horizontal axis counts nines: a quantile q is at -log10(1 - q), so that the slow
    /// end has room.
    pub(super) nines: bool,
}

/// The position of a quantile on an axis that counts nines.
pub(super) fn nines(quantile: f64) -> f64 {
    -(1.0 - quantile).log10()
}

/// The quantile at a place of such an axis, in percent.
fn percent_at(place: f64) -> String {
    let percent = 100.0 * (1.0 - 10_f64.powf(-place));
    let text = format!("{percent:.3}");
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

const SIZE: (u32, u32) = (560, 300);

/// Readable on light and on dark ground, and by the colour-blind (after Okabe and Ito).
const COLOURS: [RGBColor; 8] = [
    RGBColor(0x2f, 0x7e, 0xc4),
    RGBColor(0xd9, 0x6a, 0x1b),
    RGBColor(0x1f, 0x9d, 0x72),
    RGBColor(0xc2, 0x5a, 0x98),
    RGBColor(0xb8, 0x92, 0x12),
    RGBColor(0x7a, 0x6f, 0xc9),
    RGBColor(0xb0, 0x4a, 0x3a),
    RGBColor(0x80, 0x86, 0x8b),
];

/// Stands for the colour of text; no series has it.
pub(super) const INK: RGBColor = RGBColor(1, 2, 3);

/// The colour of a group.
pub(super) fn series_colour(group: usize) -> RGBColor {
    COLOURS[group % COLOURS.len()]
}

/// A drawing with a title, in the colours of the page.
pub(super) fn themed(svg: &str, title: &str) -> String {
    svg.replace("#010203", "currentColor")
        .replace("<svg ", "<svg role=\"img\" ")
        .replacen('>', &format!("><title>{}</title>", escape(title)), 1)
}

/// A picture with its title and legend. The box scrolls where the screen is too narrow for the letters of the picture.
pub(super) fn figure_of(title: &str, svg: &str, legend: &str) -> String {
    format!(
        "<figure><figcaption>{}</figcaption><div class=\"scroll\" tabindex=\"0\">{svg}</div>{legend}</figure>",
        escape(title)
    )
}

/// A legend below a picture: group, name, and whether its points are hollow.
pub(super) fn legend<'a>(named: impl Iterator<Item = (usize, &'a str, bool)>) -> String {
    let items = named.map(|(group, name, hollow)| {
        let (colour, name) = (colour(group), escape(name));
        match hollow {
            true => format!("<li><i class=\"hollow\" style=\"color:{colour}\"></i>{name}</li>"),
            false => format!("<li><i style=\"background:{colour}\"></i>{name}</li>"),
        }
    });
    format!("<ul class=\"legend\">{}</ul>", items.collect::<String>())
}

/// The colour of a group, for legends outside the picture.
pub(super) fn colour(group: usize) -> String {
    let RGBColor(red, green, blue) = series_colour(group);
    format!("#{red:02x}{green:02x}{blue:02x}")
}

impl Chart<'_> {
    /// The chart as a figure, or nothing if there is nothing to draw.
    pub(super) fn figure(&self) -> Result<String> {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let finite = |value: &f64| value.is_finite();
        let high_x = points()
            .map(|point| point.0)
            .filter(finite)
            .fold(0.0, f64::max);
        let high_y = points()
            .map(|point| point.1)
            .filter(finite)
            .fold(0.0, f64::max);
        // Two points are no curve.
        if high_x <= 0.0 || high_y <= 0.0 || points().count() < 3 {
            return Ok(String::new());
        }
        let mut svg = String::new();
        self.draw(&mut svg, (high_x, high_y))
            .map_err(|error| Error::new(ErrorKind::Internal, error))?;
        let svg = themed(&svg, &self.title_line());
        Ok(figure_of(self.title, &svg, &self.legend()))
    }

    fn title_line(&self) -> String {
        format!("{}: {} against {}", self.title, self.y, self.x)
    }

    fn draw(&self, svg: &mut String, (high_x, high_y): (f64, f64)) -> Result<(), String> {
        let text = |error: DrawingAreaErrorKind<_>| error.to_string();
        let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
        let mut builder = ChartBuilder::on(&area);
        builder
            .margin(8)
            .margin_right(16)
            .x_label_area_size(40)
            .y_label_area_size(64);
        let across = 0.0..high_x * 1.02;
        if self.log_y {
            let low = self
                .series
                .iter()
                .flat_map(|series| &series.points)
                .map(|point| point.1)
                .filter(|value| *value > 0.0)
                .fold(high_y, f64::min);
            let up = (low / 1.5..high_y * 1.5).log_scale();
            let mut chart = builder.build_cartesian_2d(across, up).map_err(text)?;
            self.mesh(&mut chart).map_err(text)?;
            self.lines(&mut chart).map_err(text)?;
        } else {
            let up = 0.0..high_y * 1.08;
            let mut chart = builder.build_cartesian_2d(across, up).map_err(text)?;
            self.mesh(&mut chart).map_err(text)?;
            self.lines(&mut chart).map_err(text)?;
        }
        area.present().map_err(text)
    }

    fn mesh<'a, DB, Y>(
        &self,
        chart: &mut ChartContext<'a, DB, Cartesian2d<plotters::coord::types::RangedCoordf64, Y>>,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>>
    where
        DB: DrawingBackend + 'a,
        Y: Ranged<ValueType = f64> + plotters::coord::ranged1d::ValueFormatter<f64>,
    {
        let label = ("sans-serif", 13).into_font().color(&INK);
        chart
            .configure_mesh()
            .disable_x_mesh()
            .max_light_lines(0)
            .x_labels(if self.nines { 5 } else { 8 })
            .y_labels(6)
            .x_desc(self.x)
            .y_desc(self.y)
            .x_label_formatter(&|value| {
                if self.nines {
                    percent_at(*value)
                } else {
                    short(*value)
                }
            })
            .y_label_formatter(&|value| short(*value))
            .label_style(label.clone())
            .axis_desc_style(label)
            .axis_style(INK.mix(0.6))
            .bold_line_style(INK.mix(0.15))
            .draw()
    }

    fn lines<'a, DB, Y>(
        &self,
        chart: &mut ChartContext<'a, DB, Cartesian2d<plotters::coord::types::RangedCoordf64, Y>>,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>>
    where
        DB: DrawingBackend + 'a,
        Y: Ranged<ValueType = f64>,
    {
        for series in &self.series {
            let colour = series_colour(series.group);
            let points = series.points.iter().copied();
            chart.draw_series(LineSeries::new(points.clone(), colour.stroke_width(2)))?;
            if self.marked {
                let marks = points.map(|point| Circle::new(point, 3, colour.filled()));
                chart.draw_series(marks)?;
            }
        }
        Ok(())
    }

    /// One line a group: the series of a group are repetitions of one thing.
    fn legend(&self) -> String {
        let mut named: Vec<(usize, &str)> = Vec::new();
        for series in &self.series {
            if !named.iter().any(|(group, _)| *group == series.group) {
                named.push((series.group, &series.name));
            }
        }
        legend(named.into_iter().map(|(group, name)| (group, name, false)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<(f64, f64)>, log_y: bool) -> String {
        Chart {
            title: "Rate <now>",
            x: "seconds",
            y: "entries/s",
            series: vec![Series {
                name: "a & b".to_owned(),
                points,
                group: 0,
            }],
            marked: true,
            log_y,
            nines: log_y,
        }
        .figure()
        .unwrap()
    }

    #[test]
    fn a_chart_has_lines_marks_a_legend_and_the_colour_of_the_page() {
        for log_y in [false, true] {
            let figure = chart(vec![(0.0, 1.0), (1.0, 50.0), (2.0, 30.0)], log_y);
            assert!(
                figure.contains("<polyline") && figure.contains("<circle"),
                "{figure}"
            );
            assert!(figure.contains("currentColor") && !figure.contains("#010203"));
            assert!(figure.contains("a &amp; b") && figure.contains("Rate &lt;now&gt;"));
            assert!(figure.contains("<title>"));
        }
    }

    #[test]
    fn nines_are_counted() {
        assert_eq!(nines(0.0), 0.0);
        assert!((nines(0.999) - 3.0).abs() < 1e-9);
        assert_eq!(
            (percent_at(1.0), percent_at(3.0)),
            ("90 %".to_owned(), "99.9 %".to_owned())
        );
    }

    #[test]
    fn nothing_to_draw_draws_nothing() {
        assert_eq!(chart(Vec::new(), false), "");
        assert_eq!(chart(vec![(0.0, 0.0)], true), "");
    }
}
