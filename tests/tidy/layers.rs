//! Layering inside the engine: which modules may name which others, and which files may use what a
//! module keeps to itself. (Between packages, Cargo holds the layers.)

use crate::scan::paths;

/// The parts of the engine. Only the index may use more than one of them.
const PARTS: [&str; 4] = ["wal", "memtable", "segment", "catalog"];

/// Crates and words, and where alone they may stand.
const KEPT: [(&str, &[&str]); 7] = [
    ("ahash", &["src/keyed.rs"]),
    ("redb", &["src/catalog"]),
    ("memmap2", &["src/storage/map.rs", "src/storage/sys.rs"]),
    ("libc", &["src/storage/map.rs", "src/storage/sys.rs"]),
    ("rustix", &["src/storage/at.rs", "src/storage/standard_streams.rs", "src/storage/sys.rs"]),
    ("unsafe", &["src/storage/map.rs", "src/storage/sys.rs", "sketch/src/simd", "sketch/src/comp"]),
    ("unexplored", &["src/sync.rs", "src/index/state/view.rs"]),
];

/// Whether a file is compiled for tests only.
pub(crate) fn is_test(path: &str) -> bool {
    let folders = ["/tests/", "_tests/", "/testing/"];
    path.ends_with("/tests.rs")
        || path == "src/segment/forge.rs"
        || path.ends_with("_tests.rs")
        || folders.iter().any(|folder| path.contains(folder))
}

/// The code before the tests at the end of a file.
pub(crate) fn outside_tests(code: &str) -> &str {
    let starts = [
        "#[cfg(test)]\nmod tests {",
        "#[cfg(test)]\npub(super) mod tests {",
        "#[cfg(all(test, not(shuttle)))]\nmod tests {",
    ];
    let end = starts.iter().filter_map(|start| code.find(start)).min();
    &code[..end.unwrap_or(code.len())]
}

/// The names that a file of the libraries uses but must not use. `code` is without comments and
/// strings.
pub(crate) fn broken(path: &str, code: &str) -> Vec<String> {
    let (inside, is_engine) = match (path.strip_prefix("src/"), path.strip_prefix("sketch/src/")) {
        (Some(inside), _) => (inside, true),
        (_, Some(inside)) => (inside, false),
        _ => return Vec::new(),
    };
    if is_test(path) {
        return Vec::new();
    }
    let code = outside_tests(code);
    let module = inside.split(['/', '.']).next().unwrap_or_default();
    let mut named = paths(code, "crate");
    // The root is `super` in `src/wal.rs`, and `super::super` in `src/segment/a.rs`.
    let above = paths(code, "super").into_iter();
    match inside.matches('/').count() {
        0 if module != "lib" => named.extend(above),
        1 => named.extend(above.filter_map(|name| Some(name.strip_prefix("super::")?.to_owned()))),
        _ => {}
    }
    named.retain(|name| is_engine && !may_name(module, name));
    let mut found: Vec<String> =
        named.into_iter().map(|name| format!("names crate::{name}")).collect();
    // The error type takes over the I/O errors of its users.
    let is_pure = module == "format" || (!is_engine && module != "error");
    let waits = is_engine && ["index", "memtable", "wal"].contains(&module);
    for name in paths(code, "std") {
        let (head, item) = name.split_once("::").unwrap_or((&name, ""));
        let is_lock = head == "sync" && !["Arc", "Weak", "PoisonError"].contains(&item);
        if is_pure && ["fs", "time", "thread", "io"].contains(&head) {
            found.push(format!("names std::{name}, but is pure"));
        } else if waits && (head == "thread" || is_lock) {
            found.push(format!("names std::{name}, which comes from src/sync.rs"));
        }
    }
    if code.contains("cfg!(test)") {
        found.push("asks cfg!(test): a size is small by `small!`".to_owned());
    }
    if code.contains("doc(hidden)") {
        found.push("has a hidden export: what others need is public and documented".to_owned());
    }
    for (word, places) in KEPT {
        if has_word(code, word) && !places.iter().any(|place| path.starts_with(place)) {
            found.push(format!("has `{word}`, which only {places:?} may have"));
        }
    }
    found
}

fn has_word(code: &str, word: &str) -> bool {
    code.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|found| found == word)
}

fn may_name(module: &str, path: &str) -> bool {
    let named = path.split("::").next().unwrap_or_default();
    let is_top = ["lib", "index", "passages", "shards", "dedup", "testing"].contains(&module);
    if named == module || is_top {
        return true;
    }
    let part = PARTS.contains(&named);
    match module {
        "format" => !part && named != "storage" && named != "index",
        "storage" => !part && named != "index" && (named != "format" || path == "format::bytes"),
        part_itself if PARTS.contains(&part_itself) => !part && named != "index",
        _ => !["index", "passages", "shards", "dedup"].contains(&named),
    }
}

#[test]
fn a_crossed_layer_is_found() {
    let bad = [
        ("src/index/a.rs", "const A: u32 = if cfg!(test) { 1 } else { 2 };"),
        ("sketch/src/a.rs", "use std::{fmt, io::Read};"),
        ("sketch/src/a.rs", "unsafe { b() }"),
        ("src/format/a.rs", "std::thread::spawn(f)"),
        ("src/format/a.rs", "use crate::{Error, storage::Storage};"),
        ("src/storage/a.rs", "use crate::format::wal::Record;"),
        ("src/storage/a.rs", "use crate::catalog;"),
        ("src/wal.rs", "use super::segment::Segment;"),
        ("src/memtable.rs", "crate::wal::append()"),
        ("src/segment/a.rs", "use super::super::wal;"),
        ("src/catalog.rs", "use crate::index::Core;"),
        ("src/filter.rs", "use crate::index::Core;"),
        ("src/index/a.rs", "use redb::Database;"),
        ("src/storage/disk.rs", "memmap2::Mmap::map(f)"),
        ("src/storage/at.rs", "libc::openat(f)"),
        ("src/storage/disk.rs", "rustix::fs::fsync(f)"),
        ("src/index/a.rs", "use std::sync::{Arc, Mutex};"),
        ("src/wal.rs", "use crate::sync::unexplored::AtomicU64;"),
        ("src/lib.rs", "#[doc(hidden)]\npub mod wal;"),
    ];
    for (path, code) in bad {
        assert_eq!(broken(path, code).len(), 1, "{path}: {code}");
    }
    let good = [
        ("sketch/src/a.rs", "use crate::{Error, Params};\nuse super::lane;\nuse std::fmt;"),
        ("sketch/src/simd/a.rs", "unsafe { b() }"),
        ("src/storage/a.rs", "use crate::format::bytes::{index, wide};\nuse std::io;"),
        ("src/wal.rs", "use crate::{format::wal::Record, storage::File, Signature};"),
        ("src/catalog.rs", "use redb::Database;\nuse crate::format::catalog::Row;"),
        ("src/index/a.rs", "use crate::{Index, catalog, wal::Wal, segment::Segment};"),
        ("src/index/a.rs", "#[expect(unsafe_code)]\nuse crate::sync::Mutex;\nuse std::sync::Arc;"),
        ("src/index/tests/a.rs", "use std::sync::Mutex;"),
        ("tests/a.rs", "redb::x"),
    ];
    for (path, code) in good {
        assert_eq!(broken(path, code), Vec::<String>::new(), "{path}: {code}");
    }
}
