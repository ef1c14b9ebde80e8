//! Paths of the API, in the syntax of the router and in that of the documentation.

/// Path of a document, in axum's syntax. The wildcard allows slashes in keys.
pub(crate) const DOCUMENT: &str = "/v1/documents/{*key}";

/// The same path for the documentation.
const DOCUMENT_DESCRIBED: &str = "/v1/documents/{key}";

/// Path of many documents.
pub(crate) const DOCUMENTS: &str = "/v1/documents";

/// Path of a text, in axum's syntax.
pub(crate) const TEXT: &str = "/v1/texts/{*key}";

const TEXT_DESCRIBED: &str = "/v1/texts/{key}";

/// Converts a path from the router's syntax to that of the documentation.
pub(crate) fn described(path: &str) -> &str {
    match path {
        DOCUMENT => DOCUMENT_DESCRIBED,
        TEXT => TEXT_DESCRIBED,
        other => other,
    }
}
