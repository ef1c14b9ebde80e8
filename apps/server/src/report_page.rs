//! The page of duplicates in an index, for `nearkin report` and the server.
//!
//! `gather` collects the content of the page, and `page` turns it into one HTML file.

pub(crate) mod copied;
pub(crate) mod data;
mod folders;
mod gather;
pub(crate) mod links;
mod page;
pub(crate) mod settings;
mod texts;

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use nearkin::Snapshot;

use data::Data;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::opened;
use nearkin_kit::input::originals::Originals;
use nearkin_kit::output::visible;
use settings::PageSettings;

/// A finished page, and the data shown on it.
pub(crate) struct Made {
    pub html: String,
    pub data: Data,
}

/// Makes the page for a snapshot. With `originals`, the page also shows sizes and, if the settings
/// say so, texts.
///
/// Finds all clusters and all pairs, and walks over all documents. Memory use: 8 bytes per
/// document, 8 more per redundant document, and the page, whose size is bounded. Fails for an index
/// of passages, and with `Corrupt` or `Io` if reading fails.
pub(crate) fn make(
    snapshot: &Snapshot,
    settings: &PageSettings,
    originals: Option<&Originals>,
) -> Result<Made, Failure> {
    opened::check_of_documents(snapshot.params(), "report")?;
    let data = gather::gather(snapshot, settings, originals)?;
    let html = page::CLUSTERS.html(&data)?;
    Ok(Made { html, data })
}

/// The name of a folder, for display.
pub(crate) fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    visible(name.as_encoded_bytes())
}

/// The current time, in milliseconds since 1970 in UTC.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
