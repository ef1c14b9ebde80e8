//! Floors: the folders of `src/index/` stand one above the other. A file names files of its own
//! floor and of the floors below it, never one above.

use crate::circles::{Module, needs};
use crate::scan::{code_of, paths};
use crate::sources;

/// The floors of the engine, from the lowest to the highest.
const INDEX: [&str; 7] = ["state", "read", "merge", "write", "maintain", "files", "doors"];
/// The public handles, which only the highest floor names.
const HANDLES: [&str; 4] = ["Index", "Reader", "index::Index", "index::Reader"];

/// Arrows that point up, and folders that are no floor. A file is its path below the folder of the
/// floors, and its code.
fn upward(files: &[(String, String)], floors: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let floor = |module: &Module| {
        let name = module.first()?;
        floors.iter().position(|floor| floor == name)
    };
    for (from, named) in &needs(files) {
        let Some(own) = floor(from) else { continue };
        for to in named.iter().filter(|to| floor(to).is_some_and(|other| other > own)) {
            found.push(format!("{} names {}, which is above", from.join("::"), to.join("::")));
        }
    }
    found
}

/// The names of public handles that a file below the doors uses.
fn handles(code: &str) -> Vec<String> {
    let mut named = paths(code, "crate");
    named.retain(|name| HANDLES.contains(&name.as_str()));
    named
}

/// The sources below a folder, with paths relative to it. `crate::index` becomes the root, so that
/// the floors of the engine are its first names.
fn below(folder: &str, root: &str) -> Vec<(String, String)> {
    let files = sources().into_iter().filter_map(|file| {
        let path = file.path.strip_prefix(folder)?;
        let code = code_of(&file.text).replace(&format!("in {root}"), "in self");
        Some((path.to_owned(), code.replace(&format!("{root}::"), "crate::")))
    });
    files.collect()
}

#[test]
fn no_file_of_the_engine_names_a_floor_above_it() {
    let files = below("src/index/", "crate::index");
    let upward = upward(&files, &INDEX);
    assert!(upward.is_empty(), "\n{}", upward.join("\n"));
    for (path, code) in &files {
        let is_door = path.starts_with("doors/") || path.starts_with("tests/") || path == "mod.rs";
        let handles = handles(crate::layers::outside_tests(code));
        assert!(is_door || handles.is_empty(), "src/index/{path} names {handles:?}");
    }
    let mut roots: Vec<_> = files.iter().filter_map(|(path, _)| path.split_once('/')).collect();
    roots.retain(|(folder, _)| !INDEX.contains(folder) && *folder != "tests");
    assert!(roots.is_empty(), "folders that are no floor: {roots:?}");
    let loose: Vec<_> = files.iter().filter(|(path, _)| !path.contains('/')).collect();
    assert_eq!(loose.len(), 1, "only mod.rs stands beside the floors");
}

fn made(files: &[(&str, &str)]) -> Vec<(String, String)> {
    files.iter().map(|(path, code)| ((*path).to_owned(), (*code).to_owned())).collect()
}

#[test]
fn an_arrow_that_points_up_is_found() {
    let files = made(&[
        ("state/core.rs", "use crate::read::query;"),
        ("read/query.rs", "use crate::state::core::Core;"),
        ("read/mod.rs", "mod query;"),
        ("doors/handle.rs", "use crate::{read::query::run, state::core};"),
    ]);
    let upward = upward(&files, &["state", "read", "doors"]);
    assert_eq!(upward, ["state::core names read::query, which is above"]);
    assert_eq!(handles("use crate::{Index, Result};"), ["Index"]);
    assert_eq!(handles("use crate::index::Reader;"), ["index::Reader"]);
    assert!(handles("use crate::{Result, Snapshot};").is_empty());
}
