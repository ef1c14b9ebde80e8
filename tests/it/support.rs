//! Shared by the tests: scratch indexes, signatures, random numbers, and the model with which
//! answers are compared. The model answers queries by brute force.

use nearkin::{
    Answer, ErrorKind, Index, Maintenance, Options, Params, Result, Shingles, Signature, Sketcher,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// A temporary folder, and the path of an index in it.
pub(crate) struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// The path for the test's index. Nothing exists there yet.
    pub(crate) fn dir(&self) -> PathBuf {
        self.folder.path().join("i.nearkin")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn create(&self) -> Index {
        Index::create(self.dir(), &params(), inline()).unwrap()
    }

    pub(crate) fn open(&self) -> Index {
        Index::open(self.dir(), inline()).unwrap()
    }
}

/// Small signatures of sets: 64 rows in 16 bands of 4.
pub(crate) fn params() -> Params {
    Params::for_threshold(0.5).shingles(Shingles::Items).hashes(64).bands(16, 4).build().unwrap()
}

/// No maintenance thread, so that every run does the same steps.
pub(crate) fn inline() -> Options {
    Options::default().maintenance(Maintenance::Inline)
}

/// The signature of a run of integers. Two runs of equal length that are shifted by a known
/// distance have a known similarity.
pub(crate) fn run(begin: u32, count: u32) -> Signature {
    sign(&Sketcher::new(&params()), begin, count)
}

pub(crate) fn sign(sketcher: &Sketcher, begin: u32, count: u32) -> Signature {
    sketcher.items(begin..begin + count).unwrap()
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        u32::try_from(self.next() % u64::from(end)).unwrap()
    }
}

/// The kind of the error of a failed call.
pub(crate) fn kind<T>(result: Result<T>) -> ErrorKind {
    match result {
        Ok(_) => panic!("that should have failed"),
        Err(error) => error.kind(),
    }
}

/// The message of a failed call, whose error must be of this kind.
pub(crate) fn message<T>(result: Result<T>, kind: ErrorKind) -> String {
    match result {
        Ok(_) => panic!("that should have failed"),
        Err(error) => {
            assert_eq!(error.kind(), kind, "{error}");
            error.to_string()
        }
    }
}

/// The key and the equal rows of each match.
pub(crate) fn keys(answer: &Answer) -> Vec<(String, u32)> {
    let text = |key: &[u8]| String::from_utf8_lossy(key).into_owned();
    answer.matches.iter().map(|found| (text(&found.key), found.equal_rows)).collect()
}

/// Waits until a condition holds that another thread brings about.
pub(crate) fn eventually(done: impl Fn() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < Duration::from_secs(60), "that should have happened by now");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Asserts that `verify` finds no problem.
pub(crate) fn assert_whole(index: &Index) {
    let found = index.verify().unwrap();
    assert!(found.problems.is_empty(), "{:?}", found.problems);
    assert_eq!(found.documents, index.len());
}

/// Signature and payload.
pub(crate) type Version = (Signature, Vec<u8>);

/// The live documents in a plain map.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Model {
    pub(crate) documents: BTreeMap<Vec<u8>, Version>,
}

impl Model {
    pub(crate) fn insert(&mut self, key: impl AsRef<[u8]>, signature: &Signature, payload: &[u8]) {
        self.documents.insert(key.as_ref().to_vec(), (signature.clone(), payload.to_vec()));
    }

    pub(crate) fn remove(&mut self, key: impl AsRef<[u8]>) {
        self.documents.remove(key.as_ref());
    }

    /// The documents of an index.
    pub(crate) fn read(index: &Index) -> Self {
        let mut model = Self::default();
        let snapshot = index.snapshot();
        for document in snapshot.iter() {
            let document = document.unwrap();
            let version = (document.signature, document.payload);
            let before = model.documents.insert(document.key, version);
            assert_eq!(before, None, "a key lives twice");
        }
        assert_eq!(u64::try_from(model.documents.len()).unwrap(), snapshot.len());
        model
    }

    /// The expected matches: all documents that share a band and have enough equal rows for the
    /// threshold, ordered by equal rows, then by key.
    pub(crate) fn query(
        &self,
        params: &Params,
        signature: &Signature,
        threshold: f64,
        limit: usize,
    ) -> Vec<(String, u32)> {
        let mut found: Vec<(u32, &[u8])> = Vec::new();
        for (key, (other, _)) in &self.documents {
            let (a, b) = (signature.as_bytes(), other.as_bytes());
            let width = params.band_bytes();
            let bands = a.chunks(width).zip(b.chunks(width)).take(params.bands());
            let equal = equal_rows(params, signature, other);
            if bands.into_iter().any(|(a, b)| a == b) && equal >= params.equal_rows_min(threshold) {
                found.push((equal, key));
            }
        }
        found.sort_by_key(|(equal, key)| (std::cmp::Reverse(*equal), *key));
        found.truncate(limit);
        let text = |key: &[u8]| String::from_utf8_lossy(key).into_owned();
        found.into_iter().map(|(equal, key)| (text(key), equal)).collect()
    }
}

/// Counts equal rows one by one.
pub(crate) fn equal_rows(params: &Params, a: &Signature, b: &Signature) -> u32 {
    let width = params.signature_bytes() / params.hashes();
    let rows = a.as_bytes().chunks(width).zip(b.as_bytes().chunks(width));
    u32::try_from(rows.filter(|(a, b)| a == b).count()).unwrap()
}

/// A file on disk.
#[derive(Debug, PartialEq)]
pub(crate) struct Listed {
    path: PathBuf,
    modified: SystemTime,
    bytes: Vec<u8>,
}

/// All files below a folder, with content and modification time.
pub(crate) fn listing(dir: &Path) -> Vec<Listed> {
    let mut listed = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let (path, metadata) = entry.map(|e| (e.path(), e.metadata().unwrap())).unwrap();
        let modified = metadata.modified().unwrap();
        if metadata.is_dir() {
            // Lists the modification time of the folder, too: it changes even if a name is created
            // and removed again.
            listed.push(Listed { path: path.clone(), modified, bytes: Vec::new() });
            listed.extend(listing(&path));
        } else {
            listed.push(Listed { bytes: std::fs::read(&path).unwrap(), path, modified });
        }
    }
    listed.sort_by(|a, b| a.path.cmp(&b.path));
    listed
}

/// A command that runs one test of this binary in another process. That test does nothing unless
/// the environment variable is set.
pub(crate) fn again(test: &str, variable: &str, value: &Path) -> std::process::Command {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(variable, value);
    command
}
