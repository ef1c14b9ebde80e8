//! Folders of shards as input: the files of rows in them, in the order of their names.

use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use crate::failure::Failure;
use crate::output::{self, counted};
use nearkin_input::raw;
use nearkin_input::source;

/// Replaces each folder by the files of rows in it: JSON lines, tables and Parquet, also
/// compressed. Files and folders whose names begin with a dot or an underscore are left out, as
/// Spark does.
pub fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            files.extend(shards_of(path)?);
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

fn shards_of(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let (mut files, mut others) = (Vec::new(), Vec::new());
    let is_hidden = |name: &std::ffi::OsStr| {
        let name = name.as_encoded_bytes();
        name.starts_with(b".") || name.starts_with(b"_")
    };
    let walk = WalkDir::new(raw::native(folder)).sort_by_file_name().into_iter();
    for entry in walk.filter_entry(|entry| entry.depth() == 0 || !is_hidden(entry.file_name())) {
        let entry = entry.map_err(|error| {
            Failure::new(
                format!("cannot read {}: {error}", folder.display()),
                "check its permissions",
            )
        })?;
        if entry.path().is_dir() {
            continue;
        }
        let is_shard = source::is_named_rows(entry.path());
        if is_shard { &mut files } else { &mut others }.push(entry.into_path());
    }
    if files.is_empty() {
        return Err(Failure::new(
            format!("{} is a folder without files of rows", folder.display()),
            "give files, or a folder of .jsonl, .csv, .tsv or .parquet files (also .gz, .zst)",
        ));
    }
    if let Some(first) = others.first() {
        let count = counted(others.len() as u64, "file");
        output::note(format!(
            "left out {count} of {} whose names do not say rows, such as {}",
            folder.display(),
            first.display()
        ));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "scratch files are no index")]

    use super::*;
    use std::fs;

    #[test]
    fn shards_are_read_in_order_of_their_names() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["b", "_temporary"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        let names =
            ["b/1.csv.gz", "c.parquet", "a.jsonl.zst", "_SUCCESS", "a.txt", "_temporary/x.csv"];
        for name in names {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let files = expand(&["x".into(), dir.path().to_path_buf()]).unwrap();
        let expected = ["a.jsonl.zst", "b/1.csv.gz", "c.parquet"].map(|name| dir.path().join(name));
        assert_eq!(files[1..], expected);
        let none = expand(&[dir.path().join("_temporary/..").join("_temporary")]);
        assert!(none.is_ok(), "a folder that is named is read");
    }
}
