//! What the C interface costs beside Rust: the same job by both, in turns, in one process. Run it
//! on one core: `taskset -c 0 cargo bench --bench overhead`. The optional argument is the number of
//! documents.
#![expect(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(unsafe_code, reason = "it calls the C interface as C code does")]

use engine::{
    Batch, Edit, Index, Maintenance, Options, Params, Reader, Shingles, Signature, Sketcher,
};
use nearkin::batch::{nk_batch, nk_batch_clear, nk_batch_insert, nk_batch_new};
use nearkin::find::{nk_find_signature, nk_find_text};
use nearkin::index::{nk_index, nk_index_temporary, nk_index_write};
use nearkin::nk_free;
use nearkin::params::{nk_options, nk_options_from_text, nk_params, nk_params_from_text};
use nearkin::query::{nk_query, nk_query_from_text};
use nearkin::readable::{nk_readable, nk_reader, nk_reader_open};
use nearkin::results::{nk_answer, nk_answer_view};
use nearkin::sketch::{nk_signature, nk_sketch_text};
use nearkin::status::nk_status;
use std::hint::black_box;
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

const ROUNDS: usize = 41;
/// A round of queries takes half a millisecond: a loaded machine needs many.
const QUERY_ROUNDS: usize = 1_001;
const BATCH: usize = 1_000;
const QUERIES: usize = 500;
const THRESHOLD: f64 = 0.7;

/// Pseudo-random numbers (splitmix64).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Texts of 100 words, of which every tenth repeats the one before with a few other words.
fn texts(count: usize) -> Vec<String> {
    let mut state = 1;
    let mut all: Vec<Vec<u64>> = Vec::new();
    for at in 0..count {
        let mut words = match all.last() {
            Some(before) if at % 10 == 9 => before.clone(),
            _ => (0..100).map(|_| next(&mut state) % 20_000).collect(),
        };
        words[at % 100] = next(&mut state) % 20_000;
        all.push(words);
    }
    let text = |words: &Vec<u64>| {
        words.iter().map(|word| format!("w{word:x}")).collect::<Vec<_>>().join(" ")
    };
    all.iter().map(text).collect()
}

fn ok(status: nk_status) {
    assert!(status == nk_status::NK_OK, "a call failed: {status:?}");
}

/// The same documents for both sides.
struct Documents {
    keys: Vec<Vec<u8>>,
    texts: Vec<String>,
    signatures: Vec<Signature>,
    handles: Vec<*mut nk_signature>,
    params: Params,
    c_params: *mut nk_params,
    c_options: *mut nk_options,
}

impl Documents {
    fn new(count: usize) -> engine::Result<Self> {
        let params = Params::for_threshold(THRESHOLD).shingles(Shingles::Words(2)).build()?;
        let texts = texts(count);
        let sketcher = Sketcher::new(&params);
        let signatures = texts.iter().map(|text| sketcher.text(text));
        let signatures = signatures.collect::<engine::Result<_>>()?;
        let keys = (0..count).map(|at| format!("key-{at:08}").into_bytes()).collect();
        let (mut c_params, mut c_options) = (null_mut(), null_mut());
        let of = |text: &'static str| (text.as_ptr().cast(), text.len());
        let (data, len) = of("threshold=0.7,shingles=words:2");
        // SAFETY: pointers to variables of this function, and texts with their lengths.
        ok(unsafe { nk_params_from_text(data, len, &raw mut c_params, null_mut()) });
        let (data, len) = of("maintenance=inline");
        // SAFETY: as above.
        ok(unsafe { nk_options_from_text(data, len, &raw mut c_options, null_mut()) });
        let handles = Vec::new();
        Ok(Self { keys, texts, signatures, handles, params, c_params, c_options })
    }

    fn sketch_in_c(&self, of: *mut nk_readable, at: usize) -> *mut nk_signature {
        let (text, mut signature) = (&self.texts[at], null_mut());
        // SAFETY: as above.
        ok(unsafe {
            let data = text.as_ptr().cast();
            nk_sketch_text(of, data, text.len(), &raw mut signature, null_mut())
        });
        signature
    }

    fn rust_index(&self) -> engine::Result<Index> {
        Index::temporary(&self.params, Options::default().maintenance(Maintenance::Inline))
    }

    fn c_index(&self) -> *mut nk_index {
        let mut index = null_mut();
        // SAFETY: as above.
        ok(unsafe {
            nk_index_temporary(self.c_params, self.c_options, &raw mut index, null_mut())
        });
        index
    }

    fn fill_by_rust(&self, index: &Index) -> engine::Result<Duration> {
        let mut batch = Batch::new();
        let begin = Instant::now();
        for (keys, signatures) in self.keys.chunks(BATCH).zip(self.signatures.chunks(BATCH)) {
            for (key, signature) in keys.iter().zip(signatures) {
                batch.push(Edit::insert(key, signature));
            }
            index.write(&batch)?;
            batch.clear();
        }
        Ok(begin.elapsed())
    }

    fn fill_by_c(&self, index: *mut nk_index) -> Duration {
        // Through a pointer, as a program calls a library.
        let insert: unsafe extern "C" fn(_, _, _, _, _, _, _, _) -> _ = black_box(nk_batch_insert);
        let mut batch: *mut nk_batch = null_mut();
        // SAFETY: as above.
        ok(unsafe { nk_batch_new(&raw mut batch, null_mut()) });
        let begin = Instant::now();
        for (keys, handles) in self.keys.chunks(BATCH).zip(self.handles.chunks(BATCH)) {
            for (key, signature) in keys.iter().zip(handles) {
                let (data, len) = (key.as_ptr().cast(), key.len());
                // SAFETY: as above.
                ok(unsafe { insert(batch, data, len, *signature, null(), 0, 0, null_mut()) });
            }
            // SAFETY: as above; the results that are not wanted are null.
            ok(unsafe { nk_index_write(index, batch, null_mut(), 0, null_mut(), null_mut()) });
            // SAFETY: as above.
            ok(unsafe { nk_batch_clear(batch, null_mut()) });
        }
        let took = begin.elapsed();
        ok(nk_free(batch.cast()));
        took
    }
}

/// A place for what an answer shows.
type View = std::mem::MaybeUninit<nk_answer_view>;

/// Frees an answer; the number of its matches.
fn matches(answer: *mut nk_answer, view: &View) -> usize {
    // SAFETY: the search succeeded, so that the view is there.
    let count = unsafe { view.assume_init_ref() }.matches_len;
    ok(nk_free(answer.cast()));
    count
}

/// The median of the rounds, in nanoseconds for each of `count`.
fn median(mut rounds: Vec<Duration>, count: usize) -> f64 {
    rounds.sort_unstable();
    rounds[rounds.len() / 2].as_secs_f64() * 1e9 / count as f64
}

fn report(job: &str, rust: Vec<Duration>, c: Vec<Duration>, count: usize) {
    let (rust, c) = (median(rust, count), median(c, count));
    println!("{job:<28} {rust:>9.0} ns {c:>9.0} ns  {:>+6.1} %", (c / rust - 1.0) * 100.0);
}

/// Measures both sides in turns, whose order changes; both must come to the same number.
fn in_turns(
    job: &str,
    count: usize,
    rust: impl Fn() -> engine::Result<usize>,
    c: impl Fn() -> usize,
) -> engine::Result<()> {
    let (mut by_rust, mut by_c) = (Vec::new(), Vec::new());
    for round in 0..QUERY_ROUNDS * 2 {
        let begin = Instant::now();
        if round % 4 == 0 || round % 4 == 3 {
            black_box(rust()?);
            by_rust.push(begin.elapsed());
        } else {
            black_box(c());
            by_c.push(begin.elapsed());
        }
    }
    assert_eq!(rust()?, c(), "{job}: both find the same");
    report(job, by_rust, by_c, count);
    Ok(())
}

fn main() -> engine::Result<()> {
    let count = std::env::args().skip(1).find_map(|count| count.parse().ok()).unwrap_or(100_000);
    let mut documents = Documents::new(count)?;
    let (index, c_index) = (documents.rust_index()?, documents.c_index());
    documents.handles = (0..count).map(|at| documents.sketch_in_c(c_index.cast(), at)).collect();
    println!("{count} documents; one operation by Rust, by C, overhead");

    let (mut by_rust, mut by_c) = (Vec::new(), Vec::new());
    documents.fill_by_rust(&index)?;
    documents.fill_by_c(c_index);
    for _ in 0..ROUNDS {
        by_rust.push(documents.fill_by_rust(&documents.rust_index()?)?);
        let index = documents.c_index();
        by_c.push(documents.fill_by_c(index));
        ok(nk_free(index.cast()));
    }
    report("insert in batches of 1,000", by_rust, by_c, count);

    // Queries by both read the same files.
    index.compact()?;
    let folder = std::env::temp_dir().join(format!("nearkin-overhead-{}", std::process::id()));
    index.backup(&folder)?;
    let reader = Reader::open(&folder, Options::default())?;
    let mut c_reader: *mut nk_reader = null_mut();
    let path = folder.to_string_lossy();
    // SAFETY: a path with its length, and a pointer to a variable of this function.
    ok(unsafe {
        nk_reader_open(path.as_ptr().cast(), path.len(), null(), &raw mut c_reader, null_mut())
    });
    ask(&documents, &reader, c_reader.cast())?;
    std::fs::remove_dir_all(&folder).map_err(engine::Error::other)
}

fn ask(documents: &Documents, index: &Reader, of: *mut nk_readable) -> engine::Result<()> {
    let count = documents.keys.len();
    let mut query: *mut nk_query = null_mut();
    let settings = format!("threshold={THRESHOLD},limit=10");
    // SAFETY: bytes of a string, and a pointer to a variable of this function.
    ok(unsafe {
        nk_query_from_text(settings.as_ptr().cast(), settings.len(), &raw mut query, null_mut())
    });
    let sketcher = index.sketcher();
    let step = count / QUERIES.min(count);
    let some = || (0..count).step_by(step).take(QUERIES);
    // Made for the queries, as a program does.
    let signatures: Vec<Signature> =
        some().map(|at| sketcher.text(&documents.texts[at])).collect::<engine::Result<_>>()?;
    let handles: Vec<_> = some().map(|at| documents.sketch_in_c(of, at)).collect();
    let find: unsafe extern "C" fn(_, _, _, _, _, _) -> _ = black_box(nk_find_signature);
    let by_rust = || {
        signatures.iter().try_fold(0, |sum, signature| {
            let query = index.query(signature).threshold(THRESHOLD).limit(10);
            Ok(sum + query.run()?.matches.len())
        })
    };
    let by_c = || {
        handles.iter().fold(0, |sum, signature| {
            let (mut answer, mut view) = (null_mut(), View::uninit());
            // SAFETY: a pointer to a variable of this function, and live handles.
            ok(unsafe {
                find(of, *signature, query, &raw mut answer, view.as_mut_ptr(), null_mut())
            });
            sum + matches(answer, &view)
        })
    };
    in_turns("query of a signature", some().count(), by_rust, by_c)?;
    let find: unsafe extern "C" fn(_, _, _, _, _, _, _) -> _ = black_box(nk_find_text);
    let by_rust = || {
        some().try_fold(0, |sum, at| {
            let signature = sketcher.text(&documents.texts[at])?;
            let query = index.query(&signature).threshold(THRESHOLD).limit(10);
            Ok(sum + query.run()?.matches.len())
        })
    };
    let by_c = || {
        some().fold(0, |sum, at| {
            let (mut answer, mut view) = (null_mut(), View::uninit());
            let text = &documents.texts[at];
            // SAFETY: as above, and a text with its length.
            ok(unsafe {
                let data = text.as_ptr().cast();
                let (answer, view) = (&raw mut answer, view.as_mut_ptr());
                find(of, data, text.len(), query, answer, view, null_mut())
            });
            sum + matches(answer, &view)
        })
    };
    in_turns("query of a text", some().count(), by_rust, by_c)?;
    Ok(())
}
