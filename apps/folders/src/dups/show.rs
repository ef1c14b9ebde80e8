//! Prints groups of copies.

use std::collections::BTreeMap;

use nearkin::SimilarityText;
use serde::Serialize;

use super::files::{ExaminedFiles, File};
use super::folder_copies::FolderCopy;
use super::groups::{Group, Groups};
use super::programs::Owned;
use crate::args::dups::Dups;
use nearkin_input::raw::{self, Reasons, SkippedFiles};
use nearkin_kit::failure::Failure;
use nearkin_kit::input::doubts;
use nearkin_kit::input::doubts::Doubts;
use nearkin_kit::output::{self, JsonBytes, Output, counted, grouped, visible};

/// Maximum number of reasons to print without `--verbose`.
const ADVICE_MAX: usize = 5;

#[derive(Serialize)]
struct FileObject<'a> {
    path: JsonBytes<'a>,
    bytes: u64,
    /// Milliseconds since 1970.
    modified: i64,
    /// Bytes that are freed with this file: 0 if it keeps another name elsewhere.
    bytes_on_disk: u64,
    /// Similarity to the first file of the group; 1 for exact copies.
    similarity: f64,
    /// Whether the file is always kept: true for the first file, for those of --against, and for
    /// those that a program needs.
    stays: bool,
    /// What program needs the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<Owned>,
    /// Other paths to the same file: hard links, or the same folder through another mount.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    same_file: Vec<JsonBytes<'a>>,
}

#[derive(Serialize)]
struct GroupObject<'a> {
    kind: &'a str,
    bytes_freed: u64,
    /// The rule by which the first file stays.
    kept_by: &'a str,
    files: Vec<FileObject<'a>>,
    /// Files that are like one of these files only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    below: Vec<BelowObject<'a>>,
}

#[derive(Serialize)]
struct BelowObject<'a> {
    path: JsonBytes<'a>,
    bytes: u64,
    /// Milliseconds since 1970.
    modified: i64,
    /// The file that it is like.
    of: JsonBytes<'a>,
    /// Similarity to that file.
    similarity: f64,
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
    /// Files that are similar to another one, but differ in numbers, or in what is rare.
    near_apart: u64,
    /// Files that are like another one of a group only.
    near_below: u64,
    /// Files that could not be read again to be compared.
    near_unread: u64,
    /// Copies of both kinds that are left because a program needs them.
    program_copies: u64,
    /// Number of files whose texts were not compared, by kind of reason.
    texts_not_read: BTreeMap<&'static str, u64>,
    /// What may be done about some of them, with their number.
    texts_not_read_advice: Vec<UnreadObject<'a>>,
    /// Doubts about the texts that this run has read.
    #[serde(flatten)]
    doubts: Doubts,
}

/// Number and total size of the files that need not be kept.
fn totals(groups: &[Group], files: &ExaminedFiles) -> (u64, u64) {
    let goes = |group: &Group| group.redundant(files).count() as u64;
    (groups.iter().map(goes).sum(), groups.iter().map(|group| group.freed).sum())
}

pub(super) fn show(
    (groups, folders): (&Groups, &[FolderCopy]),
    files: &ExaminedFiles,
    args: &Dups,
    output: &mut Output,
) -> Result<(), Failure> {
    let limit = args.limit.unwrap_or(usize::MAX);
    print_folders(folders, limit, output)?;
    // In text, the lines about folders stand for their groups.
    let whole = output.json() || output::is_verbose();
    for (kind, groups) in [("exact", &groups.exact), ("near", &groups.near)] {
        for group in groups.iter().filter(|group| whole || group.folder.is_none()).take(limit) {
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
            near_apart: groups.apart,
            near_below: below(groups),
            near_unread: groups.unread,
            program_copies: left(groups, files).values().sum(),
            texts_not_read: raw::by_kind(&files.skipped.reasons),
            texts_not_read_advice: advice(&files.skipped.reasons).collect(),
            doubts: doubts::counts(),
        })?;
    }
    output.flush()?;
    for (kind, groups) in [("exact", exact), ("near", near)] {
        let all = groups.iter().filter(|group| whole || group.folder.is_none()).count() as u64;
        let place = if args.plan.is_some() { " (also in the plan)" } else { "" };
        let what = format!("groups of {kind} copies{place}");
        output::note_limit(all.min(limit as u64), all, &what);
    }
    let folders = folders.len() as u64;
    output::note_limit(folders.min(limit as u64), folders, "folders that are copies");
    let looked = counted(files.all.len() as u64, "file");
    output::note(format!("{looked} looked at{}", left_out(files)));
    let line = |number: u64, copy: &str, copies: &str, groups: &[Group], bytes: u64| {
        let copies = if number == 1 { copy } else { copies };
        let groups = counted(groups.len() as u64, "group");
        let (number, bytes) = (grouped(number), output::bytes(bytes));
        output::note(format!("{number} {copies} in {groups}: {bytes} could be freed"));
    };
    line(exact_copies, "exact copy", "exact copies", exact, exact_bytes);
    let in_folders = groups.exact.iter().filter(|group| group.folder.is_some()).count() as u64;
    if in_folders > 0 {
        let groups = counted(in_folders, "group");
        output::note(format!("{groups} named by folder only; --verbose prints all"));
    }
    note_unlinked(groups);
    note_left(groups, files);
    if !args.exact {
        line(near_copies, "near-copy", "near-copies", near, near_bytes);
        note_apart(groups);
        note_unread(&files.skipped);
    }
    Ok(())
}

#[derive(Serialize)]
struct FolderObject<'a> {
    kind: &'static str,
    path: JsonBytes<'a>,
    /// The folder that the files are in that stay.
    of: JsonBytes<'a>,
    /// The number of files that are in both.
    copies: u64,
    /// The number of all files in this folder.
    files_in_folder: u64,
    /// Whether both folders have the same files by the same names.
    whole: bool,
    bytes_freed: u64,
}

/// A line for each folder whose files are copies.
fn print_folders(folders: &[FolderCopy], limit: usize, output: &mut Output) -> Result<(), Failure> {
    for folder in folders.iter().take(limit) {
        if output.json() {
            output.object(&FolderObject {
                kind: "folder",
                path: JsonBytes(folder.path.as_os_str().as_encoded_bytes()),
                of: JsonBytes(folder.of.as_os_str().as_encoded_bytes()),
                copies: folder.copies,
                files_in_folder: folder.files,
                whole: folder.whole,
                bytes_freed: folder.freed,
            })?;
        } else {
            let spell = |path: &std::path::Path| visible(path.as_os_str().as_encoded_bytes());
            output.line(folder.text(spell))?;
        }
    }
    if !folders.is_empty() && !output.json() {
        output.line("")?;
    }
    Ok(())
}

/// The number of copies that programs need, by kind.
fn left(groups: &Groups, files: &ExaminedFiles) -> BTreeMap<Owned, u64> {
    let mut left = BTreeMap::new();
    let all = groups.exact.iter().chain(&groups.near).flat_map(|group| group.left(files));
    for what in all.filter_map(|file| file.program) {
        *left.entry(what).or_default() += 1;
    }
    left
}

/// Says which copies are left because a program needs them.
fn note_left(groups: &Groups, files: &ExaminedFiles) {
    let left = left(groups, files);
    if left.is_empty() {
        return;
    }
    let copies = counted(left.values().sum(), "copied file");
    let kinds: Vec<_> = left.iter().map(|(what, n)| format!("{} {what}", grouped(*n))).collect();
    let kinds = kinds.join(", ");
    output::note(format!(
        "{copies} left, because programs need them ({kinds}); --programs counts them"
    ));
}

/// The number of files that are like another one of a group only.
fn below(groups: &Groups) -> u64 {
    groups.near.iter().map(|group| group.below.len() as u64).sum()
}

/// Says which similar files are no near-copies.
fn note_apart(groups: &Groups) {
    if below(groups) > 0 {
        let files = counted(below(groups), "file");
        output::note(format!(
            "{files} similar to another one of a group only: named below it, and left"
        ));
    }
    if groups.apart > 0 {
        let files = counted(groups.apart, "file");
        output::note(format!(
            "{files} similar to another one, but different in numbers or in rare words: no \
             near-copies; --guard none counts them"
        ));
    }
    if groups.unread > 0 {
        let files = counted(groups.unread, "file");
        output::note(format!("{files} could not be read again, and were not compared"));
    }
}

#[derive(Serialize)]
struct UnreadObject<'a> {
    files: u64,
    advice: &'a str,
}

/// What may be done about files that were not read, the most files first.
fn advice(skipped: &Reasons) -> impl Iterator<Item = UnreadObject<'_>> {
    let mut some: Vec<_> = skipped.iter().filter(|((_, advice), _)| !advice.is_empty()).collect();
    some.sort_by_key(|(_, files)| std::cmp::Reverse(**files));
    some.into_iter().map(|((_, advice), files)| UnreadObject { files: *files, advice })
}

/// Says how many files were not compared by their texts, which, and what may be done about them.
fn note_unread(skipped: &SkippedFiles) {
    let unread: u64 = skipped.reasons.values().sum();
    if unread == 0 {
        return;
    }
    let of_kind = raw::by_kind(&skipped.reasons);
    let kinds = of_kind.iter().map(|(kind, n)| format!("{} {kind}", grouped(*n)));
    let kinds = kinds.collect::<Vec<_>>().join(", ");
    let named: u64 = skipped.names.values().map(|names| names.len() as u64).sum();
    let unnamed = unread > named && !output::is_verbose();
    let hint = if unnamed { " (--verbose names all)" } else { "" };
    output::note(format!("{} not compared by text: {kinds}{hint}", counted(unread, "file")));
    for (kind, names) in &skipped.names {
        let all = of_kind.get(kind).copied().unwrap_or(0);
        let mut shown: Vec<_> = names.iter().map(|name| visible(name)).collect();
        shown.sort_unstable();
        if all > shown.len() as u64 {
            shown.push(format!("{} more", grouped(all - shown.len() as u64)));
        }
        output::note(format!("  {kind}: {}", shown.join(", ")));
    }
    let mut left = 0;
    for (number, UnreadObject { files, advice }) in advice(&skipped.reasons).enumerate() {
        if number < ADVICE_MAX || output::is_verbose() {
            output::note(format!("  {}: {advice}", counted(files, "file")));
        } else {
            left += 1;
        }
    }
    if left > 0 {
        output::note(format!("  {} (--verbose says them)", counted(left, "more reason")));
    }
}

/// With `--link`: copies that the plan does not link, and why.
fn note_unlinked(groups: &Groups) {
    if groups.other_owner > 0 {
        let copies = counted(groups.other_owner, "file");
        output::note(format!(
            "{copies} not linked: the owner, group or mode would change; --any-owner permits it"
        ));
    }
    if groups.elsewhere > 0 {
        let copies = counted(groups.elsewhere, "file");
        output::note(format!("{copies} not linked: on another file system or mount"));
    }
}

fn left_out(files: &ExaminedFiles) -> String {
    let mut text = String::new();
    if files.empty > 0 {
        text.extend([", ", &grouped(files.empty), " empty"]);
    }
    if files.more_names() > 0 {
        text.extend([", ", &counted(files.more_names(), "more path"), " to one of them"]);
    }
    text
}

fn print<'a>(
    kind: &str,
    group: &Group,
    files: &'a ExaminedFiles,
    output: &mut Output,
) -> Result<(), Failure> {
    let members = group.files.iter().enumerate();
    let members = members.map(|(nth, (at, similarity))| (nth, &files.all[*at], *similarity));
    let bytes = |path: &'a std::path::Path| path.as_os_str().as_encoded_bytes();
    if output.json() {
        let file = |(nth, file, similarity): (usize, &'a File, f64)| {
            let mut names = file.names.iter().map(|name| JsonBytes(bytes(&name.shown)));
            FileObject {
                path: names.next().unwrap_or(JsonBytes(b"")),
                bytes: file.state.bytes,
                modified: file.state.modified_ms(),
                bytes_on_disk: file.freed,
                similarity,
                stays: nth == 0 || file.stays(),
                program: file.program,
                same_file: names.collect(),
            }
        };
        let objects = members.map(file).collect();
        let shown = |at: usize| JsonBytes(bytes(files.all[at].shown()));
        let below = group.below.iter().map(|one| BelowObject {
            path: shown(one.at),
            bytes: files.all[one.at].state.bytes,
            modified: files.all[one.at].state.modified_ms(),
            of: shown(one.of),
            similarity: one.similarity,
        });
        return output.object(&GroupObject {
            kind,
            bytes_freed: group.freed,
            kept_by: group.reason.0,
            files: objects,
            below: below.collect(),
        });
    }
    let number = counted(group.files.len() as u64, "file");
    let freed = output::bytes(group.freed);
    output.line(format_args!("{kind:<5}  {number}, {freed} could be freed"))?;
    for (nth, (at, similarity)) in group.files.iter().enumerate() {
        // The first file is the one that the others are compared with.
        let similarity = match nth {
            0 => SimilarityText::Exact(*similarity),
            _ => SimilarityText::Estimate(*similarity),
        };
        print_file(kind, nth, &files.all[*at], similarity, output)?;
        for one in group.below(*at) {
            let file = &files.all[one.at];
            let (about, name) = (date_and_size(file), visible(bytes(file.shown())));
            let similarity = SimilarityText::Estimate(one.similarity);
            let note = "(like the one above only)";
            output.line(format_args!("    {similarity}  {about}  {name}  {note}"))?;
        }
    }
    output.line("")
}

fn date_and_size(file: &File) -> String {
    format!("{}  {:>9}", file.modified(), output::bytes(file.state.bytes))
}

/// A line for each name of a file.
fn print_file(
    kind: &str,
    nth: usize,
    file: &File,
    similarity: SimilarityText,
    output: &mut Output,
) -> Result<(), Failure> {
    let about = date_and_size(file);
    for (nth_name, name) in file.names.iter().enumerate() {
        let name = visible(name.shown.as_os_str().as_encoded_bytes());
        let note = match file.program.filter(|_| nth > 0) {
            _ if nth_name > 0 => "  (the same file)".to_owned(),
            Some(what) => format!("  (left: {what})"),
            None => String::new(),
        };
        if kind == "exact" {
            output.line(format_args!("  {about}  {name}{note}"))?;
        } else {
            output.line(format_args!("  {similarity}  {about}  {name}{note}"))?;
        }
    }
    Ok(())
}
