//! Writes a script that removes copies, or replaces them by hard links. The tool never runs it.

#![expect(clippy::disallowed_types, reason = "reads the user's files, never the index's")]

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Read as _, Write};
use std::path::Path;

use nearkin::SimilarityText;

use super::cksum::Cksum;
use super::exact::each_block;
use super::files::{self, ExaminedFiles};
use super::groups::{Group, Groups};
use super::language::Language;
use super::mount;
use crate::args::dups::Dups;
use nearkin_kit::failure::Failure;
use nearkin_kit::interrupt;
use nearkin_kit::target::{Target, keep_foreign};

/// Fails if the path is an existing file, unless it is an earlier script of `nearkin dups`, which
/// may be replaced; and on Windows, if its name says that it is for a shell.
pub(super) fn check(path: &Path) -> Result<(), Failure> {
    let language = Language::from_path(path);
    if cfg!(windows) && language == Language::Shell {
        return Err(Failure::new(
            format!("{}: on Windows, scripts are for PowerShell", path.display()),
            "choose a name that ends in .ps1 for --script",
        ));
    }
    keep_foreign(path, "dups", "--script", || {
        let expected = language.head().as_bytes();
        let mut head = vec![0; expected.len()];
        let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
        read.is_ok() && head == expected
    })
}

pub(super) fn write(
    path: &Path,
    args: &Dups,
    groups: &Groups,
    all: &ExaminedFiles,
) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::writing(path, &error);
    let mut file = Target::create(path)?;
    let buffer = BufWriter::new(&mut file);
    let language = Language::from_path(path);
    let mut script = Script { out: buffer, language, args, all, lasting: HashMap::new() };
    script
        .print(groups)
        .and_then(|()| script.out.flush())
        .map_err(|error| if interrupt::came() { Failure::interrupted() } else { failed(error) })?;
    drop(script);
    file.finish()?;
    make_executable(path).map_err(failed)
}

struct Script<'a, W> {
    out: W,
    language: Language,
    args: &'a Dups,
    all: &'a ExaminedFiles,
    /// Whether the inode numbers of each device last.
    lasting: HashMap<u64, bool>,
}

impl<W: Write> Script<'_, W> {
    fn print(&mut self, groups: &Groups) -> io::Result<()> {
        let (link, language) = (self.args.link, self.language);
        let what = if link { "replaces copies with hard links" } else { "removes copies" };
        writeln!(self.out, "{}{what}. Read it before you run it.\n#", language.head())?;
        self.out.write_all(language.functions().as_bytes())?;
        let what = if link { "linked" } else { "removed" };
        writeln!(self.out, "{}", language.settings(what, self.args.any_owner))?;
        let limit = self.args.limit.unwrap_or(usize::MAX);
        for group in groups.exact.iter().take(limit) {
            self.exact(group)?;
        }
        if !groups.near.is_empty() {
            writeln!(self.out, "\n# Near-copies are not the same, so these lines do nothing.")?;
            let switch = language.switch();
            writeln!(self.out, "# Look at both files; to remove the second, delete the {switch}.")?;
            self.out.write_all(language.sums().as_bytes())?;
        }
        for group in groups.near.iter().take(limit) {
            self.near(group)?;
        }
        writeln!(self.out, "\n{}", language.finish())
    }

    /// One command for each name of each copy.
    fn exact(&mut self, group: &Group) -> io::Result<()> {
        let (all, function) = (self.all, self.language.exact(self.args.link));
        for file in group.redundant(all) {
            for name in file.links() {
                if self.leaves_out(group.kept(all).path(), name)? {
                    continue;
                }
                write!(self.out, "{function} ")?;
                self.names(file, group.kept(all).path(), name)?;
                self.out.write_all(b"\n")?;
            }
        }
        Ok(())
    }

    /// Says so if one of the paths cannot be written in the language of the script.
    fn leaves_out(&mut self, kept: &Path, copy: &Path) -> io::Result<bool> {
        let Some(odd) = [kept, copy].into_iter().find(|path| !self.language.can_name(path)) else {
            return Ok(false);
        };
        let name = nearkin_kit::output::visible(odd.as_os_str().as_encoded_bytes());
        writeln!(self.out, "# left out, because a name is no text: {name}")?;
        Ok(true)
    }

    /// Commands that are switched off, with the checksums of both files.
    fn near(&mut self, group: &Group) -> io::Result<()> {
        let all = self.all;
        let kept = group.kept(all);
        let sum_of_kept = sum(kept);
        for (at, similarity) in group.files.iter().skip(1) {
            interrupt::check().map_err(|_| io::ErrorKind::Interrupted)?;
            let file = &all.all[*at];
            if file.against {
                continue;
            }
            let (Ok(of_kept), Ok(of_copy)) = (&sum_of_kept, sum(file)) else {
                let name = kept.path().as_os_str().as_encoded_bytes();
                let other = file.path().as_os_str().as_encoded_bytes();
                let [name, other] = [name, other].map(nearkin_kit::output::visible);
                writeln!(self.out, "# unreadable or changed meanwhile: {name} or {other}")?;
                continue;
            };
            for name in file.links() {
                if self.leaves_out(kept.path(), name)? {
                    continue;
                }
                let similarity = SimilarityText::Estimate(*similarity);
                write!(self.out, "# {similarity}\n{} ", self.language.near())?;
                self.names(file, kept.path(), name)?;
                writeln!(self.out, " '{of_kept}' '{of_copy}'")?;
            }
        }
        Ok(())
    }

    /// The paths of the kept file and of the copy; before them, for a shell, the inode of the copy.
    fn names(&mut self, file: &files::File, kept: &Path, copy: &Path) -> io::Result<()> {
        let mut lasts = |device| {
            let known = self.lasting.entry(device);
            *known.or_insert_with(|| mount::has_lasting_inodes(copy))
        };
        match file.state.id {
            _ if self.language == Language::PowerShell => {}
            Some(id) if lasts(id.device) => write!(self.out, "{} ", id.inode)?,
            _ => write!(self.out, "- ")?,
        }
        self.language.quoted(&mut self.out, kept)?;
        self.out.write_all(b" ")?;
        self.language.quoted(&mut self.out, copy)
    }
}

/// Checksum and length of a file, as `cksum` prints them. Fails if the file has changed since its
/// text was compared.
fn sum(file: &files::File) -> io::Result<String> {
    let (mut sum, mut block) = (Cksum::default(), Vec::new());
    each_block(file, u64::MAX, &mut block, |bytes| sum.update(bytes))?;
    Ok(sum.finish())
}

#[cfg(unix)]
fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() {
        return Ok(());
    }
    let mut permissions = metadata.permissions();
    let readers = permissions.mode() & 0o444;
    permissions.set_mode(permissions.mode() | readers >> 2);
    std::fs::set_permissions(path, permissions)
}

#[cfg(windows)]
fn make_executable(_: &Path) -> io::Result<()> {
    Ok(())
}
