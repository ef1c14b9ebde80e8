//! Links of the documents. Pages that crates.io or docs.rs show link to the repository that
//! `Cargo.toml` names; the others link to each other by relative paths.

use super::{Source, assert_none, documents, root, source};
use std::fs;

/// Pages that crates.io and docs.rs show: relative links do not work there.
const SHOWN_ELSEWHERE: [&str; 7] = [
    "README.md",
    "docs/guide/COOKBOOK.md",
    "docs/guide/DUPLICATES.md",
    "docs/reference/DURABILITY.md",
    "docs/guide/PASSAGES.md",
    "docs/guide/READERS.md",
    "docs/guide/TUNING.md",
];

/// `Cargo.toml` is the only place that names the repository.
fn repository(manifest: &str) -> Option<&str> {
    manifest.lines().find_map(|line| line.strip_prefix("repository = \"")?.strip_suffix('"'))
}

/// The targets of links and pictures, with their line numbers.
fn targets(text: &str) -> impl Iterator<Item = (usize, &str)> {
    super::prose(text).flat_map(|(at, line)| {
        let after = line.split("](").skip(1);
        after.filter_map(move |rest| Some((at, rest.split_once(')')?.0)))
    })
}

/// The broken links of a page.
fn broken(page: &Source, repository: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let elsewhere = SHOWN_ELSEWHERE.contains(&page.path.as_str());
    let folder = page.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut found = Vec::new();
    for (at, target) in targets(&page.text) {
        let path = target.split('#').next().unwrap_or_default();
        let inside = path.strip_prefix(repository).map(|rest| {
            rest.strip_prefix("/blob/main/").or(rest.strip_prefix("/raw/main/")).unwrap_or(rest)
        });
        let complaint = match inside {
            // GitHub's page for reporting a vulnerability: it is not a file of this repository.
            Some("/security/advisories/new") => continue,
            Some(path) if exists(path) => continue,
            None if path.contains("github.com/") && path.contains("/nearkin") => {
                "is another repository than that of Cargo.toml"
            }
            None if path.contains("://") || path.is_empty() => continue,
            None if elsewhere => "is relative, and leads nowhere on crates.io and docs.rs",
            None if exists(&resolved(folder, path)) => continue,
            Some(_) | None => "is not in the tree",
        };
        found.push(format!("line {at}: {target} {complaint}"));
    }
    found
}

/// Resolves a path relative to a folder into one relative to the root.
fn resolved(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[test]
fn every_link_of_the_documents_leads_somewhere() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let repository = repository(&manifest).unwrap_or("https://github.com/nearkin/nearkin");
    let exists = |path: &str| !path.starts_with('/') && root().join(path).exists();
    assert_none(&documents(), |page| broken(page, repository, exists));
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let repository = repository("[a]\nrepository = \"https://github.com/a/nearkin\"\n").unwrap();
    let all = |path: &str, text: &str| {
        broken(&source(path, text), repository, |path| ["docs/A.md", "b.png"].contains(&path))
    };
    let absolute = "[a](https://github.com/a/nearkin/blob/main/docs/A.md#x) \
                    ![b](https://github.com/a/nearkin/raw/main/b.png) [c](https://c.org)";
    assert!(all("README.md", absolute).is_empty());
    assert!(all("docs/B.md", "[a](A.md) [b](../b.png)\n```\n[c](C.md)\n```").is_empty());
    for (path, bad) in [
        ("README.md", "[a](docs/A.md)"),
        ("README.md", "[a](https://github.com/a/nearkin/blob/main/docs/C.md)"),
        ("README.md", "[a](https://github.com/b/nearkin/blob/main/docs/A.md)"),
        ("docs/B.md", "[a](docs/A.md)"),
    ] {
        assert_eq!(all(path, bad).len(), 1, "{bad}");
    }
}
