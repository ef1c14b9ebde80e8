//! Line plots as SVG. Their logarithmic axes show how costs grow with size.

use super::figures::Figures;
use crate::results::figure;
use std::fmt::Write;

/// The measures that a plot shows of every engine.
pub struct Plot {
    pub file: &'static str,
    pub title: &'static str,
    pub unit: &'static str,
    /// Names of a measure, in order of preference: for each engine and size, the plot shows the
    /// first that has been measured.
    pub measures: &'static [&'static str],
}

pub const PLOTS: [Plot; 5] = [
    Plot {
        file: "insert.svg",
        title: "Documents inserted per second, in bulk",
        unit: "documents/s",
        measures: &["insert, batches of 10,000", "insert, batches of 1,000"],
    },
    Plot {
        file: "hit.svg",
        title: "A query that finds something, median",
        unit: "us",
        measures: &["hit p50"],
    },
    Plot {
        file: "miss.svg",
        title: "A query that finds nothing, median",
        unit: "us",
        measures: &["miss p50"],
    },
    Plot {
        file: "disk.svg",
        title: "Bytes per document, on disk (gaoya: of memory)",
        unit: "bytes",
        measures: &["disk", "memory"],
    },
    Plot {
        file: "reopen.svg",
        title: "Reopening to the first answer, warm",
        unit: "ms",
        measures: &["reopen to first answer, warm"],
    },
];

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 110.0;
const TOP: f64 = 46.0;
const BOTTOM: f64 = 52.0;

/// The colour of each engine, in order of preference: the first one is Nearkin's. Colour-blind
/// readers can tell the colours apart on white.
const COLOURS: [(&str, &str); 6] = [
    ("nearkin", "#d55e00"),
    ("gaoya", "#0072b2"),
    ("fjall", "#009e73"),
    ("lmdb", "#cc79a7"),
    ("sqlite", "#56748f"),
    ("redb", "#8a6d00"),
];

type Line<'a> = (&'a str, &'a str, Vec<(f64, f64)>);

/// A range of one axis, in decades.
#[derive(Clone, Copy)]
struct Axis {
    from: f64,
    to: f64,
}

impl Axis {
    /// The smallest range of whole decades that contains the values.
    fn around(values: impl Iterator<Item = f64>) -> Self {
        let (mut from, mut to) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.map(f64::log10) {
            (from, to) = (from.min(value.floor()), to.max(value.ceil()));
        }
        Self { from, to: if to > from { to } else { from + 1.0 } }
    }

    /// The position on the axis, from 0 to 1.
    fn share(self, value: f64) -> f64 {
        (value.log10() - self.from) / (self.to - self.from)
    }

    fn decades(self) -> impl Iterator<Item = f64> {
        (self.from as i32..=self.to as i32).map(|decade| 10_f64.powi(decade))
    }
}

fn lines<'a>(figures: &'a Figures, plot: &Plot) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    for (engine, colour) in COLOURS {
        let mut points = Vec::new();
        for stage in ["tables", "large"] {
            for size in figures.sizes(stage) {
                let row = plot
                    .measures
                    .iter()
                    .find_map(|measure| figures.get(stage, engine, size, measure));
                let values = row.map(|row| (size as f64, row.median()));
                points.extend(values.filter(|(_, value)| *value > 0.0));
            }
        }
        if !points.is_empty() {
            lines.push((engine, colour, points));
        }
    }
    lines
}

/// The plot, or `None` if there is nothing to show.
pub fn draw(figures: &Figures, plot: &Plot) -> Option<String> {
    let lines = lines(figures, plot);
    let points = || lines.iter().flat_map(|(_, _, points)| points);
    points().next()?;
    let across = Axis::around(points().map(|point| point.0));
    let up = Axis::around(points().map(|point| point.1));
    let x = |value: f64| LEFT + across.share(value) * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| HEIGHT - BOTTOM - up.share(value) * (HEIGHT - TOP - BOTTOM);
    let mut svg = head(plot);
    for value in up.decades() {
        let (at, end) = (y(value), WIDTH - RIGHT);
        let label = figure(value);
        let _ = write!(
            svg,
            "<path d=\"M{LEFT} {at:.1}H{end}\" stroke=\"#dddddd\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>\n",
            LEFT - 8.0,
            at + 4.0,
        );
    }
    for value in across.decades() {
        let (at, bottom) = (x(value), HEIGHT - BOTTOM);
        let label = figure(value);
        let _ = write!(
            svg,
            "<path d=\"M{at:.1} {TOP}V{bottom}\" stroke=\"#eeeeee\"/>\n\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>\n",
            bottom + 18.0,
        );
    }
    let mut labels = Vec::new();
    for (engine, colour, points) in &lines {
        let width = if *engine == "nearkin" { 3.5 } else { 1.8 };
        let path: Vec<String> =
            points.iter().map(|(a, b)| format!("{:.1} {:.1}", x(*a), y(*b))).collect();
        let path = path.join("L");
        let _ = writeln!(
            svg,
            "<path d=\"M{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"/>"
        );
        for (a, b) in points {
            let (x, y) = (x(*a), y(*b));
            let _ =
                writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.2\" fill=\"{colour}\"/>");
        }
        if let Some((a, b)) = points.last() {
            labels.push((y(*b), x(*a), *engine, *colour));
        }
    }
    name_lines(&mut svg, labels);
    svg.push_str("</svg>\n");
    Some(svg)
}

fn head(plot: &Plot) -> String {
    let (title, unit) = (plot.title, plot.unit);
    // With a white background, the plot is readable on a dark page, too.
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"13\" fill=\"#222222\" role=\"img\" \
         aria-label=\"{title}\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"8\" fill=\"#ffffff\"/>\n\
         <text x=\"{LEFT}\" y=\"26\" font-size=\"16\" font-weight=\"bold\">\
         {title} ({unit})</text>\n\
         <text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">documents</text>\n",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 12.0,
    )
}

/// Writes the names at the ends of the lines. They are moved apart if they would overlap.
fn name_lines(svg: &mut String, mut labels: Vec<(f64, f64, &str, &str)>) {
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut last = 0.0;
    for (y, x, engine, colour) in labels {
        let y = f64::max(y + 4.0, last + 14.0);
        last = y;
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{y:.1}\" fill=\"{colour}\" font-weight=\"bold\">\
             {engine}</text>",
            x + 10.0
        );
    }
}
