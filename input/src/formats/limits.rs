//! Resource limits of a parser process. On Unix, the system enforces them. Limits that the system
//! does not support are not enforced.

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
