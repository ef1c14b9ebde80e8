//! Standard input, read ahead on a thread of its own, so that a signal ends the waiting for it.

use std::io::{self, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use crate::interrupt::came;
use crate::raw;

/// Block size for reading stdin.
const BLOCK_BYTES: usize = 64 << 10;

/// Polling interval for signals while waiting for stdin.
const PAUSE: Duration = Duration::from_millis(50);

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
