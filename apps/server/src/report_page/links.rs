//! Links from a page to the files of its documents.
//!
//! A page must not name folders that its keys do not name, because pages are sent to others. So a
//! link is relative to the page: it works if the page lies in the folder in which the keys are
//! paths, or below that folder.

use std::fs;
use std::path::{Component, Path};

/// Which documents of a page are linked to their files.
#[derive(Clone, Default)]
pub(crate) struct Links {
    /// The way from the page to the folder in which relative keys are paths: empty, or one `../`
    /// for each folder between. `None` if there is no way without the names of folders.
    pub(super) base: Option<String>,
    /// Whether there are links at all.
    wanted: bool,
}

impl Links {
    /// Links from a page at this path, for keys that are paths in the current folder.
    pub(crate) fn from_page(out: &Path) -> Self {
        let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")));
        let here = fs::canonicalize(".");
        let base = match (folder, here) {
            (Ok(folder), Ok(here)) => way_up(&folder, &here),
            _ => None,
        };
        Self { base, wanted: true }
    }

    /// No links, for a page that is not opened from a disk.
    #[cfg(feature = "serve")]
    pub(crate) fn none() -> Self {
        Self::default()
    }

    /// Whether the file of this key can be linked, if there is one. Keys that the page does not
    /// show as they are have no link.
    pub(super) fn reach(&self, key: &[u8], shown: &str) -> bool {
        let absolute = key.first() == Some(&b'/');
        // A drive letter or a share would need another kind of address.
        let other = Path::new(shown).is_absolute() && !absolute;
        let plain = shown.as_bytes() == key && !key.contains(&b'\\');
        self.wanted && plain && !other && (absolute || self.base.is_some())
    }
}

/// The way from a folder to one that it lies in.
fn way_up(folder: &Path, to: &Path) -> Option<String> {
    let below = folder.strip_prefix(to).ok()?;
    let steps = below.components().filter(|part| matches!(part, Component::Normal(_))).count();
    Some("../".repeat(steps))
}

/// Whether a key is shown as it is and can be a line of a list: `nearkin remove --from` reads lines
/// as keys, passes over blank ones, and drops a byte order mark.
pub(super) fn can_be_listed(key: &[u8], shown: &str) -> bool {
    shown.as_bytes() == key && !shown.trim().is_empty() && !shown.starts_with('\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearkin_kit::output::visible;

    #[test]
    fn the_way_to_the_folder_of_the_keys_names_no_folder() {
        let way = |folder: &str, to: &str| way_up(Path::new(folder), Path::new(to));
        assert_eq!(way("/home/me", "/home/me").as_deref(), Some(""));
        assert_eq!(way("/home/me/a/b", "/home/me").as_deref(), Some("../../"));
        assert_eq!(way("/home", "/home/me"), None);
        assert_eq!(way("/tmp", "/home/me"), None);
    }

    #[test]
    fn only_keys_that_are_paths_and_are_shown_whole_are_linked() {
        let near = Links { base: Some(String::new()), wanted: true };
        let far = Links { base: None, wanted: true };
        let reach = |links: &Links, key: &[u8]| links.reach(key, &visible(key));
        assert!(reach(&near, b"docs/a.txt") && reach(&near, b"/docs/a.txt"));
        assert!(!reach(&far, b"docs/a.txt") && reach(&far, b"/docs/a.txt"));
        for key in [&b"a\\b"[..], b"a\nb", b"\xff", "\u{202e}x".as_bytes()] {
            assert!(!reach(&near, key), "{key:?}");
        }
        assert!(!near.reach(b"a long key", "a ... key"));
        assert!(!reach(&Links::default(), b"/docs/a.txt"));
    }

    #[test]
    fn keys_that_are_not_lines_are_not_listed() {
        for key in [&b"a\nb"[..], b"a\r", b"\xff", b" ", "\u{feff}a".as_bytes()] {
            assert!(!can_be_listed(key, &visible(key)), "{key:?}");
        }
        assert!(can_be_listed(b"a b\\n", &visible(b"a b\\n")));
    }
}
