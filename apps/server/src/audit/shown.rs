//! Rows as they are shown: in the list, in JSON and on the page.

use std::io;

use nearkin::{Apart, Audited, Duplicate, Evidence};
use serde::Serialize;

use super::sides::Sides;
use super::spool::{Spooled, SpooledRow};
use nearkin_kit::failure::Failure;
use nearkin_kit::input::content::Reading;
use nearkin_kit::output::JsonBytes;
use nearkin_kit::output::differences::Differences;

/// A removed row, as the list and JSON have it.
#[derive(Serialize)]
pub(super) struct AuditedObject<'a> {
    key: Option<JsonBytes<'a>>,
    file: &'a str,
    line: u64,
    /// That of the most similar kept row; 0 if none was found.
    similarity: f64,
    /// Whether it is below the threshold.
    wrong: bool,
    of_key: Option<JsonBytes<'a>>,
    of_file: Option<&'a str>,
    of_line: Option<u64>,
    /// Number of shingles of both rows, and of those they share.
    shingles: Option<u32>,
    of_shingles: Option<u32>,
    shared: Option<u32>,
    /// `numbers` or `rare`, if that sets similar rows apart.
    apart: Option<&'static str>,
    /// The most similar other removed row, if it is similar and no kept one is.
    chained_to_key: Option<JsonBytes<'a>>,
    chained_to_file: Option<&'a str>,
    chained_to_line: Option<u64>,
    chained_similarity: Option<f64>,
    /// Whether no kept row that shares a band can be more similar.
    settled: bool,
    #[serde(flatten)]
    differences: Option<Differences>,
}

/// A removed row, and the rows that it is similar to, with their texts.
pub(super) struct ShownRow<'a> {
    pub(super) audited: Audited,
    pub(super) row: TextRow<'a>,
    pub(super) kept: Option<TextRow<'a>>,
    pub(super) chained: Option<TextRow<'a>>,
}

/// A row with its key and its text.
pub(super) struct TextRow<'a> {
    pub(super) key: Vec<u8>,
    pub(super) file: &'a str,
    pub(super) line: u64,
    pub(super) text: String,
}

impl<'a> TextRow<'a> {
    fn read(rows: &'a Spooled, number: u64, reading: &Reading) -> Result<Self, Failure> {
        let SpooledRow { file, line, raw } = rows.row(number).map_err(|error| failed(&error))?;
        let read = reading.shown_text(raw);
        let (key, text) = read.map_err(|_| failed(&io::ErrorKind::InvalidData.into()))?;
        Ok(Self { key, file, line, text })
    }

    fn key(&self) -> Option<JsonBytes<'_>> {
        (!self.key.is_empty()).then_some(JsonBytes(&self.key))
    }
}

impl<'a> ShownRow<'a> {
    pub(super) fn read(
        sides: &'a Sides,
        reading: &Reading,
        audited: Audited,
    ) -> Result<Self, Failure> {
        let row = TextRow::read(&sides.removed, audited.row, reading)?;
        let other = |rows: &'a Spooled, found: Option<Duplicate>| {
            found.map(|found| TextRow::read(rows, found.of, reading)).transpose()
        };
        let kept = other(&sides.kept, audited.kept)?;
        Ok(Self { audited, row, kept, chained: other(&sides.removed, audited.chained)? })
    }

    /// What sets it apart from the kept row.
    pub(super) fn differences(&self, reading: &Reading) -> Option<Differences> {
        let kept = self.kept.as_ref().filter(|kept| kept.text != self.row.text)?;
        Some(Differences::between(reading.sketcher(), &self.row.text, &kept.text))
    }

    pub(super) fn object(&self, threshold: f64, reading: &Reading) -> AuditedObject<'_> {
        let Audited { kept: found, apart, chained, is_settled: settled, .. } = self.audited;
        let similarity = found.map_or(0.0, |found| found.similarity);
        let counts = found.and_then(|found| match found.evidence {
            Evidence::Shingles { own, other, shared, .. } => Some((own, other, shared)),
            _ => None,
        });
        let (kept, other) = (self.kept.as_ref(), self.chained.as_ref());
        AuditedObject {
            key: self.row.key(),
            file: self.row.file,
            line: self.row.line,
            similarity,
            wrong: similarity < threshold,
            of_key: kept.and_then(TextRow::key),
            of_file: kept.map(|kept| kept.file),
            of_line: kept.map(|kept| kept.line),
            shingles: counts.map(|(own, ..)| own),
            of_shingles: counts.map(|(_, other, _)| other),
            shared: counts.map(|(.., shared)| shared),
            apart: apart.map(name_of),
            chained_to_key: other.and_then(TextRow::key),
            chained_to_file: other.map(|other| other.file),
            chained_to_line: other.map(|other| other.line),
            chained_similarity: chained.map(|chained| chained.similarity),
            settled,
            differences: self.differences(reading),
        }
    }
}

/// The name of what sets two rows apart.
pub(super) fn name_of(apart: Apart) -> &'static str {
    if apart == Apart::Numbers { "numbers" } else { "rare" }
}

pub(super) fn failed(error: &io::Error) -> Failure {
    Failure::new(format!("cannot read a temporary file: {error}"), "run the command again")
}
