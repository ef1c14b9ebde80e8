//! House rules that rustc, clippy and Cargo cannot check: sizes, layers, wording, documents.
//!
//! The scanner recognises comments, strings and characters, but not the grammar of Rust: it does
//! not see code that macros generate.
#![expect(clippy::unwrap_used, reason = "tests may fail")]

#[path = "tidy/circles.rs"]
mod circles;
#[path = "tidy/doors.rs"]
mod doors;
#[path = "tidy/floors.rs"]
mod floors;
#[path = "tidy/layers.rs"]
mod layers;
#[path = "tidy/links.rs"]
mod links;
#[path = "tidy/names.rs"]
mod names;
#[path = "tidy/scan.rs"]
mod scan;
#[path = "tidy/types.rs"]
mod types;

use scan::code_of;
use std::fs;
use std::path::{Path, PathBuf};

const FILE_LINES_MAX: usize = 500;
const LINE_COLUMNS_MAX: usize = 100;
const ARCHITECTURE_LINES_MAX: usize = 300;
const PACKAGES_MAX: usize = 22;

/// Files that may contain non-ASCII characters, with reasons.
const NOT_ASCII: &[(&str, &str)] = &[];

/// A source file: its path relative to the root, with `/` as separator, and its text.
struct Source {
    path: String,
    text: String,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Whether the tests run in the unpacked package, which contains neither the command-line tool nor
/// all documents.
#[expect(clippy::print_stdout, reason = "a skipped test must say so")]
fn packaged() -> bool {
    let packaged = root().join("Cargo.toml.orig").exists();
    if packaged {
        println!("SKIPPED: the package is a part of the repository, which this is for");
    }
    packaged
}

fn collect(folder: &Path, ending: &str, found: &mut Vec<Source>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() && !path.ends_with("target") && !path.ends_with("tests/data") {
            collect(&path, ending, found);
        } else if path.extension().is_some_and(|found| found == ending) {
            let relative = path.strip_prefix(root()).unwrap().to_str().unwrap();
            let text = fs::read_to_string(&path).unwrap();
            found.push(Source { path: relative.replace('\\', "/"), text });
        }
    }
}

fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    for folder in [
        "src", "sketch", "input", "apps", "cli", "capi", "node", "python", "tests", "benches",
        "examples", "fuzz", "tools",
    ] {
        collect(&root().join(folder), "rs", &mut found);
    }
    assert!(found.len() > 50, "the sources are where they are looked for");
    found
}

/// The Markdown pages in the root, in `docs` and in `examples`.
fn documents() -> Vec<Source> {
    let mut found = Vec::new();
    collect(&root().join("docs"), "md", &mut found);
    for page in ["README.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md"] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        found.push(Source { path: page.to_owned(), text });
    }
    found
}

/// Applies a rule to all files, and fails with all findings.
fn assert_none(files: &[Source], rule: impl Fn(&Source) -> Vec<String>) {
    let all: Vec<String> = files
        .iter()
        .flat_map(|file| rule(file).into_iter().map(|what| format!("{}: {what}", file.path)))
        .collect();
    assert!(all.is_empty(), "\n{}", all.join("\n"));
}

fn source(path: &str, text: &str) -> Source {
    Source { path: path.to_owned(), text: text.to_owned() }
}

fn sizes(file: &Source) -> Vec<String> {
    let mut found = Vec::new();
    let lines = file.text.lines().count();
    if lines > FILE_LINES_MAX {
        found.push(format!("{lines} lines"));
    }
    for (at, line) in file.text.lines().enumerate() {
        let columns = line.chars().count();
        if columns > LINE_COLUMNS_MAX {
            found.push(format!("line {} has {columns} columns", at + 1));
        }
    }
    found
}

/// A newcomer reads it in minutes, and finds the command for the main job and that for all tests.
#[test]
fn the_readme_is_short_and_has_both_commands() {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(text.split_whitespace().count() < 1_300);
    for command in ["\ncargo run --release -- add ", "\ncargo test --all-features\n"] {
        assert!(text.contains(command), "{command:?}");
    }
}

#[test]
fn files_and_lines_are_short() {
    assert_none(&sources(), sizes);
}

#[test]
fn too_long_files_and_lines_are_found() {
    assert!(sizes(&source("a.rs", &"\n".repeat(500))).is_empty());
    assert_eq!(sizes(&source("a.rs", &"\n".repeat(501))), ["501 lines"]);
    assert!(sizes(&source("a.rs", &"x".repeat(100))).is_empty());
    assert_eq!(sizes(&source("a.rs", &"x".repeat(101))), ["line 1 has 101 columns"]);
}

fn letters(file: &Source) -> Vec<String> {
    if NOT_ASCII.iter().any(|(path, _)| *path == file.path) {
        return Vec::new();
    }
    let lines = file.text.lines().enumerate();
    lines.filter(|(_, l)| !l.is_ascii()).map(|(at, _)| format!("line {}", at + 1)).collect()
}

#[test]
fn sources_are_ascii() {
    assert_none(&sources(), letters);
}

#[test]
fn letters_beyond_ascii_are_found() {
    assert!(letters(&source("a.rs", "// plain\n\"\\u{e9}\"")).is_empty());
    assert_eq!(letters(&source("a.rs", "//\n// caf\u{e9}")), ["line 2"]);
}

fn introduction(file: &Source) -> Vec<String> {
    let said = file.text.starts_with("//! ");
    if said { Vec::new() } else { vec!["does not begin with `//! ` and what it is".to_owned()] }
}

#[test]
fn every_file_says_what_it_is() {
    assert_none(&sources(), introduction);
}

#[test]
fn a_file_that_does_not_say_what_it_is_is_found() {
    assert!(introduction(&source("a.rs", "//! The write path.\n")).is_empty());
    for text in ["", "//!", "use a;\n//! Late.", "\n//! Late."] {
        assert_eq!(introduction(&source("a.rs", text)).len(), 1, "{text}");
    }
}

/// Words that a finished file must not contain. They are split, so that this file passes.
fn leftovers(file: &Source) -> Vec<String> {
    let mut found = Vec::new();
    for word in [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X:")] {
        if file.text.contains(word) {
            found.push(format!("{word} is for the issue tracker"));
        }
    }
    if code_of(&file.text).contains("#[ignore") {
        found.push("a test is ignored".to_owned());
    }
    found
}

#[test]
fn nothing_is_left_to_do() {
    assert_none(&sources(), leftovers);
}

#[test]
fn leftovers_are_found() {
    let bad = [concat!("// TO", "DO: soon"), "#[ignore]", "#[ignore = \"slow\"]"];
    for text in bad {
        assert_eq!(leftovers(&source("a.rs", text)).len(), 1, "{text}");
    }
    assert!(leftovers(&source("a.rs", "// #[ignore] is banned")).is_empty());
}

/// Comments that begin without naming a thing. A machine can check only this part of the style in
/// `CONTRIBUTING.md`.
fn beginnings(file: &Source) -> Vec<String> {
    let mut found = Vec::new();
    let mut goes_on = false;
    for (at, line) in file.text.lines().enumerate() {
        let text = line.trim_start().trim_start_matches(['/', '!']);
        let is_comment = line.trim_start().starts_with("//");
        let begins = is_comment && !goes_on;
        for word in ["Of ", "Who ", "Whoever ", "Whom ", "So many ", "At least so far "] {
            if begins && text.trim_start().starts_with(word) {
                found.push(format!("line {} begins with {word:?}: name the thing", at + 1));
            }
        }
        goes_on = is_comment && !text.trim().is_empty();
    }
    found
}

#[test]
fn comments_begin_with_what_they_are_about() {
    assert_none(&sources(), beginnings);
}

#[test]
fn comments_that_begin_without_a_noun_are_found() {
    for text in ["/// Of the file.", "  // Whoever reads it.", "//! Who.\n//!\n//! So many bytes."]
    {
        assert_eq!(beginnings(&source("a.rs", text)).len(), 1, "{text}");
    }
    let fine = "/// The length\n/// Of the file.\nlet of = \"// Of\";";
    assert!(beginnings(&source("a.rs", fine)).is_empty());
}

#[test]
fn every_module_names_only_what_lies_below_it() {
    assert_none(&sources(), |file| layers::broken(&file.path, &code_of(&file.text)));
}

/// The folders of the packages, and whether a file may name the modules that enclose it.
const PACKAGES: [(&str, bool); 10] = [
    ("src/", true),
    ("sketch/src/", true),
    ("input/src/", false),
    ("apps/kit/src/", false),
    ("apps/folders/src/", false),
    ("apps/server/src/", false),
    ("cli/src/", false),
    ("python/src/", false),
    ("capi/src/", false),
    ("node/src/", false),
];

#[test]
fn no_files_of_a_package_need_each_other_in_a_circle() {
    if packaged() {
        return;
    }
    let sources = sources();
    for (folder, names_above) in PACKAGES {
        let files = sources.iter().filter_map(|file| {
            let path = file.path.strip_prefix(folder)?;
            let is_left_out = layers::is_test(&file.path) || (names_above && path == "lib.rs");
            (!is_left_out).then(|| (path.to_owned(), code_of(&file.text)))
        });
        let files: Vec<_> = files.collect();
        assert!(files.len() > 8, "the sources of {folder} are where they are looked for");
        let circles = circles::circles(&files, names_above);
        assert!(circles.is_empty(), "{folder}\n{}", circles.join("\n"));
    }
}

/// The lines of a document outside fenced blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(at, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((at + 1, line))
    })
}

fn titles(file: &Source) -> Vec<String> {
    match prose(&file.text).filter(|(_, line)| line.starts_with("# ")).count() {
        1 => Vec::new(),
        count => vec![format!("{count} titles")],
    }
}

#[test]
fn every_document_has_one_title() {
    assert_none(&documents(), titles);
}

#[test]
fn a_document_with_another_number_of_titles_is_found() {
    assert!(titles(&source("a.md", "# A\n## B\n```sh\n# no title\n```\n")).is_empty());
    assert_eq!(titles(&source("a.md", "## B\n")), ["0 titles"]);
    assert_eq!(titles(&source("a.md", "# A\n# B\n")), ["2 titles"]);
}

/// Backticked paths that do not exist in the repository. Patterns are ignored.
fn stale_paths(file: &Source, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let folders = [
        "src/",
        "input/",
        "apps/",
        "capi/",
        "cli/",
        "node/",
        "docs/",
        "tests/",
        "benches/",
        "examples/",
        "fuzz/",
    ];
    let mut found = Vec::new();
    for (at, line) in prose(&file.text) {
        for span in line.split('`').skip(1).step_by(2) {
            // The first word, without a line number such as in `src/a.rs:12`.
            let path = span.split([' ', ':', '#']).next().unwrap_or_default();
            let pattern = path.contains(['*', '<', '{', '$']);
            if folders.iter().any(|folder| path.starts_with(folder)) && !pattern && !exists(path) {
                found.push(format!("line {at}: there is no {path}"));
            }
        }
    }
    found
}

#[test]
fn every_path_in_the_documents_exists() {
    if packaged() {
        return;
    }
    assert_none(&documents(), |file| stale_paths(file, |path| root().join(path).exists()));
}

#[test]
fn a_stale_path_is_found() {
    let stale = |text: &str| stale_paths(&source("a.md", text), |path| path == "src/a.rs");
    let fine =
        "`src/a.rs` and `src/a.rs:7`, `tests/*.rs`, src/b.rs, `a/src/b.rs`\n```\n`src/b`\n```";
    assert!(stale(fine).is_empty());
    assert_eq!(stale("a\nsee `b` in `src/b.rs`"), ["line 2: there is no src/b.rs"]);
    assert_eq!(stale("`docs/B.md#part`"), ["line 1: there is no docs/B.md"]);
}

#[test]
fn the_architecture_is_told_briefly() {
    let Ok(text) = fs::read_to_string(root().join("docs/ARCHITECTURE.md")) else { return };
    let lines = text.lines().count();
    assert!(lines <= ARCHITECTURE_LINES_MAX, "docs/ARCHITECTURE.md has {lines} lines");
}

/// Dependencies without a comment line above them.
fn unexplained(manifest: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut of_dependencies, mut above) = (false, "");
    for line in manifest.lines() {
        if line.starts_with('[') {
            of_dependencies = line.trim_end_matches(']').ends_with("dependencies");
            if let Some((_, name)) = line.split_once("dependencies.") {
                found.push(format!("{name}: one line in its section, please"));
            }
        } else if of_dependencies
            && let Some((name, _)) = line.split_once('=')
            && line.starts_with(|first: char| first.is_ascii_alphanumeric())
            && !above.starts_with('#')
        {
            found.push(name.trim().to_owned());
        }
        above = line;
    }
    found
}

#[test]
fn every_dependency_has_its_reason() {
    if packaged() {
        return;
    }
    for manifest in ["Cargo.toml", "capi/Cargo.toml", "cli/Cargo.toml", "node/Cargo.toml"] {
        let text = fs::read_to_string(root().join(manifest)).unwrap();
        assert_eq!(unexplained(&text), Vec::<String>::new(), "{manifest}");
    }
}

#[test]
fn a_dependency_without_a_reason_is_found() {
    let manifest = "[package]\na = 1\n[dependencies]\n# why\nb = 1\nc = 1\n\nd = { x = 1 }\n";
    assert_eq!(unexplained(manifest), ["c", "d"]);
    assert_eq!(unexplained("[dev-dependencies]\ne = 1\n[lints]\nf = 1\n"), ["e"]);
    assert_eq!(unexplained("[target.'cfg(unix)'.dependencies]\ng = 1\n"), ["g"]);
    assert_eq!(unexplained("[dependencies.h]\nversion = 1\n").len(), 1);
}

/// Distinct names in the output of `cargo tree --prefix none`, without the first, which is the
/// crate itself.
fn packages(tree: &str) -> Vec<&str> {
    let names = tree.lines().skip(1).filter_map(|line| line.split(' ').next());
    let mut names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[test]
fn an_embedder_gets_few_packages() {
    if packaged() {
        return;
    }
    let mut cargo = std::process::Command::new(env!("CARGO"));
    let arguments = ["tree", "-p", "nearkin", "-e", "normal", "--prefix", "none"];
    cargo.args(arguments).args(["--offline", "--locked"]).current_dir(root());
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).unwrap();
    let names = packages(&tree);
    assert!(names.contains(&"redb"), "{tree}");
    assert!(names.len() <= PACKAGES_MAX, "{} packages: {names:?}", names.len());
}

#[test]
fn packages_are_counted_once() {
    assert_eq!(packages("me v1\nb v1\na v2 (*)\nb v2\n\n"), ["a", "b"]);
}
