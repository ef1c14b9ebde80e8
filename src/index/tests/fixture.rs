//! How `tests/fixtures/v1` was made. The fixture is never regenerated; these tests show that the
//! code that made it would write the same documents today. To make a new one, set `NEARKIN_FIXTURE`
//! to a folder.

use crate::index::state::options::{Durability, Maintenance};
use crate::storage::{Disk, OpenMode, Storage, create_dirs};
use crate::{Batch, Index, Normalise, Options, Params, Shingles, Signature};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const TIME: u64 = 1_700_000_000_000;

fn params(normalise: Normalise) -> Params {
    let builder = Params::for_threshold(0.7).shingles(Shingles::Words(3));
    builder.normalise(normalise).hashes(64).bands(12, 5).build().expect("sound")
}

/// Small logs, since the default size is 1 MiB.
fn options(random: u64) -> Options {
    Options {
        durability: Durability::OsBuffer,
        maintenance: Maintenance::Inline,
        wal_bytes_min: 8 << 10,
        wal_bytes_max: 8 << 10,
        clock: Arc::new(|| TIME),
        random: Arc::new(move || random),
        ..Options::default()
    }
}

/// Key and text of the first documents of `tests/data/pydocs.jsonl`, which holds two versions of
/// each.
fn corpus() -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/pydocs.jsonl");
    let file = Disk::default().open(&path, OpenMode::Read).expect("the corpus");
    let mut bytes = vec![0; usize::try_from(file.bytes().expect("a length")).expect("small")];
    file.read_at(&mut bytes, 0).expect("read");
    let text = String::from_utf8(bytes).expect("text");
    let document = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let field = |name: &str| value[name].as_str().expect("a string").to_owned();
        (field("id"), field("text"))
    };
    let lines: Vec<&str> = text.lines().collect();
    let (older, newer) = lines.split_at(lines.len() / 2);
    let pairs = older.iter().zip(newer).take(30);
    pairs.flat_map(|(one, other)| [document(one), document(other)]).collect()
}

/// The corpus in typographic form: curly quotes, dashes, ligatures.
fn printed() -> Vec<(String, String)> {
    let set = |text: &str| {
        let quotes = text.replace('\'', "\u{2019}").replace('"', "\u{201d}");
        quotes.replace('-', "\u{2013}").replace("fi", "\u{fb01}")
    };
    corpus().into_iter().map(|(key, text)| (key, set(&text))).collect()
}

/// The expected content of an index.
struct Kept {
    params: Params,
    documents: BTreeMap<String, (Signature, Vec<u8>)>,
}

impl Kept {
    fn new(normalise: Normalise) -> Self {
        Self { params: params(normalise), documents: BTreeMap::new() }
    }

    /// A batch that inserts documents under their keys. The payload is the beginning of the text.
    fn insert(&mut self, documents: &[(String, String)]) -> Batch {
        let sketcher = crate::Sketcher::new(&self.params);
        documents.iter().fold(Batch::new(), |batch, (key, text)| {
            let signature = sketcher.text(text).expect("it has words");
            let payload = text.as_bytes()[..20].to_vec();
            let batch = batch.insert_with_payload(key, &signature, &payload);
            self.documents.insert(key.clone(), (signature, payload));
            batch
        })
    }

    fn remove(&mut self, documents: &[(String, String)], numbers: &[usize]) -> Batch {
        numbers.iter().fold(Batch::new(), |batch, number| {
            let (key, _) = &documents[*number];
            self.documents.remove(key);
            batch.remove(key)
        })
    }

    /// A line per document: index, key, time, shingle count, signature and payload in hex.
    fn lines(&self, name: &str) -> String {
        let hex =
            |bytes: &[u8]| bytes.iter().fold(String::new(), |text, b| format!("{text}{b:02x}"));
        let mut out = String::new();
        for (key, (signature, payload)) in &self.documents {
            let (count, signature) = (signature.shingle_count(), hex(signature.as_bytes()));
            let payload = hex(payload);
            writeln!(out, "{name}\t{key}\t{TIME}\t{count}\t{signature}\t{payload}").expect("fits");
        }
        out
    }
}

/// Two segments, the first with a dead file.
fn fill(
    dir: &Path,
    random: u64,
    documents: &[(String, String)],
    kept: &mut Kept,
) -> crate::Result<Index> {
    let index = Index::create(dir, &kept.params, options(random))?;
    index.write(kept.insert(&documents[..26]))?;
    index.flush()?;
    index.write(kept.insert(&documents[26..40]))?;
    index.flush()?;
    index.write(kept.remove(documents, &[2, 9, 17]))?;
    index.flush()?;
    Ok(index)
}

/// One closed index, and one that a killed process left. The log of the latter has two synced
/// changes, the idle record that confirms them, and one more change.
fn make(folder: &Path) -> crate::Result<String> {
    let documents = corpus();
    let mut kept = Kept::new(Normalise::Case);
    let dir = folder.join("closed.nearkin");
    fill(&dir, 0x0123_4567_89AB_CDEF, &documents, &mut kept)?.close()?;
    let mut expected = kept.lines("closed");

    let mut kept = Kept::new(Normalise::Case);
    let dir = folder.join("killed.nearkin");
    let index = fill(&dir, 0x0FED_CBA9_8765_4321, &documents, &mut kept)?;
    // A replacement: the text of another document under the key of a stored one.
    let replacement = (documents[5].0.clone(), documents[50].1.clone());
    index.write(kept.insert(&[documents[40].clone(), replacement]))?;
    index.write(kept.remove(&documents, &[30]))?;
    index.sync()?;
    index.write(kept.insert(&documents[41..43]))?;
    drop(index);
    expected.push_str(&kept.lines("killed"));
    Ok(expected)
}

/// A closed index with normalisation `fold`.
fn make_fold(folder: &Path) -> crate::Result<String> {
    let mut kept = Kept::new("fold,diacritics".parse()?);
    let dir = folder.join("fold.nearkin");
    fill(&dir, 0x0123_4567_89AB_CDEF, &printed(), &mut kept)?.close()?;
    Ok(kept.lines("fold"))
}

#[test]
fn the_documents_of_the_fixture_can_be_made_again() {
    if !Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").exists() {
        println!("SKIPPED: there is no tests/data here; it is in the repository");
        return;
    }
    let scratch = tempfile::tempdir().expect("a folder");
    let wanted = std::env::var_os("NEARKIN_FIXTURE").map(PathBuf::from);
    let folder = wanted.clone().unwrap_or_else(|| scratch.path().to_path_buf());
    let disk = Disk::default();
    let lists = [("expected.tsv", make(&folder)), ("fold.tsv", make_fold(&folder))];
    for (name, expected) in lists {
        let expected = expected.expect("made");
        if wanted.is_some() {
            create_dirs(&disk, &folder).expect("made");
            let file = disk.open(&folder.join(name), OpenMode::Create).expect("made");
            file.write_at(expected.as_bytes(), 0).expect("written");
            continue;
        }
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/v1").join(name);
        let file = disk.open(&path, OpenMode::Read).expect("the fixture");
        let mut bytes = vec![0; usize::try_from(file.bytes().expect("a length")).expect("small")];
        file.read_at(&mut bytes, 0).expect("read");
        assert_eq!(expected.as_bytes(), bytes, "{name}");
    }
}
