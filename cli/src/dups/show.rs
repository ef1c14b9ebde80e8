//! Prints groups of copies.

use std::collections::BTreeMap;

use serde::Serialize;

use super::groups::{Files, Group, Groups};
use crate::args::Dups;
use crate::failure::Failure;
use crate::output::{self, Output, counted, grouped, lossy, visible};

#[derive(Serialize)]
struct FileObject {
    path: String,
    bytes: u64,
    /// Similarity to the first file of the group; 1 for exact copies.
    similarity: f64,
    /// Whether the file is always kept: true for the first file, and for those of --against.
    stays: bool,
}

#[derive(Serialize)]
struct GroupObject<'a> {
    kind: &'a str,
    bytes_freed: u64,
    files: Vec<FileObject>,
}

#[derive(Serialize)]
struct TotalsObject<'a> {
    files: u64,
    exact_groups: u64,
    exact_copies: u64,
    exact_bytes_freed: u64,
    near_groups: u64,
    near_copies: u64,
    near_bytes_freed: u64,
    /// Number of files whose texts were not compared, by kind of reason.
    texts_not_read: &'a BTreeMap<&'static str, u64>,
}

/// Number and total size of the files that need not be kept.
fn totals(groups: &[Group], files: &Files) -> (u64, u64) {
    let goes = |group: &Group| {
        group.files.iter().skip(1).filter(|(at, _)| !files.all[*at].against).count() as u64
    };
    (groups.iter().map(goes).sum(), groups.iter().map(|group| group.freed).sum())
}

pub(super) fn show(
    groups: &Groups,
    files: &Files,
    args: &Dups,
    output: &mut Output,
) -> Result<(), Failure> {
    let limit = args.limit.unwrap_or(usize::MAX);
    for (kind, groups) in [("exact", &groups.exact), ("near", &groups.near)] {
        for group in groups.iter().take(limit) {
            print(kind, group, files, output)?;
        }
    }
    let [exact, near] = [&groups.exact, &groups.near];
    let ((exact_copies, exact_bytes), (near_copies, near_bytes)) =
        (totals(exact, files), totals(near, files));
    if output.json() {
        output.object(&TotalsObject {
            files: files.all.len() as u64,
            exact_groups: exact.len() as u64,
            exact_copies,
            exact_bytes_freed: exact_bytes,
            near_groups: near.len() as u64,
            near_copies,
            near_bytes_freed: near_bytes,
            texts_not_read: &files.skipped,
        })?;
    }
    output.flush()?;
    for (kind, groups) in [("exact", exact), ("near", near)] {
        let all = groups.len() as u64;
        output::note_limit(all.min(limit as u64), all, &format!("groups of {kind} copies"));
    }
    let looked = counted(files.all.len() as u64, "file");
    output::note(format!("{looked} looked at{}", left_out(files)));
    let line = |copies: u64, kind: &str, groups: &[Group], bytes: u64| {
        let groups = counted(groups.len() as u64, "group");
        let (copies, bytes) = (grouped(copies), output::bytes(bytes));
        output::note(format!("{copies} {kind} in {groups}: {bytes} could be freed"));
    };
    line(exact_copies, "exact copies", exact, exact_bytes);
    if !args.exact {
        line(near_copies, "near-copies", near, near_bytes);
        let unread: u64 = files.skipped.values().sum();
        if unread > 0 {
            let kinds = files.skipped.iter().map(|(kind, n)| format!("{} {kind}", grouped(*n)));
            let kinds = kinds.collect::<Vec<_>>().join(", ");
            let unread = counted(unread, "file");
            output::note(format!(
                "{unread} not compared by text: {kinds} (--no-cache --verbose names them)"
            ));
        }
    }
    Ok(())
}

fn left_out(files: &Files) -> String {
    let mut text = String::new();
    if files.empty > 0 {
        text.extend([", ", &grouped(files.empty), " empty"]);
    }
    if files.links > 0 {
        text.extend([", ", &counted(files.links, "more hard link"), " to one of them"]);
    }
    text
}

fn print(kind: &str, group: &Group, files: &Files, output: &mut Output) -> Result<(), Failure> {
    let members = group.files.iter().enumerate();
    let members = members.map(|(nth, (at, similarity))| (nth, &files.all[*at], *similarity));
    if output.json() {
        let file = |(nth, file, similarity): (usize, &super::groups::File, f64)| FileObject {
            path: lossy(file.shown.as_os_str().as_encoded_bytes()).into_owned(),
            bytes: file.bytes,
            similarity,
            stays: nth == 0 || file.against,
        };
        let files = members.map(file).collect();
        return output.object(&GroupObject { kind, bytes_freed: group.freed, files });
    }
    let number = counted(group.files.len() as u64, "file");
    let freed = output::bytes(group.freed);
    output.line(format_args!("{kind:<5}  {number}, {freed} could be freed"))?;
    for (_, file, similarity) in members {
        let name = visible(file.shown.as_os_str().as_encoded_bytes());
        if kind == "exact" {
            output.line(format_args!("  {name}"))?;
        } else {
            output.line(format_args!("  {similarity:.3}  {name}"))?;
        }
    }
    output.line("")
}
