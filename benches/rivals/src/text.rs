//! Measures from text: sketching alone; and the way from text to durable, searchable documents, in
//! comparison with sketchir.

use crate::clock::{Latencies, time};
use crate::corpus::Corpus;
use crate::machine::disk_bytes;
use crate::options::Options;
use crate::results::{Result, Results, Subject};
use crate::tables::fresh_folder;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

mod nearkin_store;
mod python;
mod sketching;
mod sketchir_store;

use nearkin_store::NearkinStore;
use sketchir_store::SketchirStore;

pub const BATCH: usize = 1_000;
const QUERIES: usize = 1_000;
const REMOVED: usize = 1_000;
/// Maximum number of texts in a sketching measurement: enough that the slowest contender takes a
/// second.
const SKETCHED_MAX: usize = 20_000;

/// A store of texts: the common interface of sketchir and Nearkin.
pub trait Store: Sized {
    const NAME: &'static str;
    const DURABILITY: &'static str;
    /// Maximum number of documents that check-then-add is measured with.
    const CHECKED_MAX: usize;

    fn open(folder: &Path) -> Result<Self>;
    /// Inserts texts with numbers from `first`; durable on return.
    fn insert(&mut self, first: u32, texts: &[String]) -> Result<()>;
    fn compact(&mut self) -> Result<()>;
    /// The documents similar to a text, sketching included.
    fn query(&self, text: &str) -> Result<Vec<u32>>;
    /// Removes documents; durable on return.
    fn remove(&mut self, documents: &[u32]) -> Result<()>;
    /// Inserts the texts that have no similar stored text; durable on return.
    fn check_then_add(&mut self, first: u32, texts: &[String]) -> Result<()>;
    fn close(self) -> Result<()>;
}

/// The texts that this stage uses.
pub struct Texts {
    pub documents: Vec<String>,
    pub hits: Vec<(u32, String)>,
    pub misses: Vec<String>,
}

/// The folder in which the texts are written for the Python script.
pub fn folder(options: &Options) -> PathBuf {
    options.work.join("texts")
}

pub fn run(options: &Options, results: &mut Results) -> Result<()> {
    let corpus = Corpus::read(options)?;
    println!("{}", corpus.source);
    results.machine.push(("texts".to_owned(), corpus.source.clone()));
    let texts = Texts {
        documents: (0..options.texts).map(|number| corpus.document(number)).collect(),
        hits: corpus.hits(QUERIES, options.texts),
        misses: corpus.misses(QUERIES),
    };
    write(&texts, &folder(options))?;
    let sketched = &texts.documents[..texts.documents.len().min(SKETCHED_MAX)];
    let mut with_python = true;
    for run in 0..options.runs {
        // The machine's speed drifts, so contenders that take seconds run before and after each one
        // that takes a minute, and the median of the quick ones' results is recorded. Stage
        // `tables` does the same.
        let (mut repeated, mut once) = (Results::default(), Results::default());
        let mut measure_quick = || -> Result<()> {
            sketching::run(sketched, &mut repeated)?;
            store::<NearkinStore>(options, &texts, &mut repeated)
        };
        measure_quick()?;
        with_python = with_python && python::run(options, &mut once)?;
        measure_quick()?;
        store::<SketchirStore>(options, &texts, &mut once)?;
        measure_quick()?;
        results.note_medians(&repeated);
        results.note_medians(&once);
        if run == 0 {
            results.machine.append(&mut once.machine);
        }
        eprintln!("run {} done", run + 1);
    }
    Ok(())
}

/// Writes one text per line. A hit is preceded by the number of its document.
fn write(texts: &Texts, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let create = |name: &str| -> Result<_> {
        Ok(std::io::BufWriter::new(std::fs::File::create(folder.join(name))?))
    };
    let (mut documents, mut hits) = (create("documents.txt")?, create("hits.txt")?);
    let mut misses = create("misses.txt")?;
    for text in &texts.documents {
        writeln!(documents, "{text}")?;
    }
    for (of, text) in &texts.hits {
        writeln!(hits, "{of}\t{text}")?;
    }
    for text in &texts.misses {
        writeln!(misses, "{text}")?;
    }
    for mut file in [documents, hits, misses] {
        file.flush()?;
    }
    Ok(())
}

/// Measures all operations of one store.
fn store<S: Store>(options: &Options, texts: &Texts, results: &mut Results) -> Result<()> {
    let of = Subject {
        stage: "text",
        engine: S::NAME,
        durability: S::DURABILITY,
        documents: texts.documents.len() as u64,
    };
    let folder = fresh_folder(options, S::NAME)?;
    filled::<S>(&folder, texts, of, results)?;
    let (seconds, mut open) = time(|| {
        let open = S::open(&folder)?;
        open.query(&texts.hits[0].1)?;
        Ok(open)
    })?;
    results.note(of, "reopen to first answer, warm", "ms", seconds * 1e3);
    measure_queries(&open, texts, of, results)?;
    // The first write of a session may create a log. So this write is measured by itself, and the
    // later measurements do not include the log's creation.
    let (seconds, ()) = time(|| open.insert(texts.documents.len() as u32, &texts.misses[..1]))?;
    results.note(of, "first write of a session", "ms", seconds * 1e3);
    let removed: Vec<u32> = (0..REMOVED.min(texts.documents.len() / 2) as u32).collect();
    let (seconds, ()) = time(|| {
        open.remove(&removed)?;
        open.query(&texts.hits[1].1)?;
        Ok(())
    })?;
    results.note(of, "1,000 removals and the first query", "ms", seconds * 1e3);
    open.close()?;

    let folder = fresh_folder(options, S::NAME)?;
    let checked = &texts.documents[..texts.documents.len().min(S::CHECKED_MAX)];
    let mut open = S::open(&folder)?;
    let (seconds, ()) = time(|| {
        let mut batches = (0..).step_by(BATCH).zip(checked.chunks(BATCH));
        batches.try_for_each(|(first, texts)| open.check_then_add(first, texts))
    })?;
    results.note(of, "check, then add", "documents/s", checked.len() as f64 / seconds);
    open.close()?;
    Ok(std::fs::remove_dir_all(folder)?)
}

/// Loads a store with all documents.
fn filled<S: Store>(
    folder: &Path,
    texts: &Texts,
    of: Subject<'_>,
    results: &mut Results,
) -> Result<()> {
    let documents = texts.documents.len() as f64;
    let mut open = S::open(folder)?;
    let (seconds, ()) = time(|| {
        let mut batches = (0..).step_by(BATCH).zip(texts.documents.chunks(BATCH));
        batches.try_for_each(|(first, texts)| open.insert(first, texts))
    })?;
    results.note(of, "text to searchable and durable", "documents/s", documents / seconds);
    let (seconds, ()) = time(|| open.compact())?;
    results.note(of, "compact", "s", seconds);
    open.close()?;
    results.note(of, "disk", "bytes/document", disk_bytes(folder)? as f64 / documents);
    Ok(())
}

/// Queries of both kinds; the near-duplicates run once before as a warm-up.
fn measure_queries<S: Store>(
    open: &S,
    texts: &Texts,
    of: Subject<'_>,
    results: &mut Results,
) -> Result<()> {
    ask(open, texts.hits.iter().map(|(_, text)| text))?;
    let (latencies, answers) = ask(open, texts.hits.iter().map(|(_, text)| text))?;
    let recalled =
        texts.hits.iter().zip(&answers).filter(|((of, _), answer)| answer.contains(of)).count();
    let p50 = latencies.quantile_us(0.5);
    results.note(of, "near-duplicate p50, sketching included", "us", p50);
    let p99 = latencies.quantile_us(0.99);
    results.note(of, "near-duplicate p99, sketching included", "us", p99);
    let recalled = recalled as f64 / texts.hits.len() as f64 * 100.0;
    results.note(of, "near-duplicates that find their document", "%", recalled);
    let latencies = ask(open, texts.misses.iter())?.0;
    results.note(of, "fresh p50, sketching included", "us", latencies.quantile_us(0.5));
    Ok(())
}

fn ask<'a, S: Store>(
    open: &S,
    queries: impl Iterator<Item = &'a String>,
) -> Result<(Latencies, Vec<Vec<u32>>)> {
    let (mut seconds, mut answers) = (Vec::new(), Vec::new());
    for text in queries {
        let start = Instant::now();
        let answer = open.query(text)?;
        seconds.push(start.elapsed().as_secs_f64());
        answers.push(answer);
    }
    Ok((Latencies::new(seconds), answers))
}
