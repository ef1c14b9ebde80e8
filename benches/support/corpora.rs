//! Corpora of real texts, and the pages whose tables are measured with them.

use std::error::Error;
use std::path::{Path, PathBuf};

/// The folder of corpora: `NEARKIN_DATA`, by default `../shared/data`.
pub(crate) fn folder() -> PathBuf {
    std::env::var_os("NEARKIN_DATA").map_or_else(|| "../shared/data".into(), PathBuf::from)
}

/// The lines of `NAME.zst` in the folder of corpora.
#[expect(clippy::disallowed_methods, reason = "a corpus, not an index")]
pub(crate) fn unpack(folder: &Path, name: &str) -> Result<String, Box<dyn Error>> {
    let path = folder.join(format!("{name}.zst"));
    let packed = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(String::from_utf8(zstd::decode_all(&packed[..])?)?)
}

/// The texts of JSON lines.
pub(crate) fn texts(lines: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let text = |line: &str| -> Result<String, Box<dyn Error>> {
        let value: serde_json::Value = serde_json::from_str(line)?;
        Ok(value["text"].as_str().ok_or("a document without a text")?.to_owned())
    };
    lines.lines().map(text).collect()
}

/// Writes tables into a page, between `<!-- NAME writes this: begin -->` and the same with `end`.
#[expect(clippy::disallowed_methods, reason = "a page of the repository, not an index")]
pub(crate) fn write_tables(page: &str, name: &str, tables: &str) -> Result<(), Box<dyn Error>> {
    let [begin, end] = ["begin", "end"].map(|part| format!("<!-- {name} writes this: {part} -->"));
    let text = std::fs::read_to_string(page)?;
    let (before, rest) = text.split_once(&begin).ok_or_else(|| format!("{page}: no {begin}"))?;
    let (_, after) = rest.split_once(&end).ok_or_else(|| format!("{page}: no {end}"))?;
    let tables = tables.trim_end();
    Ok(std::fs::write(page, format!("{before}{begin}\n\n{tables}\n\n{end}{after}"))?)
}
