//! The pages of the report: what each kind is made of.

use crate::web::PageKind;

/// Clusters of similar documents.
pub(super) const CLUSTERS: PageKind = PageKind {
    template: include_str!("page.html"),
    style: include_str!("page.css"),
    script: &[
        include_str!("list.js"),
        include_str!("charts.js"),
        include_str!("pair.js"),
        include_str!("clusters.js"),
        include_str!("removals.js"),
        include_str!("page.js"),
    ],
    style_sha256: "ereDCvuiyrNZGRGg1Ap5FfcCmU1FjE4dMG36AxyAO8w=",
    script_sha256: "LPqbI67e2UhPGhlTVwSS8WRBswSkLv/CQo4j1JfgjEs=",
};

/// Texts that share passages.
pub(super) const COPIED: PageKind = PageKind {
    template: include_str!("copied.html"),
    style: include_str!("copied.css"),
    script: &[include_str!("list.js"), include_str!("passages.js"), include_str!("copied.js")],
    style_sha256: "+9Fl/VBZ/KzsSphj0K+QUOdyhqGFZ9aOHP8ratL83ZM=",
    script_sha256: "eE4Y/DXrZLGB1L02q0Rus6WJyFXHskaE+wSi9OTFUCA=",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_name_styles_and_scripts() {
        CLUSTERS.check();
        COPIED.check();
    }
}
