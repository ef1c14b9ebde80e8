//! Resource limits of a parser process. On Unix, the system enforces them. Limits that the system
//! does not support are not enforced.

use std::path::Path;

/// Memory that this process may use, in bytes: what is available on the machine, but no more than
/// the limit of a control group, such as a container's. `None` if the system does not say.
pub(super) fn memory_available() -> Option<u64> {
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let info = read(Path::new("/proc/meminfo"))?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    let groups = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    // A line is `NUMBER:CONTROLLERS:/GROUP`. Within a container, the path may be that of the host.
    let groups = groups.lines().filter_map(|line| Some(line.split_once(":/")?.1));
    let places = groups.flat_map(|group| Path::new(group).ancestors());
    let limits = places.flat_map(|group| {
        let current = Path::new("/sys/fs/cgroup").join(group).join("memory.max");
        let first = Path::new("/sys/fs/cgroup/memory").join(group).join("memory.limit_in_bytes");
        [read(&current), read(&first)]
    });
    let limits = limits.filter_map(|limit| limit?.trim().parse().ok());
    limits.chain([kib << 10]).min()
}

/// Sets the limits of memory and processor time for parsing a file of `length` bytes. The bytes of
/// the file do not count towards the memory limit.
#[cfg(unix)]
pub(super) fn set(memory: u64, seconds: u64, length: u64) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = |resource, most: u64| {
        let maximum = getrlimit(resource).maximum;
        let current = Some(maximum.map_or(most, |maximum| maximum.min(most)));
        // This fails only if the user has set a stricter limit, which then applies.
        let _ = setrlimit(resource, Rlimit { current, maximum });
    };
    // The system counts processor time from the start of the process.
    let taken = processor_ms().unwrap_or(0) / 1_000;
    limit(Resource::Cpu, taken.saturating_add(seconds).saturating_add(1));
    if let Some(taken) = allocated() {
        limit(Resource::Data, taken.saturating_add(memory).saturating_add(length));
    }
    limit(Resource::Core, 0);
}

#[cfg(not(unix))]
pub(super) fn set(_: u64, _: u64, _: u64) {}

/// Processor time that this process has used, in milliseconds. `None` on systems where it is
/// unknown.
#[cfg(unix)]
pub(super) fn processor_ms() -> Option<u64> {
    use rustix::time::{ClockId, clock_gettime};
    let taken = clock_gettime(ClockId::ProcessCPUTime);
    u64::try_from(taken.tv_sec * 1_000 + taken.tv_nsec / 1_000_000).ok()
}

#[cfg(not(unix))]
pub(super) fn processor_ms() -> Option<u64> {
    None
}

/// Size of the address space for data, as Linux counts it. `None` on other systems, where memory is
/// not limited.
#[cfg(unix)]
fn allocated() -> Option<u64> {
    let pages: u64 =
        std::fs::read_to_string("/proc/self/statm").ok()?.split(' ').nth(5)?.parse().ok()?;
    pages.checked_mul(rustix::param::page_size() as u64)
}
