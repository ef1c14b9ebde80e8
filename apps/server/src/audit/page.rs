//! The page of an audit: one HTML file.

use nearkin::Evidence;
use serde::Serialize;

use super::shown::{ShownRow, TextRow, name_of};
use super::summary::AuditReport;
use crate::web::PageKind;
use nearkin_kit::failure::Failure;
use nearkin_kit::output::visible;

const AUDIT: PageKind = PageKind {
    template: include_str!("page.html"),
    style: include_str!("page.css"),
    script: &[include_str!("audit.js")],
    style_sha256: "8WPM81hr0o8R+HABZNvjio8G4GJ8xBuNgYrdeauh9+o=",
    script_sha256: "W01mpPf3N2m+dU4Su50wkw0Eq55cKsls0novfCusfBo=",
};

/// Maximum size of a text on the page.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// The data of the page, as its script reads it.
#[derive(Serialize)]
struct PageData<'a> {
    version: &'static str,
    params: String,
    sets: bool,
    kept: u64,
    removed: u64,
    threshold: f64,
    wrong: u64,
    wrong_at: &'a [(f64, u64)],
    facts: Vec<(&'static str, u64)>,
    rows: Vec<PageRow>,
}

#[derive(Serialize)]
struct PageRow {
    similarity: f64,
    /// Shingles of both rows, and of those they share.
    counts: Option<(u32, u32, u32)>,
    apart: Option<&'static str>,
    settled: bool,
    removed: PageText,
    kept: Option<PageText>,
    chained: Option<PageText>,
}

#[derive(Serialize)]
struct PageText {
    key: Option<String>,
    file: String,
    line: u64,
    text: String,
    cut: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    similarity: Option<f64>,
}

/// Builds the page.
pub(super) fn html(report: &AuditReport<'_>, shown: &[ShownRow<'_>]) -> Result<String, Failure> {
    let params = report.params;
    let data = PageData {
        version: env!("CARGO_PKG_VERSION"),
        params: format!("Compared by {} ({}).", params.shingles(), params.normalise()),
        sets: params.shingles() == nearkin::Shingles::Items,
        kept: report.counts.kept,
        removed: report.counts.removed,
        threshold: report.threshold,
        wrong: report.wrong(),
        wrong_at: &report.counts.wrong,
        facts: report.facts(),
        rows: shown.iter().map(PageRow::new).collect(),
    };
    AUDIT.html(&data)
}

impl PageRow {
    fn new(shown: &ShownRow<'_>) -> Self {
        let found = shown.audited.kept;
        let text = |row: &Option<TextRow<'_>>| row.as_ref().map(PageText::new);
        let chained = text(&shown.chained).map(|text| PageText {
            similarity: shown.audited.chained.map(|chained| chained.similarity),
            ..text
        });
        Self {
            similarity: found.map_or(0.0, |found| found.similarity),
            counts: found.and_then(|found| match found.evidence {
                Evidence::Shingles { own, other, shared, .. } => Some((own, other, shared)),
                _ => None,
            }),
            apart: shown.audited.apart.map(name_of),
            settled: shown.audited.is_settled,
            removed: PageText::new(&shown.row),
            kept: text(&shown.kept),
            chained,
        }
    }
}

impl PageText {
    fn new(row: &TextRow<'_>) -> Self {
        let mut end = TEXT_BYTES_MAX.min(row.text.len());
        while !row.text.is_char_boundary(end) {
            end -= 1;
        }
        Self {
            key: (!row.key.is_empty()).then(|| visible(&row.key)),
            file: visible(row.file.as_bytes()),
            line: row.line,
            text: row.text[..end].to_owned(),
            cut: end < row.text.len(),
            similarity: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_names_style_and_script() {
        AUDIT.check();
    }
}
