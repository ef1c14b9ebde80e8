//! Ctrl-C and SIGTERM: the first says that a command shall end soon, a second ends it at once.
//!
//! The one place that hears signals, but for `serve`, whose end is its own. Knows nothing of what
//! is in work: whoever works asks [`came`] between two steps.

use std::io::{self, Cursor, IsTerminal as _, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use crate::failure::Failure;
use crate::output;
use crate::raw;

/// The exit status of a command that a signal ended: that of a shell for SIGINT.
pub(crate) const STATUS: u8 = 130;

/// What stdin is read by.
const BLOCK_BYTES: usize = 64 << 10;

/// How often somebody who waits for stdin looks whether a signal came.
const PAUSE: Duration = Duration::from_millis(50);

static CAME: AtomicBool = AtomicBool::new(false);

/// From now on the first signal only sets what [`came`] says. For commands that ask it; all others
/// end as the system ends them.
pub(crate) fn listen() {
    on_signal(|| {
        if CAME.swap(true, Ordering::Relaxed) {
            say("ended at once; what was written is safe, and the same command goes on from there");
            std::process::exit(i32::from(STATUS));
        }
        say("stopping after what is in work; once more ends it at once");
    });
}

/// From now on a signal ends the command at once, after it has said what to do next. For what
/// cannot be broken off.
pub(crate) fn end_at_once(advice: String) {
    on_signal(move || {
        say(&format!("interrupted\n  {advice}"));
        std::process::exit(i32::from(STATUS));
    });
}

/// Whether the command shall end.
pub(crate) fn came() -> bool {
    CAME.load(Ordering::Relaxed)
}

/// An interruption if it shall.
pub(crate) fn check() -> Result<(), Failure> {
    if came() { Err(Failure::interrupted()) } else { Ok(()) }
}

fn on_signal(heard: impl FnMut() + Send + 'static) {
    // It fails where a signal is ignored, as under nohup and in the background of a script: that
    // stays so. A command that hears nothing is ended by the system, and that is safe, too.
    let _ = ctrlc::try_set_handler(heard);
}

fn say(text: &str) {
    if io::stderr().is_terminal() {
        // The terminal has put `^C`, and maybe a bar, on this line.
        output::note_below(text);
    } else {
        output::note(text);
    }
}

/// How many blocks are read ahead: as much as a chunk of documents takes.
const BLOCKS_AHEAD: usize = 64;

/// Stdin, which ends when a signal comes: else a command would wait for the next line first.
pub(crate) struct Stdin {
    blocks: Receiver<io::Result<Vec<u8>>>,
    block: Cursor<Vec<u8>>,
    /// How many of the blocks that were read ahead have the end of a line.
    ends_ahead: Arc<AtomicUsize>,
}

impl Stdin {
    pub(crate) fn new() -> io::Result<Self> {
        let (sender, blocks) = sync_channel(BLOCKS_AHEAD);
        let ends_ahead = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&ends_ahead);
        // It is never waited for: nobody can end its reading but the end of the process.
        thread::Builder::new().spawn(move || read_stdin(&sender, &counted))?;
        Ok(Self { blocks, block: Cursor::default(), ends_ahead })
    }

    /// A count that is not 0 as long as the end of a line was read and not yet taken.
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
