//! Names of types: no two types may share a name.

use crate::layers::outside_tests;
use crate::scan::code_of;
use crate::{Source, source, sources};
use std::collections::BTreeMap;

/// The types that `code` declares.
///
/// Types inside a function or an `impl` are not counted. They are recognised by their indentation.
pub(crate) fn types(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in code.lines() {
        let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
        let keyword = words.next().unwrap_or_default();
        let is_type = ["struct", "enum", "union", "trait", "type"].contains(&keyword);
        if is_type && !line.starts_with(char::is_whitespace) {
            let name = words.next().unwrap_or_default();
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
            found.push(name[..end].to_owned());
        }
    }
    found
}

/// Names that two files give to different types. `replaced` lists files that replace another file
/// under `cfg` and therefore declare the same types.
fn shared_names(files: &[Source], root: &str, replaced: &[&str]) -> Vec<String> {
    let mut places: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for file in files {
        let is_test = ["/tests/", "tests.rs", "/fuzzing/", "/sim/"]
            .iter()
            .any(|part| file.path.contains(part));
        if !file.path.starts_with(root) || is_test || replaced.contains(&file.path.as_str()) {
            continue;
        }
        for name in types(&code_of(outside_tests(&file.text))) {
            let paths = places.entry(name).or_default();
            if !paths.contains(&&*file.path) {
                paths.push(&file.path);
            }
        }
    }
    let shared = places.into_iter().filter(|(_, paths)| paths.len() > 1);
    shared.map(|(name, paths)| format!("{name}: {}", paths.join(", "))).collect()
}

#[test]
fn no_two_types_share_a_name() {
    let files = sources();
    let mut found = shared_names(&files, "src/", &["src/storage/windows.rs"]);
    let without_features = [
        "cli/src/commands/exchange/no_parquet.rs",
        "input/src/members/no_archives.rs",
        "input/src/source/no_rows.rs",
        "input/src/source/no_rows_copy.rs",
    ];
    let tool = ["input/src/", "apps/kit/src/", "apps/folders/src/", "apps/server/src/", "cli/src/"];
    for folder in tool {
        found.extend(shared_names(&files, folder, &without_features));
    }
    found.extend(shared_names(&files, "capi/src/", &[]));
    found.extend(shared_names(&files, "node/src/", &[]));
    assert!(found.is_empty(), "rename one of each:\n{}", found.join("\n"));
}

#[test]
fn types_that_share_a_name_are_found() {
    let a = source("src/a.rs", "pub(crate) struct Entry<'a> {\n    x: u8,\n}\nenum Own { A }\n");
    let b = source("src/b.rs", "struct Entry;\nimpl A for Entry {\n    type Own = u8;\n}\n");
    assert_eq!(shared_names(&[a, b], "src/", &[]), ["Entry: src/a.rs, src/b.rs"]);
    let a = source("cli/src/a.rs", "pub(crate) enum Kind { A }\npub(super) struct Row;");
    let b = source("cli/src/b.rs", "pub struct Kind;\n");
    assert_eq!(shared_names(&[a, b], "cli/src/", &[]), ["Kind: cli/src/a.rs, cli/src/b.rs"]);
}
