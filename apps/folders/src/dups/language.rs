//! The languages of the script: what it begins with, and how a path is written in it.

use std::io::{self, Write};
use std::path::Path;

/// A language that a script is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    /// Any POSIX shell.
    Shell,
    /// PowerShell of Windows, from version 5.1.
    PowerShell,
}

impl Language {
    /// PowerShell for a file whose name ends in `.ps1`, which is all that PowerShell runs.
    pub(super) fn from_path(path: &Path) -> Self {
        let ending = path.extension().unwrap_or_default();
        if ending.eq_ignore_ascii_case("ps1") { Self::PowerShell } else { Self::Shell }
    }

    /// The beginning of every script. PowerShell 5.1 reads UTF-8 only after a byte order mark.
    pub(super) fn head(self) -> &'static str {
        match self {
            Self::Shell => "#!/bin/sh\n# Written by `nearkin dups`: ",
            Self::PowerShell => "\u{feff}# Written by `nearkin dups`: ",
        }
    }

    /// The functions that look at two files and act.
    pub(super) fn functions(self) -> &'static str {
        match self {
            Self::Shell => include_str!("script.sh"),
            Self::PowerShell => include_str!("script.ps1"),
        }
    }

    /// Sets the variables that the functions use.
    pub(super) fn settings(self, what: &str, any_owner: bool) -> String {
        let yes = if any_owner { "yes" } else { "no" };
        match self {
            Self::Shell => format!("what={what} any_owner={yes}\n"),
            Self::PowerShell => format!("$what = '{what}'\n$anyOwner = '{yes}' -eq 'yes'\n"),
        }
    }

    /// What near-copies need besides.
    pub(super) fn sums(self) -> String {
        match self {
            Self::Shell => String::new(),
            Self::PowerShell => {
                format!("Add-Type -TypeDefinition @'\n{}'@\n", include_str!("cksum.cs"))
            }
        }
    }

    /// The function for an exact copy.
    pub(super) fn exact(self, link: bool) -> &'static str {
        match (self, link) {
            (Self::Shell, false) => "copy",
            (Self::Shell, true) => "link",
            (Self::PowerShell, false) => "Copy-Of",
            (Self::PowerShell, true) => "Link-To",
        }
    }

    /// The function for a near-copy, switched off. In a shell `:` does nothing, and a comment would
    /// end at a line feed in a name; on Windows no name has one.
    pub(super) fn near(self) -> &'static str {
        match self {
            Self::Shell => ": near",
            Self::PowerShell => "# Near-Copy",
        }
    }

    /// How a near-copy is switched on.
    pub(super) fn switch(self) -> &'static str {
        match self {
            Self::Shell => "`: `",
            Self::PowerShell => "`# `",
        }
    }

    pub(super) fn finish(self) -> &'static str {
        match self {
            Self::Shell => "finish",
            Self::PowerShell => "Finish",
        }
    }

    /// Whether a path can be written in this language: PowerShell reads text, and a name that is no
    /// text would be another name.
    pub(super) fn can_name(self, path: &Path) -> bool {
        match self {
            Self::Shell => true,
            Self::PowerShell => {
                path.to_str().is_some_and(|text| !text.contains(|letter: char| letter.is_control()))
            }
        }
    }

    /// Writes a path as a single word, whatever its bytes.
    pub(super) fn quoted(self, out: &mut impl Write, path: &Path) -> io::Result<()> {
        match self {
            Self::Shell => in_shell(out, path.as_os_str().as_encoded_bytes()),
            Self::PowerShell => in_power_shell(out, &path.to_string_lossy()),
        }
    }
}

fn in_shell(out: &mut impl Write, path: &[u8]) -> io::Result<()> {
    out.write_all(b"'")?;
    for (at, part) in path.split(|byte| *byte == b'\'').enumerate() {
        if at > 0 {
            out.write_all(b"'\\''")?;
        }
        out.write_all(part)?;
    }
    out.write_all(b"'")
}

/// In PowerShell five characters are a single quote; each is doubled.
fn in_power_shell(out: &mut impl Write, path: &str) -> io::Result<()> {
    let path = match path.strip_prefix(r"\\?\") {
        Some(rest) if rest.as_bytes().get(1) == Some(&b':') && rest.len() < 248 => rest,
        _ => path,
    };
    out.write_all(b"'")?;
    for letter in path.chars() {
        let is_quote = "'\u{2018}\u{2019}\u{201a}\u{201b}".contains(letter);
        write!(out, "{letter}")?;
        if is_quote {
            write!(out, "{letter}")?;
        }
    }
    out.write_all(b"'")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(language: Language, path: &str) -> String {
        let mut out = Vec::new();
        language.quoted(&mut out, Path::new(path)).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_path_is_one_word_in_both_languages() {
        use Language::{PowerShell, Shell};
        assert_eq!(quoted(Shell, "a'b $(x)"), r"'a'\''b $(x)'");
        assert_eq!(quoted(PowerShell, r"C:\it's $(x) `n"), r"'C:\it''s $(x) `n'");
        assert_eq!(quoted(PowerShell, "\u{2018}a\u{2019}"), "'\u{2018}\u{2018}a\u{2019}\u{2019}'");
        assert_eq!(quoted(PowerShell, r"\\?\C:\a"), r"'C:\a'");
        assert_eq!(quoted(PowerShell, r"\\?\UNC\s\a"), r"'\\?\UNC\s\a'");
        let long = format!(r"\\?\C:\{}", "x".repeat(300));
        assert_eq!(quoted(PowerShell, &long), format!("'{long}'"));
    }

    #[test]
    fn a_script_is_in_the_language_of_its_ending() {
        for (name, language) in [
            ("a.sh", Language::Shell),
            ("a", Language::Shell),
            ("a.ps1", Language::PowerShell),
            ("a.PS1", Language::PowerShell),
        ] {
            assert_eq!(Language::from_path(Path::new(name)), language, "{name}");
        }
        assert!(!Language::PowerShell.can_name(Path::new("a\nb")));
        assert!(Language::Shell.can_name(Path::new("a\nb")));
    }
}
