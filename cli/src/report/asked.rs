//! What a page is asked to show.

/// What a page is asked to show.
pub(crate) struct Asked {
    /// Stands above the page and in the window's frame.
    pub(crate) title: String,
    /// The least similarity that connects two documents.
    pub(crate) threshold: f64,
    /// Most clusters to show.
    pub(crate) clusters_max: usize,
    /// When the page is made, in milliseconds UTC: the page says it.
    pub(crate) made: u64,
}
