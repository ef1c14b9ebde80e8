//! Checks the links in documents, to files and to headings. Pages that crates.io, docs.rs or PyPI
//! show must link to the repository named in `Cargo.toml`; the other pages link to each other by
//! relative paths.

use super::{Source, assert_none, packaged, prose, root, source};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Pages that crates.io, docs.rs and PyPI show: relative links do not work there.
const SHOWN_ELSEWHERE: [&str; 8] = [
    "README.md",
    "docs/guide/COOKBOOK.md",
    "docs/guide/DUPLICATES.md",
    "docs/reference/DURABILITY.md",
    "docs/guide/PASSAGES.md",
    "docs/guide/READERS.md",
    "docs/guide/TUNING.md",
    "python/README.md",
];

/// Folders whose files are not ours: they are built, fetched or generated.
const FOREIGN: [&str; 4] = ["target", "corpus", "artifacts", "node_modules"];

/// The page that lists all pages in `docs/`.
const MAP: &str = "docs/README.md";

/// The URL of the repository, which only `Cargo.toml` states.
fn repository(manifest: &str) -> Option<&str> {
    manifest.lines().find_map(|line| line.strip_prefix("repository = \"")?.strip_suffix('"'))
}

/// All Markdown files in the repository.
fn pages() -> Vec<Source> {
    let mut found = Vec::new();
    collect(&root(), &mut found);
    found
}

fn collect(folder: &Path, found: &mut Vec<Source>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let foreign = FOREIGN.contains(&&*name) || (name.starts_with('.') && name != ".github");
        // A link is another name of a page, for the package that it lies in.
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() && !foreign {
            collect(&path, found);
        } else if path.extension().is_some_and(|found| found == "md") {
            let relative = path.strip_prefix(root()).unwrap().to_str().unwrap();
            found.push(source(&relative.replace('\\', "/"), &fs::read_to_string(&path).unwrap()));
        }
    }
}

/// The targets of links and pictures, with line numbers.
fn targets(text: &str) -> impl Iterator<Item = (usize, &str)> {
    prose(text).flat_map(|(at, line)| {
        let after = line.split("](").skip(1);
        after.filter_map(move |rest| Some((at, rest.split_once(')')?.0)))
    })
}

/// The anchors that GitHub gives to the headings of a page: letters and digits in lower case,
/// spaces as hyphens. A heading that occurs again gets `-1`, `-2` and so on.
fn anchors(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (_, line) in prose(text).filter(|(_, line)| line.starts_with('#')) {
        let title = line.trim_start_matches('#').trim();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
        let anchor: String =
            kept.flat_map(char::to_lowercase).collect::<String>().replace(' ', "-");
        let again = (1..).map(|count| format!("{anchor}-{count}"));
        let free = std::iter::once(anchor.clone()).chain(again).find(|name| !found.contains(name));
        found.extend(free);
    }
    found
}

/// The broken links of a page. `exists` says whether a path from the root exists, and whether it
/// has an anchor.
fn broken(
    page: &Source,
    repository: &str,
    exists: impl Fn(&str, Option<&str>) -> bool,
) -> Vec<String> {
    let elsewhere = SHOWN_ELSEWHERE.contains(&page.path.as_str());
    let folder = page.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut found = Vec::new();
    for (at, target) in targets(&page.text) {
        let (path, anchor) =
            target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
        let inside = path.strip_prefix(repository).map(|rest| {
            rest.strip_prefix("/blob/main/").or(rest.strip_prefix("/raw/main/")).unwrap_or(rest)
        });
        let complaint = match inside {
            // GitHub's page for reporting a vulnerability is not a file in this repository.
            Some("/security/advisories/new") => continue,
            Some(path) if exists(path, anchor) => continue,
            Some(path) if exists(path, None) => "leads to a heading that is not there",
            None if path.contains("github.com/") && path.contains("/nearkin") => {
                "is another repository than that of Cargo.toml"
            }
            None if path.contains("://") => continue,
            None if path.is_empty() && exists(&page.path, anchor) => continue,
            None if path.is_empty() => "leads to a heading that is not there",
            None if elsewhere => "is relative, and leads nowhere on crates.io, docs.rs and PyPI",
            None if exists(&resolved(folder, path), anchor) => continue,
            None if exists(&resolved(folder, path), None) => "leads to a heading that is not there",
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

/// Pages in `docs/` to which the map has no link.
fn unmapped(map: &Source, pages: &[Source]) -> Vec<String> {
    let linked: Vec<String> = targets(&map.text).map(|(_, path)| resolved("docs", path)).collect();
    let own = pages.iter().filter(|page| page.path.starts_with("docs/") && page.path != map.path);
    own.filter(|page| !linked.contains(&page.path)).map(|page| page.path.clone()).collect()
}

#[test]
fn every_link_of_the_documents_leads_somewhere() {
    if packaged() {
        return;
    }
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let repository = repository(&manifest).unwrap_or("https://github.com/nearkin/nearkin");
    let pages = pages();
    assert!(pages.len() > 35, "the pages are where they are looked for");
    let headings: BTreeMap<&str, Vec<String>> =
        pages.iter().map(|page| (page.path.as_str(), anchors(&page.text))).collect();
    let exists = |path: &str, anchor: Option<&str>| match anchor {
        None => !path.starts_with('/') && root().join(path).exists(),
        Some(anchor) => headings.get(path).is_some_and(|all| all.iter().any(|one| one == anchor)),
    };
    assert_none(&pages, |page| broken(page, repository, exists));
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let repository = repository("[a]\nrepository = \"https://github.com/a/nearkin\"\n").unwrap();
    let all = |path: &str, text: &str| {
        broken(&source(path, text), repository, |path, anchor| match anchor {
            None => ["docs/A.md", "docs/B.md", "b.png"].contains(&path),
            Some(anchor) => path.starts_with("docs/") && anchor == "x",
        })
    };
    let absolute = "[a](https://github.com/a/nearkin/blob/main/docs/A.md#x) \
                    ![b](https://github.com/a/nearkin/raw/main/b.png) [c](https://c.org/#d)";
    assert!(all("README.md", absolute).is_empty());
    let relative = "[a](A.md) [a](A.md#x) [b](../b.png) [x](#x)\n```\n[c](C.md)\n```";
    assert!(all("docs/B.md", relative).is_empty());
    for (path, bad) in [
        ("README.md", "[a](docs/A.md)"),
        ("README.md", "[a](https://github.com/a/nearkin/blob/main/docs/C.md)"),
        ("README.md", "[a](https://github.com/a/nearkin/blob/main/docs/A.md#y)"),
        ("README.md", "[a](https://github.com/b/nearkin/blob/main/docs/A.md)"),
        ("docs/B.md", "[a](docs/A.md)"),
        ("docs/B.md", "[a](A.md#y)"),
        ("docs/B.md", "[a](#y)"),
    ] {
        assert_eq!(all(path, bad).len(), 1, "{bad}");
    }
}

#[test]
fn headings_have_the_anchors_of_github() {
    let text = "# What `--exact` costs\n## A, b: c_d\n```sh\n# no\n```\n## Limits\n## Limits\n";
    assert_eq!(anchors(text), ["what---exact-costs", "a-b-c_d", "limits", "limits-1"]);
}

#[test]
fn the_map_lists_every_page_of_docs() {
    if packaged() {
        return;
    }
    let pages = pages();
    let map = pages.iter().find(|page| page.path == MAP).unwrap();
    assert_eq!(unmapped(map, &pages), Vec::<String>::new(), "{MAP} does not list them");
}

#[test]
fn a_page_that_the_map_leaves_out_is_found() {
    let map = source("docs/README.md", "[a](guide/A.md) [r](../README.md)");
    let pages = ["docs/README.md", "docs/guide/A.md", "docs/B.md", "README.md"];
    assert_eq!(unmapped(&map, &pages.map(|path| source(path, ""))), ["docs/B.md"]);
}
