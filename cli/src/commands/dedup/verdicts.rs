//! The verdicts on lines: what is decided about each, in files of fixed size beside the ledger.

#![expect(clippy::disallowed_types, reason = "writes the work folder of a run, never an index")]

use std::fs::File;
use std::io::{self, BufReader, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use super::ledger::{runs, u32_at, u64_at};
use nearkin_kit::scratch::{self, read_exact_at};

/// The decision on a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Not a document, or not decided yet.
    None,
    Kept,
    /// Dropped as a duplicate of the kept document whose ledger entry has the number `of`. `equal`
    /// is the number of common shingles or, by the estimate, of equal rows.
    Dropped {
        of: u64,
        equal: u32,
        /// Whether both have the same shingles.
        is_whole: bool,
    },
    /// Kept, although it is similar to the document `of`: it differs in numbers, or in what is
    /// rare.
    Apart {
        of: u64,
        equal: u32,
        in_numbers: bool,
    },
}

/// Size of a stored verdict.
pub(super) const VERDICT_BYTES: u64 = 16;

impl Verdict {
    fn encode(self) -> [u8; 16] {
        let (kind, equal, of) = match self {
            Self::None => (0, 0, 0),
            Self::Kept => (1, 0, 0),
            Self::Dropped { of, equal, is_whole } => (if is_whole { 5_u64 } else { 2 }, equal, of),
            Self::Apart { of, equal, in_numbers } => (if in_numbers { 3 } else { 4 }, equal, of),
        };
        (u128::from(of) << 64 | u128::from(u64::from(equal) << 32 | kind)).to_le_bytes()
    }

    pub(super) fn decode(bytes: [u8; 16]) -> Self {
        let (of, equal) = (u64_at(&bytes, 8), u32_at(&bytes, 4));
        match u32_at(&bytes, 0) {
            1 => Self::Kept,
            kind @ (2 | 5) => Self::Dropped { of, equal, is_whole: kind == 5 },
            kind @ (3 | 4) => Self::Apart { of, equal, in_numbers: kind == 3 },
            _ => Self::None,
        }
    }
}

/// Which decisions a file holds: those of the second pass, or those that the guard let stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    Decided,
    Judged,
}

/// The verdicts on all lines, in the order of the lines.
pub(super) struct Verdicts {
    file: File,
}

impl Verdicts {
    /// Opens or creates the file in a folder, for this many lines.
    pub(super) fn open(folder: &Path, pass: Pass, lines: u64) -> io::Result<Self> {
        let name = if pass == Pass::Decided { "verdicts" } else { "judged" };
        let file = scratch::open_or_create(&folder.join(name))?;
        file.set_len(lines * VERDICT_BYTES)?;
        Ok(Self { file })
    }

    pub(super) fn write(&mut self, numbers: &[u64], verdicts: &[Verdict]) -> io::Result<()> {
        let mut written = 0;
        for run in runs(numbers) {
            let mut block: Vec<_> =
                verdicts[written..written + run.len()].iter().map(|one| one.encode()).collect();
            if run.len() > 1 && run[0] > run[1] {
                block.reverse();
            }
            let first = run.iter().min().copied().unwrap_or(0);
            self.file.seek(SeekFrom::Start(first * VERDICT_BYTES))?;
            self.file.write_all(block.as_flattened())?;
            written += run.len();
        }
        Ok(())
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Reads the verdicts on lines. Adjacent ones are read at once.
    pub(super) fn read(&self, numbers: &[u64]) -> io::Result<Vec<Verdict>> {
        let mut verdicts = Vec::with_capacity(numbers.len());
        for run in runs(numbers) {
            let first = run.iter().min().copied().unwrap_or(0);
            let bytes = run.len() * size_of::<[u8; 16]>();
            let block = read_exact_at(&self.file, first * VERDICT_BYTES, bytes)?;
            let (stored, _) = block.as_chunks();
            let is_falling = run.len() > 1 && run[0] > run[1];
            let ordered = stored.iter().map(|one| Verdict::decode(*one));
            if is_falling { verdicts.extend(ordered.rev()) } else { verdicts.extend(ordered) }
        }
        Ok(verdicts)
    }

    /// Returns a reader of all verdicts from `number` on.
    pub(super) fn read_from(mut self, number: u64) -> io::Result<BufReader<File>> {
        self.file.seek(SeekFrom::Start(number * VERDICT_BYTES))?;
        Ok(BufReader::with_capacity(256 << 10, self.file))
    }
}
