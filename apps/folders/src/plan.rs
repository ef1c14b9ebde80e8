//! Reads a plan.

use std::path::Path;

use nearkin_kit::plan::{HEAD, PlannedFile};

/// A plan that was read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RemovalPlan {
    /// Files that were copies of each other, group by group.
    pub(crate) groups: Vec<Vec<PlannedFile>>,
    /// The numbers of the lines that are not understood.
    pub(crate) wrong: Vec<usize>,
}

impl RemovalPlan {
    /// Reads a plan. `None` if it does not begin as one.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.lines().enumerate();
        lines.next().filter(|(_, line)| line.trim_end() == HEAD)?;
        let mut plan = Self::default();
        let mut group = Vec::new();
        for (at, line) in lines {
            match line.trim_end() {
                "" => plan.groups.push(std::mem::take(&mut group)),
                line if line.trim_start().starts_with('#') => {}
                line => match PlannedFile::read(at + 1, line) {
                    Some(file) => group.push(file),
                    None => plan.wrong.push(at + 1),
                },
            }
        }
        plan.groups.push(group);
        plan.groups.retain(|group| !group.is_empty());
        Some(plan)
    }

    /// Whether a file begins as a plan of any version.
    pub(crate) fn is_one(path: &Path) -> bool {
        crate::held::head(path).is_ok_and(|head| {
            head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head).starts_with(b"nearkin-plan ")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearkin_kit::plan::{Fate, FileIdentity};
    use std::path::PathBuf;

    fn file(line: usize, fate: Fate, path: &str, sum: Option<u128>) -> PlannedFile {
        let identity = FileIdentity::from_text("7:9:-5").unwrap();
        PlannedFile { line, fate, bytes: 10, path: PathBuf::from(path), identity, sum }
    }

    #[test]
    fn a_plan_is_read_as_it_was_written_and_edited() {
        let groups = vec![
            vec![file(2, Fate::Keep, "/a\tb", None), file(3, Fate::Remove, "/c ", None)],
            vec![file(5, Fate::Keep, "/d", Some(1)), file(6, Fate::Link, "/e\n", Some(u128::MAX))],
        ];
        let mut written = format!("{HEAD}\n").into_bytes();
        for group in &groups {
            for one in group {
                one.write(&mut written, "").unwrap();
            }
            written.push(b'\n');
        }
        let text = String::from_utf8(written).unwrap();
        let plan = RemovalPlan { groups, wrong: Vec::new() };
        assert_eq!(RemovalPlan::read(&text).as_ref(), Some(&plan));
        // As an editor of Windows writes it.
        let other = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        assert_eq!(RemovalPlan::read(&other), Some(plan));
        assert_eq!(RemovalPlan::read(&text.replacen('1', "2", 1)), None);
        assert_eq!(RemovalPlan::read(""), None);
    }

    #[test]
    fn what_is_no_line_is_told_by_its_number() {
        let good = "keep\t1\t/a\t-:-:3";
        for wrong in [
            "delete\t1\t/a\t-:-:3",
            "keep 1 /a -:-:3",
            "keep\t-1\t/a\t-:-:3",
            "keep\t1\t/%zz\t-:-:3",
            "keep\t1\t/a\t-:4:3",
            "keep\t1\t/a\t1:4:3:5",
            "keep\t1\t/a\t-:-:3\tx",
            "keep\t1\t/a\t-:-:3\t1\t2",
            "keep\t1\t/a",
        ] {
            let plan = RemovalPlan::read(&format!("{HEAD}\n# c\n{good}\n{wrong}\n")).unwrap();
            assert_eq!((plan.wrong, plan.groups[0].len()), (vec![4], 1), "{wrong}");
        }
    }
}
