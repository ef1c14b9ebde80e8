//! All results of all stages, for look-up.

use crate::options::{Options, STAGES};
use crate::results::{Result, Results, Row, median};
use crate::scripts::NATIVE_RESULTS;

#[derive(Debug, Default)]
pub struct Figures {
    pub stages: Vec<(String, Results)>,
}

impl Figures {
    pub fn read(options: &Options) -> Result<Self> {
        let mut stages = Vec::new();
        for stage in STAGES.into_iter().chain([NATIVE_RESULTS]) {
            let path = options.results.join(format!("{stage}.tsv"));
            if path.exists() {
                stages.push((stage.to_owned(), Results::read(&path)?));
            }
        }
        Ok(Self { stages })
    }

    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.stages.iter().flat_map(|(_, results)| &results.rows)
    }

    pub fn get(&self, stage: &str, engine: &str, documents: u64, measure: &str) -> Option<&Row> {
        self.rows().find(|row| {
            row.stage == stage
                && row.engine == engine
                && row.documents == documents
                && row.measure == measure
        })
    }

    /// The row of a measure at the largest size at which the engine was measured.
    pub fn last(&self, stage: &str, engine: &str, measure: &str) -> Option<&Row> {
        let all = self
            .rows()
            .filter(|row| row.stage == stage && row.engine == engine && row.measure == measure);
        all.max_by_key(|row| row.documents)
    }

    /// The sizes of a stage, ascending.
    pub fn sizes(&self, stage: &str) -> Vec<u64> {
        let of_stage = self.rows().filter(|row| row.stage == stage);
        let mut sizes: Vec<u64> = of_stage.map(|row| row.documents).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// The engines of a stage at one size, in the order of measurement.
    pub fn engines(&self, stage: &str, documents: u64) -> Vec<&str> {
        let mut engines: Vec<&str> = Vec::new();
        for row in self.rows() {
            let new = !engines.contains(&row.engine.as_str());
            if row.stage == stage && row.documents == documents && new {
                engines.push(&row.engine);
            }
        }
        engines
    }

    /// All rows of an engine in a stage at one size.
    pub fn engine_rows(&self, stage: &str, engine: &str, documents: u64) -> Vec<&Row> {
        let matching = self
            .rows()
            .filter(|row| row.stage == stage && row.engine == engine && row.documents == documents);
        matching.collect()
    }
}

/// The ratio of two measures: computed for each run, then the median over the runs.
pub fn ratio(above: Option<&Row>, below: Option<&Row>) -> Option<f64> {
    let (above, below) = (above?, below?);
    let ratios: Vec<f64> =
        above.values.iter().zip(&below.values).map(|(above, below)| above / below).collect();
    Some(median(&ratios))
}

/// The smaller of two figures; `None` if either is missing.
pub fn least(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        _ => None,
    }
}
