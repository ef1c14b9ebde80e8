//! Runs parser processes (this program, started again) with limits on time and memory per file.
//!
//! This module knows processes, not formats. A parser process is reused for further files.

use std::env;
use std::io::{self, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::decode::Decoded;
#[cfg(not(test))]
use super::decode::forced;
use super::format::{Format, failed};
use super::limits;
#[cfg(not(test))]
use super::mail::is_quoted_kept;
use super::wire::{ParseRequest, read_reply};
use crate::interrupt;
use crate::raw::Reason;

/// Limit of processor time per file, in seconds. A limit of wall-clock time would reject valid
/// files on a busy machine.
const SECONDS: u64 = 30;

/// Limit of wall-clock time, for systems without a limit of processor time.
const CLOCK_TIME_MAX: Option<Duration> =
    if cfg!(unix) { None } else { Some(Duration::from_secs(600)) };

/// Memory limit of the parser process of a large file.
const MEMORY_MAX: u64 = 112 << 20;

/// Memory limit of a parser process for a small file.
const MEMORY_OF_SMALL: u64 = 8 << 20;

/// Memory limit of a parser process for a medium file.
const MEMORY_OF_MEDIUM: u64 = 32 << 20;

/// Maximum sizes of small and of medium files: parsers need many times the size of a file.
const SMALL_BYTES: usize = 32 << 10;
const MEDIUM_BYTES: usize = 256 << 10;

/// The environment variable by which a program built with mimalloc gives freed memory back at once:
/// its name and value, milliseconds. The default is one second. With the default, a command that
/// reads file after file takes more than twice the memory, because it allocates again before the
/// freed memory is given back.
pub const PURGE_OPTION: (&str, &str) = ("MIMALLOC_PURGE_DELAY", "0");

/// The text of a file, from a parser process.
pub(super) fn text(format: Format, bytes: Vec<u8>) -> Result<Decoded, Reason> {
    let begun = Instant::now();
    let read = read(format, bytes);
    if format == Format::Pdf {
        super::pdf::count_time(begun.elapsed());
    }
    read
}

fn read(format: Format, bytes: Vec<u8>) -> Result<Decoded, Reason> {
    let memory = match bytes.len() {
        length if length <= SMALL_BYTES => MEMORY_OF_SMALL,
        length if length <= MEDIUM_BYTES => MEMORY_OF_MEDIUM,
        _ => MEMORY_MAX,
    };
    let mut request = ParseRequest { format, memory, seconds: SECONDS, bytes };
    match within(&mut request, CLOCK_TIME_MAX) {
        // Most likely the parser ran out of memory: try again with the full limit.
        Err(Failed::Ended(_)) if memory < MEMORY_MAX && !interrupt::came() => {
            request.memory = MEMORY_MAX;
            within(&mut request, CLOCK_TIME_MAX)
        }
        read => read,
    }
    .unwrap_or_else(|failure| Err(failed(format.name(), failure.what())))
    .map_err(|reason| advised(format, reason))
}

/// Names the other way to read a PDF, if there is one.
fn advised(format: Format, reason: Reason) -> Reason {
    if format != Format::Pdf || super::pdf::command().is_some() {
        return reason;
    }
    let advise = |why| format!("{why}; try --pdf-command pdftotext");
    match reason {
        Reason::Refused(why) => Reason::Refused(advise(why)),
        Reason::Failed(why) => Reason::Failed(advise(why)),
        reason => reason,
    }
}

/// Why a parser process gave no reply.
#[derive(Debug)]
enum Failed {
    NotStarted(io::Error),
    /// The process exited. `None` if its status is unknown.
    Ended(Option<ExitStatus>),
    /// The process exceeded the limit of wall-clock time.
    Late(Duration),
}

impl Failed {
    fn what(&self) -> String {
        match self {
            Self::NotStarted(error) => format!("no process for its parser: {error}"),
            Self::Ended(status) if is_out_of_time(*status) => {
                format!("not read within {SECONDS} s of processor time")
            }
            Self::Ended(status) => {
                let most = MEMORY_MAX >> 20;
                let status = status.map_or_else(String::new, |status| format!(" ({status})"));
                format!("its parser crashed, or needs more than {most} MiB of memory{status}")
            }
            Self::Late(most) => format!("not read within {} s", most.as_secs()),
        }
    }
}

#[cfg(unix)]
fn is_out_of_time(status: Option<ExitStatus>) -> bool {
    use std::os::unix::process::ExitStatusExt as _;
    let xcpu = rustix::process::Signal::XCPU.as_raw();
    status.is_some_and(|status| status.signal() == Some(xcpu))
}

#[cfg(not(unix))]
fn is_out_of_time(_: Option<ExitStatus>) -> bool {
    false
}

/// Sends one request to a parser process, and returns its reply.
fn within(
    request: &mut ParseRequest,
    clock_time_max: Option<Duration>,
) -> Result<Result<Decoded, Reason>, Failed> {
    let _share = Share::take(request.memory);
    let mut process = match lock(&IDLE).pop() {
        Some(process) => process,
        None => Process::start().map_err(Failed::NotStarted)?,
    };
    let read = process.ask(request, clock_time_max)?;
    // A process that had the full memory limit may still hold much memory, so it is not kept.
    if request.memory < MEMORY_MAX {
        lock(&IDLE).push(process);
    }
    Ok(read)
}

/// Idle parser processes.
static IDLE: Mutex<Vec<Process>> = Mutex::new(Vec::new());

/// All parser processes, idle or not.
static ALL: Mutex<Vec<Weak<Mutex<Child>>>> = Mutex::new(Vec::new());

/// Kills all parser processes after a signal, so that the command need not wait for them.
fn kill_all() {
    for child in lock(&ALL).iter().filter_map(Weak::upgrade) {
        // If another thread holds the lock, it waits for the end of the process already. Killing
        // only fails if the process has exited.
        let _ = child.try_lock().map(|mut child| child.kill());
    }
}

/// Memory that is not reserved for any parser.
static FREE: LazyLock<Mutex<u64>> = LazyLock::new(|| Mutex::new(memory_of_all()));

fn memory_of_all() -> u64 {
    let allowed = ALLOWED.get().copied().or_else(limits::memory_available).unwrap_or(0);
    let processors = thread::available_parallelism().map_or(1, |count| count.get() as u64);
    memory_within(allowed, processors)
}

/// Memory for all parsers together: enough for a large file per processor, but at most half of what
/// is allowed; always enough for one.
fn memory_within(allowed: u64, processors: u64) -> u64 {
    MEMORY_MAX * (allowed / 2 / MEMORY_MAX).clamp(1, processors)
}

/// The memory that the user allows.
static ALLOWED: OnceLock<u64> = OnceLock::new();

/// Sets the memory that the user allows for the whole program, of which parsers may use half; to be
/// called before any file is read. One parser of a large file may always run.
pub fn allow_memory(bytes: u64) {
    // The first call counts; there is no other.
    let _ = ALLOWED.set(bytes);
}

/// Notified when reserved memory is released.
static FREED: Condvar = Condvar::new();

/// A reservation of memory for a parser.
struct Share(u64);

impl Share {
    /// Blocks until this much memory is free, then reserves it.
    fn take(memory: u64) -> Self {
        let free = FREED.wait_while(lock(&FREE), |free| *free < memory);
        *free.unwrap_or_else(PoisonError::into_inner) -= memory;
        Self(memory)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        *lock(&FREE) += self.0;
        FREED.notify_all();
    }
}

/// A parser process. It is killed on drop.
struct Process {
    child: Arc<Mutex<Child>>,
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
}

impl Process {
    fn start() -> io::Result<Self> {
        let mut command = command()?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // The memory limits are chosen for a single thread and an allocator without reserved
        // arenas.
        command.env("RAYON_NUM_THREADS", "1").env("MIMALLOC_ARENA_RESERVE", "0");
        let (option, at_once) = PURGE_OPTION;
        command.env(option, at_once);
        // When memory runs out, printing a backtrace would also fail to allocate, and then deadlock
        // on its own lock.
        command.env("RUST_BACKTRACE", "0").env_remove("RUST_LIB_BACKTRACE");
        // The parser gets a process group of its own, so Ctrl-C in the terminal reaches only the
        // tool. When the tool ends, its parsers end, too.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let piped = || io::Error::other("it has no pipes");
        let requests = Some(child.stdin.take().ok_or_else(piped)?);
        let replies = BufReader::new(child.stdout.take().ok_or_else(piped)?);
        let process = Self { child: Arc::new(Mutex::new(child)), requests, replies };
        interrupt::end_children_by(kill_all);
        let mut all = lock(&ALL);
        all.retain(|child| child.strong_count() > 0);
        all.push(Arc::downgrade(&process.child));
        drop(all);
        // Checked last: a signal that came before could not kill this process.
        if interrupt::came() {
            return Err(io::Error::other("a signal came"));
        }
        Ok(process)
    }

    fn ask(
        &mut self,
        request: &mut ParseRequest,
        clock_time_max: Option<Duration>,
    ) -> Result<Result<Decoded, Reason>, Failed> {
        let Self { child, requests, replies } = self;
        let mut exchange = || {
            let requests = requests.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
            request.write(requests)?;
            if request.memory >= MEMORY_MAX {
                // Frees the file's bytes in this process: the parser has its own copy.
                request.bytes = Vec::new();
            }
            read_reply(replies)
        };
        let Some(most) = clock_time_max else {
            return exchange().map_err(|_| Failed::Ended(lock(child).wait().ok()));
        };
        let (done, ended) = sync_channel::<()>(1);
        let child = &*child;
        thread::scope(|scope| {
            let watch = move || {
                let late = ended.recv_timeout(most) == Err(RecvTimeoutError::Timeout);
                // Killing only fails if the process has already exited.
                late && lock(child).kill().is_ok()
            };
            let watch = thread::Builder::new().spawn_scoped(scope, watch);
            let watch = watch.map_err(Failed::NotStarted)?;
            let read = exchange();
            drop(done);
            let late = watch.join().unwrap_or(false);
            let late = late.then_some(Failed::Late(most));
            read.map_err(|_| late.unwrap_or_else(|| Failed::Ended(lock(child).wait().ok())))
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Closing the pipe ends an idle process, but not one that is parsing. So the process is
        // killed as well.
        drop(self.requests.take());
        let mut child = lock(&self.child);
        let _ = child.kill();
        // Reaps the process, which has been killed.
        let _ = child.wait();
    }
}

/// The command that starts this program as a parser.
#[cfg(not(test))]
fn command() -> io::Result<Command> {
    let program = own_program()?;
    let mut command = Command::new(program);
    let encoding = forced().map_or("", encoding_rs::Encoding::name);
    let quoted = if is_quoted_kept() { super::wire::QUOTED_KEPT } else { "" };
    command.arg(super::wire::WORD).arg(encoding).arg(quoted).args(super::pdf::command());
    Ok(command)
}

/// Path of the running program. On Linux, it works even if the file was replaced meanwhile.
fn own_program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") {
        return Ok(PathBuf::from("/proc/self/exe"));
    }
    env::current_exe()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "parser_tests.rs"]
mod tests;

#[cfg(test)]
use tests::command;
