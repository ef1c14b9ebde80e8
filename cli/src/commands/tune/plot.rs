//! Draws S-curves as text for the terminal and as SVG. Pure.

use std::fmt::Write as _;

/// Size of the plot on the terminal: `COLUMNS` characters for the x axis, and `LINES` lines for the
/// y axis from 0 to 1.
const COLUMNS: usize = 61;
const LINES: usize = 13;

/// Dash patterns that distinguish the curves that are not emphasised.
const DASHES: [&str; 5] = ["2 3", "6 3", "12 4", "8 3 2 3", "none"];

/// A probability as a function of similarity, both from 0 to 1.
pub(super) struct PlottedCurve<'a> {
    pub(super) name: String,
    pub(super) chance: Box<dyn Fn(f64) -> f64 + 'a>,
    /// Whether the curve is emphasised, as the recommended one is.
    pub(super) strong: bool,
}

/// The plot as lines of text. Each curve is drawn with its mark; later curves cover earlier ones.
pub(super) fn lines(curves: &[(char, &PlottedCurve<'_>)], threshold: f64) -> Vec<String> {
    let mut cells = vec![[' '; COLUMNS]; LINES];
    let last = (COLUMNS - 1) as f64;
    #[expect(clippy::cast_possible_truncation, reason = "0 to 1 times a few")]
    #[expect(clippy::cast_sign_loss, reason = "the same")]
    let place =
        |value: f64, count: usize| (value.clamp(0.0, 1.0) * (count - 1) as f64).round() as usize;
    for line in &mut cells {
        line[place(threshold, COLUMNS)] = ':';
    }
    for (mark, curve) in curves {
        let lines = (0..COLUMNS).map(|column| (curve.chance)(column as f64 / last));
        for (column, chance) in lines.enumerate() {
            cells[LINES - 1 - place(chance, LINES)][column] = *mark;
        }
    }
    let mut lines = Vec::new();
    for (at, line) in cells.iter().enumerate() {
        let label = match (LINES - 1 - at) * 4 {
            part if part % (LINES - 1) == 0 => format!("{:>4} %", 25 * (part / (LINES - 1))),
            _ => " ".repeat(6),
        };
        let line: String = line.iter().collect();
        lines.push(format!("{label} |{}", line.trim_end()));
    }
    lines.push(format!("{} +{}", " ".repeat(6), "-".repeat(COLUMNS)));
    let mut ticks = String::new();
    for tick in 0..=5 {
        // Writing to a `String` cannot fail.
        let _ = write!(ticks, "{:<12.1}", f64::from(tick) / 5.0);
    }
    lines.push(format!("{} {}", " ".repeat(6), ticks.trim_end()));
    lines
}

/// How a picture begins.
pub(super) const HEAD: &str =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 440\" role=\"img\">\n<style>\n";

/// The curves as SVG. The colours follow the reader's light or dark colour scheme.
pub(super) fn svg(title: &str, curves: &[PlottedCurve<'_>], threshold: f64) -> String {
    let (left, top, width, height) = (64.0, 48.0, 560.0, 320.0);
    let x = |similarity: f64| left + width * similarity;
    let y = |chance: f64| top + height * (1.0 - chance);
    let mut out = HEAD.to_owned();
    out.push_str(
        "svg{color:#1b1f24;background:#fff;font:14px system-ui,sans-serif}\n\
         .grid{stroke:#d0d5db}.weak{stroke:#8a94a0;stroke-width:1.5}\n\
         .strong{stroke:#b3261e;stroke-width:3}path{fill:none}text{fill:currentColor}\n\
         @media (prefers-color-scheme:dark){svg{color:#e8eaed;background:#16181c}\n\
         .grid{stroke:#3a4048}.weak{stroke:#7d8894}.strong{stroke:#ff8a80}}\n</style>\n",
    );
    let mut add = |line: String| {
        out.push_str(&line);
        out.push('\n');
    };
    let title = escaped(title);
    add(format!(
        "<title>{title}</title>\n<text x=\"{left}\" y=\"26\" font-size=\"17\">{title}</text>"
    ));
    for tick in 0..=5 {
        let value = f64::from(tick) / 5.0;
        let (across, up) = (x(value), y(value));
        let (right, bottom) = (left + width, top + height);
        add(format!(
            "<path class=\"grid\" d=\"M{left} {up:.1}H{right}M{across:.1} {top}V{bottom}\"/>"
        ));
        add(format!(
            "<text x=\"{across:.1}\" y=\"{}\" text-anchor=\"middle\">{value:.1}</text>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{:.0} %</text>",
            bottom + 20.0,
            left - 8.0,
            up + 5.0,
            100.0 * value
        ));
    }
    add(format!(
        "<text x=\"{}\" y=\"420\" text-anchor=\"middle\">similarity of two documents</text>",
        left + width / 2.0
    ));
    for (at, curve) in curves.iter().enumerate() {
        let class = if curve.strong { "strong" } else { "weak" };
        let points = (0..=100).map(|step| f64::from(step) / 100.0);
        let mut path = String::new();
        for (step, point) in points.enumerate() {
            let letter = if step == 0 { 'M' } else { 'L' };
            // Writing to a `String` cannot fail.
            let _ = write!(path, "{letter}{:.1} {:.1}", x(point), y((curve.chance)(point)));
        }
        let line = 70.0 + 24.0 * at as f64;
        let dashes = if curve.strong { "none" } else { DASHES[at % DASHES.len()] };
        add(format!("<path class=\"{class}\" stroke-dasharray=\"{dashes}\" d=\"{path}\"/>"));
        add(format!(
            "<path class=\"{class}\" stroke-dasharray=\"{dashes}\" d=\"M632 {line}h34\"/>\
             <text x=\"672\" y=\"{}\">{}</text>",
            line + 5.0,
            escaped(&curve.name)
        ));
    }
    let at = x(threshold);
    add(format!(
        "<path class=\"strong\" stroke-dasharray=\"4 4\" d=\"M{at:.1} {top}V{}\"/>\
         <text x=\"{at:.1}\" y=\"42\" text-anchor=\"middle\">threshold {threshold}</text>",
        top + height
    ));
    out.push_str("</svg>\n");
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_rises_from_the_left_below_to_the_right_above() {
        let chance = Box::new(|similarity| similarity);
        let curve = PlottedCurve { name: "a<b".to_owned(), chance, strong: true };
        let drawn = lines(&[('*', &curve)], 0.5);
        assert_eq!(drawn.len(), LINES + 2);
        assert!(drawn[0].starts_with(" 100 % |") && drawn[0].ends_with('*'), "{drawn:#?}");
        assert!(drawn[LINES - 1].starts_with("   0 % |*"), "{drawn:#?}");
        assert_eq!(drawn[LINES / 2], format!("  50 % |{}*****", " ".repeat(28)));
        assert!(drawn.iter().all(|line| line.len() <= 80));
        let picture = svg("x & y", &[curve], 0.5);
        assert!(picture.contains("a&lt;b") && picture.contains("x &amp; y"));
        assert!(!picture.contains("NaN"));
    }
}
