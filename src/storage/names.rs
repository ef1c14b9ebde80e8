//! Builds and parses all file names.

use crate::format::bytes::NUMBER_MAX;
use std::path::{Path, PathBuf};

/// The kind of a numbered file, given by its extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Wal,
    Free,
    Segment,
    Dead,
}

impl Ending {
    fn text(self) -> &'static str {
        match self {
            Self::Wal => "wal",
            Self::Free => "free",
            Self::Segment => "seg",
            Self::Dead => "dead",
        }
    }
}

/// Extension of a temporary file, before it is published.
pub(crate) const TMP: &str = "tmp";
/// What stands before it for the entries of a segment's tables, while they are sorted.
const ENTRIES: &str = "entries";
/// Extension of the commit mark of a catalog.
const COMMIT_MARK: &str = "commit";

const CATALOG: &str = "catalog.redb";
const PARAMETERS: &str = "parameters";
const MANIFEST: &str = "manifest";

/// The paths of an index.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    root: PathBuf,
}

impl Names {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf() }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.root.join("lock")
    }

    /// Locked by the process that gets the lock next.
    pub(crate) fn waiting_lock(&self) -> PathBuf {
        self.wal_dir().join("waiting.lock")
    }

    /// Locked by the shared handle that compacts.
    pub(crate) fn merging_lock(&self) -> PathBuf {
        self.segments_dir().join("merging.lock")
    }

    pub(crate) fn parameters(&self) -> PathBuf {
        self.root.join(PARAMETERS)
    }

    pub(crate) fn catalog(&self) -> PathBuf {
        self.root.join(CATALOG)
    }

    pub(crate) fn wal_dir(&self) -> PathBuf {
        self.root.join("wal")
    }

    pub(crate) fn segments_dir(&self) -> PathBuf {
        self.root.join("segments")
    }

    /// The folder with the manifests of a sharded index. Each generation has one manifest.
    pub(crate) fn manifest_dir(&self) -> PathBuf {
        self.root.join("manifest")
    }

    pub(crate) fn manifest(&self, generation: u64) -> PathBuf {
        self.manifest_dir().join(format!("{generation:010}.{MANIFEST}"))
    }

    /// Temporary path for one attempt to write a manifest. Several attempts may run at once.
    pub(crate) fn manifest_tmp(&self, generation: u64, attempt: u64) -> PathBuf {
        self.manifest_dir().join(format!("{generation:010}.{MANIFEST}.{attempt:016x}.{TMP}"))
    }

    /// The path of a numbered file.
    pub(crate) fn numbered(&self, number: u64, ending: Ending) -> PathBuf {
        let dir = match ending {
            Ending::Wal | Ending::Free => self.wal_dir(),
            Ending::Segment | Ending::Dead => self.segments_dir(),
        };
        dir.join(format!("{number:010}.{}", ending.text()))
    }
}

/// Temporary path of a file, before it is published.
pub(crate) fn tmp_of(path: &Path) -> PathBuf {
    with_ending(path, TMP)
}

/// Temporary path of the entries of a segment's tables.
pub(crate) fn entries_tmp_of(segment: &Path) -> PathBuf {
    tmp_of(&with_ending(segment, ENTRIES))
}

/// The mark beside a catalog whose name may not be durable yet.
pub(crate) fn commit_mark_of(catalog: &Path) -> PathBuf {
    with_ending(catalog, COMMIT_MARK)
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

/// Whether a name belongs to one of our temporary files or is a commit mark, left behind by a
/// crash. Other `*.tmp` files are not ours and must not be deleted.
pub(crate) fn is_tmp(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(whole, ending)| {
        let root = [CATALOG, PARAMETERS].contains(&whole);
        let of = whole.strip_suffix(ENTRIES).and_then(|whole| whole.strip_suffix('.'));
        let is_of_segment = of.and_then(parse).is_some_and(|(_, ending)| ending == Ending::Segment);
        ending == TMP && (root || is_of_segment || parse(whole).is_some())
            || ending == COMMIT_MARK && whole == CATALOG
    })
}

/// Whether a name belongs to a manifest that was not published yet (see [`Names::manifest_tmp`]).
pub(crate) fn is_manifest_tmp(name: &str) -> bool {
    let attempt = name.strip_suffix(TMP).and_then(|name| name.strip_suffix('.'));
    let parts = attempt.and_then(|name| name.rsplit_once('.'));
    parts.is_some_and(|(manifest, attempt)| {
        let is_hex = attempt.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        attempt.len() == 16 && is_hex && parse_manifest(manifest).is_some()
    })
}

/// Parses the name of a manifest. Returns its generation, or `None`.
pub(crate) fn parse_manifest(name: &str) -> Option<u64> {
    let (digits, ending) = name.split_once('.')?;
    let generation = digits.parse().ok()?;
    let ours = generation < NUMBER_MAX && format!("{generation:010}") == digits;
    (ours && ending == MANIFEST).then_some(generation)
}

/// Parses the name of a numbered file. Returns its number and kind, or `None`.
pub(crate) fn parse(name: &str) -> Option<(u64, Ending)> {
    let (digits, ending) = name.split_once('.')?;
    let ending = [Ending::Wal, Ending::Free, Ending::Segment, Ending::Dead]
        .into_iter()
        .find(|known| known.text() == ending)?;
    let number = digits.parse().ok()?;
    // Larger numbers are refused: the counter of file numbers continues after the largest number
    // found, and must not overflow.
    let ours = number < NUMBER_MAX && format!("{number:010}") == digits;
    ours.then_some((number, ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_as_they_are_built() {
        let names = Names::new(Path::new("x"));
        for number in [0, 7, 9_999_999_999, 12_345_678_901] {
            for ending in [Ending::Wal, Ending::Free, Ending::Segment, Ending::Dead] {
                let path = names.numbered(number, ending);
                let name = path.file_name().expect("a name").to_str().expect("ASCII");
                assert_eq!(parse(name), Some((number, ending)));
                assert!(is_tmp(tmp_of(Path::new(name)).to_str().expect("ASCII")));
                assert!(!is_tmp(name));
            }
        }
        for name in ["", "7.seg", "+000000007.seg", "0000000007.sega", "0000000007.seg.tmp", "a"] {
            assert_eq!(parse(name), None, "{name}");
        }
        assert!(is_tmp("catalog.redb.tmp") && is_tmp("catalog.redb.commit"));
        let entries = entries_tmp_of(&names.numbered(7, Ending::Segment));
        assert!(entries.ends_with("segments/0000000007.seg.entries.tmp"), "{entries:?}");
        assert!(is_tmp("0000000007.seg.entries.tmp"));
        for name in [
            "notes.tmp",
            "notes.commit",
            "tmp",
            ".tmp",
            "7.seg.tmp",
            "0000000007.seg.tmp.tmp",
            "0000000007.wal.entries.tmp",
            "0000000007.segentries.tmp",
            "entries.tmp",
        ] {
            assert!(!is_tmp(name), "{name}");
        }
    }

    #[test]
    fn manifests_are_parsed_as_they_are_named() {
        let names = Names::new(Path::new("x"));
        let path = names.manifest(12);
        let name = path.file_name().and_then(|name| name.to_str()).expect("ASCII");
        assert_eq!(parse_manifest(name), Some(12));
        let tmp = names.manifest_tmp(12, 7);
        let tmp = tmp.file_name().and_then(|name| name.to_str()).expect("ASCII");
        assert!(is_manifest_tmp(tmp), "{tmp}");
        for name in ["0000000012.manifest.tmp", "0000000012.manifest", "1.tmp", ".tmp", "tmp"] {
            assert!(!is_manifest_tmp(name), "{name}");
        }
        for name in [tmp, "12.manifest", "0000000012.seg", "manifest", "0000000012.manifest.tmp"] {
            assert_eq!(parse_manifest(name), None, "{name}");
        }
    }

    #[test]
    fn a_number_that_no_counter_reaches_is_none_of_ours() {
        assert_eq!(parse("4611686018427387903.seg"), Some((NUMBER_MAX - 1, Ending::Segment)));
        for name in ["4611686018427387904.seg", "18446744073709551615.free"] {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}
