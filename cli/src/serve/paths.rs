//! Paths as the router spells them, and as they are described to people.

/// A document's path as axum spells it: a key may hold slashes.
pub(super) const DOCUMENT: &str = "/v1/documents/{*key}";

/// The same as it is described.
const DOCUMENT_DESCRIBED: &str = "/v1/documents/{key}";

/// A text's path, likewise.
pub(super) const TEXT: &str = "/v1/texts/{*key}";

const TEXT_DESCRIBED: &str = "/v1/texts/{key}";

/// A path of the table as it is described to people.
pub(super) fn described(path: &str) -> &str {
    match path {
        DOCUMENT => DOCUMENT_DESCRIBED,
        TEXT => TEXT_DESCRIBED,
        other => other,
    }
}
