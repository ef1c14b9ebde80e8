//! The machine: its description, the memory and disk traffic of a step, and how to make a cache
//! cold.

use crate::results::Result;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Name and value pairs for the head of the report.
pub fn describe() -> Vec<(String, String)> {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = cpu.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split(": ").nth(1)).unwrap_or("?").to_owned()
    };
    let flags = field("flags");
    let flag = |name: &str| flags.split(' ').any(|flag| flag == name);
    let vectors: Vec<&str> =
        ["sse4_2", "avx2", "avx512f", "avx512bw", "avx512vbmi", "avx512_vbmi2"]
            .into_iter()
            .filter(|name| flag(name))
            .collect();
    let memory_kib = status_kib("/proc/meminfo", "MemTotal:");
    let run = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().ok();
        output.map_or_else(
            || "?".to_owned(),
            |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        )
    };
    let temporary = std::env::current_dir().unwrap_or_default();
    let place = run("stat", &["-f", "-c", "%T", &temporary.to_string_lossy()]);
    [
        ("processor", format!("{} ({})", field("model name"), vectors.join(", "))),
        ("threads", std::thread::available_parallelism().map_or(0, usize::from).to_string()),
        ("memory", format!("{:.0} GiB", memory_kib as f64 / (1 << 20) as f64)),
        ("file system", place),
        ("kernel", run("uname", &["-sr"])),
        ("rustc", run("rustc", &["--version"])),
        ("date", run("date", &["-u", "+%Y-%m-%d"])),
        ("load at start", load()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("?").to_owned()
}

fn status_kib(path: &str, field: &str) -> u64 {
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Anonymous memory of this process in bytes. The kernel cannot reclaim it.
pub fn anonymous_bytes() -> u64 {
    status_kib("/proc/self/status", "RssAnon:") << 10
}

/// Memory that programs can still allocate, in bytes.
pub fn available_bytes() -> u64 {
    status_kib("/proc/meminfo", "MemAvailable:") << 10
}

/// Records the peak of anonymous memory, sampled every 2 ms from its creation until it is dropped.
pub struct Peak {
    most: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Peak {
    pub fn start() -> Self {
        let most = Arc::new(AtomicU64::new(anonymous_bytes()));
        let stop = Arc::new(AtomicBool::new(false));
        let (seen, end) = (Arc::clone(&most), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            while !end.load(Ordering::Relaxed) {
                seen.fetch_max(anonymous_bytes(), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        Self { most, stop, thread: Some(thread) }
    }

    /// The peak so far in bytes.
    pub fn bytes(&self) -> u64 {
        self.most.fetch_max(anonymous_bytes(), Ordering::Relaxed);
        self.most.load(Ordering::Relaxed)
    }
}

impl Drop for Peak {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Bytes that this process has caused to be written to the disk, and read from it, since the
/// process started.
pub fn disk_traffic() -> (u64, u64) {
    let text = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.trim().parse().ok()).unwrap_or(0)
    };
    (field("write_bytes:"), field("read_bytes:"))
}

/// All files below a folder.
pub fn files(folder: &Path) -> Result<Vec<std::path::PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    Ok(found)
}

/// Disk space in use below a folder, in bytes. Counts blocks and not lengths, so that sparse files
/// count correctly.
pub fn disk_bytes(folder: &Path) -> Result<u64> {
    use std::os::unix::fs::MetadataExt;
    let mut bytes = 0;
    for path in files(folder)? {
        bytes += fs::metadata(path)?.blocks() * 512;
    }
    Ok(bytes)
}

/// Drops all files below a folder from the page cache. They must not be mapped, because mapped
/// pages stay. They are synced first, because dirty pages stay as well.
pub fn evict(folder: &Path) -> Result<()> {
    for path in files(folder)? {
        let file = fs::File::open(path)?;
        file.sync_all()?;
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
    }
    Ok(())
}
