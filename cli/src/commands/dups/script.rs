//! Writes a shell script that removes copies, or replaces them by hard links. The tool never runs
//! it.

#![expect(clippy::disallowed_types, reason = "reads the user's files, never the index's")]

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read as _, Write};
use std::path::Path;

use super::cksum::Cksum;
use super::exact::each_block;
use super::files::{self, Files};
use super::groups::{Group, Groups};
use super::mount;
use crate::args::Dups;
use crate::commands::exchange::Target;
use crate::failure::Failure;
use crate::interrupt;

/// The beginning of every script.
const HEAD: &str = "#!/bin/sh\n# Written by `nearkin dups`: ";

/// The functions that look at two files and act.
const FUNCTIONS: &str = include_str!("script.sh");

/// Fails if the path is an existing file, unless it is an earlier script of `nearkin dups`, which
/// may be replaced.
pub(super) fn check(path: &Path) -> Result<(), Failure> {
    if !path.is_file() {
        return Ok(());
    }
    let mut head = vec![0; HEAD.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
    match read {
        Ok(()) if head == HEAD.as_bytes() => Ok(()),
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
            Err(Failure::reading(path, &error))
        }
        _ => Err(Failure::new(
            format!("{} exists and was not written by `nearkin dups`", path.display()),
            "choose another file for --script, or remove this one",
        )),
    }
}

pub(super) fn write(path: &Path, args: &Dups, groups: &Groups, all: &Files) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::writing(path, &error);
    let mut file = Target::create(path)?;
    let buffer = BufWriter::new(&mut file);
    let mut script = Script { out: buffer, args, all, lasting: HashMap::new() };
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
    args: &'a Dups,
    all: &'a Files,
    /// Whether the inode numbers of each device last.
    lasting: HashMap<u64, bool>,
}

impl<W: Write> Script<'_, W> {
    fn print(&mut self, groups: &Groups) -> io::Result<()> {
        let link = self.args.link;
        let what = if link { "replaces copies with hard links" } else { "removes copies" };
        writeln!(self.out, "{HEAD}{what}. Read it before you run it.\n#")?;
        self.out.write_all(FUNCTIONS.as_bytes())?;
        let any_owner = if self.args.any_owner { "yes" } else { "no" };
        let what = if link { "linked" } else { "removed" };
        writeln!(self.out, "what={what} any_owner={any_owner}\n")?;
        let limit = self.args.limit.unwrap_or(usize::MAX);
        let function = if link { "link" } else { "copy" };
        for group in groups.exact.iter().take(limit) {
            self.exact(function, group)?;
        }
        if !groups.near.is_empty() {
            writeln!(self.out, "\n# Near-copies are not the same, so these lines do nothing.")?;
            writeln!(self.out, "# Look at both files; to remove the second, delete the `: `.")?;
        }
        for group in groups.near.iter().take(limit) {
            self.near(group)?;
        }
        writeln!(self.out, "\nfinish")
    }

    /// One command for each name of each copy.
    fn exact(&mut self, function: &str, group: &Group) -> io::Result<()> {
        let all = self.all;
        for file in group.redundant(all) {
            for name in file.links() {
                write!(self.out, "{function} ")?;
                self.names(file, group.kept(all).path(), name)?;
                self.out.write_all(b"\n")?;
            }
        }
        Ok(())
    }

    /// Commands that are switched off, with the checksums of both files. `:` is the shell's command
    /// that does nothing. (A comment would end at a line feed in a name.)
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
                let [name, other] = [name, other].map(crate::output::visible);
                writeln!(self.out, "# unreadable or changed meanwhile: {name} or {other}")?;
                continue;
            };
            for name in file.links() {
                write!(self.out, "# {similarity:.3}\n: near ")?;
                self.names(file, kept.path(), name)?;
                writeln!(self.out, " '{of_kept}' '{of_copy}'")?;
            }
        }
        Ok(())
    }

    /// The inode of the copy, and the paths of the kept file and of the copy.
    fn names(&mut self, file: &files::File, kept: &Path, copy: &Path) -> io::Result<()> {
        let mut lasts = |device| {
            let known = self.lasting.entry(device);
            *known.or_insert_with(|| mount::has_lasting_inodes(copy))
        };
        match file.state.id {
            Some(id) if lasts(id.device) => write!(self.out, "{} ", id.inode)?,
            _ => write!(self.out, "- ")?,
        }
        quoted(&mut self.out, kept)?;
        self.out.write_all(b" ")?;
        quoted(&mut self.out, copy)
    }
}

/// Checksum and length of a file, as `cksum` prints them. Fails if the file has changed since its
/// text was compared.
fn sum(file: &files::File) -> io::Result<String> {
    let (mut sum, mut block) = (Cksum::default(), Vec::new());
    each_block(file, u64::MAX, &mut block, |bytes| sum.update(bytes))?;
    Ok(sum.finish())
}

/// Writes a path as a single shell word, whatever its bytes.
fn quoted(out: &mut impl Write, path: &Path) -> io::Result<()> {
    out.write_all(b"'")?;
    for (at, part) in path.as_os_str().as_encoded_bytes().split(|byte| *byte == b'\'').enumerate() {
        if at > 0 {
            out.write_all(b"'\\''")?;
        }
        out.write_all(part)?;
    }
    out.write_all(b"'")
}

#[cfg(unix)]
fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Ok(());
    }
    let mut permissions = metadata.permissions();
    let readers = permissions.mode() & 0o444;
    permissions.set_mode(permissions.mode() | readers >> 2);
    fs::set_permissions(path, permissions)
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> io::Result<()> {
    Ok(())
}
