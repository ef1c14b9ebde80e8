//! Texts of so few different shingles that others of their kind look like copies: named, counted,
//! and what to do about them.
//!
//! Knows what is said. The library judges (`Variety::is_too_small`).

use nearkin::{Params, Shingles, Variety};

use crate::output::{self, counted, grouped, visible};
use crate::progress::Progress;
use crate::raw::Origin;

/// Repetitive texts that are named without `--verbose`.
const NAMED_MAX: u64 = 5;

/// What was seen of such texts in a run.
#[derive(Debug, Default)]
pub(crate) struct Repetitive {
    count: u64,
    named: u64,
}

impl Repetitive {
    /// Counts a text, and names the first ones.
    pub(crate) fn add(&mut self, name: &[u8], variety: Variety, progress: &Progress) {
        self.count += 1;
        if self.named < NAMED_MAX || output::is_verbose() {
            self.named += 1;
            progress.note(format!("repetitive: {}: {}", visible(name), told(variety)));
        }
    }

    /// The same for those of the lines of a chunk.
    pub(crate) fn add_lines<'a>(
        &mut self,
        lines: impl Iterator<Item = (&'a Origin, Variety)>,
        progress: &Progress,
    ) {
        for (origin, variety) in lines {
            if let Origin::Line { file, number } = origin {
                self.add(format!("{file} line {number}").as_bytes(), variety, progress);
            }
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }
}

/// What a text repeats, in a few words.
fn told(variety: Variety) -> String {
    format!(
        "{}, only {} different",
        counted(variety.shingles as u64, "shingle"),
        grouped(variety.distinct as u64)
    )
}

/// Says at the end of a run how many there were, and what to do.
pub(crate) fn advise(count: u64, params: &Params) {
    if count == 0 {
        return;
    }
    let texts = counted(count, "text");
    let (verb, they) = if count == 1 { ("repeats", "it says") } else { ("repeat", "they say") };
    output::note(format!(
        "warning: {texts} {verb} few different shingles again and again: texts of this kind are \
         taken for copies whatever {they}; compare them in an index of longer shingles \
         (--shingles {}) or with --bag",
        longer(params.shingles())
    ));
}

/// Shingles of three times as many units.
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
