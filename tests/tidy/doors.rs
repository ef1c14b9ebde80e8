//! The table of what each door can do, in `docs/guide/EMBEDDING.md`: every name must be in the
//! files that its door consists of, and every hole must have a reason below the table.

use super::{packaged, root};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const PAGE: &str = "docs/guide/EMBEDDING.md";
const HEAD: &str = "| capability | Rust | C | C++ | Node | Python | HTTP | shell |\n";

/// The files whose words are the names of a door, in the order of the columns.
const DOORS: [&str; 7] = [
    "src/index src/dedup.rs src/passages src/shards src/lib.rs sketch/src",
    "capi/include/nearkin.h capi/src/params.rs capi/src/query.rs",
    "capi/include/nearkin.hpp capi/src/params.rs capi/src/query.rs",
    "node/lib",
    "python/nearkin python/src/events.rs python/src/index/writer.rs",
    "apps/server/src/serve/api/openapi.json",
    "cli/src/args.rs cli/src/args apps/kit/src/args apps/server/src/args apps/folders/src/args",
];

/// All words in a file, or in the files of a folder; for HTTP also the paths.
fn words_of(path: &Path, found: &mut BTreeSet<String>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            words_of(&entry.unwrap().path(), found);
        }
    } else if let Ok(text) = fs::read_to_string(path) {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        found.extend(text.split(|c| !is_word(c)).map(str::to_owned));
        found.extend(text.split('"').filter(|text| text.starts_with('/')).map(str::to_owned));
    }
}

/// Whether the words of a door have a name. A command of the shell is a variant, an option a field.
fn has(words: &BTreeSet<String>, name: &str) -> bool {
    let name = name.trim_start_matches("--").replace('-', "_");
    let variant = name[..1].to_uppercase() + &name[1..];
    words.contains(&name) || words.contains(&variant)
}

/// What is wrong with a table: names that no door has, holes without a reason.
fn wrong(rows: &str, rest: &str, doors: &[BTreeSet<String>]) -> Vec<String> {
    let mut found = Vec::new();
    for row in rows.lines().skip(1) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [what, cells @ ..] = &cells[..] else { continue };
        if cells.len() != doors.len() {
            found.push(format!("{what}: {} doors", cells.len()));
        }
        for (cell, words) in cells.iter().zip(doors) {
            let is_reason = |hole: &str| rest.contains(&format!("\n- {hole} "));
            let is_right = match cell.strip_prefix("- ") {
                Some(hole) => is_reason(hole),
                None => {
                    cell.split('`')
                        .skip(1)
                        .step_by(2)
                        .all(|names| names.split("::").all(|name| has(words, name)))
                        && cell.contains('`')
                }
            };
            if !is_right {
                found.push(format!("{what}: {cell}"));
            }
        }
    }
    found
}

#[test]
fn doors_have_what_the_table_says() {
    if packaged() {
        return;
    }
    let doors = DOORS.map(|files| {
        let mut words = BTreeSet::new();
        files.split(' ').for_each(|file| words_of(&root().join(file), &mut words));
        words
    });
    let page = fs::read_to_string(root().join(PAGE)).unwrap();
    let (_, table) = page.split_once(HEAD).expect("the page has the table");
    let (rows, rest) = table.split_once("\n\n").expect("something follows it");
    assert!(rows.lines().count() > 30);
    let found = wrong(rows, rest, &doors);
    assert!(found.is_empty(), "{PAGE}: {found:#?}");
}

#[test]
fn names_that_no_door_has_are_found() {
    let doors = [BTreeSet::from(["open".to_owned(), "Stats".to_owned(), "read_mode".to_owned()])];
    let rest = "\n- (a) A reason.\n";
    for (cell, is_wrong) in [
        ("`open`", false),
        ("`stats`, `--read-mode`", false),
        ("`Keep::open`", true),
        ("`shut`", true),
        ("- (a)", false),
        ("- (b)", true),
        ("yes", true),
    ] {
        let found = wrong(&format!("|---|---|\n| it | {cell} |"), rest, &doors);
        assert_eq!(!found.is_empty(), is_wrong, "{cell}");
    }
}
