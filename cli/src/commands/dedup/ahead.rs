//! Reads lines ahead of the thread that writes them.

use std::sync::mpsc::SyncSender;

use bytes::Bytes;

use nearkin_input::raw::Reason;
use nearkin_input::records::Records;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::documents::{LineFiles, Position};
use nearkin_kit::interrupt;

/// A batch ends when it reaches one of these limits.
const BATCH_BYTES: u64 = 1 << 20;
const BATCH_LINES: usize = 4_096;

/// A checkpoint is written after this many bytes of input, at the end of a line; processing them
/// takes about a quarter of a second. The positions of checkpoints depend only on the input, so
/// compressed output is identical with and without interruptions.
const BETWEEN_CHECKPOINTS: u64 = 64 << 20;

/// A line as it stands in the input.
#[derive(Debug, Clone, Copy)]
pub(super) enum OriginalLine<'a> {
    Bytes(&'a [u8]),
    /// A line that is too large to hold in memory: its offset and size.
    At(u64, u64),
    /// The rest of a damaged file.
    Lost,
}

impl OriginalLine<'_> {
    /// The number of its bytes and of its line end.
    pub(super) fn bytes_with_end(self) -> u64 {
        self.length() + u64::from(!matches!(self, Self::Lost))
    }

    pub(super) fn length(self) -> u64 {
        match self {
            Self::Bytes(line) => line.len() as u64,
            Self::At(_, bytes) => bytes,
            Self::Lost => 0,
        }
    }
}

/// A line that was read ahead.
pub(super) enum LineAhead {
    Bytes(Bytes),
    /// A line that is too large to hold in memory: its offset and size.
    At(u64, u64),
    /// The rest of a damaged file.
    Lost,
}

impl LineAhead {
    pub(super) fn original(&self) -> OriginalLine<'_> {
        match self {
            Self::Bytes(line) => OriginalLine::Bytes(line),
            Self::At(at, bytes) => OriginalLine::At(*at, *bytes),
            Self::Lost => OriginalLine::Lost,
        }
    }

    /// The last line of `records`, which could not be read.
    fn unread(records: &Records, reason: &Reason) -> Self {
        match reason {
            Reason::Damaged(_) => return Self::Lost,
            Reason::TooLarge => {}
            _ => return Self::Bytes(Bytes::copy_from_slice(records.wrong())),
        }
        let ((_, begin), (_, end)) = (records.before(), records.position());
        Self::At(begin, end - begin)
    }
}

/// Some lines.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) lines: Vec<LineAhead>,
    /// The position behind them, if a checkpoint belongs there.
    pub(super) checkpoint: Option<Position>,
    /// Stored bytes read so far.
    pub(super) taken: u64,
}

/// Reads lines until they end, or until nobody takes them any more.
pub(super) fn read(lines: &mut LineFiles, to: &SyncSender<Batch>) -> Result<(), Failure> {
    let (mut batch, mut bytes, mut since) = (Batch::default(), 0, 0);
    while let Some(raw) = lines.next()? {
        let line = match raw.body {
            Ok(line) => LineAhead::Bytes(line),
            Err(reason) => {
                LineAhead::unread(lines.records().ok_or_else(Failure::changed_input)?, &reason)
            }
        };
        let length = line.original().bytes_with_end();
        (bytes, since) = (bytes + length, since + length);
        batch.lines.push(line);
        if since >= BETWEEN_CHECKPOINTS {
            (batch.checkpoint, since) = (Some(lines.position()), 0);
        } else if bytes < BATCH_BYTES && batch.lines.len() < BATCH_LINES {
            continue;
        }
        interrupt::check()?;
        (batch.taken, bytes) = (lines.bytes_taken(), 0);
        if to.send(std::mem::take(&mut batch)).is_err() {
            // The writer has failed, and says why.
            return Ok(());
        }
    }
    let _ = to.send(batch);
    Ok(())
}
