//! Results as tables of text: one line per stage, engine, size and measure.

use std::fmt::Write;
use std::path::Path;

pub type Error = Box<dyn std::error::Error + Send + Sync>;
pub type Result<T> = std::result::Result<T, Error>;

/// One measure of one engine, with a value per run.
#[derive(Debug, Clone)]
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
#[derive(Debug, Clone, Default)]
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

    /// Writes the results as lines of tab-separated fields. The lines that describe the run come
    /// first and start with `#`. Values have six significant digits.
    pub fn write(&self, path: &Path) -> Result<()> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut text = format!("# command\t{}\n", self.command);
        for (name, value) in &self.machine {
            writeln!(text, "# {name}\t{value}")?;
        }
        for row in &self.rows {
            let Row { stage, engine, durability, documents, measure, unit, values } = row;
            let values: Vec<String> = values.iter().map(|value| six_digits(*value)).collect();
            let values = values.join(" ");
            writeln!(
                text,
                "{stage}\t{engine}\t{durability}\t{documents}\t{measure}\t{unit}\t{values}"
            )?;
        }
        std::fs::write(path, text)?;
        Ok(())
    }

    pub fn read(path: &Path) -> Result<Self> {
        let mut results = Self::default();
        for (at, line) in std::fs::read_to_string(path)?.lines().enumerate() {
            let bad = || format!("{}: line {} is malformed", path.display(), at + 1);
            if let Some(head) = line.strip_prefix("# ") {
                let (name, value) = head.split_once('\t').ok_or_else(bad)?;
                match name {
                    "command" => value.clone_into(&mut results.command),
                    _ => results.machine.push((name.to_owned(), value.to_owned())),
                }
                continue;
            }
            let fields: Vec<&str> = line.split('\t').collect();
            let [stage, engine, durability, documents, measure, unit, values] = fields[..] else {
                return Err(bad().into());
            };
            let owned = str::to_owned;
            results.rows.push(Row {
                stage: owned(stage),
                engine: owned(engine),
                durability: owned(durability),
                documents: documents.parse()?,
                measure: owned(measure),
                unit: owned(unit),
                values: values.split(' ').map(str::parse).collect::<std::result::Result<_, _>>()?,
            });
        }
        Ok(results)
    }
}

fn six_digits(value: f64) -> String {
    let rounded: f64 = format!("{value:.5e}").parse().unwrap_or(value);
    rounded.to_string()
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
