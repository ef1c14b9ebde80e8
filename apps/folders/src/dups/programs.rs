//! Files that programs need at their place: a copy of one is no waste, so it is named and left.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What belongs to a program, in words.
pub(super) type Owned = &'static str;

/// Names of folders that package managers fill.
const FOLDERS: [(&str, Owned); 7] = [
    ("node_modules", "in node_modules"),
    ("bower_components", "in bower_components"),
    ("site-packages", "in site-packages"),
    ("dist-packages", "in dist-packages"),
    ("__pypackages__", "in __pypackages__"),
    ("__pycache__", "in __pycache__"),
    ("Pods", "in Pods"),
];

/// Names whose presence says what a folder and all below it is.
const MARKS: [(&str, Owned); 15] = [
    (".git", "in a git work tree"),
    (".hg", "in a Mercurial work tree"),
    (".svn", "in a Subversion work tree"),
    ("pyvenv.cfg", "in a Python environment"),
    ("__init__.py", "in a package"),
    ("package.json", "in a package"),
    ("Cargo.toml", "in a package"),
    ("pyproject.toml", "in a package"),
    ("setup.py", "in a package"),
    ("go.mod", "in a package"),
    ("pom.xml", "in a package"),
    ("build.gradle", "in a package"),
    ("composer.json", "in a package"),
    ("Gemfile", "in a package"),
    ("Package.swift", "in a package"),
];

/// Endings of folders that a desktop shows as one thing.
const BUNDLES: [&str; 4] = ["app", "framework", "bundle", "photoslibrary"];

/// Folders of the system and its packages.
const SYSTEM: [&str; 12] = [
    "/bin",
    "/boot",
    "/etc",
    "/lib",
    "/lib64",
    "/nix",
    "/opt",
    "/sbin",
    "/usr",
    "/System",
    "/Library",
    "/Applications",
];

/// Tells files of programs from others.
pub(super) struct Programs<'a> {
    /// The folders to search: a mark above them does not count.
    folders: &'a [PathBuf],
    /// Files and folders that symbolic links lead to.
    targets: HashSet<PathBuf>,
    known: HashMap<PathBuf, Option<Owned>>,
}

impl<'a> Programs<'a> {
    /// What symbolic `links` lead to, programs need. A link to a folder above those to search would
    /// make a target of everything, and does not count.
    pub(super) fn new(folders: &'a [PathBuf], links: &[PathBuf]) -> Self {
        let is_above = |target: &PathBuf| folders.iter().any(|folder| folder.starts_with(target));
        let targets = links.iter().filter_map(|link| fs::canonicalize(link).ok());
        let targets = targets.filter(|target| !is_above(target)).collect();
        Self { folders, targets, known: HashMap::new() }
    }

    /// What program a file belongs to.
    pub(super) fn of_file(&mut self, path: &Path) -> Option<Owned> {
        if self.targets.contains(path) {
            return Some("a link leads to it");
        }
        self.of_folder(path.parent()?)
    }

    fn of_folder(&mut self, folder: &Path) -> Option<Owned> {
        if let Some(known) = self.known.get(folder) {
            return *known;
        }
        let is_top = self.folders.iter().any(|top| top == folder);
        let above = folder.parent().filter(|_| !is_top);
        let owned = self.own(folder).or_else(|| match above {
            Some(above) => self.of_folder(above),
            None if cfg!(unix) && SYSTEM.iter().any(|system| folder.starts_with(system)) => {
                Some("in a folder of the system")
            }
            None => None,
        });
        self.known.insert(folder.to_owned(), owned);
        owned
    }

    /// What a folder says of itself.
    fn own(&self, folder: &Path) -> Option<Owned> {
        let name = folder.file_name().unwrap_or_default();
        let by_name = FOLDERS.iter().find(|(known, _)| name == *known).map(|(_, what)| *what);
        let ending = folder.extension().unwrap_or_default();
        let is_bundle = || BUNDLES.iter().any(|known| ending == *known);
        let marked = || MARKS.iter().find(|(mark, _)| folder.join(mark).symlink_metadata().is_ok());
        by_name
            .or_else(|| is_bundle().then_some("in an application"))
            .or_else(|| self.targets.contains(folder).then_some("a link leads to its folder"))
            .or_else(|| marked().map(|(_, what)| *what))
    }
}
