//! The minimum cost of a query: measures the time to read the cache lines that any query needs,
//! without anything else. Also the minimum time from closed files to the first query.

use crate::clock::{Latencies, ROUNDS, time};
use crate::made::{BANDS, ROWS, Random};
use crate::results::{Result, median};
use memmap2::{Advice, Mmap};
use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::time::Instant;

/// Number of entries per word of a directory.
const GROUP: usize = 64;
/// Number of fingerprints per cache line.
const LINE: usize = 32;
/// Average number of bands that a hit shares with its match, if .925 of their rows agree.
const SHARED_BANDS: usize = 12;
/// Number of bytes that one checksum covers.
const BLOCK_BYTES: usize = 4096;
const OPENINGS: usize = 25;

/// Mapped files with the size and layout of the bucket tables and meaningless content.
pub struct Tables {
    folder: PathBuf,
    documents: usize,
    /// For each band, one word per group.
    directories: Column<4>,
    /// One fingerprint per band and document. `ordinals` has the ordinal of each.
    fingerprints: Column<2>,
    ordinals: Column<4>,
    signatures: Column<ROWS>,
    /// One per document: the offset of its key. `times` has its time.
    starts: Column<4>,
    times: Column<8>,
    keys: Column<8>,
}

/// A mapped file of elements that have `N` bytes each.
struct Column<const N: usize> {
    file: File,
    map: Mmap,
}

impl<const N: usize> Column<N> {
    fn open(path: &Path) -> Result<Self> {
        let file = File::open(path)?;
        // SAFETY: this program created the file and does not write to it any more.
        let map = unsafe { Mmap::map(&file)? };
        Ok(Self { file, map })
    }

    fn all(&self) -> &[[u8; N]] {
        self.map.as_chunks().0
    }

    /// Returns an element. With `FIRST`, its block is also read and its checksum computed, as on a
    /// first access.
    #[inline]
    fn at<const FIRST: bool>(&self, at: usize) -> [u8; N] {
        if FIRST {
            let mut block = [0; BLOCK_BYTES];
            let offset = at * N / BLOCK_BYTES * BLOCK_BYTES;
            let count = self.file.read_at(&mut block, offset as u64).unwrap_or(0);
            black_box(crc32fast::hash(&block[..count]));
        }
        self.all()[at]
    }
}

impl Tables {
    pub fn new(folder: &Path, documents: usize) -> Result<Self> {
        std::fs::create_dir_all(folder)?;
        let random = &mut Random(1);
        let mut write = |name: &str, bytes: usize| -> Result<()> {
            let file = File::create_new(folder.join(name))?;
            // Writes as large as a huge page let the system cache and map the file with huge pages.
            let mut file = BufWriter::with_capacity(2 << 20, file);
            for _ in 0..bytes.div_ceil(8) {
                file.write_all(&random.number().to_le_bytes())?;
            }
            Ok(file.into_inner()?.sync_all()?)
        };
        write("directories", BANDS * documents / GROUP * 4)?;
        write("fingerprints", BANDS * documents * 2)?;
        write("ordinals", BANDS * documents * 4)?;
        write("signatures", documents * ROWS)?;
        write("starts", documents * 4)?;
        write("times", documents * 8)?;
        write("keys", documents * 16)?;
        Self::open(folder, documents)
    }

    fn open(folder: &Path, documents: usize) -> Result<Self> {
        let path = |name: &str| folder.join(name);
        Ok(Self {
            folder: folder.to_owned(),
            documents,
            directories: Column::open(&path("directories"))?,
            fingerprints: Column::open(&path("fingerprints"))?,
            ordinals: Column::open(&path("ordinals"))?,
            signatures: Column::open(&path("signatures"))?,
            starts: Column::open(&path("starts"))?,
            times: Column::open(&path("times"))?,
            keys: Column::open(&path("keys"))?,
        })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The median time in seconds from closed files to the first hit, with a warm page cache.
    /// (There are seven files; a single one would save some microseconds.)
    pub fn opened(&self) -> Result<f64> {
        let mut random = Random(3);
        let mut taken = Vec::new();
        for _ in 0..OPENINGS {
            let keys: [u64; BANDS] = std::array::from_fn(|_| random.number());
            let (seconds, again) = time(|| {
                let again = Self::open(&self.folder, self.documents)?;
                black_box(again.query::<true>(&keys, SHARED_BANDS));
                Ok(again)
            })?;
            drop(again);
            taken.push(seconds);
        }
        Ok(median(&taken))
    }

    /// Latencies of `count` misses or hits, after one warm-up pass over the same queries. The
    /// engines are measured in the same way.
    pub fn ask(&self, count: usize, hits: bool) -> Latencies {
        self.ask_once(count, hits);
        self.ask_once(count, hits)
    }

    fn ask_once(&self, count: usize, hits: bool) -> Latencies {
        let (mut random, mut seconds) = (Random(2), Vec::with_capacity(count));
        let shared = if hits { SHARED_BANDS } else { 0 };
        for _ in 0..count {
            let keys: [u64; BANDS] = std::array::from_fn(|_| random.number());
            let start = Instant::now();
            black_box(self.query::<false>(&keys, shared));
            seconds.push(start.elapsed().as_secs_f64());
        }
        Latencies::new(seconds)
    }

    /// Latencies of `count` misses with a cold page cache. All blocks of a query are requested at
    /// once, and then awaited. As in Nearkin, the files are opened again, and the directories are
    /// requested without waiting for them.
    pub fn ask_cold(&self, count: usize) -> Result<Latencies> {
        let again = Self::open(&self.folder, self.documents)?;
        again.directories.map.advise(Advice::WillNeed)?;
        again.fingerprints.map.advise(Advice::Random)?;
        let (mut random, mut seconds) = (Random(5), Vec::with_capacity(count));
        for _ in 0..count {
            let keys: [u64; BANDS] = std::array::from_fn(|_| random.number());
            let (taken, ()) = time(|| again.miss_cold(&keys))?;
            seconds.push(taken);
        }
        Ok(Latencies::new(seconds))
    }

    /// Reads, for each band, the block that holds the group of the query.
    fn miss_cold(&self, keys: &[u64; BANDS]) -> Result<()> {
        let mut blocks = [0; BANDS];
        for (band, (block, key)) in blocks.iter_mut().zip(keys).enumerate() {
            let groups = self.documents / GROUP;
            let group = band * groups + place(*key, groups);
            let jitter = usize::from(self.directories.all()[group][0] & 1);
            *block = (group * GROUP + jitter) * 2 / BLOCK_BYTES * BLOCK_BYTES;
        }
        let map = &self.fingerprints.map;
        let bytes = |block: usize| BLOCK_BYTES.min(map.len() - block);
        for block in blocks {
            map.advise_range(Advice::WillNeed, block, bytes(block))?;
        }
        for block in blocks {
            black_box(map[block]);
        }
        Ok(())
    }

    /// Hits per second with this many threads. After a warm-up pass, each thread runs all `count`
    /// queries `ROUNDS` times, and not only a share of them, so that it touches as much memory as a
    /// single thread does.
    pub fn rate(&self, threads: usize, count: usize) -> f64 {
        let mut random = Random(4);
        let keys = || std::array::from_fn(|_| random.number());
        let all: Vec<[u64; BANDS]> = std::iter::repeat_with(keys).take(count).collect();
        let together = Barrier::new(threads);
        let ask = |share: &[[u64; BANDS]]| {
            for keys in share {
                black_box(self.query::<false>(keys, SHARED_BANDS));
            }
        };
        // Each thread runs all queries, starting at a different one.
        let work = |nth: usize| {
            let mut share = all.clone();
            share.rotate_left(nth * count / threads);
            ask(&share);
            together.wait();
            let start = Instant::now();
            (0..ROUNDS).for_each(|_| ask(&share));
            start.elapsed().as_secs_f64()
        };
        let work = &work;
        let slowest = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|nth| scope.spawn(move || work(nth))).collect();
            let seconds = threads.into_iter().map(|one| one.join().unwrap_or(f64::NAN));
            seconds.fold(0.0, f64::max)
        });
        (threads * ROUNDS * count) as f64 / slowest
    }

    /// Reads, step by step, what a query must read if it shares `shared` bands with one document.
    /// Each step depends on the previous one.
    #[inline]
    fn query<const FIRST: bool>(&self, keys: &[u64; BANDS], shared: usize) -> u32 {
        let groups = self.documents / GROUP;
        let mut begins = [0; BANDS];
        for (band, (begin, key)) in begins.iter_mut().zip(keys).enumerate() {
            let group = place(*key, groups);
            // The address of the next read must depend on this word, as in a real query; one bit of
            // it is enough for that.
            let word = self.directories.at::<FIRST>(band * groups + group)[0];
            // As in a real query, a fingerprint's position in its group is predicted from its
            // value.
            let place = group * GROUP + usize::from(*key as u16) * GROUP / (1 << 16);
            let begins_at = band * self.documents + place + usize::from(word & 1);
            *begin = begins_at.min(self.last(LINE));
        }
        // One fingerprint of each line is read first, so that the reads of all lines are in flight
        // at once.
        let one = |begin| self.fingerprints.at::<FIRST>(begin)[0];
        let mut equal = black_box(begins.map(one)).into_iter().map(u32::from).sum::<u32>() & 1;
        let fingerprints = self.fingerprints.all();
        for (begin, key) in begins.into_iter().zip(keys) {
            let same = |one: &[u8; 2]| u32::from(u16::from_le_bytes(*one) == *key as u16);
            let line = begin / LINE * LINE;
            equal += fingerprints[line..line + LINE].iter().map(same).sum::<u32>();
        }
        if shared == 0 {
            return equal;
        }
        let mut found = equal;
        for begin in black_box(&begins).iter().take(shared) {
            found ^= u32::from_le_bytes(self.ordinals.at::<FIRST>(*begin));
        }
        let found = place(u64::from(found) << 32, self.documents - 1);
        let signature = self.signatures.at::<FIRST>(found);
        let rows: u32 = signature.iter().map(|row| u32::from(*row)).sum();
        let key = usize::from(self.starts.at::<FIRST>(found)[0] & 1) + found;
        let time = self.times.at::<FIRST>(found)[0];
        rows + u32::from(time) + u32::from(self.keys.at::<FIRST>(key)[0])
    }

    fn last(&self, count: usize) -> usize {
        self.fingerprints.all().len() - count
    }
}

/// Maps a key to one of `of` positions.
#[inline]
fn place(key: u64, of: usize) -> usize {
    ((u128::from(key) * of as u128) >> 64) as usize
}
