//! Import circles: modules that depend on each other, directly or indirectly.
//!
//! A module is a file: an inline `mod` counts as part of its file.

use crate::layers::{is_test, outside_tests};
use crate::scan::paths_to;
use std::collections::{BTreeMap, BTreeSet};

/// Upper bound of the number of names in a module path.
const NAMES_MAX: usize = 8;

/// A module, given by the names on its path from the crate root.
pub(crate) type Module = Vec<String>;

/// Maps a module to the modules that its file names.
pub(crate) type Needs = BTreeMap<Module, BTreeSet<Module>>;

/// The module for a file. The path is relative to the folder of `main.rs`.
fn module_of(path: &str) -> Module {
    let names = path.trim_end_matches(".rs").split('/').map(str::to_owned);
    let mut names: Module = names.collect();
    if names.last().is_some_and(|last| ["main", "lib", "mod"].contains(&last.as_str())) {
        names.pop();
    }
    names
}

/// The modules that the code of a module names. If a name in a path is not a module, it is an item
/// of the module before it.
fn named(module: &Module, code: &str, all: &BTreeSet<Module>) -> BTreeSet<Module> {
    let mut full = Vec::new();
    let split = |path: String| path.split("::").map(str::to_owned).collect::<Module>();
    full.extend(paths_to(code, "crate", NAMES_MAX).into_iter().map(split));
    let below = |path: String| [module.clone(), split(path)].concat();
    full.extend(paths_to(code, "self", NAMES_MAX).into_iter().map(below));
    for path in paths_to(code, "super", NAMES_MAX).into_iter().map(split) {
        let more = path.iter().take_while(|name| *name == "super").count();
        let above = module.len().saturating_sub(1 + more);
        full.push([&module[..above], &path[more..]].concat());
    }
    for child in all.iter().filter(|child| child.len() == module.len() + 1) {
        if let Some((name, parent)) = child.split_last()
            && parent == module
            && !paths_to(code, name, NAMES_MAX).is_empty()
        {
            full.push(child.clone());
        }
    }
    let cut = |mut path: Module| {
        while !all.contains(&path) && !path.is_empty() {
            path.pop();
        }
        path
    };
    full.into_iter().map(cut).filter(|found| found != module && all.contains(found)).collect()
}

/// All modules that a module depends on, directly or indirectly.
fn reached(from: &Module, needs: &Needs) -> BTreeSet<Module> {
    let (mut found, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        for next in needs.get(module).into_iter().flatten() {
            if found.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    found
}

/// The modules that each file names, tests left out.
pub(crate) fn needs(files: &[(String, String)]) -> Needs {
    let files = files.iter().filter(|(path, _)| !is_test(path));
    let files: Vec<_> = files.map(|(path, code)| (module_of(path), outside_tests(code))).collect();
    let all: BTreeSet<Module> = files.iter().map(|(module, _)| module.clone()).collect();
    files.iter().map(|(module, code)| (module.clone(), named(module, code, &all))).collect()
}

/// The circles among files, each as a list of its imports. A file is its path relative to the
/// folder of `main.rs`, and its code. With `names_above`, imports from enclosing modules do not
/// count.
pub(crate) fn circles(files: &[(String, String)], names_above: bool) -> Vec<String> {
    let mut needs = needs(files);
    for (module, named) in &mut needs {
        named.retain(|other| !(names_above && module.starts_with(other)));
    }
    let all: BTreeSet<Module> = needs.keys().cloned().collect();
    let reach: BTreeMap<_, _> = all.iter().map(|one| (one, reached(one, &needs))).collect();
    let mut found = Vec::new();
    let mut reported = BTreeSet::new();
    for module in &all {
        if !reach[module].contains(module) || reported.contains(module) {
            continue;
        }
        let circle = reach[module].iter().filter(|other| reach[*other].contains(module));
        let circle: BTreeSet<&Module> = circle.collect();
        let inside = |one: &&Module| needs[*one].iter().filter(|other| circle.contains(other));
        let edges = circle.iter().flat_map(|one| inside(one).map(|other| (*one, other)));
        let name = |module: &Module| {
            if module.is_empty() { "main".to_owned() } else { module.join("::") }
        };
        let edges: Vec<_> =
            edges.map(|(one, other)| format!("{} needs {}", name(one), name(other))).collect();
        found.push(edges.join(", "));
        reported.extend(circle.into_iter().cloned());
    }
    found
}

fn files(files: &[(&str, &str)]) -> Vec<(String, String)> {
    files.iter().map(|(path, code)| ((*path).to_owned(), (*code).to_owned())).collect()
}

#[test]
fn a_circle_is_found() {
    let child_and_parent =
        files(&[("main.rs", "a::run()"), ("a.rs", "mod b;\nb::run()"), ("a/b.rs", "super::One")]);
    assert_eq!(circles(&child_and_parent, false), ["a needs a::b, a::b needs a"]);
    let by_way_of_a_third = files(&[
        ("main.rs", "use a::Args;"),
        ("a.rs", "use crate::{b::{c, D}, e};"),
        ("b.rs", "use self::c::F;"),
        ("b/c.rs", "use super::super::e;"),
        ("e.rs", "use crate::a::run;"),
    ]);
    let found = circles(&by_way_of_a_third, false);
    assert_eq!(
        found,
        ["a needs b, a needs b::c, a needs e, b needs b::c, b::c needs e, e needs a"]
    );
    let with_the_top = files(&[("main.rs", "mod a;\na::run()"), ("a.rs", "use crate::Ended;")]);
    assert_eq!(circles(&with_the_top, false), ["main needs a, a needs main"]);
    let two = files(&[
        ("a.rs", "crate::b::x"),
        ("b.rs", "crate::a::y"),
        ("c/mod.rs", "use crate::d;"),
        ("d.rs", "use super::c;"),
    ]);
    assert_eq!(circles(&two, false).len(), 2);
}

#[test]
fn downward_references_form_no_circle() {
    let good = files(&[
        ("main.rs", "mod a;\nmod b;\na::run()"),
        ("a.rs", "mod c;\nmod d;\nuse c::X;\nuse crate::b;\nb::y(); pub(crate) fn z() {}"),
        ("a/c.rs", "use super::d::{self, Y};\npub(super) struct X;"),
        ("a/d.rs", "use crate::b::y;\n#[cfg(test)]\nmod tests {\n    use super::super::c;\n}"),
        ("b.rs", "pub(crate) fn y() {}"),
        ("a/tests.rs", "use super::*;"),
    ]);
    assert_eq!(circles(&good, false), Vec::<String>::new());
}
