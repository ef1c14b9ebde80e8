//! Reads a file block by block. Holes are zeros, and are not read.

#![expect(clippy::disallowed_types, reason = "reads the user's files, never the index's")]

use std::fs::File;
use std::io;
use std::ops::Range;

use nearkin_kit::scratch;

const BLOCK_BYTES: usize = 256 << 10;

/// The first bytes of a file, block by block: equal blocks for equal bytes, wherever holes are.
pub(crate) struct Blocks<'a> {
    file: &'a File,
    at: u64,
    end: u64,
    /// The data at the place that is read now, or next. All before it is hole.
    data: Range<u64>,
    block: Vec<u8>,
}

impl<'a> Blocks<'a> {
    /// Begins with the first byte, wherever the file was read before.
    pub(crate) fn new(file: &'a File, bytes: u64) -> Self {
        let block = vec![0; usize::try_from(bytes).unwrap_or(BLOCK_BYTES).min(BLOCK_BYTES)];
        // In one block, looking for holes is no faster than reading them.
        let data = if bytes > block.len() as u64 { 0..0 } else { 0..u64::MAX };
        Self { file, at: 0, end: bytes, data, block }
    }

    /// The next block; an empty one at the end.
    pub(crate) fn next(&mut self) -> io::Result<&[u8]> {
        let wanted = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let wanted = wanted.min(self.block.len());
        let mut filled = 0;
        while filled < wanted {
            if self.at == self.data.end {
                self.data = next_data(self.file, self.at)?.unwrap_or(self.end..u64::MAX);
            }
            let is_hole = self.at < self.data.start;
            let most = if is_hole { self.data.start } else { self.data.end } - self.at;
            let part = &mut self.block[filled..wanted];
            let most = usize::try_from(most).unwrap_or(usize::MAX).min(part.len());
            let part = &mut part[..most];
            let count = if is_hole {
                part.fill(0);
                part.len()
            } else {
                match scratch::read_at(self.file, part, self.at) {
                    Ok(0) => break,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
                    read => read?,
                }
            };
            filled += count;
            self.at += count as u64;
        }
        Ok(&self.block[..filled])
    }

    /// Whether all bytes were read. If not, the file is shorter now.
    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.end
    }
}

/// The next data from a place on. `None` if the rest of the file is hole.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "macos", target_os = "freebsd"))]
fn next_data(file: &File, at: u64) -> io::Result<Option<Range<u64>>> {
    use rustix::fs::{SeekFrom, seek};
    use rustix::io::Errno;
    let start = match seek(file, SeekFrom::Data(at)) {
        Err(Errno::NXIO) => return Ok(None),
        // The file system does not tell holes.
        Err(Errno::INVAL | Errno::NOTSUP) => return Ok(Some(at..u64::MAX)),
        start => start?,
    };
    Ok(Some(start..seek(file, SeekFrom::Hole(start))?))
}

#[cfg(not(any(
    target_os = "linux",
    target_os = "android",
    target_os = "macos",
    target_os = "freebsd"
)))]
#[expect(clippy::unnecessary_wraps, reason = "other systems can fail")]
fn next_data(_: &File, at: u64) -> io::Result<Option<Range<u64>>> {
    Ok(Some(at..u64::MAX))
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "scratch files are no index")]

    use super::*;
    use std::os::unix::fs::FileExt as _;

    /// The bytes that this thread has read so far.
    fn read_so_far() -> u64 {
        let text = std::fs::read_to_string("/proc/thread-self/io").unwrap();
        let count = text.lines().find_map(|line| line.strip_prefix("rchar: "));
        count.unwrap().parse().unwrap()
    }

    #[test]
    fn holes_are_zeros_and_are_not_read() {
        const BYTES: u64 = 8 << 20;
        // Where data is; the end of the file is hole, data, or no whole block.
        let cases: [(&[u64], u64); 5] =
            [(&[], 0), (&[0], 0), (&[1 << 20, 5_000_001], 0), (&[BYTES - 10], 0), (&[77], 5)];
        for (places, more) in cases {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("file");
            std::fs::write(&path, "").unwrap();
            let file = File::options().read(true).write(true).open(&path).unwrap();
            file.set_len(BYTES + more).unwrap();
            for at in places {
                file.write_all_at(b"some data!", *at).unwrap();
            }
            let expected = std::fs::read(&path).unwrap();
            let before = read_so_far();
            let mut blocks = Blocks::new(&file, BYTES + more);
            let mut found = Vec::new();
            loop {
                let block = blocks.next().unwrap();
                if block.is_empty() {
                    break;
                }
                found.extend_from_slice(block);
            }
            assert!(blocks.is_at_end() && found == expected, "{places:?}");
            let read = read_so_far() - before;
            assert!(read < 2 << 20, "{places:?}: {read} bytes read");
        }
    }
}
