//! A real disk that is full: an index on a small tmpfs. Linux mounts it. A program of another
//! system that runs here (`tools/ports`) is given the folder of one that is mounted already.

use crate::support::{Model, Random, Scratch, assert_whole, inline, message, run};
use nearkin::{Batch, ErrorKind, Index};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A small file system: its folder, and what unmounts it. `Err` says why there is none.
fn small_disk(scratch: &Scratch) -> Result<(PathBuf, Option<Mounted>), String> {
    if let Some(folder) = std::env::var_os("NEARKIN_SMALL_DISK") {
        return Ok((folder.into(), None));
    }
    if !cfg!(target_os = "linux") {
        return Err("NEARKIN_SMALL_DISK names no folder".to_owned());
    }
    let mounted = Mounted::new(scratch.path("small"), 4 << 20)?;
    Ok((mounted.folder.clone(), Some(mounted)))
}

/// A mounted tmpfs. It is unmounted when this value is dropped.
struct Mounted {
    folder: PathBuf,
}

impl Mounted {
    /// Mounts a tmpfs, or returns the reason why that is impossible: mounting needs privileges.
    fn new(folder: PathBuf, bytes: u32) -> Result<Self, String> {
        std::fs::create_dir(&folder).unwrap();
        let size = format!("size={bytes}");
        let output =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "none"]).arg(&folder).output();
        match output {
            Err(error) => Err(error.to_string()),
            Ok(output) if output.status.success() => Ok(Self { folder }),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    fn is_mounted(folder: &Path) -> bool {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        mounts.lines().any(|line| line.split(' ').nth(1) == folder.to_str())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // If a normal unmount fails, a lazy one follows, because a failed test may still hold files
        // open.
        for options in [&[][..], &["-l"]] {
            let unmounted = Command::new("umount").args(options).arg(&self.folder).status();
            if unmounted.is_ok_and(|status| status.success()) {
                return;
            }
        }
    }
}

/// Inserts batches of new keys until the disk is full. Returns the number of documents.
fn fill(index: &Index, model: &mut Model, round: u32) -> u32 {
    let mut random = Random(u64::from(round));
    let mut documents = 0;
    loop {
        let mut batch = Batch::new();
        let mut next = model.clone();
        for at in 0..20 {
            let key = format!("{round}-{}", documents + at);
            let payload = vec![b'p'; 500];
            let signature = run(random.below(1_000_000), 20);
            next.insert(&key, &signature, &payload);
            batch = batch.insert_with_payload(&key, &signature, payload);
        }
        match index.write(batch) {
            Ok(_) => (*model, documents) = (next, documents + 20),
            Err(error) => {
                let said = message::<()>(Err(error), ErrorKind::Io);
                assert!(said.contains("i.nearkin"), "{said}");
                return documents;
            }
        }
        assert!(documents < 1_000_000, "the disk is never full");
    }
}

/// Does what needs little space on a full disk. Other tests start processes meanwhile. Between fork
/// and exec, a child has copies of this process's descriptors, and with them the space of files
/// that were just deleted. So a full disk is tried again for a while.
fn soon(act: impl Fn() -> nearkin::Result<()>) {
    for _ in 0..500 {
        let Err(error) = act() else { return };
        assert_eq!(error.io_kind(), Some(std::io::ErrorKind::StorageFull), "{error}");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    act().unwrap();
}

#[test]
fn a_full_disk_takes_documents_again_after_compaction() {
    let scratch = Scratch::new();
    let (folder, mounted) = match small_disk(&scratch) {
        Ok(disk) => disk,
        Err(why) => {
            println!("SKIPPED: no file system could be mounted: {}", why.trim());
            return;
        }
    };
    let dir = folder.join("i.nearkin");
    let index = Index::create(&dir, &crate::support::params(), inline()).unwrap();
    let mut model = Model::default();
    for round in 0..3 {
        let documents = fill(&index, &mut model, round);
        println!("round {round}: {documents} documents until the disk was full");
        assert!(documents > 100, "round {round}: {documents}");
        assert!(Model::read(&index) == model, "round {round}");
        // Removes seven of eight documents; a compaction then frees their space.
        let keys: Vec<_> = model.documents.keys().cloned().collect();
        for keys in keys.chunks(50) {
            let gone = keys.iter().enumerate().filter(|(at, _)| at % 8 != 0);
            let mut batch = Batch::new();
            for (_, key) in gone {
                model.remove(key);
                batch = batch.remove(key);
            }
            soon(|| index.write(batch.clone()).map(drop));
        }
        soon(|| index.compact());
        assert_whole(&index);
        assert!(Model::read(&index) == model, "round {round}");
    }
    index.close().unwrap();
    let index = Index::open(&dir, inline()).unwrap();
    assert!(Model::read(&index) == model);
    index.close().unwrap();
    let is_own = mounted.is_some();
    drop(mounted);
    assert!(!is_own || !Mounted::is_mounted(&folder), "it is unmounted");
}
