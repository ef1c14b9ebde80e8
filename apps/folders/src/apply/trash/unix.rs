//! The trash of the user: on Linux as freedesktop.org specifies it, on macOS that of Finder.
//!
//! A file goes into the trash of its own file system, by a rename: none is ever copied.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::held::HeldFolder;
use crate::mount;
use nearkin_kit::time;

/// Most bytes of a name in the trash: the number and `.trashinfo` follow.
const NAME_BYTES_MAX: usize = 230;

/// A trash.
#[derive(Debug)]
pub(in crate::apply) struct TrashCan {
    pub(in crate::apply) files: HeldFolder,
    /// Where a note on each file lies. Finder has none.
    info: Option<HeldFolder>,
    /// Paths in notes are relative to this folder; absolute if it is `None`.
    top: Option<PathBuf>,
}

/// The trashes that a file in this folder could go to, the best first. One that is not asked for is
/// not created.
pub(in crate::apply) fn cans(folder: &HeldFolder) -> impl Iterator<Item = TrashCan> {
    [of_home, of_mount].into_iter().filter_map(|find| find(folder).ok().flatten())
}

fn of_home(folder: &HeldFolder) -> io::Result<Option<TrashCan>> {
    let named = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let mac = cfg!(target_os = "macos");
    let data = if mac { None } else { named("XDG_DATA_HOME") };
    let home = || Some(if mac { named("HOME")? } else { named("HOME")?.join(".local/share") });
    let Some(data) = data.or_else(home) else { return Ok(None) };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&data)?;
    let data = HeldFolder::open(&fs::canonicalize(&data)?)?;
    if data.metadata()?.dev() != folder.metadata()?.dev() {
        return Ok(None);
    }
    let name = if mac { ".Trash" } else { "Trash" };
    can(data.open_or_create(OsStr::new(name))?, None).map(Some)
}

/// The trash at the root of the mount.
fn of_mount(folder: &HeldFolder) -> io::Result<Option<TrashCan>> {
    let place = |path: &Path| Some((fs::symlink_metadata(path).ok()?.dev(), mount::mount_id(path)));
    let here = place(folder.path());
    let top = folder.path().ancestors().take_while(|path| place(path) == here).last();
    let Some(top) = top else { return Ok(None) };
    let root = HeldFolder::open(top)?;
    let user = rustix::process::getuid().as_raw();
    let shared = OsStr::new(if cfg!(target_os = "macos") { ".Trashes" } else { ".Trash" });
    // The administrator's folder for all users counts if it is no link and has the sticky bit.
    let is_sticky =
        |folder: &HeldFolder| folder.metadata().is_ok_and(|found| found.mode() & 0o1000 != 0);
    let shared = if root.is_free(shared) { None } else { root.open_or_create(shared).ok() };
    let own = match shared.filter(is_sticky) {
        Some(shared) => shared.open_or_create(OsStr::new(&user.to_string()))?,
        None => root.open_or_create(OsStr::new(&format!(".Trash-{user}")))?,
    };
    if own.metadata()?.uid() != user {
        return Ok(None);
    }
    can(own, Some(top.to_owned())).map(Some)
}

fn can(folder: HeldFolder, top: Option<PathBuf>) -> io::Result<TrashCan> {
    if cfg!(target_os = "macos") {
        return Ok(TrashCan { files: folder, info: None, top });
    }
    let info = Some(folder.open_or_create(OsStr::new("info"))?);
    Ok(TrashCan { files: folder.open_or_create(OsStr::new("files"))?, info, top })
}

impl TrashCan {
    pub(in crate::apply) fn path(&self) -> &Path {
        self.files.path()
    }

    /// A name that is free in the trash. Its number is higher than the last one of this name.
    pub(in crate::apply) fn free_name(&self, name: &OsStr, last: &mut u32) -> OsString {
        loop {
            *last += 1;
            let name = numbered(name, *last);
            if !self.files.is_taken(&name) {
                return name;
            }
        }
    }

    /// Notes where a file comes from. Fails if there is a note of this name.
    pub(in crate::apply) fn note(&self, name: &OsStr, path: &Path) -> io::Result<()> {
        let Some(info) = &self.info else { return Ok(()) };
        let path = self.top.as_ref().and_then(|top| path.strip_prefix(top).ok()).unwrap_or(path);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        let (path, now) = (in_note(path), time::local(now, "%Y-%m-%dT%H:%M:%S"));
        let text = format!("[Trash Info]\nPath={path}\nDeletionDate={now}\n");
        let note = note_name(name);
        let written = info.create(&note)?.write_all(text.as_bytes());
        // A note that is not whole names nothing.
        written.inspect_err(|_| self.release(name))
    }

    /// Gives a name back.
    pub(in crate::apply) fn release(&self, name: &OsStr) {
        if let Some(info) = &self.info {
            // A note without a file is a line that the desktop cannot restore, no more.
            let _ = info.remove(&note_name(name));
        }
    }
}

/// Removes the note on a file that is not in the trash any more.
pub(in crate::apply) fn forget(place: &Path) {
    let (Some(files), Some(name)) = (place.parent(), place.file_name()) else { return };
    let Some(folder) = files.parent().filter(|_| files.file_name() == Some(OsStr::new("files")))
    else {
        return;
    };
    if let (Ok(files), Ok(info)) = (HeldFolder::open(files), HeldFolder::open(&folder.join("info")))
        && files.is_free(name)
    {
        // As in `release`.
        let _ = info.remove(&note_name(name));
    }
}

fn note_name(name: &OsStr) -> OsString {
    let mut note = name.to_owned();
    note.push(".trashinfo");
    note
}

/// A name with a number, from the second on.
fn numbered(name: &OsStr, number: u32) -> OsString {
    let bytes = name.as_bytes();
    let mut name = OsStr::from_bytes(&bytes[..bytes.len().min(NAME_BYTES_MAX)]).to_owned();
    if number > 1 {
        name.push(format!(".{number}"));
    }
    name
}

/// A path as in a URL.
fn in_note(path: &Path) -> String {
    let mut text = String::new();
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(byte) {
            text.push(char::from(*byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}
