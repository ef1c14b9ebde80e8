//! Compares the decisions of exact comparison, and those of the estimate, with brute force.

use std::error::Error;
use std::fmt::Write as _;

use nearkin::{
    Admission, Admit, Alike, Decision, Dedup, Exact, Index, Newcomer, Original, Params, Shingles,
    Sketcher,
};

use super::plant::{EDITS, Edit};
use super::{EACH, brute_force, key, options};

/// Number of texts, without near-duplicates among them.
const TEXTS: usize = 3_000;
/// Minimum similarity of a duplicate.
const SIMILAR: f64 = 0.7;
const CONTAINED: f64 = 0.8;

/// A document and its shingles.
struct Document {
    original: Original,
    key: [u8; 8],
}

/// Makes the tables.
pub(crate) fn tables(texts: &[String], negatives: &[String]) -> Result<String, Box<dyn Error>> {
    let texts = &texts[..TEXTS.min(texts.len())];
    let mut documents: Vec<String> = texts.to_vec();
    for (kind, (_, edit)) in EDITS.iter().enumerate() {
        documents.extend((0..EACH).map(|at| edited(texts, *edit, kind * EACH + at)));
    }
    documents.extend_from_slice(negatives);
    let mut lines = format!(
        "{} documents: {} texts, {} edits of them, {} that share a template or boilerplate.\n\n\
         | decided by | at | dropped | wrong drops | copies kept |\n|---|---|---:|---:|---:|\n",
        documents.len(),
        texts.len(),
        EACH * EDITS.len(),
        negatives.len()
    );
    for (name, alike) in [
        (format!("similarity {SIMILAR}"), Alike::similar(SIMILAR)),
        (format!("contained {CONTAINED}"), Alike::contained(CONTAINED)),
    ] {
        for by in [Decider::Estimate, Decider::Admit, Decider::Dedup] {
            let counted = deduplicated(&documents, alike, by)?;
            let Counted { dropped, wrong, missed } = counted;
            let line = format!("| {} | {name} | {dropped} | {wrong} | {missed} |", by.name());
            println!("{line}");
            writeln!(lines, "{line}")?;
        }
    }
    lines.push('\n');
    let counted = deduplicated(negatives, Alike::similar(SIMILAR), Decider::Admit)?;
    let line = format!(
        "The {} that share a template or boilerplate, admitted alone with `Admit::verify`\nat \
         similarity {SIMILAR}: {} rejected, {} of them wrongly.\n",
        negatives.len(),
        counted.dropped,
        counted.wrong
    );
    println!("{line}");
    writeln!(lines, "{line}")?;
    lines.push_str(&found(texts, negatives)?);
    Ok(lines)
}

fn edited(texts: &[String], edit: Edit, at: usize) -> String {
    let number = at % texts.len();
    let other = &texts[(number + texts.len() / 2) % texts.len()];
    edit.apply(&texts[number], other, &mut ((number as u64) << 8))
}

fn originals(sketcher: &Sketcher, texts: &[String]) -> nearkin::Result<Vec<Document>> {
    let document = |(at, text): (usize, &String)| {
        Ok(Document { original: sketcher.original_text(text)?, key: key(at) })
    };
    texts.iter().enumerate().map(document).collect()
}

/// Whether two documents satisfy the condition. Computed here and not by the library, as an
/// independent check.
fn is_alike(alike: Alike, a: &Original, b: &Original) -> bool {
    let (a, b) = (a.shingle_hashes(), b.shingle_hashes());
    let (one, other, shared) = (a.len(), b.len(), brute_force::shared(a, b));
    if alike.asks_for_containment() {
        return shared as f64 >= CONTAINED * one.min(other) as f64 - 1e-9;
    }
    shared as f64 >= SIMILAR * (one + other - shared) as f64 - 1e-9
}

/// What decides whether a document is dropped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Decider {
    /// The signatures.
    Estimate,
    /// The documents, by `Admit::verify`.
    Admit,
    /// The documents, by `Dedup`.
    Dedup,
}

impl Decider {
    fn name(self) -> &'static str {
        match self {
            Self::Estimate => "the estimate",
            Self::Admit => "the documents, `Admit::verify`",
            Self::Dedup => "the documents, `--exact`",
        }
    }
}

struct Counted {
    dropped: usize,
    /// Number of dropped documents that are not duplicates of any document kept before them.
    wrong: usize,
    /// Number of kept documents that are duplicates of a document kept before them.
    missed: usize,
}

/// Deduplicates, and compares each decision with brute force.
fn deduplicated(texts: &[String], alike: Alike, by: Decider) -> Result<Counted, Box<dyn Error>> {
    let params = Params::for_threshold(alike.similarity_needed()).shingles(Shingles::Words(3));
    let params = params.build()?;
    let verified = alike.for_verification();
    let is_exact = by != Decider::Estimate;
    let params = if is_exact { Dedup::params(&params, verified)? } else { params };
    let scratch = tempfile::tempdir()?;
    let kept = Index::create(scratch.path().join("kept"), &params, options())?;
    let documents = originals(&kept.sketcher(), texts)?;
    let terms = Admit::at(alike).limit(1);
    let is_kept = |one: &Admission| !matches!(one.decision, Decision::Rejected { .. });
    let original = |rank: u64| {
        let document = documents.get(usize::try_from(rank).unwrap_or(usize::MAX));
        document.map(|document| document.original.clone())
    };
    let mut stays = Vec::new();
    match by {
        Decider::Estimate => {
            let all = documents.iter().map(|one| Newcomer::new(one.key, one.original.signature()));
            let newcomers: Vec<_> = all.collect();
            stays.extend(kept.admit_all(&newcomers, &terms)?.iter().map(is_kept));
        }
        Decider::Admit => {
            let all = documents.iter().map(|one| Newcomer::original(one.key, &one.original));
            let newcomers: Vec<_> = all.collect();
            let fetch = &mut |key: &[u8]| {
                Ok(key.try_into().ok().and_then(|key| original(u64::from_le_bytes(key))))
            };
            stays.extend(
                kept.admit_verified(&newcomers, &mut terms.verify(fetch))?.iter().map(is_kept),
            );
        }
        Decider::Dedup => {
            let mut dedup = Dedup::new(&kept, alike)?;
            let ranked = (0_u64..).zip(&documents).map(|(rank, one)| (rank, one.original.clone()));
            let ranked: Vec<_> = ranked.collect();
            for some in ranked.chunks(1_024) {
                let decided =
                    dedup.decide_exactly(some.to_vec(), &mut |rank| Ok(original(rank)))?;
                stays.extend(decided.iter().map(Option::is_none));
            }
        }
    }
    let mut counted = Counted { dropped: 0, wrong: 0, missed: 0 };
    let mut before: Vec<&Original> = Vec::new();
    for (Document { original, .. }, stays) in documents.iter().zip(stays) {
        let has_like = before.iter().any(|other| is_alike(alike, original, other));
        counted.dropped += usize::from(!stays);
        counted.wrong += usize::from(!stays && !has_like);
        counted.missed += usize::from(stays && has_like);
        if stays {
            before.push(original);
        }
    }
    Ok(counted)
}

/// Queries with copies that contain their original or are a part of it, and with hard negatives.
/// Makes a table: per kind of copy, the fraction of queries that find the original; for all queries
/// together, the number of matches, and how many of these are wrong.
fn found(texts: &[String], negatives: &[String]) -> Result<String, Box<dyn Error>> {
    let kinds = [Edit::Boilerplate, Edit::Half, Edit::Joined];
    let mut lines = String::from("| asked for | looked in an index for |");
    for kind in kinds {
        let name = EDITS.iter().find(|(_, edit)| *edit == kind).map_or("", |(name, _)| name);
        write!(lines, " {name} |")?;
    }
    lines.push_str(" claims | wrong claims |\n|---|---:|---:|---:|---:|---:|---:|\n");
    let all = [texts, negatives].concat();
    let contained = Alike::contained(CONTAINED);
    let ways = [
        (format!("similarity {SIMILAR}"), SIMILAR, Alike::similar(SIMILAR), false),
        (format!("contained {CONTAINED}"), 0.3, contained, false),
        (format!("contained {CONTAINED}, `--exact`"), 0.3, contained, true),
    ];
    for (name, threshold, alike, is_exact) in ways {
        let params = Params::for_threshold(threshold).shingles(Shingles::Words(3)).build()?;
        let scratch = tempfile::tempdir()?;
        let index = Index::create(scratch.path().join("texts"), &params, options())?;
        let documents = originals(&index.sketcher(), &all)?;
        for document in &documents {
            index.insert(document.key, document.original.signature())?;
        }
        let (mut line, mut claims, mut wrong) = (format!("| {name} | {threshold} |"), 0, 0);
        let mut ask = |query: &Original| -> Result<Vec<usize>, Box<dyn Error>> {
            let sought = if is_exact { alike.for_verification() } else { alike };
            let snapshot = index.snapshot();
            let matches = snapshot.query(query.signature()).alike(sought).run()?.matches;
            let place = |found: &[u8]| u64::from_le_bytes(found.try_into().unwrap_or_default());
            let at = |found: &[u8]| usize::try_from(place(found)).unwrap_or(usize::MAX);
            let fetch =
                &mut |key: &[u8]| Ok(documents.get(at(key)).map(|one| one.original.clone()));
            let exact = if is_exact {
                snapshot.exact_matches(query, &matches, alike, fetch)?
            } else {
                vec![Exact::Similarity(0.0); matches.len()]
            };
            let stays = matches.iter().zip(exact).filter(|(_, exact)| *exact != Exact::Below);
            let found: Vec<usize> = stays.map(|(found, _)| at(&found.key)).collect();
            claims += found.len();
            let is_wrong = |of: &&usize| !is_alike(alike, query, &documents[**of].original);
            wrong += found.iter().filter(is_wrong).count();
            Ok(found)
        };
        for kind in kinds {
            let mut recalled = 0;
            for at in 0..EACH {
                let copy = index.sketcher().original_text(&edited(texts, kind, at))?;
                recalled += usize::from(ask(&copy)?.contains(&(at % texts.len())));
            }
            write!(line, " {:.3} |", recalled as f64 / EACH as f64)?;
        }
        for document in &documents[texts.len()..] {
            ask(&document.original)?;
        }
        write!(line, " {claims} | {wrong} |")?;
        println!("{line}");
        writeln!(lines, "{line}")?;
    }
    lines.push('\n');
    Ok(lines)
}
