//! Names that a system gives a meaning of its own. Pure, so that it is tested on every system.

/// Why Windows would not keep a file or folder of this name, if it would not.
///
/// Source: Microsoft, "Naming Files, Paths, and Namespaces".
#[cfg_attr(not(any(windows, test)), expect(dead_code, reason = "only Windows has such names"))]
pub(super) fn refused_on_windows(name: &str) -> Option<&'static str> {
    let stem = name.split(['.', ':']).next().unwrap_or(name).trim_end_matches(' ');
    let is = |device: &str| stem.eq_ignore_ascii_case(device);
    // COM1 to COM9 and LPT1 to LPT9; superscript digits count as digits.
    let is_port = || {
        let (Some(device), Some(digit)) = (stem.get(..3), stem.get(3..)) else { return false };
        let ports = ["COM", "LPT"].iter().any(|port| device.eq_ignore_ascii_case(port));
        let digits =
            ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "\u{b9}", "\u{b2}", "\u{b3}"];
        ports && digits.contains(&digit)
    };
    if ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"].into_iter().any(is) || is_port() {
        return Some("Windows reserves this name for a device: choose another one");
    }
    if name.ends_with(['.', ' ']) {
        return Some("Windows drops a dot or space at the end of a name: choose another one");
    }
    let is_refused = |letter: char| letter < ' ' || "<>:\"/\\|?*".contains(letter);
    name.chars().any(is_refused).then_some("Windows allows none of < > : \" / \\ | ? * in a name")
}

#[cfg(test)]
mod tests {
    use super::refused_on_windows;

    #[test]
    fn names_of_devices_and_names_that_windows_changes_are_refused() {
        for refused in [
            "nul",
            "NUL",
            "con",
            "Aux.txt",
            "prn .x",
            "COM1",
            "com9.index",
            "lpt0",
            "COM\u{b2}",
            "CONIN$",
            "papers.",
            "papers ",
            "a:b",
            "a?b",
            "a\tb",
            "nul:x",
        ] {
            assert!(refused_on_windows(refused).is_some(), "{refused}");
        }
        for kept in [
            "papers",
            "null",
            "console",
            "com",
            "com10",
            "comX",
            "lpt",
            "COM\u{e9}",
            "a.nul",
            ".index",
            "papers v1.2",
            "\u{41f}\u{440}",
            "",
        ] {
            assert_eq!(refused_on_windows(kept), None, "{kept}");
        }
    }
}
