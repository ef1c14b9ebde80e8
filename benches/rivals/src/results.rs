//! Results as flat JSON rows: one row per stage, engine, size and measure.

use serde::{Deserialize, Serialize};
use std::path::Path;

pub type Error = Box<dyn std::error::Error + Send + Sync>;
pub type Result<T> = std::result::Result<T, Error>;

/// One measure of one engine, with a value per run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    pub stage: String,
    pub engine: String,
    /// What a returned write of this engine guaranteed during the measurement.
    pub durability: String,
    pub documents: u64,
    pub measure: String,
    pub unit: String,
    pub values: Vec<f64>,
}

impl Row {
    pub fn median(&self) -> f64 {
        median(&self.values)
    }

    pub fn least(&self) -> f64 {
        self.values.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub fn most(&self) -> f64 {
        self.values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }
}

/// The median. For an even number of values, the mean of the middle two.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[odd / 2],
        even => f64::midpoint(sorted[even / 2 - 1], sorted[even / 2]),
    }
}

/// All results of one stage, and the machine.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Results {
    pub command: String,
    pub machine: Vec<(String, String)>,
    pub rows: Vec<Row>,
}

/// The engine and the stage that a figure belongs to. The measure is passed with the figure.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    pub stage: &'a str,
    pub engine: &'a str,
    pub durability: &'a str,
    pub documents: u64,
}

impl Results {
    pub fn new() -> Self {
        // Paths of this machine are private, so they are not shown.
        let shown = |word: String| if word.starts_with('/') { "PATH".to_owned() } else { word };
        let command = std::env::args().skip(1).map(shown).collect::<Vec<_>>().join(" ");
        Self { command, machine: crate::machine::describe(), rows: Vec::new() }
    }

    /// Records a figure. If its row exists already, the figure is appended to the row's values, one
    /// value per run.
    pub fn note(&mut self, of: Subject<'_>, measure: &str, unit: &str, value: f64) {
        let same = |row: &&mut Row| {
            row.stage == of.stage
                && row.engine == of.engine
                && row.documents == of.documents
                && row.measure == measure
        };
        if let Some(row) = self.rows.iter_mut().find(same) {
            row.values.push(value);
            return;
        }
        self.rows.push(Row {
            stage: of.stage.to_owned(),
            engine: of.engine.to_owned(),
            durability: of.durability.to_owned(),
            documents: of.documents,
            measure: measure.to_owned(),
            unit: unit.to_owned(),
            values: vec![value],
        });
    }

    /// Takes over the results of one run: records, for each measure, the median of the values that
    /// the run has measured.
    pub fn note_medians(&mut self, run: &Self) {
        for row in &run.rows {
            let Row { stage, engine, durability, documents, .. } = row;
            let of = Subject { stage, engine, durability, documents: *documents };
            self.note(of, &row.measure, &row.unit, row.median());
        }
    }

    pub fn write(&self, path: &Path) -> Result<()> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(path, serde_json::to_string_pretty(self)? + "\n")?;
        Ok(())
    }

    pub fn read(path: &Path) -> Result<Self> {
        Ok(serde_json::from_str(&std::fs::read_to_string(path)?)?)
    }

    /// One line per figure: minimum, median and maximum of the runs.
    pub fn print(&self) {
        for row in &self.rows {
            println!(
                "{:<8} {:<14} {:>9} {:<34} {:>12} {:>12} {:>12} {}",
                row.stage,
                row.engine,
                row.documents,
                row.measure,
                figure(row.least()),
                figure(row.median()),
                figure(row.most()),
                row.unit,
            );
        }
    }
}

/// Three significant digits, with thousands separators.
pub fn figure(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    let size = value.abs();
    if size >= 1000.0 {
        let whole = format!("{:.0}", size.round());
        let mut text = String::new();
        for (at, digit) in whole.chars().enumerate() {
            if at > 0 && (whole.len() - at) % 3 == 0 {
                text.push(',');
            }
            text.push(digit);
        }
        return if value < 0.0 { format!("-{text}") } else { text };
    }
    match size {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        0.1.. => format!("{value:.3}"),
        _ if size == 0.0 => "0".to_owned(),
        _ => format!("{value:.4}"),
    }
}
