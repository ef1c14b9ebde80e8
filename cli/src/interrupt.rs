//! Ctrl-C and SIGTERM: the first signal asks the command to stop soon, the second ends the process.
//!
//! All signal handling is here, except for `serve`, which has its own shutdown. Long operations
//! call [`came`] between steps.

use std::io::{self, Cursor, IsTerminal as _, Read};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use crate::failure::Failure;
use crate::output;
use crate::raw;

/// Exit status after a signal: the one that shells use for SIGINT.
pub(crate) const STATUS: u8 = 130;

/// Block size for reading stdin.
const BLOCK_BYTES: usize = 64 << 10;

/// Polling interval for signals while waiting for stdin.
const PAUSE: Duration = Duration::from_millis(50);

static CAME: AtomicBool = AtomicBool::new(false);

/// Ends processes that the command may be waiting for.
static END_CHILDREN: OnceLock<fn()> = OnceLock::new();

/// From now on, the first signal only sets the flag that [`came`] reads. Call this only in commands
/// that check the flag; by default, signals end the process.
pub(crate) fn listen() {
    on_signal(|| {
        if CAME.swap(true, Ordering::Relaxed) {
            say("exited at once; stored documents are safe, and the same command continues");
            std::process::exit(i32::from(STATUS));
        }
        say("stopping after the work in progress; a second signal exits at once");
        if let Some(end) = END_CHILDREN.get() {
            end();
        }
    });
}

/// Sets what ends the processes that the command may be waiting for. The first signal calls it, on
/// a thread of its own.
pub(crate) fn end_children_by(end: fn()) {
    // Only the first call counts; all calls pass the same function.
    let _ = END_CHILDREN.set(end);
}

/// From now on, a signal ends the process at once, after printing the advice. For operations that
/// cannot be cancelled.
pub(crate) fn end_at_once(advice: String) {
    on_signal(move || {
        say(&format!("interrupted\n  {advice}"));
        std::process::exit(i32::from(STATUS));
    });
}

/// Whether a signal has arrived.
pub(crate) fn came() -> bool {
    CAME.load(Ordering::Relaxed)
}

/// Fails if a signal has arrived.
pub(crate) fn check() -> Result<(), Failure> {
    if came() { Err(Failure::interrupted()) } else { Ok(()) }
}

fn on_signal(heard: impl FnMut() + Send + 'static) {
    // Setting the handler fails if the parent process ignores the signal (nohup, background jobs of
    // a script); then we should ignore it, too. Without a handler the system ends the process,
    // which is also safe.
    let _ = ctrlc::try_set_handler(heard);
}

fn say(text: &str) {
    if io::stderr().is_terminal() {
        // The terminal has printed `^C`, and perhaps a progress bar, on the current line.
        output::note_below(text);
    } else {
        output::note(text);
    }
}

/// Number of stdin blocks to read ahead; together they are as large as a full chunk of documents (4
/// MiB).
const BLOCKS_AHEAD: usize = 64;

/// Stdin that reports the end of the file after a signal. A plain read would block until the next
/// line.
pub(crate) struct Stdin {
    blocks: Receiver<io::Result<Vec<u8>>>,
    block: Cursor<Vec<u8>>,
    /// Number of blocks read ahead that contain a line end.
    ends_ahead: Arc<AtomicUsize>,
}

impl Stdin {
    pub(crate) fn new() -> io::Result<Self> {
        let (sender, blocks) = sync_channel(BLOCKS_AHEAD);
        let ends_ahead = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&ends_ahead);
        // The thread is never joined: its read cannot be interrupted except by the end of the
        // process.
        thread::Builder::new().spawn(move || read_stdin(&sender, &counted))?;
        Ok(Self { blocks, block: Cursor::default(), ends_ahead })
    }

    /// The counter of blocks that contain a line end and that were read ahead but not yet consumed.
    pub(crate) fn ends_ahead(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.ends_ahead)
    }
}

fn has_end(block: &[u8]) -> usize {
    usize::from(raw::has_line(block))
}

fn read_stdin(sender: &SyncSender<io::Result<Vec<u8>>>, ends_ahead: &AtomicUsize) {
    loop {
        let mut block = vec![0; BLOCK_BYTES];
        let read = match io::stdin().lock().read(&mut block) {
            Ok(0) => return,
            Ok(bytes) => {
                block.truncate(bytes);
                ends_ahead.fetch_add(has_end(&block), Ordering::Relaxed);
                Ok(block)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let failed = read.is_err();
        if sender.send(read).is_err() || failed {
            return;
        }
    }
}

impl Read for Stdin {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.block.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            match self.blocks.recv_timeout(PAUSE) {
                Ok(block) => {
                    self.block = Cursor::new(block?);
                    self.ends_ahead.fetch_sub(has_end(self.block.get_ref()), Ordering::Relaxed);
                }
                Err(RecvTimeoutError::Timeout) if !came() => {}
                Err(_) => return Ok(0),
            }
        }
    }
}
