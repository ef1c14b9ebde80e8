//! Layering: which modules may name which other modules. The command-line tool uses the public API,
//! the index uses everything else, and text, bytes and disk are independent of each other.

use crate::scan::paths;

/// The packages that the tool is made of.
const TOOL: [&str; 3] = ["cli/src/", "apps/", "input/src/"];

/// The parts of the engine. Only the index may use more than one of them.
const PARTS: [&str; 4] = ["wal", "memtable", "segment", "catalog"];

/// Whether a file in `src` is compiled for tests only.
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

/// The names that the crate root re-exports from the index.
pub(crate) fn exported_by_index(lib: &str) -> Vec<String> {
    let exports = lib.match_indices("pub use index::").map(|(at, _)| &lib[at + 8..]);
    let names = exports.flat_map(|rest| paths(&rest[..rest.find(';').unwrap_or(0)], "index"));
    names.collect()
}

/// The names that a file uses but must not use: those of modules beside it or above it. `code` is
/// without comments and strings.
pub(crate) fn broken(path: &str, code: &str, exported: &[String]) -> Vec<String> {
    if TOOL.iter().any(|folder| path.starts_with(folder)) {
        return of_the_tool(code);
    }
    if path.starts_with("sketch/src/") {
        return of_the_sketch(path, code);
    }
    let Some(inside) = path.strip_prefix("src/") else { return Vec::new() };
    let module = inside.split(['/', '.']).next().unwrap_or_default();
    let mut named = paths(code, "crate");
    // The root is `super` in `src/wal.rs`, and `super::super` in `src/segment/a.rs`.
    let above = paths(code, "super").into_iter();
    match inside.matches('/').count() {
        0 if module != "lib" => named.extend(above),
        1 => named.extend(above.filter_map(|name| Some(name.strip_prefix("super::")?.to_owned()))),
        _ => {}
    }
    let mut found = Vec::new();
    for name in &named {
        if !may_name(module, name) || (!is_top(module) && exported.contains(name)) {
            found.push(format!("names crate::{name}"));
        }
    }
    if module == "format" {
        found.extend(impure(path, code));
    }
    found.extend(kept_in_place(path, module, code));
    found
}

/// Names of the standard library that pure code does not use.
fn impure(path: &str, code: &str) -> Vec<String> {
    let mut names = paths(outside_tests(code), "std");
    names.retain(|name| ["fs", "time", "thread", "io"].contains(&head(name)) && !is_test(path));
    names.into_iter().map(|name| format!("names std::{name}, but is pure")).collect()
}

/// The package of signatures is pure, and unsafe in its vector code only.
fn of_the_sketch(path: &str, code: &str) -> Vec<String> {
    // The error type takes over the I/O errors of its users.
    let mut found = if path == "sketch/src/error.rs" { Vec::new() } else { impure(path, code) };
    let of_vectors = path.starts_with("sketch/src/simd")
        || ["sketch/src/compare.rs", "sketch/src/compiled.rs"].contains(&path);
    if has_word(code, "unsafe") && !of_vectors {
        found.push("is unsafe".to_owned());
    }
    found
}

/// Places where the command-line tool uses more than the public API of the library. (The compiler
/// protects private items.)
fn of_the_tool(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for of_the_library in ["redb", "memmap2", "libc"] {
        if !paths(code, of_the_library).is_empty() {
            found.push(format!("names {of_the_library}, which is the library's"));
        }
    }
    if has_word(code, "unsafe") {
        found.push("is unsafe".to_owned());
    }
    found
}

/// Ways around the public API: a package that includes files of another, and hidden exports.
pub(crate) fn ways_around(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with("//")) {
        let elsewhere = ["path = \"", "include!(\"", "include_str!(\"", "include_bytes!(\""];
        let elsewhere = elsewhere.iter().any(|begin| line.contains(&format!("{begin}../")));
        if TOOL.iter().any(|folder| path.starts_with(folder)) && elsewhere {
            found.push(format!("takes a file from elsewhere: {line}"));
        }
        let is_library = path.starts_with("src/") || path.starts_with("sketch/src/");
        if is_library && line.contains("doc(hidden)") {
            found.push("has a hidden export: what others need is public and documented".to_owned());
        }
    }
    found
}

fn has_word(code: &str, word: &str) -> bool {
    code.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|found| found == word)
}

fn head(path: &str) -> &str {
    path.split("::").next().unwrap_or_default()
}

fn is_top(module: &str) -> bool {
    ["lib", "index", "passages", "shards", "dedup", "testing"].contains(&module)
}

fn may_name(module: &str, path: &str) -> bool {
    let named = head(path);
    if named == module || is_top(module) {
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

/// Crates and keywords that only certain files may use.
fn kept_in_place(path: &str, module: &str, code: &str) -> Vec<String> {
    let mut found = Vec::new();
    if !paths(code, "redb").is_empty() && module != "catalog" && !is_test(path) {
        found.push("names redb, which is the catalog's".to_owned());
    }
    let of_map = ["src/storage/map.rs", "src/storage/sys.rs"].contains(&path);
    for of_the_map in ["memmap2", "libc"] {
        if !paths(code, of_the_map).is_empty() && !of_map {
            found.push(format!("names {of_the_map}, which is the map's"));
        }
    }
    let of_calls = ["src/storage/at.rs", "src/storage/sys.rs"].contains(&path);
    if !paths(code, "rustix").is_empty() && path.starts_with("src/") && !of_calls {
        found.push("names rustix, which is the storage's".to_owned());
    }
    if code.contains("cfg!(test)") && !is_test(path) {
        found.push("asks cfg!(test): a size is small by `small!`".to_owned());
    }
    if ["index", "memtable", "wal"].contains(&module) && !is_test(path) {
        for name in paths(outside_tests(code), "std") {
            let item = name.split("::").nth(1).unwrap_or_default();
            let waits = !["Arc", "Weak", "PoisonError"].contains(&item);
            if head(&name) == "thread" || (head(&name) == "sync" && waits) {
                found.push(format!("names std::{name}, which comes from src/sync.rs"));
            }
        }
    }
    if code.contains("unexplored")
        && !["src/sync.rs", "src/index/state/view.rs"].contains(&path)
        && path.starts_with("src/")
    {
        found.push("names an atomic that no explorer sees".to_owned());
    }
    if has_word(code, "unsafe") && !of_map {
        found.push("is unsafe".to_owned());
    }
    found
}

#[test]
fn a_layer_that_is_crossed_is_found() {
    let exported = ["Index".to_owned()];
    let bad = [
        ("src/index/a.rs", "const A: u32 = if cfg!(test) { 1 } else { 2 };"),
        ("sketch/src/a.rs", "use std::fs;"),
        ("sketch/src/a.rs", "use std::{fmt, io::Read};"),
        ("sketch/src/a.rs", "unsafe { b() }"),
        ("src/format/a.rs", "std::thread::spawn(f)"),
        ("src/format/a.rs", "let t: std::time::Instant;"),
        ("src/format/a.rs", "use crate::{Error, storage::Storage};"),
        ("src/storage/a.rs", "use crate::format::wal::Record;"),
        ("src/storage/a.rs", "use crate::catalog;"),
        ("src/wal.rs", "use crate::memtable::Memtable;"),
        ("src/wal.rs", "use super::segment::Segment;"),
        ("src/memtable.rs", "crate::wal::append()"),
        ("src/segment/a.rs", "use super::super::wal;"),
        ("src/segment/a.rs", "use crate::{Result, catalog::Row};"),
        ("src/catalog.rs", "use crate::segment::Listed;"),
        ("src/catalog.rs", "use crate::index::Core;"),
        ("src/filter.rs", "use crate::index::Core;"),
        ("src/segment/a.rs", "fn a(_: &crate::Index) {}"),
        ("src/index/a.rs", "use redb::Database;"),
        ("src/storage/disk.rs", "memmap2::Mmap::map(f)"),
        ("src/storage/disk.rs", "libc::fsync(f)"),
        ("src/storage/at.rs", "libc::openat(f)"),
        ("src/storage/at.rs", "unsafe { b() }"),
        ("src/storage/disk.rs", "rustix::fs::fsync(f)"),
        ("src/index/a.rs", "unsafe { b() }"),
        ("src/index/a.rs", "use std::sync::{Arc, Mutex};"),
        ("src/memtable.rs", "a: std::sync::atomic::AtomicBool"),
        ("src/index/a.rs", "std::thread::sleep(b)"),
        ("src/wal.rs", "use crate::sync::unexplored::AtomicU64;"),
        ("cli/src/a.rs", "use redb::Database;"),
        ("cli/src/a.rs", "memmap2::Mmap::map(f)"),
        ("cli/src/a/b.rs", "unsafe { b() }"),
    ];
    for (path, code) in bad {
        assert_eq!(broken(path, code, &exported).len(), 1, "{path}: {code}");
    }
}

#[test]
fn what_may_be_named_is_left_alone() {
    let exported = ["Index".to_owned()];
    let good = [
        ("sketch/src/a.rs", "use crate::{Error, Params};\nuse super::lane;\nuse std::fmt;"),
        ("sketch/src/simd/a.rs", "unsafe { b() }"),
        ("src/format/a.rs", "use crate::format::bytes::wide;"),
        ("src/storage/a.rs", "use crate::format::bytes::{index, wide};\nuse std::io;"),
        ("src/wal.rs", "use crate::{format::wal::Record, storage::File, Signature};"),
        ("src/catalog.rs", "use redb::Database;\nuse crate::format::catalog::Row;"),
        ("src/catalog/tests.rs", "use redb::Database;"),
        ("src/index/a.rs", "use crate::{Index, catalog, wal::Wal, segment::Segment};"),
        ("src/storage/map.rs", "#![expect(unsafe_code)] unsafe { memmap2::Mmap::map(f) }"),
        ("src/testing/sim/redb_tests.rs", "use redb::Database;"),
        ("cli/src/main.rs", "use crate::catalog::x;"),
        ("cli/src/a.rs", "use nearkin::Index;\nuse std::io;"),
        ("src/index/a.rs", "#[expect(unsafe_code)]"),
        ("src/index/a.rs", "use crate::sync::Mutex;\nuse std::sync::Arc;"),
        ("src/index/tests/a.rs", "use std::sync::Mutex;"),
        ("src/catalog.rs", "use std::sync::Mutex;"),
        ("src/index/state/view.rs", "use crate::sync::unexplored::AtomicU64;"),
        ("tests/a.rs", "redb::x"),
    ];
    for (path, code) in good {
        assert_eq!(broken(path, code, &exported), Vec::<String>::new(), "{path}: {code}");
    }
}

#[test]
fn a_way_around_the_public_api_is_found() {
    let inside = "#[path = \"../../src/wal.rs\"]\nmod wal;";
    assert_eq!(ways_around("cli/src/main.rs", inside).len(), 1);
    assert_eq!(ways_around("cli/src/a.rs", "const A: &str = include_str!(\"../b.md\");").len(), 1);
    assert!(ways_around("cli/src/a.rs", "#[path = \"a/no_b.rs\"]\nmod b;").is_empty());
    assert!(ways_around("cli/src/a.rs", "let a = include_str!(\"a.html\");").is_empty());
    assert_eq!(ways_around("src/lib.rs", "#[doc(hidden)]\npub mod wal;").len(), 1);
    assert!(ways_around("src/lib.rs", "// no #[doc(hidden)]\npub mod wal;").is_empty());
}

#[test]
fn the_names_of_the_index_are_read_from_the_root() {
    let lib = "mod a;\npub use error::{Error};\npub use index::{\n    Answer, Index,\n};\n";
    assert_eq!(exported_by_index(lib), ["Answer", "Index"]);
}
