//! The settings of a report page.

use std::sync::Arc;

use super::links::Links;
use nearkin_kit::failure::Failure;
use nearkin_kit::interrupt;

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
    /// Whether files are read for their line in a plan beyond the limit of texts.
    pub(crate) reads_all: bool,
    pub links: Links,
    /// Whether nobody wants the page any more.
    pub(crate) stop: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl PageSettings {
    /// A condition that ends a search: a signal, or that nobody wants the page any more.
    pub(crate) fn is_stopped(&self) -> impl Fn() -> bool + Send + Sync + 'static {
        let stop = Arc::clone(&self.stop);
        move || interrupt::came() || stop()
    }

    /// Fails if the page is no longer wanted.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.is_stopped()() { Err(Failure::interrupted()) } else { Ok(()) }
    }
}
