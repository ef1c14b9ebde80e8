//! The words in which two texts differ, as fields of a JSON object.

use nearkin::{Difference, Sketcher};
use serde::Serialize;

/// Maximum number of words shown of those that only one text has.
const WORDS_SHOWN: usize = 5;

/// The words that only one of two texts has.
#[derive(Debug, Serialize)]
pub struct Differences {
    /// The first words that only this text has, and that only the other one has.
    only_here: Vec<String>,
    only_there: Vec<String>,
    /// How many there are.
    only_here_count: usize,
    only_there_count: usize,
    /// Whether a number is among them.
    numbers_differ: bool,
}

impl Differences {
    /// What two texts differ in.
    pub fn between(sketcher: &Sketcher, here: &str, there: &str) -> Self {
        let Difference { only_here, only_there, counts, numbers_differ, .. } =
            sketcher.first_difference(here, there, WORDS_SHOWN);
        Self {
            only_here,
            only_there,
            only_here_count: counts.0,
            only_there_count: counts.1,
            numbers_differ,
        }
    }
}
