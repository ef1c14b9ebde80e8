//! The engine in numbers: `cargo test --test tidy numbers -- --nocapture` prints the numbers of
//! code lines, files and types, and the import circles.

use crate::circles::circles_of_siblings;
use crate::layers::{is_test, outside_tests};
use crate::scan::code_of;
use crate::sources;
use crate::types::types;
use std::collections::{BTreeMap, BTreeSet};

/// The modules that `docs/ARCHITECTURE.md` calls the engine.
const ENGINE: [&str; 7] = ["index", "segment", "sketch", "wal", "memtable", "storage", "catalog"];
/// The only import circle of the library is in this module: `simd.rs` compiles the functions of
/// its siblings again for the processor that is found, and they call what it has of its own.
const CIRCLE_MODULE: &str = "sketch::";
/// Upper bound of the number of files in that circle.
const CIRCLE_FILES_MAX: usize = 21;

/// The numbers of code lines, files and types.
type Numbers = [usize; 3];

/// The number of lines with code: neither blank nor only a comment.
fn code_lines(code: &str) -> usize {
    code.lines().filter(|line| !line.trim().is_empty()).count()
}

#[test]
fn the_engine_in_numbers() {
    let mut all: BTreeMap<String, Numbers> = BTreeMap::new();
    let mut files = Vec::new();
    for file in sources() {
        let Some(path) = file.path.strip_prefix("src/") else { continue };
        let is_simulated = path.contains("/sim/") || path.starts_with("fuzzing");
        if is_test(path) || is_simulated || path == "lib.rs" {
            continue;
        }
        let code = code_of(outside_tests(&file.text));
        let module = path.split(['/', '.']).next().unwrap_or_default();
        let [lines, count, declared] = all.entry(module.to_owned()).or_default();
        *lines += code_lines(&code);
        *count += 1;
        *declared += types(&code).len();
        files.push((path.to_owned(), code));
    }
    println!("{:<10} {:>6} {:>6} {:>6}", "module", "lines", "files", "types");
    let mut sum = [0; 3];
    for (module, [lines, count, declared]) in &all {
        println!("{module:<10} {lines:>6} {count:>6} {declared:>6}");
        if ENGINE.contains(&module.as_str()) {
            sum = [sum[0] + lines, sum[1] + count, sum[2] + declared];
        }
    }
    println!("{:<10} {:>6} {:>6} {:>6}", "engine", sum[0], sum[1], sum[2]);
    for circle in circles_of_siblings(&files) {
        let names: BTreeSet<&str> = circle.split(", ").flat_map(|e| e.split(" needs ")).collect();
        let list = names.iter().copied().collect::<Vec<_>>().join(" ");
        println!("circle of {}: {list}", names.len());
        let outside = names.iter().find(|name| !name.starts_with(CIRCLE_MODULE));
        assert_eq!(outside, None, "files need each other in a circle: {circle}");
        assert!(names.len() <= CIRCLE_FILES_MAX, "a circle of {} files: {circle}", names.len());
    }
}

#[test]
fn lines_of_code_are_counted_without_comments() {
    assert_eq!(code_lines(&code_of("//! A.\n\nuse a; // b\n/* c\n */\nfn d() {\n}\n")), 3);
}
