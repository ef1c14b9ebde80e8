//! The engine in numbers: `cargo test --test tidy numbers -- --nocapture` prints the numbers of
//! code lines, files and types. No library has an import circle.

use crate::circles::circles_of_siblings;
use crate::layers::{is_test, outside_tests};
use crate::scan::code_of;
use crate::sources;
use crate::types::types;
use std::collections::BTreeMap;

/// The modules that `docs/ARCHITECTURE.md` calls the engine.
const ENGINE: [&str; 6] = ["index", "segment", "wal", "memtable", "storage", "catalog"];
/// The folders of the libraries. In none of them do files need each other in a circle.
const LIBRARIES: [&str; 2] = ["src/", "sketch/src/"];

/// The numbers of code lines, files and types.
type Numbers = [usize; 3];

/// The number of lines with code: neither blank nor only a comment.
fn code_lines(code: &str) -> usize {
    code.lines().filter(|line| !line.trim().is_empty()).count()
}

#[test]
fn the_engine_in_numbers() {
    let mut all: BTreeMap<String, Numbers> = BTreeMap::new();
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
}

#[test]
fn files_of_the_libraries_need_each_other_in_no_circle() {
    for folder in LIBRARIES {
        let files = sources().into_iter().filter_map(|file| {
            let path = file.path.strip_prefix(folder)?;
            let is_left_out = is_test(&file.path) || path == "lib.rs";
            (!is_left_out).then(|| (path.to_owned(), code_of(outside_tests(&file.text))))
        });
        let files: Vec<_> = files.collect();
        assert!(files.len() > 40, "{folder} has files");
        assert_eq!(circles_of_siblings(&files), Vec::<String>::new(), "in {folder}");
    }
}

#[test]
fn lines_of_code_are_counted_without_comments() {
    assert_eq!(code_lines(&code_of("//! A.\n\nuse a; // b\n/* c\n */\nfn d() {\n}\n")), 3);
}
