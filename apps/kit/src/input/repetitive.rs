//! Warnings about repetitive texts: they have so few distinct shingles that unrelated texts of the
//! same kind look like copies.
//!
//! The library decides (`Variety::is_too_small`); this module names, counts and advises.

use nearkin::{Params, Shingles, Variety};

use crate::output::progress::Progress;
use crate::output::{self, counted, grouped, visible};
use nearkin_input::raw::Origin;

/// Maximum number of repetitive texts to name without `--verbose`.
const NAMED_MAX: u64 = 5;

/// Counts the repetitive texts of a run.
#[derive(Debug, Default)]
pub struct Repetitive {
    count: u64,
    named: u64,
}

impl Repetitive {
    /// Counts a repetitive text. The first few are named in notes.
    pub fn add(&mut self, name: &[u8], variety: Variety, progress: &Progress) {
        self.count += 1;
        if self.named < NAMED_MAX || output::is_verbose() {
            self.named += 1;
            progress.note(format!("repetitive: {}: {}", visible(name), described(variety)));
        }
    }

    /// Counts the repetitive texts among the lines of a chunk. The first few are named in notes.
    pub fn add_lines<'a>(
        &mut self,
        lines: impl Iterator<Item = (&'a Origin, Variety)>,
        progress: &Progress,
    ) {
        for (origin, variety) in lines {
            if let Origin::Line { file, number, .. } = origin {
                self.add(format!("{file} line {number}").as_bytes(), variety, progress);
            }
        }
    }

    /// Number of repetitive documents.
    pub fn count(&self) -> u64 {
        self.count
    }
}

/// Describes the repetition in a few words.
fn described(variety: Variety) -> String {
    format!(
        "{}, only {} different",
        counted(variety.shingles as u64, "shingle"),
        grouped(variety.distinct as u64)
    )
}

/// Prints at the end of a run how many repetitive texts there were, and what to do.
pub fn advise(count: u64, params: &Params) {
    if count == 0 {
        return;
    }
    let texts = counted(count, "text");
    let verb = if count == 1 { "repeats" } else { "repeat" };
    output::note(format!(
        "warning: {texts} {verb} few distinct shingles, so unrelated texts of this kind look like \
         copies; use an index with longer shingles (--shingles {}) or with --bag",
        longer(params.shingles())
    ));
}

/// Suggests shingles three times as long.
fn longer(shingles: Shingles) -> String {
    match shingles {
        Shingles::Words(units) => Shingles::Words((units * 3).min(64)),
        Shingles::Tokens(units) => Shingles::Tokens((units * 3).min(64)),
        Shingles::Chars(units) => Shingles::Chars((units * 3).min(64)),
        Shingles::Lines(units) => Shingles::Lines((units * 3).min(64)),
        other => other,
    }
    .to_string()
}
