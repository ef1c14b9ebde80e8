//! The words that only one of two texts has, for the rows of a result.

use std::ops::Range;

use nearkin::Sketcher;
use pyo3::prelude::*;

use crate::arrow::{Cell, Field, Kind};
use crate::columns::documents::Documents;
use crate::error::unlocked;
use crate::parallel::in_parts;

/// Number of pairs of texts between two checks for signals.
const PAIRS: usize = 1_024;
/// Number of pairs that a thread compares at a time.
const PAIRS_OF_A_PART: usize = 32;
/// Maximum number of words shown of those that only one text has.
const WORDS_SHOWN: usize = 5;

/// The words that only one of two texts has.
struct Words {
    /// The first words that only the row has, and that only the other one has.
    only: [String; 2],
    /// How many there are.
    counts: [usize; 2],
    numbers_differ: bool,
}

/// The differences of all rows that were compared with another one.
pub(crate) struct Differences {
    /// In ascending order of rows.
    found: Vec<(usize, Words)>,
}

impl Differences {
    pub(crate) const FIELDS: [Field; 5] = [
        Field::nullable("only_here", Kind::Text),
        Field::nullable("only_there", Kind::Text),
        Field::nullable("only_here_count", Kind::Integer),
        Field::nullable("only_there_count", Kind::Integer),
        Field::nullable("numbers_differ", Kind::Bool),
    ];

    /// Compares pairs of rows, in ascending order of the first ones, if they are texts.
    pub(crate) fn new(
        py: Python<'_>,
        documents: &Documents<'_>,
        sketcher: &Sketcher,
        pairs: impl Iterator<Item = (usize, usize)>,
        threads: usize,
    ) -> PyResult<Self> {
        let Documents::Texts(column) = documents else { return Ok(Self { found: Vec::new() }) };
        let held = column.hold(0..column.len())?;
        let texts = held.texts(0)?;
        let text = |row: usize| texts.get(row).copied().flatten();
        let pairs: Vec<(usize, &str, &str)> =
            pairs.filter_map(|(row, of)| Some((row, text(row)?, text(of)?))).collect();
        let mut found = Vec::with_capacity(pairs.len());
        for some in pairs.chunks(PAIRS) {
            let compare = |range: Range<usize>| {
                let some = some.get(range).unwrap_or_default().iter();
                some.map(|(row, here, there)| (*row, Words::between(sketcher, here, there)))
                    .collect::<Vec<_>>()
            };
            let compared =
                unlocked(py, || in_parts(threads, some.len(), PAIRS_OF_A_PART, compare))?;
            found.extend(compared.into_iter().flatten());
            py.check_signals()?;
        }
        Ok(Self { found })
    }

    /// The columns of a row.
    pub(crate) fn cells(&self, row: usize) -> [Cell<'_>; 5] {
        let at = self.found.binary_search_by_key(&row, |(row, _)| *row).ok();
        let words = at.and_then(|at| self.found.get(at)).map(|(_, words)| words);
        let only = |at: usize| words.and_then(|words| words.only.get(at)).map(String::as_bytes);
        let count = |at: usize| words.and_then(|words| words.counts.get(at)).copied();
        let numbers_differ = words.map(|words| words.numbers_differ);
        [only(0).into(), only(1).into(), count(0).into(), count(1).into(), numbers_differ.into()]
    }
}

impl Words {
    fn between(sketcher: &Sketcher, here: &str, there: &str) -> Self {
        let found = sketcher.difference(here, there);
        let numbers_differ = found.numbers_differ;
        let all = [found.only_here, found.only_there];
        let counts = all.each_ref().map(Vec::len);
        let only = all.map(|mut words| {
            words.truncate(WORDS_SHOWN);
            words.join(" ")
        });
        Self { only, counts, numbers_differ }
    }
}
