//! Changes that matter to `--watch` but that the watcher does not report: another folder at the
//! path, file systems mounted or unmounted in it, and ignore files in the folders above it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::follow::folder::Folder;
use crate::follow::memo::Stat;
use crate::follow::mounts::{Mounted, mounted};
use crate::follow::walk::{EXCLUDE_FILE, IGNORE_FILES};
use nearkin_kit::checkpoint::NoteFolder;
use nearkin_kit::failure::Failure;

/// The state of the surroundings when the watcher was started.
pub(super) struct Surroundings {
    folder: Folder,
    root: NoteFolder,
    mounted: Option<Vec<Mounted>>,
    /// State of each ignore file that may exist above the folder.
    rules: Vec<(PathBuf, Option<Stat>)>,
    sentinel: Sentinel,
}

impl Surroundings {
    pub(super) fn capture(folder: &Folder, no_ignore: bool) -> Self {
        let mounted = mounted(folder);
        let above = folder.canonical().into_iter().flat_map(Path::ancestors).skip(1);
        let names = || IGNORE_FILES.into_iter().chain([EXCLUDE_FILE]);
        let paths = above.flat_map(|above| names().map(|name| above.join(name)));
        let rules = paths.take_while(|_| !no_ignore).map(|path| {
            let stat = stat_of(&path);
            (path, stat)
        });
        Self {
            root: NoteFolder::identify(&folder.path),
            rules: rules.collect(),
            sentinel: Sentinel::at(folder, mounted.as_deref().unwrap_or_default()),
            mounted,
            folder: folder.clone(),
        }
    }

    /// Fails if the path no longer leads to the same folder.
    pub(super) fn check_root(&self) -> Result<(), Failure> {
        if self.root.is_there() && self.folder.path.is_dir() {
            return Ok(());
        }
        Err(Failure::new(
            format!(
                "cannot watch {}: the folder is gone, or another one took its place",
                self.folder.path.display()
            ),
            "its documents are kept; run the command again once it is back",
        ))
    }

    /// Whether the whole folder must be scanned again, with a new watcher.
    pub(super) fn have_changed(&self) -> bool {
        self.sentinel.has_fired()
            || mounted(&self.folder) != self.mounted
            || self.rules.iter().any(|(path, stat)| stat_of(path) != *stat)
    }
}

fn stat_of(path: &Path) -> Option<Stat> {
    fs::metadata(path).ok().map(|metadata| Stat::from_metadata(&metadata))
}

/// Notices that a file system is unmounted, even if it is mounted again at once.
#[cfg(target_os = "linux")]
struct Sentinel(Option<std::os::fd::OwnedFd>);

#[cfg(target_os = "linux")]
impl Sentinel {
    fn at(folder: &Folder, mounted: &[Mounted]) -> Self {
        use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
        // Without it, only a file system that is mounted again within a second goes unnoticed.
        let Ok(events) = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC) else {
            return Self(None);
        };
        let below = mounted.iter().map(|mounted| mounted.at.as_path());
        let below = below.filter(|at| folder.canonical().is_some_and(|root| at.starts_with(root)));
        for path in below.chain([folder.path.as_path()]) {
            // The system reports an unmount for every watch, whatever else it is for.
            let _ = add_watch(&events, path, WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF);
        }
        Self(Some(events))
    }

    fn has_fired(&self) -> bool {
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4_096];
        let Some(events) = &self.0 else { return false };
        rustix::fs::inotify::Reader::new(events, &mut buffer).next().is_ok()
    }
}

#[cfg(not(target_os = "linux"))]
struct Sentinel;

#[cfg(not(target_os = "linux"))]
impl Sentinel {
    fn at(_: &Folder, _: &[Mounted]) -> Self {
        Self
    }

    fn has_fired(&self) -> bool {
        false
    }
}
