//! What `--version` prints.

use std::sync::LazyLock;

/// The version, the commit (of published binaries), and the features of
/// this build, such as the formats that it reads.
pub(super) fn long() -> &'static str {
    static SHOWN: LazyLock<String> = LazyLock::new(|| {
        let features = [
            ("html", cfg!(feature = "html")),
            ("pdf", cfg!(feature = "pdf")),
            ("mail", cfg!(feature = "mail")),
            ("office", cfg!(feature = "office")),
            ("rtf", cfg!(feature = "rtf")),
            ("parquet", cfg!(feature = "parquet")),
            ("watch", cfg!(feature = "watch")),
            ("serve", cfg!(feature = "serve")),
        ];
        let has = features.iter().filter(|(_, is_built)| *is_built).map(|(name, _)| *name);
        let commit =
            option_env!("NEARKIN_COMMIT").map_or_else(String::new, |at| format!(" ({at})"));
        let features = has.collect::<Vec<_>>().join(", ");
        format!("{}{commit}\nfeatures: text, jsonl, csv, {features}", env!("CARGO_PKG_VERSION"))
    });
    &SHOWN
}
