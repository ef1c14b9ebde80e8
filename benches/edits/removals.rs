//! What pipelines remove wrongly, and which copies they miss. Writes the tables of
//! `docs/reports/REMOVALS.md`.
//!
//! `cargo bench --bench edits -- removals`; a number behind it is the seed of made documents and
//! hash functions. `benches/removals/run.py` runs the programs of others before: see `programs.rs`.

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;

use nearkin::{
    Admit, Alike, Decision, Dedup, Guard, Index, Judge, Judgement, Newcomer, Original, Params,
    Preset, Sketcher, Suspects,
};

use super::brute_force::{Verdict, judge};
use super::made::{self, LostAndLeft, Made};
use super::programs::{self, Program};
use super::settings::{self, Setting};
use super::support::corpora;
use super::{key, options, support_code};

const PAGE: &str = "docs/reports/REMOVALS.md";
const SEED: u64 = 41;
/// Number of made letters, without the copies of some.
const LETTERS: usize = 2_000;
/// Minimum number of words of a document. Programs treat shorter ones by rules of their own.
const WORDS_MIN: usize = 10;
/// Corpora in the folder of `NEARKIN_DATA`, and the maximum number of documents of each. Half of
/// the Debian descriptions are of a later release, mostly of the same packages.
const CORPORA: [(&str, &str, usize); 5] = [
    ("Reuters articles", "reuters21578", 6_000),
    ("Debian descriptions, 2 releases", "debian_descriptions", 6_000),
    ("Debian copyright files", "debian_copyright", 665),
    ("RFCs", "rfc_2k", 400),
    ("Python documentation, 2 releases", "python_docs", 1_004),
];

struct Corpus {
    name: &'static str,
    documents: Documents,
}

enum Documents {
    Found(Vec<String>),
    Made(Made),
}

impl Corpus {
    fn title(&self) -> String {
        format!("### {}: {} documents\n\n", self.name, self.texts().len())
    }

    fn texts(&self) -> &[String] {
        match &self.documents {
            Documents::Found(texts) => texts,
            Documents::Made(made) => &made.texts,
        }
    }
}

/// What a pipeline did to a corpus.
#[derive(Clone)]
struct Line {
    pipeline: String,
    verdict: Verdict,
    /// See [`Made::lost_and_left`].
    lost_and_left: Option<LostAndLeft>,
}

/// How a pipeline decides what to remove.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Rule {
    /// One document stays of each connected component of documents that share a bucket.
    Union,
    /// A document goes if its estimated similarity to a kept one reaches the threshold.
    Estimate,
    /// The estimate finds, the shingles decide.
    Confirmed,
    /// The same, and what differs only in numbers or in what is rare is kept.
    Guarded,
    /// The shingles decide, with candidates from below the threshold.
    Exact,
    /// What this program has kept.
    Program(Program),
}

struct Pipeline {
    name: String,
    setting: Setting,
    rule: Rule,
}

/// Runs all pipelines and writes the page.
pub(crate) fn write(folder: &Path) -> Result<(), Box<dyn Error>> {
    let seed = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(SEED);
    println!("seed {seed}");
    let corpora = corpora(folder, seed)?;
    if std::env::args().any(|argument| argument == "corpora") {
        return programs::write_corpora(&corpora.iter().map(Corpus::texts).collect::<Vec<_>>());
    }
    // A thread per corpus.
    let judged = |at: usize| judged((at, &corpora[at]), seed).map_err(|error| error.to_string());
    let all: Vec<Vec<Line>> = std::thread::scope(|scope| {
        let numbers = 0..corpora.len();
        let threads: Vec<_> = numbers.map(|at| scope.spawn(move || judged(at))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect::<Result<_, String>>()
    })?;
    let titled = corpora.iter().zip(&all);
    let tables = titled.map(|(corpus, lines)| format!("{}{}", corpus.title(), table(lines)));
    let tables: String = tables.collect();
    let documents: usize = corpora.iter().map(|corpus| corpus.texts().len()).sum();
    let title = format!("All {} corpora, {documents} documents (seed {seed}):\n", corpora.len());
    let text = format!("{title}\n{}## By corpus\n\n{tables}", table(&sums(&all)));
    corpora::write_tables(PAGE, "benches/edits -- removals", &text)
}

/// Runs all pipelines on a corpus.
fn judged((number, corpus): (usize, &Corpus), seed: u64) -> Result<Vec<Line>, Box<dyn Error>> {
    let mut lines = Vec::new();
    for pipeline in pipelines(seed)? {
        lines.push(run(pipeline, (number, corpus))?);
    }
    println!("{}{}", corpus.title(), table(&lines));
    Ok(lines)
}

fn corpora(folder: &Path, seed: u64) -> Result<Vec<Corpus>, Box<dyn Error>> {
    let plain = |path: &str| super::read(path).and_then(|text| texts_of(&text, usize::MAX));
    let licences = plain("tests/data/spdx.jsonl")?;
    let front = licences.iter().find(|text| text.split_whitespace().count() > 1_000);
    let front = front.ok_or("no licence is long enough")?.clone();
    let mut state = seed;
    let corpus = |name, documents| Corpus { name, documents };
    let letters = made::letters(&plain("tests/data/pydocs.jsonl")?, LETTERS, &mut state);
    let code = Documents::Made(made::code(&support_code()?, &mut state));
    let own = &plain("tests/data/pydocs.jsonl")?;
    let forms = [
        ("Invoices of one company", made::invoices(own, seed)),
        ("Contracts of one form", made::contracts(own, seed)),
        ("Log lines", made::log_lines(own, seed)),
        ("Pages with a counter and a date, in two versions", made::counted_pages(own, seed)),
        ("Pages that are mirrored 100 times with small edits", made::mirrored_pages(own, seed)),
    ];
    let mut corpora = vec![
        corpus("Made letters of four forms", Documents::Made(letters)),
        corpus("Rust files with one licence header", code),
        corpus("Licences", Documents::Found(licences)),
    ];
    corpora.extend(forms.map(|(name, made)| corpus(name, Documents::Made(made))));
    if !folder.join("reuters21578.jsonl.zst").exists() {
        println!("SKIPPED: books and {} corpora; NEARKIN_DATA names a folder", CORPORA.len());
        return Ok(corpora);
    }
    let unpack = |name: &str| corpora::unpack(folder, &format!("{name}.jsonl"));
    let read = |name: &str, most| unpack(name).and_then(|lines| texts_of(&lines, most));
    let speeches = [read("inaugural", usize::MAX)?, read("state_union", usize::MAX)?].concat();
    let books = made::books(&speeches, &front, &mut state);
    corpora.insert(1, corpus("Books with one front matter", Documents::Made(books)));
    for (title, name, most) in CORPORA {
        let texts = if name == "debian_descriptions" {
            let all = unpack(name)?;
            let later = all.find("{\"id\": \"trixie/").ok_or("only one release")?;
            let (one, other) = all.split_at(later);
            [texts_of(one, most / 2)?, texts_of(other, most / 2)?].concat()
        } else {
            read(name, most)?
        };
        corpora.push(corpus(title, Documents::Found(texts)));
    }
    Ok(corpora)
}

/// The texts of JSON lines that are long enough, of the first `most`.
fn texts_of(lines: &str, most: usize) -> Result<Vec<String>, Box<dyn Error>> {
    let mut texts = corpora::texts(lines)?;
    texts.truncate(most);
    texts.retain(|text| text.split_whitespace().count() >= WORDS_MIN);
    Ok(texts)
}

fn pipelines(seed: u64) -> nearkin::Result<Vec<Pipeline>> {
    let mut pipelines = Vec::new();
    let mut add = |name: String, setting: Setting, rule| -> nearkin::Result<()> {
        pipelines.push(Pipeline { name, setting: setting.seeded(seed)?, rule });
        Ok(())
    };
    let [text_dedup, datatrove, nemo] = settings::of_bucket_unions()?;
    let [rensa, datasketch] = settings::of_admissions()?;
    let others = [
        (Program::TextDedup, text_dedup, Rule::Union),
        (Program::Datatrove, datatrove, Rule::Union),
        (Program::Rensa, rensa, Rule::Estimate),
        (Program::Datasketch, datasketch, Rule::Estimate),
    ];
    for (program, setting, remade) in others {
        match program.version() {
            Some(version) => {
                let name = setting.name.split(' ').next().unwrap_or_default();
                add(
                    format!("{name} {version}, {}", program.how()),
                    setting,
                    Rule::Program(program),
                )?;
            }
            None => add(format!("{} (rule re-made)", setting.name), setting, remade)?,
        }
    }
    add(format!("{} (rule re-made)", nemo.name), nemo, Rule::Union)?;
    let rules = [
        (Rule::Guarded, ""),
        (Rule::Confirmed, " --guard none"),
        (Rule::Estimate, " --estimate"),
        (Rule::Exact, " --exact --guard none"),
    ];
    for (rule, options) in rules {
        add(format!("`nearkin dedup{options}`"), Setting::default_settings()?, rule)?;
    }
    for preset in [Preset::Documents, Preset::Training] {
        for (rule, options) in rules {
            let name = format!("`--for {}{options}`", preset.name());
            add(name, Setting::preset(preset.name(), preset)?, rule)?;
        }
    }
    Ok(pipelines)
}

/// Deduplicates, and judges the result by the pipeline's own shingles and threshold.
fn run(pipeline: Pipeline, (number, corpus): (usize, &Corpus)) -> Result<Line, Box<dyn Error>> {
    let Pipeline { name, setting, rule } = pipeline;
    let sketcher = Sketcher::new(&setting.params);
    let originals = corpus.texts().iter().map(|text| setting.original(&sketcher, text));
    let originals: Vec<Original> = originals.collect::<Result<_, _>>()?;
    let found = match rule {
        Rule::Union => united(&setting.params, &originals),
        Rule::Estimate => estimated(&setting, &originals)?,
        Rule::Confirmed | Rule::Guarded => confirmed(&setting, &originals)?,
        Rule::Exact => exact(&setting, &originals)?,
        Rule::Program(program) => program.kept_for(number, originals.len())?,
    };
    let sets: Vec<&[u64]> = originals.iter().map(Original::shingle_hashes).collect();
    let mut verdict = judge(&sets, &found, setting.named);
    let mut kept_for = found;
    if rule == Rule::Guarded {
        kept_for = guarded(&setting, &sketcher, corpus.texts(), &kept_for)?;
        // What is kept on purpose is not missed.
        verdict = Verdict { missed: verdict.missed, ..judge(&sets, &kept_for, setting.named) };
    }
    let lost_and_left = match &corpus.documents {
        Documents::Found(_) => None,
        Documents::Made(made) => Some(made.lost_and_left(&|at| kept_for[at] == at)),
    };
    Ok(Line { pipeline: name, verdict, lost_and_left })
}

/// For each document, the first one of its component. All documents of a bucket are connected.
fn united(params: &Params, originals: &[Original]) -> Vec<usize> {
    fn first(of: &mut [usize], mut at: usize) -> usize {
        while of[at] != at {
            of[at] = of[of[at]];
            at = of[at];
        }
        at
    }
    let mut of: Vec<usize> = (0..originals.len()).collect();
    let mut buckets: HashMap<(usize, &[u8]), usize> = HashMap::new();
    for (at, original) in originals.iter().enumerate() {
        let bands = original.signature().as_bytes().chunks_exact(params.band_bytes());
        for band in bands.take(params.bands()).enumerate() {
            let other = *buckets.entry(band).or_insert(at);
            let (one, other) = (first(&mut of, at), first(&mut of, other));
            of[one.max(other)] = one.min(other);
        }
    }
    (0..of.len()).map(|at| first(&mut of, at)).collect()
}

fn estimated(setting: &Setting, originals: &[Original]) -> Result<Vec<usize>, Box<dyn Error>> {
    let scratch = tempfile::tempdir()?;
    let kept = Index::create(scratch.path().join("kept"), &setting.params, options())?;
    let keyed = originals.iter().enumerate();
    let newcomers: Vec<_> =
        keyed.map(|(at, one)| Newcomer::new(key(at), one.signature())).collect();
    let admit = Admit::at(Alike::similar(setting.threshold)).limit(1);
    let place = |key: &[u8]| u64::from_le_bytes(key.try_into().unwrap_or_default());
    let kept_for = |(at, decision): (usize, &Decision)| match decision {
        Decision::Rejected { duplicates, .. } => {
            let first = duplicates.first().ok_or("rejected for no document")?;
            Ok(usize::try_from(place(&first.key))?)
        }
        Decision::Admitted { .. } => Ok(at),
    };
    let decided = kept.admit_all(&newcomers, &admit)?;
    decided.iter().map(|one| &one.decision).enumerate().map(kept_for).collect()
}

fn exact(setting: &Setting, originals: &[Original]) -> Result<Vec<usize>, Box<dyn Error>> {
    let alike = Alike::similar(setting.threshold);
    let scratch = tempfile::tempdir()?;
    let params = Dedup::params(&setting.params, alike)?;
    let kept = Index::create(scratch.path().join("kept"), &params, options())?;
    let mut dedup = Dedup::new(&kept, alike)?;
    let fetch = &mut |rank: u64| {
        let document = originals.get(usize::try_from(rank).unwrap_or(usize::MAX));
        Ok(document.cloned())
    };
    let ranked: Vec<_> = (0_u64..).zip(originals.iter().cloned()).collect();
    let mut kept_for = Vec::new();
    for some in ranked.chunks(1_024) {
        for copy in dedup.decide_exactly(some.to_vec(), fetch)? {
            kept_for.push(copy.map_or(Ok(kept_for.len()), |copy| usize::try_from(copy.of))?);
        }
    }
    Ok(kept_for)
}

/// By the estimate, confirmed by the shingles.
fn confirmed(setting: &Setting, originals: &[Original]) -> Result<Vec<usize>, Box<dyn Error>> {
    let scratch = tempfile::tempdir()?;
    let kept = Index::create(scratch.path().join("kept"), &setting.params, options())?;
    let mut dedup = Dedup::new(&kept, Alike::similar(setting.threshold))?;
    let document = |rank: &u64| originals.get(usize::try_from(*rank).unwrap_or(usize::MAX));
    let fetch = &mut |ranks: &[u64]| Ok(ranks.iter().map(|rank| document(rank).cloned()).collect());
    let mut kept_for = Vec::new();
    for some in originals.chunks(1_024) {
        let first = kept_for.len() as u64;
        let ranks: Vec<u64> = (first..first + some.len() as u64).collect();
        let signatures: Vec<_> = some.iter().map(|one| one.signature().clone()).collect();
        let found = dedup.look_up_candidates(&signatures)?;
        for copy in dedup.decide_confirmed(&ranks, &signatures, &found, fetch)? {
            kept_for.push(copy.map_or(Ok(kept_for.len()), |copy| usize::try_from(copy.of))?);
        }
    }
    Ok(kept_for)
}

/// What stays of these decisions after the guard.
fn guarded(
    setting: &Setting,
    sketcher: &Sketcher,
    texts: &[String],
    found: &[usize],
) -> Result<Vec<usize>, Box<dyn Error>> {
    let documents = texts.iter().map(|text| sketcher.detailed_text(text));
    let documents: Vec<Original> = documents.collect::<Result<_, _>>()?;
    let mut suspects = Suspects::default();
    for (at, of) in found.iter().enumerate().filter(|(at, of)| at != *of) {
        let sets = [at, *of].map(|at| documents[at].shingle_hashes());
        let [own, other] = sets.map(|set| u32::try_from(set.len()).unwrap_or(u32::MAX));
        let shared = if sets[0] == sets[1] { own } else { 0 };
        suspects.add_dropped(at as u64, *of as u64, [own, other, shared]);
    }
    let place = |rank: u64| usize::try_from(rank).unwrap_or(usize::MAX);
    let mut fetch =
        |ranks: &[u64]| Ok(ranks.iter().map(|rank| documents.get(place(*rank)).cloned()).collect());
    let mut kept_for = found.to_vec();
    let mut judge = Judge::new(Guard::Rare, Alike::similar(setting.threshold), suspects);
    judge.run(&mut fetch, &mut |rank, judgement| {
        kept_for[place(rank)] = match judgement {
            Judgement::CopyOf(copy) => place(copy.of),
            _ => place(rank),
        };
    })?;
    Ok(kept_for)
}

/// Sums over all corpora.
fn sums(all: &[Vec<Line>]) -> Vec<Line> {
    let Some((first, others)) = all.split_first() else { return Vec::new() };
    let sum = |line: &Line| {
        let Line { pipeline, mut verdict, mut lost_and_left } = line.clone();
        for rows in others {
            let other = rows.iter().find(|other| other.pipeline == pipeline)?;
            verdict.removed += other.verdict.removed;
            verdict.wrong += other.verdict.wrong;
            verdict.missed += other.verdict.missed;
            verdict.largest = verdict.largest.max(other.verdict.largest);
            verdict.least = verdict.least.min(other.verdict.least);
            if let (Some(sum), Some(more)) = (&mut lost_and_left, other.lost_and_left) {
                sum.lost += more.lost;
                sum.left += more.left;
                sum.left_in_digits += more.left_in_digits;
            }
        }
        Some(Line { pipeline, verdict, lost_and_left })
    };
    first.iter().filter_map(sum).collect()
}

fn table(lines: &[Line]) -> String {
    let mut table = String::from(
        "| pipeline | removed | wrongly | least similar | pairs missed | largest cluster | \
         distinct documents lost | edited copies left | with other digits left |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for line in lines {
        table.push_str(&row(line));
        table.push('\n');
    }
    table.push('\n');
    table
}

fn row(line: &Line) -> String {
    let Line { pipeline, verdict, lost_and_left } = line;
    let Verdict { removed, wrong, missed, largest, least } = verdict;
    let least = if *wrong == 0 { "-".to_owned() } else { format!("{least:.2}") };
    let made = lost_and_left.map(|made| {
        let LostAndLeft { lost, left, left_in_digits } = made;
        format!("{lost} | {left} | {left_in_digits}")
    });
    let made = made.unwrap_or_else(|| "- | - | -".to_owned());
    let largest = if *largest == 0 { "-".to_owned() } else { largest.to_string() };
    format!("| {pipeline} | {removed} | {wrong} | {least} | {missed} | {largest} | {made} |")
}
