//! Writes a shell script that removes copies, or replaces them by hard links. The tool never runs
//! it.

#![expect(clippy::disallowed_types, reason = "reads the user's files, never the index's")]

use std::fs::{self, File};
use std::io::{self, BufWriter, Read as _, Write};
use std::path::Path;

use super::groups::{Files, Group, Groups};
use crate::exchange::Target;
use crate::failure::Failure;

/// The beginning of every script.
const HEAD: &str = "#!/bin/sh\n# Written by `nearkin dups`: ";

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

pub(super) fn write(path: &Path, link: bool, groups: &Groups, all: &Files) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::writing(path, &error);
    let mut file = Target::create(path)?;
    let mut buffer = BufWriter::new(&mut file);
    print(&mut buffer, link, groups, all).and_then(|()| buffer.flush()).map_err(failed)?;
    drop(buffer);
    file.finish()?;
    make_executable(path).map_err(failed)
}

fn print(out: &mut impl Write, link: bool, groups: &Groups, all: &Files) -> io::Result<()> {
    let what = if link { "replaces copies with hard links" } else { "removes copies" };
    writeln!(out, "{HEAD}{what}. Read it before you run it.")?;
    writeln!(out, "# Each copy is compared again, byte for byte, with the file that stays.")?;
    let change = if link { "ln -f -- \"$1\" \"$2\"" } else { "rm -- \"$2\"" };
    writeln!(out, "copy() {{\n  if cmp -s -- \"$1\" \"$2\"; then {change}")?;
    writeln!(out, "  else echo \"no longer a copy, kept: $2\" >&2; fi\n}}")?;
    for group in &groups.exact {
        for_each(group, all, |stays, other| {
            out.write_all(b"copy ")?;
            quoted(out, stays)?;
            out.write_all(b" ")?;
            quoted(out, other)?;
            out.write_all(b"\n")
        })?;
    }
    if !groups.near.is_empty() {
        writeln!(out, "\n# Near-copies are not the same: look at them before you remove one.")?;
    }
    for group in &groups.near {
        writeln!(out, "#")?;
        for (at, similarity) in &group.files {
            write!(out, "# {similarity:.3} ")?;
            // A line feed in a name would end the comment.
            let name = all.all[*at].path.as_os_str().as_encoded_bytes();
            out.write_all(crate::output::visible(name).as_bytes())?;
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}

/// Calls `each(kept, redundant)` for every file of the group that need not be kept.
fn for_each(
    group: &Group,
    all: &Files,
    mut each: impl FnMut(&Path, &Path) -> io::Result<()>,
) -> io::Result<()> {
    let mut files = group.files.iter().map(|(at, _)| &all.all[*at]);
    let Some(stays) = files.next() else { return Ok(()) };
    files.filter(|file| !file.against).try_for_each(|file| each(&stays.path, &file.path))
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
