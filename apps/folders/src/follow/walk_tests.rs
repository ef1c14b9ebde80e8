//! Compares which files the walk finds with what Git would track, on random trees and ignore files.

#![expect(clippy::disallowed_methods, reason = "scratch files are no index")]

use super::*;
use std::env;
use std::process::Command;

/// Names of files and folders. Some are special in patterns.
const NAMES: [&str; 16] = [
    "a", "b", "ab", "a.txt", "b.log", "A.TXT", "build", "x y", "#h", "!n", "[z]", "a{b}", "{a,b}",
    ".env", ".x", "a-b",
];

/// Patterns of ignore files, besides those that are made of names.
const PATTERNS: [&str; 37] = [
    "*", "*.txt", "*.log", "/a", "a/", "/a/", "a/b", "**/a", "a/**", "**", "!a", "!*/", "!b/",
    "[ab]*", "[!a]*", "[^a]*", "?", "??", "\\!n", "\\#h", "*/b", "# a", "", "b  ", "/*", "!/a",
    "a**b", "a/**/b", "\\a", "!*.txt", "!.env", "**/b/", "build/", "!build/a", "x\\ y", "[a-b]",
    "a*",
];

/// A generator of random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % u64::try_from(end).unwrap()).unwrap()
    }

    fn pick<'a>(&mut self, items: &[&'a str]) -> &'a str {
        items[self.below(items.len())]
    }

    /// A name as a pattern. Those with braces mean something else to Git: a warning says so.
    fn name(&mut self) -> &'static str {
        std::iter::repeat_with(|| self.pick(&NAMES)).find(|name| !differs_from_git(name)).unwrap()
    }

    fn pattern(&mut self) -> String {
        match self.below(4) {
            0 => self.name().to_owned(),
            1 => format!("{}/{}", self.name(), self.name()),
            _ => self.pick(&PATTERNS).to_owned(),
        }
    }

    fn patterns(&mut self) -> String {
        (0..=self.below(5)).map(|_| self.pattern() + "\n").collect()
    }

    fn fill(&mut self, folder: &Path, depth: usize) {
        fs::create_dir_all(folder).unwrap();
        for _ in 0..2 + self.below(5) {
            let path = folder.join(self.pick(&NAMES));
            if self.below(3) == 0 && depth < 3 && !path.is_file() {
                self.fill(&path, depth + 1);
            } else if !path.exists() {
                fs::write(path, "text").unwrap();
            }
        }
        if depth == 0 || self.below(3) == 0 {
            fs::write(folder.join(".gitignore"), self.patterns()).unwrap();
        }
    }
}

fn git(folder: &Path, arguments: &[&str]) -> Option<Vec<u8>> {
    let mut command = Command::new("git");
    command.current_dir(folder).args(["-c", "core.excludesFile=/dev/null"]).args(arguments);
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = command.output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(output.stdout)
}

/// The files that Git would track, without hidden names unless `hidden`.
fn tracked(folder: &Path, hidden: bool) -> Option<BTreeSet<String>> {
    let listed = git(folder, &["ls-files", "-z", "--others", "--exclude-standard"])?;
    let names = String::from_utf8(listed).unwrap();
    let is_shown = |name: &&str| hidden || !name.split('/').any(|part| part.starts_with('.'));
    let names = names.split('\0').filter(|name| !name.is_empty());
    Some(names.filter(is_shown).map(str::to_owned).collect())
}

fn walked(folder: &Path, hidden: bool) -> BTreeSet<String> {
    let rules = Rules {
        hidden,
        no_ignore: false,
        index: None,
        excluded: None,
        one_file_system: false,
        bytes_min: 0,
    };
    let root = Folder::new(folder).unwrap();
    let found = walk(&root, &rules, &Scope::All);
    let files = found.filter_map(|found| match found {
        WalkItem::File { path, .. } => Some(path),
        _ => None,
    });
    let name = |path: PathBuf| path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
    files.map(name).collect()
}

/// What is found without Git's consent, and what is not found.
fn difference(found: &BTreeSet<String>, expected: &BTreeSet<String>) -> String {
    let difference =
        |one: &BTreeSet<String>, other| one.difference(other).cloned().collect::<Vec<_>>();
    format!("too many {:?}, missing {:?}", difference(found, expected), difference(expected, found))
}

/// `NEARKIN_IGNORE_TREES` sets the number of trees, `NEARKIN_SEED` the seed of the first one.
#[test]
fn ignore_rules_are_those_of_git() {
    let number = |name: &str| env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let (trees, seed) = (number("NEARKIN_IGNORE_TREES").unwrap_or(20), number("NEARKIN_SEED"));
    let seed = seed.unwrap_or(1);
    for seed in seed..seed + trees {
        let dir = tempfile::tempdir().unwrap();
        let (folder, mut random) = (dir.path().join("d"), Random(seed));
        random.fill(&folder, 0);
        if git(&folder, &["init", "-q"]).is_none() {
            return; // no Git here
        }
        fs::write(folder.join(EXCLUDE_FILE), random.patterns()).unwrap();
        for hidden in [false, true] {
            let Some(expected) = tracked(&folder, hidden) else { return };
            let found = walked(&folder, hidden);
            assert!(
                found == expected,
                "seed {seed}, hidden {hidden}: {}",
                difference(&found, &expected)
            );
        }
    }
}
