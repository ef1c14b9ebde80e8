//! One word for one thing: the table of names in `docs/guide/EMBEDDING.md` is what the doors say.

use super::{packaged, root};
use std::fs;

/// The doors in the order of the table's columns, each with the files that declare its names.
const DOORS: [(&str, &[&str]); 6] = [
    (
        "Rust",
        &[
            "src/index/doors/handle/payloads.rs",
            "src/index/doors/handle.rs",
            "src/index/doors/reading.rs",
            "src/index/read/answer.rs",
            "src/index/read/conditions.rs",
            "src/index/write/admit.rs",
            "src/index/write/admit/conditions.rs",
        ],
    ),
    ("HTTP", &["apps/server/src/serve/api/openapi.json"]),
    ("C", &["capi/include/nearkin.h"]),
    ("C++", &["capi/include/nearkin.hpp"]),
    (
        "Python",
        &["python/nearkin/_nearkin.pyi", "python/nearkin/_types.py", "python/src/index/writing.rs"],
    ),
    ("Node", &["node/lib/types.ts", "node/lib/writer.js"]),
];

/// Words that a door once had for a thing in the table.
const OTHER_WORDS: [&str; 4] = ["is_admitted;", "admitted: boolean", "timeoutMs", "timeout_ms"];

/// The rows of the table: the cells after the first.
fn rows(page: &str) -> Vec<Vec<String>> {
    let head = "| thing | Rust | HTTP | C | C++ | Python | Node |";
    let table = page.lines().skip_while(|line| *line != head).skip(2);
    let rows = table.take_while(|line| line.starts_with('|'));
    let cells = |line: &str| {
        line.trim_matches('|').split('|').skip(1).map(str::trim).map(str::to_owned).collect()
    };
    rows.map(cells).collect()
}

/// A name in words: without the prefixes of C and the unit.
fn words(name: &str) -> String {
    let mut plain = String::new();
    for c in name.trim_start_matches("nk_index_").trim_start_matches("nk_").chars() {
        if c.is_ascii_uppercase() {
            plain.push('_');
        }
        plain.push(c.to_ascii_lowercase());
    }
    plain.trim_end_matches("_ms").to_owned()
}

fn declares(text: &str, name: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        !text[..at].ends_with(inside) && !text[at + name.len()..].starts_with(inside)
    })
}

fn wrong(rows: &[Vec<String>], doors: &[(&str, String)]) -> Vec<String> {
    let mut found = Vec::new();
    for row in rows {
        let mut names = row.iter().map(|cell| cell.trim_matches('`'));
        let first = names.clone().find(|name| *name != "-").unwrap_or_default();
        for (door, text) in doors {
            let name = names.next().unwrap_or_default();
            if name == "-" {
                continue;
            }
            if words(name) != words(first) {
                found.push(format!("{door} says {name}, another door {first}"));
            }
            if !declares(text, name) {
                found.push(format!("{door} has no {name}"));
            }
        }
    }
    for (door, text) in doors {
        let other = OTHER_WORDS.iter().filter(|word| text.contains(*word));
        found.extend(other.map(|word| format!("{door} says {word}")));
    }
    found
}

#[test]
fn every_door_has_the_names_of_the_table() {
    if packaged() {
        return;
    }
    let read = |path: &&str| fs::read_to_string(root().join(path)).unwrap();
    let doors = DOORS.map(|(door, paths)| (door, paths.iter().map(read).collect::<String>()));
    let rows = rows(&read(&"docs/guide/EMBEDDING.md"));
    assert!(rows.len() > 15 && rows.iter().all(|row| row.len() == DOORS.len()), "{rows:?}");
    let found = wrong(&rows, &doors);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_door_with_another_word_is_found() {
    let rows = [vec!["`time_left`".to_owned(), "`timeLeftMs`".to_owned()]];
    let doors = |second: &str| [("one", "time_left()".to_owned()), ("two", second.to_owned())];
    assert!(wrong(&rows, &doors("a.timeLeftMs = 1")).is_empty());
    assert_eq!(wrong(&rows, &doors("a.timeLeft = 1")), ["two has no timeLeftMs"]);
    assert_eq!(wrong(&rows, &doors("timeLeftMs, timeoutMs")), ["two says timeoutMs"]);
    let other = [vec!["`time_left`".to_owned(), "`patience`".to_owned()]];
    assert_eq!(wrong(&other, &doors("patience")), ["two says patience, another door time_left"]);
}
