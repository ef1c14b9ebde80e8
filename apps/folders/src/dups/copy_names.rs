//! Names that say that a file is a copy: `Backup 2023`, `report (1).pdf`, `alt`, `Kopie von x`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Words in several languages; the first word of a line is the language.
const WORDS: &str = include_str!("copy_words.txt");

/// Recognises names of copies.
pub(super) struct CopyNames {
    words: HashSet<&'static str>,
    /// Words of writing without blanks: they may stand anywhere in a name.
    parts: Vec<&'static str>,
    /// A folder, and whether its path says so.
    last: Option<(PathBuf, bool)>,
}

impl CopyNames {
    pub(super) fn new() -> Self {
        let all = WORDS.lines().flat_map(|line| line.split(' ').skip(1));
        // Japanese and Chinese.
        let (parts, words): (Vec<_>, Vec<_>) =
            all.partition(|word| word.chars().all(|letter| letter >= '\u{3000}'));
        Self { words: words.into_iter().collect(), parts, last: None }
    }

    /// Whether the name of a file, or of a folder that it lies in, says that it is a copy.
    pub(super) fn path_says_so(&mut self, path: &Path) -> bool {
        let Some(folder) = path.parent() else { return false };
        let by_folder = match &self.last {
            Some((known, says_so)) if known == folder => *says_so,
            _ => {
                let says_so = folder.iter().any(|name| self.name_says_so(&name.to_string_lossy()));
                self.last = Some((folder.to_owned(), says_so));
                says_so
            }
        };
        let name = || self.name_says_so(&path.file_name().unwrap_or_default().to_string_lossy());
        by_folder || name()
    }

    fn name_says_so(&self, name: &str) -> bool {
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        if name.ends_with('~') || stem.ends_with(')') && is_numbered(stem) {
            return true;
        }
        let words = name.split(|letter: char| !letter.is_alphabetic());
        let says_so = |word: &str| !word.is_empty() && self.words.contains(&*word.to_lowercase());
        words.into_iter().any(says_so)
            || !name.is_ascii() && self.parts.iter().any(|part| name.contains(part))
    }
}

/// Whether a name ends in a number in parentheses, as browsers and desktops write it.
fn is_numbered(stem: &str) -> bool {
    let number = stem.trim_end_matches(')').rsplit_once('(').map_or("", |(_, number)| number);
    !number.is_empty() && number.len() < 4 && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_copies_are_told_from_others() {
        let mut names = CopyNames::new();
        for path in [
            "/s/Backup 2023/HR/a.txt",
            "/s/backup2/a.txt",
            "/s/a.txt.bak",
            "/s/HR_old/a",
            "/s/Copy of a.txt",
            "/s/a - Kopie.txt",
            "/s/Alt/a",
            "/s/a (1).pdf",
            "/s/a~",
            "/s/\u{441}\u{442}\u{430}\u{440}\u{43e}\u{435}/a",
            "/s/a - \u{30b3}\u{30d4}\u{30fc}.txt",
            "/s/2023\u{5907}\u{4efd}/a",
            "/s/C\u{f3}pia de a",
        ] {
            assert!(names.path_says_so(Path::new(path)), "{path}");
        }
        for path in [
            "/s/HR/a.txt",
            "/s/copyright.txt",
            "/s/gold/alternative.txt",
            "/s/a (2023).pdf",
            "/s/a (b).pdf",
            "/s/\u{65e5}\u{672c}\u{8a9e}/a",
        ] {
            assert!(!names.path_says_so(Path::new(path)), "{path}");
        }
    }
}
