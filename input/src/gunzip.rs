//! Unpacks all members of a gzip file. What stands before a fault is returned, then the error.
//!
//! `flate2::MultiGzDecoder` is not used: it loses up to a buffer of text before a fault, and calls
//! a file truncated that has other bytes behind its last member.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;
use flate2::{Crc, Decompress, FlushDecompress, Status};

use crate::handed_out::hand_out;

/// Size of the text that is unpacked at a time. It does not depend on the buffer of the caller, so
/// a damaged file gives the same text whenever it is read.
const TEXT_BYTES: usize = 128 << 10;

/// The text of all members of a gzip file. Zeros behind the last one are passed over: tapes and
/// some tools fill their last block with them.
pub(crate) struct GzipMembers<R> {
    packed: R,
    /// The current member; `None` between two members.
    member: Option<Member>,
    members: u64,
    /// Unpacked text. The first `given` bytes were returned.
    text: Vec<u8>,
    given: usize,
    failed: Option<io::Error>,
    is_end: bool,
}

struct Member {
    inflate: Decompress,
    crc: Crc,
    is_body_done: bool,
}

impl<R: BufRead> GzipMembers<R> {
    pub(crate) fn new(packed: R) -> Self {
        let (text, given) = (Vec::with_capacity(TEXT_BYTES), 0);
        let (member, failed, is_end) = (None, None, false);
        Self { packed, member, members: 0, text, given, failed, is_end }
    }

    /// Unpacks more text, or ends the current member, or begins the next one.
    fn step(&mut self) -> io::Result<()> {
        let Some(member) = &mut self.member else { return self.begin() };
        if member.is_body_done {
            let (mut crc, mut amount) = ([0; 4], [0; 4]);
            self.packed.read_exact(&mut crc)?;
            self.packed.read_exact(&mut amount)?;
            let found = (member.crc.sum(), member.crc.amount());
            if (u32::from_le_bytes(crc), u32::from_le_bytes(amount)) != found {
                return Err(io::Error::other("the checksum of a member differs"));
            }
            self.member = None;
            return Ok(());
        }
        let packed = patiently(&mut self.packed)?;
        let is_cut = packed.is_empty();
        let before = member.inflate.total_in();
        let ended = member.inflate.decompress_vec(packed, &mut self.text, FlushDecompress::None);
        let used = usize::try_from(member.inflate.total_in() - before).unwrap_or(usize::MAX);
        self.packed.consume(used);
        member.crc.update(&self.text);
        match ended {
            Ok(Status::StreamEnd) => member.is_body_done = true,
            Ok(_) if is_cut && self.text.is_empty() => {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            Ok(_) => {}
            Err(error) => return Err(io::Error::other(error.to_string())),
        }
        Ok(())
    }

    /// Reads the header of the next member, if there is one.
    fn begin(&mut self) -> io::Result<()> {
        match patiently(&mut self.packed)?.first() {
            None => self.is_end = true,
            Some(0) if self.members > 0 => {
                loop {
                    let rest = patiently(&mut self.packed)?;
                    if rest.iter().any(|byte| *byte != 0) {
                        return Err(io::Error::other("invalid gzip header"));
                    }
                    let count = rest.len();
                    if count == 0 {
                        break;
                    }
                    self.packed.consume(count);
                }
                self.is_end = true;
            }
            Some(0x1f) => {
                let mut header = GzDecoder::new(&mut self.packed);
                if header.header().is_none() {
                    let invalid = || io::Error::other("invalid gzip header");
                    return Err(header.read(&mut [0]).err().unwrap_or_else(invalid));
                }
                let inflate = Decompress::new(false);
                self.member = Some(Member { inflate, crc: Crc::new(), is_body_done: false });
                self.members += 1;
            }
            Some(_) => return Err(io::Error::other("invalid gzip header")),
        }
        Ok(())
    }
}

/// The bytes at hand; empty at the end.
fn patiently(packed: &mut impl BufRead) -> io::Result<&[u8]> {
    loop {
        match packed.fill_buf() {
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    // The buffer is filled: this call returns it.
    packed.fill_buf()
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.text.len() && !buffer.is_empty() {
            if let Some(error) = &self.failed {
                return Err(io::Error::new(error.kind(), error.to_string()));
            }
            if self.is_end {
                return Ok(0);
            }
            self.text.clear();
            self.given = 0;
            // The text that was unpacked before the fault is returned first.
            self.failed = self.step().err();
        }
        Ok(hand_out(&self.text, &mut self.given, buffer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn read(bytes: &[u8], step: usize) -> (Vec<u8>, Option<String>) {
        let mut reader = GzipMembers::new(io::BufReader::with_capacity(256 << 10, bytes));
        let (mut text, mut buffer) = (Vec::new(), vec![0; step]);
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return (text, None),
                Ok(count) => text.extend_from_slice(&buffer[..count]),
                Err(error) => return (text, Some(error.to_string())),
            }
        }
    }

    /// Text that hardly compresses, so that its members are long.
    fn noise(count: usize) -> Vec<u8> {
        let mut state = 1_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            b'a' + u8::try_from(state >> 24).unwrap() % 26
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn zeros_behind_the_last_member_are_passed_over() {
        let one = gzip(b"one\n");
        for zeros in [1, 511, 5_000] {
            let padded = [&one[..], &one, &vec![0; zeros]].concat();
            assert_eq!(read(&padded, 7), (b"one\none\n".to_vec(), None), "{zeros}");
            let more = [&padded[..], b"x"].concat();
            assert_eq!(read(&more, 7).1.unwrap(), "invalid gzip header");
        }
        assert!(read(&[0; 20], 7).1.is_some(), "zeros alone are no gzip file");
    }

    #[test]
    fn all_text_before_a_fault_is_returned_whatever_the_size_of_reads() {
        let text = noise(600_000);
        let packed = gzip(&text);
        for end in [20, 1_000, packed.len() / 2, packed.len() - 8, packed.len() - 1] {
            let (found, error) = read(&packed[..end], 1 << 20);
            assert!(text.starts_with(&found) && error.is_some(), "{end}");
            // A byte of deflate holds at most a character and a half of this text.
            assert!(found.len() + 3_000 > end, "{end}: {}", found.len());
            assert_eq!(read(&packed[..end], 7).0, found, "{end}");
        }
        let mut wrong = packed.clone();
        let at = packed.len() - 6;
        wrong[at] ^= 1;
        assert_eq!(
            read(&wrong, 999),
            (text.clone(), Some("the checksum of a member differs".to_owned()))
        );
        // A flush ends a block at a whole byte; no block begins with these bits.
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&text[..100_000]).unwrap();
        encoder.flush().unwrap();
        let wrong = [&**encoder.get_ref(), &[6], &[0; 100]].concat();
        let (found, error) = read(&wrong, 1 << 20);
        assert!(found == text[..100_000] && error.is_some(), "{}", found.len());
        assert_eq!(read(&wrong, 7), (found, error));
    }
}
