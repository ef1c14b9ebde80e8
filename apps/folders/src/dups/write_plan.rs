//! Writes the plan that `nearkin apply` carries out.

use std::collections::HashMap;
use std::env;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use nearkin::SimilarityText;

use super::exact;
use super::files::{ExaminedFiles, File};
use super::folder_copies::FolderCopy;
use super::groups::{Group, Groups};
use crate::args::dups::Dups;
use crate::plan::RemovalPlan;
use nearkin_kit::failure::Failure;
use nearkin_kit::file_state;
use nearkin_kit::output::{self, counted, grouped};
use nearkin_kit::plan::{self, Fate, FileIdentity, PlannedFile, name};
use nearkin_kit::target::{Target, keep_foreign};
use nearkin_kit::{interrupt, time};

/// How a person edits a plan.
const HELP: &str = "\
# A line has tabs between: what happens to the file, its bytes, path and identity.
# Delete a line, and its file is left alone. Swap `keep` and `remove`, and the other file stays;
# each group needs a line `keep`. Change nothing else.
";

/// What is said before the first near-copies.
const NEAR_HELP: &str = "
# Near-copies are not the same, so these lines do nothing. Look at both files; to remove the second,
# delete the `# ` before `remove`.
";

/// Fails if the path is an existing file, unless it is an earlier plan, which may be replaced.
pub(super) fn check(path: &Path) -> Result<(), Failure> {
    keep_foreign(path, "dups", "--plan", || RemovalPlan::is_one(path))
}

pub(super) fn write(
    path: &Path,
    args: &Dups,
    (groups, folders): (&Groups, &[FolderCopy]),
    all: &ExaminedFiles,
) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::writing(path, &error);
    let mut file = Target::create(path)?;
    let out = BufWriter::new(&mut file);
    let mut writer = PlanWriter { out, args, all, lasting: HashMap::new() };
    writer
        .print(groups, folders)
        .and_then(|()| writer.out.flush())
        .map_err(|error| if interrupt::came() { Failure::interrupted() } else { failed(error) })?;
    drop(writer);
    file.finish()
}

struct PlanWriter<'a, W> {
    out: W,
    args: &'a Dups,
    all: &'a ExaminedFiles,
    /// Whether the inode numbers of each device last.
    lasting: HashMap<u64, bool>,
}

impl<W: Write> PlanWriter<'_, W> {
    fn print(&mut self, groups: &Groups, folders: &[FolderCopy]) -> io::Result<()> {
        let limit = self.args.limit.unwrap_or(usize::MAX);
        let exact = &groups.exact[..groups.exact.len().min(limit)];
        self.head(exact)?;
        let mut folder = None;
        for group in exact {
            if let Some(at) = group.folder.filter(|_| group.folder != folder) {
                folder = group.folder;
                let text = folders[at].text(name::encode);
                writeln!(self.out, "\n# {}\n# {text}", "-".repeat(70))?;
            }
            self.title("exact copies", group)?;
            if let Some(sum) = group.kept(self.all).sum {
                writeln!(self.out, "{}{sum:032x}", plan::CONTENT)?;
            }
            self.exact(group)?;
        }
        if !groups.near.is_empty() {
            self.out.write_all(NEAR_HELP.as_bytes())?;
        }
        for group in groups.near.iter().take(limit) {
            self.title("near-copies", group)?;
            self.near(group)?;
        }
        Ok(())
    }

    fn head(&mut self, exact: &[Group]) -> io::Result<()> {
        let words: Vec<_> =
            env::args_os().skip(1).map(|word| name::encode(word.as_ref())).collect();
        writeln!(self.out, "{}\n# {}: nearkin {}", plan::HEAD, now(), words.join(" "))?;
        let files: usize = exact.iter().map(|group| group.redundant(self.all).count()).sum();
        let freed: u64 = exact.iter().map(|group| group.freed).sum();
        let (files, groups) = (counted(files as u64, "file"), counted(exact.len() as u64, "group"));
        let what = if self.args.link { "to link" } else { "to remove" };
        writeln!(self.out, "# {files} {what}, in {groups}: frees {} bytes", grouped(freed))?;
        self.out.write_all(HELP.as_bytes())
    }

    fn title(&mut self, kind: &str, group: &Group) -> io::Result<()> {
        let (files, freed) = (group.files.len(), output::bytes(group.freed));
        let why = group.reason.1;
        writeln!(self.out, "\n# {files} {kind}, {freed} could be freed; the first stays: {why}")
    }

    /// One line for each name of each file.
    fn exact(&mut self, group: &Group) -> io::Result<()> {
        let gone = if self.args.link { Fate::Link } else { Fate::Remove };
        for (nth, (at, _)) in group.files.iter().enumerate() {
            let file = &self.all.all[*at];
            let fate = if nth == 0 || file.against { Fate::Keep } else { gone };
            let program = file.program.filter(|_| fate != Fate::Keep);
            if let Some(what) = program {
                writeln!(self.out, "# left, because a program needs it ({what}):")?;
            }
            self.lines(file, fate, None, if program.is_some() { "# " } else { "" })?;
        }
        Ok(())
    }

    /// Lines that are switched off, with the hashes of both files.
    fn near(&mut self, group: &Group) -> io::Result<()> {
        let mut seen_kept = false;
        for (nth, (at, similarity)) in group.files.iter().enumerate() {
            let file = &self.all.all[*at];
            let stays = nth == 0 || file.against;
            let sum = exact::hash(file, u64::MAX, |_| ());
            interrupt::check().map_err(|_| io::ErrorKind::Interrupted)?;
            let Ok(sum) = sum else {
                writeln!(self.out, "# changed meanwhile: {}", name::encode(file.path()))?;
                continue;
            };
            seen_kept |= stays;
            let modified = file.modified();
            if stays {
                writeln!(self.out, "# modified {modified}:")?;
                self.lines(file, Fate::Keep, Some(sum), "")?;
            } else if seen_kept {
                let similarity = SimilarityText::Estimate(*similarity);
                writeln!(self.out, "# similarity {similarity}, modified {modified}:")?;
                self.lines(file, Fate::Remove, Some(sum), "# ")?;
            }
            for one in group.below(*at) {
                let similarity = SimilarityText::Estimate(one.similarity);
                let name = name::encode(self.all.all[one.at].path());
                writeln!(self.out, "# similar to this one only, {similarity}, and left: {name}")?;
            }
        }
        Ok(())
    }

    fn lines(
        &mut self,
        file: &File,
        fate: Fate,
        sum: Option<u128>,
        before: &str,
    ) -> io::Result<()> {
        let path = file.path();
        let lasts = file.state.id.is_some_and(|id| {
            let known = self.lasting.entry(id.device);
            *known.or_insert_with(|| file_state::has_lasting_inodes(path))
        });
        let identity = FileIdentity::of(&file.state).lasting(lasts);
        for path in file.links() {
            let (bytes, path) = (file.state.bytes, path.to_owned());
            PlannedFile { line: 0, fate, bytes, path, identity, sum }
                .write(&mut self.out, before)?;
        }
        Ok(())
    }
}

/// The time, to the second.
fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    time::second(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
