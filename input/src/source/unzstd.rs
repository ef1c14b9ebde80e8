//! Unpacks all frames of a Zstandard file, block by block. What stands before a fault is returned,
//! then the error. If the checksum of a frame is wrong, its last block is not returned: a frame of
//! one block gives nothing then, as with `zstd -dc`.
//!
//! `zstd::Decoder` is not used: it loses the blocks that it unpacks together with a damaged one,
//! and how many these are depends on the buffers.

use std::io::{self, BufRead, Read};
use std::sync::atomic::{AtomicU32, Ordering};

use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation as _, OutBuffer};

use crate::handed_out::hand_out;

/// Size of the largest block, unpacked.
const BLOCK_BYTES: usize = 128 << 10;

/// The number of bytes that tells how a frame goes on.
const FRAME_HEAD_BYTES: usize = 5;

/// Part of the message of Zstandard if the text of a frame is not what its checksum says.
const WRONG_CHECKSUM: &str = "checksum";

/// Size of the header of a block.
const BLOCK_HEAD_BYTES: usize = 3;

/// The largest window that is accepted, as the exponent of its size. It is the memory that a file
/// can make this program take.
static WINDOW_LOG_MAX: AtomicU32 = AtomicU32::new(27);

/// Accepts windows of this size, rounded down to a power of two; at least 1 KiB, at most 2 GiB.
pub fn set_window_max(bytes: u64) {
    WINDOW_LOG_MAX.store(bytes.max(1).ilog2().clamp(10, 31), Ordering::Relaxed);
}

/// The largest window that is accepted.
pub(super) fn window_max() -> u64 {
    1 << WINDOW_LOG_MAX.load(Ordering::Relaxed)
}

/// The text of all frames of a Zstandard file.
pub(super) struct Frames<R> {
    packed: R,
    decoder: Decoder<'static>,
    /// The number of bytes that the decoder takes before it returns more; 0 between two frames.
    wanted: usize,
    /// Unpacked text. The first `given` bytes were returned.
    text: Vec<u8>,
    given: usize,
    /// The last block, as long as its frame goes on: its checksum may be wrong.
    held: Vec<u8>,
    next: Vec<u8>,
    failed: Option<io::Error>,
}

impl<R: BufRead> Frames<R> {
    pub(super) fn new(packed: R) -> io::Result<Self> {
        let mut decoder = Decoder::new()?;
        let window = WINDOW_LOG_MAX.load(Ordering::Relaxed);
        decoder.set_parameter(DParameter::WindowLogMax(window))?;
        let block = || Vec::with_capacity(BLOCK_BYTES);
        let (text, held, next) = (block(), block(), block());
        Ok(Self { packed, decoder, wanted: 0, text, given: 0, held, next, failed: None })
    }

    /// Unpacks at most one block into `next`. Returns false at the end of the file.
    fn step(&mut self) -> io::Result<bool> {
        let packed = self.packed.fill_buf()?;
        if packed.is_empty() && self.wanted > 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "incomplete frame"));
        }
        if packed.is_empty() {
            return Ok(false);
        }
        // Given more than this, the decoder would go on with the next block. What it wants of a
        // block includes the header of the next one.
        let most = match self.wanted {
            0 => FRAME_HEAD_BYTES,
            wanted if wanted <= BLOCK_HEAD_BYTES => wanted,
            wanted => wanted - BLOCK_HEAD_BYTES,
        };
        let mut input = InBuffer::around(&packed[..packed.len().min(most)]);
        self.next.clear();
        let mut output = OutBuffer::around(&mut self.next);
        self.wanted = self.decoder.run(&mut input, &mut output)?;
        let used = input.pos();
        self.packed.consume(used);
        Ok(true)
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.text.len() && !buffer.is_empty() {
            if let Some(error) = &self.failed {
                return Err(io::Error::new(error.kind(), error.to_string()));
            }
            self.text.clear();
            self.given = 0;
            match self.step() {
                Ok(true) if self.wanted == 0 => {
                    self.text.append(&mut self.held);
                    self.text.append(&mut self.next);
                }
                Ok(true) if self.next.is_empty() => {}
                Ok(true) => {
                    std::mem::swap(&mut self.text, &mut self.held);
                    std::mem::swap(&mut self.held, &mut self.next);
                }
                Ok(false) => return Ok(0),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    if !error.to_string().contains(WRONG_CHECKSUM) {
                        self.text.append(&mut self.held);
                    }
                    self.failed = Some(error);
                }
            }
        }
        Ok(hand_out(&self.text, &mut self.given, buffer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn read(bytes: &[u8], step: usize) -> (Vec<u8>, Option<String>) {
        let mut reader = Frames::new(io::BufReader::with_capacity(256 << 10, bytes)).unwrap();
        let (mut text, mut buffer) = (Vec::new(), vec![0; step]);
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return (text, None),
                Ok(count) => text.extend_from_slice(&buffer[..count]),
                Err(error) => return (text, Some(error.to_string())),
            }
        }
    }

    /// Frames of many blocks; the lines are numbers.
    fn packed() -> (Vec<u8>, Vec<u8>) {
        let text: String = (0..200_000_u64).map(|n| (n * n * n).to_string() + "\n").collect();
        let mut packed = Vec::new();
        for part in text.as_bytes().chunks(text.len() / 2 + 1) {
            let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
            encoder.include_checksum(true).unwrap();
            // Small blocks: each write is one.
            for part in part.chunks(10_000) {
                encoder.write_all(part).unwrap();
                encoder.flush().unwrap();
            }
            packed.extend(encoder.finish().unwrap());
        }
        (text.into_bytes(), packed)
    }

    #[test]
    fn a_frame_whose_checksum_is_wrong_does_not_give_its_last_block() {
        let (text, packed) = packed();
        let one = zstd::encode_all(&text[..5_000], 1).unwrap();
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.include_checksum(true).unwrap();
        encoder.write_all(&text[..5_000]).unwrap();
        let mut wrong = encoder.finish().unwrap();
        *wrong.last_mut().unwrap() ^= 1;
        for step in [7, 1 << 20] {
            // What other frames hold is returned, as far as they stand before.
            let (found, error) = read(&[&*one, &wrong, &one].concat(), step);
            assert_eq!(found, text[..5_000]);
            assert!(error.unwrap().contains(WRONG_CHECKSUM));
        }
        let mut wrong = packed;
        *wrong.last_mut().unwrap() ^= 1;
        let (found, error) = read(&wrong, 1 << 20);
        assert!(text.starts_with(&found) && text.len() - found.len() == last_block(&text));
        assert!(error.unwrap().contains(WRONG_CHECKSUM));
    }

    /// The length of the last block of `packed`.
    fn last_block(text: &[u8]) -> usize {
        let second = text.len() - (text.len() / 2 + 1);
        second % 10_000
    }

    #[test]
    fn all_blocks_before_a_fault_are_returned_whatever_the_size_of_reads() {
        let (text, packed) = packed();
        assert_eq!(read(&packed, 1 << 20), (text.clone(), None));
        assert_eq!(read(&packed, 999), (text.clone(), None));
        for end in [3, 1_000, packed.len() / 3, packed.len() - 1] {
            let (found, error) = read(&packed[..end], 1 << 20);
            assert!(text.starts_with(&found), "{end}");
            assert_eq!(error.as_deref(), Some("incomplete frame"), "{end}");
            let share = found.len() as f64 / text.len() as f64;
            assert!((share - end as f64 / packed.len() as f64).abs() < 0.05, "{end}: {share}");
            assert_eq!(read(&packed[..end], 7).0, found, "{end}");
        }
        // Behind five blocks, one of a type that there is not.
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        for part in text.chunks(10_000).take(5) {
            encoder.write_all(part).unwrap();
            encoder.flush().unwrap();
        }
        let wrong = [&**encoder.get_ref(), &[6; 1_000]].concat();
        let (found, error) = read(&wrong, 1 << 20);
        assert!(found == text[..50_000] && error.is_some(), "{}", found.len());
        assert_eq!(read(&wrong, 7), (found, error));
    }
}
