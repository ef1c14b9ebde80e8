//! Reads a corpus and its exact truth. Samples pairs by similarity: the same pairs in every run.

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;

use crate::support::corpora::unpack;
use nearkin::{Original, Sketcher};

/// A pair of documents, given by their positions, and its exact Jaccard similarity.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) a: usize,
    pub(crate) b: usize,
    pub(crate) jaccard: f64,
}

/// The sampled pairs with a similarity from `from` up to, but not including, `to`.
pub(crate) struct Bin {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) pairs: Vec<Pair>,
    /// Number of pairs of the truth that fall into this bin; `pairs` is a sample of them.
    pub(crate) all: usize,
}

pub(crate) struct Corpus {
    pub(crate) name: String,
    pub(crate) bins: Vec<Bin>,
    documents: Vec<Document>,
}

#[derive(Clone)]
enum Document {
    Text(String),
    Items(Vec<String>),
}

/// Minimum number of pairs that a bin needs for a line in the report.
const BIN_PAIRS_MIN: usize = 1_000;
/// Each document contributes up to this many pairs to a sample before any document contributes
/// more.
const DOCUMENT_PAIRS: u32 = 3;
/// Edges of the bins: each bin ends where the next one begins. The last bin holds only identical
/// pairs.
const EDGES: [f64; 8] = [0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.999_999_5, 2.0];

impl Corpus {
    /// Reads `name`, and its exact pairs from `name.truth.tsv.zst`. Keeps at most `most` pairs per
    /// bin.
    pub(crate) fn read(
        folder: &Path,
        name: &str,
        truth: &str,
        most: usize,
    ) -> Result<Self, Box<dyn Error>> {
        let truth = unpack(folder, &format!("{name}.{truth}.tsv"))?;
        let mut bins: Vec<(Vec<(u64, &str)>, usize)> = vec![(Vec::new(), 0); EDGES.len() - 1];
        for line in truth.lines() {
            let jaccard: f64 = line.rsplit('\t').next().unwrap_or_default().parse()?;
            let bin = EDGES.iter().rposition(|&edge| edge <= jaccard).ok_or("below all bins")?;
            bins[bin].0.push((order(line), line));
        }
        for (lines, all) in &mut bins {
            *all = lines.len();
            lines.sort_unstable();
            seldom_first(lines);
            lines.truncate(if *all < BIN_PAIRS_MIN { 0 } else { most });
        }
        let mut places = HashMap::new();
        let mut kept = Vec::new();
        for ((lines, all), edges) in bins.iter().zip(EDGES.windows(2)) {
            let mut pairs = Vec::new();
            for (_, line) in lines {
                let mut fields = line.split('\t');
                let mut place = || {
                    let next = places.len();
                    *places.entry(fields.next().unwrap_or_default()).or_insert(next)
                };
                let (a, b) = (place(), place());
                let jaccard = fields.next().unwrap_or_default().parse()?;
                pairs.push(Pair { a, b, jaccard });
            }
            if !pairs.is_empty() {
                kept.push(Bin { from: edges[0], to: edges[1].min(1.0), pairs, all: *all });
            }
        }
        let documents = documents(folder, name, &places)?;
        Ok(Self { name: name.to_owned(), bins: kept, documents })
    }

    /// The same pairs, with the exact similarities that follow from the shingles and the
    /// normalisation of a sketcher. The sketcher's seed and number of rows do not matter.
    pub(crate) fn by(&self, sketcher: &Sketcher, name: &str) -> Result<Self, nearkin::Error> {
        let original = |document: &Document| match document {
            Document::Text(text) => sketcher.original_text(text),
            Document::Items(items) => sketcher.original_items(items),
        };
        let originals: Vec<Original> =
            self.documents.iter().map(original).collect::<Result<_, _>>()?;
        let mut bins: Vec<Bin> = Vec::new();
        for edges in EDGES.windows(2) {
            let pairs = self.bins.iter().flat_map(|bin| &bin.pairs).filter_map(|pair| {
                let jaccard = originals[pair.a].similarity(&originals[pair.b]);
                (edges[0]..edges[1]).contains(&jaccard).then_some(Pair { jaccard, ..*pair })
            });
            let pairs: Vec<Pair> = pairs.collect();
            if pairs.len() >= BIN_PAIRS_MIN {
                let all = pairs.len();
                bins.push(Bin { from: edges[0], to: edges[1].min(1.0), pairs, all });
            }
        }
        let name = format!("{}, {name},", self.name);
        Ok(Self { name, bins, documents: self.documents.clone() })
    }

    /// Whether the documents are texts.
    pub(crate) fn is_of_texts(&self) -> bool {
        matches!(self.documents.first(), Some(Document::Text(_)))
    }

    /// Signatures of all documents that occur in sampled pairs, indexed by the positions that
    /// `Pair` holds.
    pub(crate) fn signatures(&self, sketcher: &Sketcher) -> Result<Vec<Box<[u8]>>, nearkin::Error> {
        let sign = |document: &Document| -> nearkin::Result<Box<[u8]>> {
            let signature = match document {
                Document::Text(text) => sketcher.text(text),
                Document::Items(items) => sketcher.items(items),
            };
            Ok(signature?.as_bytes().into())
        };
        let (first, second) = self.documents.split_at(self.documents.len() / 2);
        let sign_all = |half: &[Document]| half.iter().map(sign).collect::<Result<Vec<_>, _>>();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| sign_all(second));
            let mut all = sign_all(first)?;
            all.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
            Ok(all)
        })
    }
}

/// Sorts pairs so that the first few of each document come before all others: thousands of pairs
/// within one crowd of similar documents carry little more information than one pair.
fn seldom_first(lines: &mut [(u64, &str)]) {
    let mut seen: HashMap<&str, u32> = HashMap::new();
    lines.sort_by_cached_key(|(_, line)| {
        let mut most = 0;
        for id in line.split('\t').take(2) {
            let pairs = seen.entry(id).or_default();
            most = most.max(*pairs);
            *pairs += 1;
        }
        most / DOCUMENT_PAIRS
    });
}

/// A number that puts lines in a fixed pseudo-random order (FNV-1a and a mixer), so that every run
/// samples the same pairs.
fn order(line: &str) -> u64 {
    let fold = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = line.bytes().fold(0xcbf2_9ce4_8422_2325, fold);
    (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn documents(
    folder: &Path,
    name: &str,
    places: &HashMap<&str, usize>,
) -> Result<Vec<Document>, Box<dyn Error>> {
    let is_sets = folder.join(format!("{name}.sets.jsonl.zst")).exists();
    let sets = if is_sets { ".sets" } else { "" };
    let lines = unpack(folder, &format!("{name}{sets}.jsonl"))?;
    let mut found: Vec<Option<Document>> = places.iter().map(|_| None).collect();
    for line in lines.lines() {
        let value: serde_json::Value = serde_json::from_str(line)?;
        let id = value["id"].as_str().ok_or("a document without an id")?;
        let Some(&place) = places.get(id) else { continue };
        let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
        found[place] = Some(if is_sets {
            let items = value["items"].as_array().ok_or("a set without items")?;
            Document::Items(items.iter().map(item).collect())
        } else {
            Document::Text(text(&value["text"]).ok_or("a document without a text")?)
        });
    }
    found
        .into_iter()
        .map(|document| document.ok_or_else(|| "a pair of no document".into()))
        .collect()
}

/// An item as a string: numbers in decimal.
fn item(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
