//! The settings of a report page.

use super::links::Links;

/// The settings of a page.
pub(crate) struct PageSettings {
    /// Title of the page and of the browser window.
    pub title: String,
    /// Minimum similarity that connects two documents.
    pub threshold: f64,
    /// Maximum number of clusters to show.
    pub(crate) clusters_max: usize,
    /// Time shown on the page, in milliseconds UTC.
    pub made: u64,
    /// Whether the page shows texts, where they can be read.
    pub texts: bool,
    pub links: Links,
}
