//! Counts the texts that may differ from their files: those in a guessed encoding, and those with
//! invalid bytes. Also names files that hold many documents and were read as one text.
//!
//! Every command that reads files fills these counts, so they are kept for the whole process.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use crate::output::{self, counted, grouped, visible};
use nearkin_input::formats::decode::How;
use nearkin_input::sniff::WayOut;

/// Maximum number of files with many documents to name without `--verbose`.
const NAMED_MAX: usize = 5;

/// Counts of doubtful texts. Counts of 0 are omitted from JSON.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Doubts {
    /// Texts in a guessed encoding.
    #[serde(skip_serializing_if = "is_zero")]
    guessed_encoding: u64,
    /// Texts with invalid bytes, which were replaced.
    #[serde(skip_serializing_if = "is_zero")]
    replaced_bytes: u64,
    /// Files that hold many documents.
    #[serde(skip_serializing_if = "is_zero")]
    many_documents: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What was found, and what is still to be printed.
struct FoundDoubts {
    counts: Doubts,
    /// The counts that were printed.
    reported: Doubts,
    /// With `--verbose`: the doubtful texts.
    named: Vec<String>,
    /// The first files with many documents; with `--verbose` all.
    many: BTreeSet<String>,
}

static FOUND: Mutex<FoundDoubts> = Mutex::new(FoundDoubts {
    counts: Doubts { guessed_encoding: 0, replaced_bytes: 0, many_documents: 0 },
    reported: Doubts { guessed_encoding: 0, replaced_bytes: 0, many_documents: 0 },
    named: Vec::new(),
    many: BTreeSet::new(),
});

fn found() -> MutexGuard<'static, FoundDoubts> {
    FOUND.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts a text if its encoding is doubtful.
pub fn note(path: &Path, how: &How) {
    if !how.is_guessed() && how.replaced == 0 {
        return;
    }
    let mut found = found();
    found.counts.guessed_encoding += u64::from(how.is_guessed());
    found.counts.replaced_bytes += u64::from(how.replaced > 0);
    if output::is_verbose() {
        let name = visible(path.as_os_str().as_encoded_bytes());
        found.named.push(format!("{name}: {how}"));
    }
}

/// Counts a file that holds many documents. `way_out` reads it as such.
pub(crate) fn note_many(path: &Path, what: &str, way_out: WayOut) {
    let mut found = found();
    let name = visible(path.as_os_str().as_encoded_bytes());
    let text = match way_out {
        WayOut::Option(option) => format!(
            "{name} holds {what}, and was read as one text; to read its documents: nearkin add \
             INDEX {option} {name}"
        ),
        WayOut::Split(split) => format!("{name} is {what}, and was read as one text; {split}"),
    };
    // `dups` reads a file again to compare it.
    if found.many.contains(&text) {
        return;
    }
    found.counts.many_documents += 1;
    if found.many.len() < NAMED_MAX || output::is_verbose() {
        found.many.insert(text);
    }
}

/// The counts so far.
pub fn counts() -> Doubts {
    found().counts
}

/// Prints what was found since the last call.
pub fn report() {
    let mut found = found();
    let FoundDoubts { counts, reported, named, many } = &mut *found;
    for one in named.drain(..) {
        output::note(one);
    }
    let many_more = counts.many_documents - reported.many_documents - many.len() as u64;
    for one in std::mem::take(many) {
        output::note(one);
    }
    if many_more > 0 {
        let more = grouped(many_more);
        output::note(format!("{more} more hold many documents (--verbose names them)"));
    }
    let guessed = counts.guessed_encoding - reported.guessed_encoding;
    let replaced = counts.replaced_bytes - reported.replaced_bytes;
    *reported = *counts;
    if guessed + replaced > 0 {
        let texts = |number| counted(number, "text");
        let hint = if output::is_verbose() { "" } else { " (--verbose names them)" };
        let guessed = (guessed > 0).then(|| format!("{} in a guessed encoding", texts(guessed)));
        let replaced =
            (replaced > 0).then(|| format!("{} with invalid bytes replaced", texts(replaced)));
        let parts: Vec<_> = guessed.into_iter().chain(replaced).collect();
        output::note(format!("{}{hint}", parts.join(", ")));
    }
}
