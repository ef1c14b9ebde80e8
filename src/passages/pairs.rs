//! All pairs of texts of an index of fingerprints that share a run of words.
//!
//! Holds the words and fingerprints of all texts in memory.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

use super::asked::{Asked, least_share, passages, share_of};
use super::cut;
use super::prints::{Print, Prints};
use super::shared::Comparison;
use super::table::{WordTable, foreign};
use super::view::{PassageMatch, PassageView};
use crate::format::bytes::{index, wide};
use crate::index::Forest;
use crate::{Conditions, DocumentView, Error, ErrorKind, Key, Result};

/// Two texts that share a run of words: see [`PassageView::pairs`].
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct PassagePair {
    /// The key of the one text: the smaller one as bytes.
    pub a: Vec<u8>,
    /// The key of the other text.
    pub b: Vec<u8>,
    /// The share of the words of `a` that are in `b`.
    pub share_of_a: f64,
    /// The share of the words of `b` that are in `a`.
    pub share_of_b: f64,
    /// Number of words of `a` that are in `b`.
    pub words: u64,
    /// Number of words of the longest run of equal words.
    pub longest: u64,
    /// Whether the longest run stands out in this collection: it has at least 12 words, and twice
    /// as many as those of all other pairs but 5 in 100, or as many as there are texts.
    pub stands_out: bool,
    /// Whether both texts were compared to their ends. If not (both are very long and repeat the
    /// same words over and over), they may share more, and this pair may share nothing.
    #[cfg_attr(feature = "serde", serde(default = "is_complete"))]
    pub complete: bool,
}

/// The first pairs, and counts over all: see [`PassageView::counted_pairs`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CountedPairs {
    /// At most as many as the limit, in the order of [`PassageView::pairs`].
    pub pairs: Vec<PassagePair>,
    /// Number of pairs that meet the conditions, regardless of the limit.
    pub found: u64,
    /// Number of these that stand out.
    pub stand_out: u64,
    /// Number of these that were not compared to the end.
    pub incomplete: u64,
}

/// Those that an older version has written were.
#[cfg(feature = "serde")]
fn is_complete() -> bool {
    true
}

/// A run of fewer words does not stand out.
const OUT_MIN: usize = 12;

/// A text while it is read.
#[derive(Default)]
struct Read {
    /// What piece 0 says: words, bytes of the table, pieces.
    first: Option<(usize, u64, u32)>,
    /// Parts of the table by number of the piece.
    parts: Vec<(u32, Vec<u8>)>,
    prints: Vec<(u32, Print)>,
}

/// A text that has been read.
struct Text {
    key: Vec<u8>,
    table: WordTable,
    prints: Vec<Print>,
}

/// A pair before its keys are needed: texts are numbers by key, so pairs have the order in which
/// they are returned.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct FoundPair {
    longest: Reverse<usize>,
    /// Number of words of `a` that are in `b`.
    words: Reverse<usize>,
    a: usize,
    b: usize,
    words_of_b: usize,
    complete: bool,
}

impl FoundPair {
    fn shares(&self, texts: &[Text]) -> (f64, f64) {
        let share = |words, text: usize| share_of(words, &texts[text].table);
        (share(self.words.0, self.a), share(self.words_of_b, self.b))
    }

    fn reaches(&self, contained: f64, texts: &[Text]) -> bool {
        let (share_of_a, share_of_b) = self.shares(texts);
        share_of_a.max(share_of_b) >= contained
    }

    fn finish(&self, texts: &[Text], least: usize) -> PassagePair {
        let (share_of_a, share_of_b) = self.shares(texts);
        PassagePair {
            a: texts[self.a].key.clone(),
            b: texts[self.b].key.clone(),
            share_of_a,
            share_of_b,
            words: wide(self.words.0),
            longest: wide(self.longest.0),
            stands_out: self.longest.0 >= least,
            complete: self.complete,
        }
    }
}

impl PassageView {
    /// All pairs of texts that share a run of words, those of the longest run first, then of most
    /// words, then by key. Only for an index of fingerprints.
    ///
    /// These conditions apply: prefix, times, filter, containment (the larger of both shares),
    /// limit, deadline and cancellation. What a list of common shingles has leads to no pair.
    ///
    /// Reads all documents. Costs a comparison for each two texts that share a fingerprint,
    /// memory for the words and fingerprints of all texts together, about 10 bytes a word, and for
    /// each returned pair about 150 bytes and both keys. If 10,000 texts share one line, they have
    /// 50 million pairs: give a limit, or make the line common.
    ///
    /// # Errors
    ///
    /// `Invalid` if the index has no fingerprints, or for conditions that do not apply.
    /// `Cancelled`,
    /// `Corrupt`, `Io`.
    pub fn pairs(&self, conditions: &Conditions<'_>) -> Result<Vec<PassagePair>> {
        Ok(self.counted_pairs(conditions)?.pairs)
    }

    /// What [`PassageView::pairs`] returns, and counts over all pairs regardless of the limit. Only
    /// the pairs within the limit are held.
    ///
    /// # Errors
    ///
    /// Those of [`PassageView::pairs`].
    pub fn counted_pairs(&self, conditions: &Conditions<'_>) -> Result<CountedPairs> {
        let run = self.prints()?.run;
        let contained = self.least_share_of_pairs(conditions)?;
        let texts = self.texts(conditions)?;
        // Two histograms: what stands out depends on all pairs.
        let (mut all, mut reaching) = (Lengths::default(), Lengths::default());
        let mut incomplete = 0;
        // The last of the best pairs is on top.
        let mut best = BinaryHeap::new();
        each_pair(&texts, run, conditions, |pair| {
            all.add(&pair);
            if !pair.reaches(contained, &texts) {
                return;
            }
            reaching.add(&pair);
            incomplete += u64::from(!pair.complete);
            if best.len() < conditions.limit {
                best.push(pair);
            } else if let Some(mut last) = best.peek_mut()
                && pair < *last
            {
                *last = pair;
            }
        })?;
        let least = all.least_out(texts.len());
        let mut best = best.into_vec();
        best.sort_unstable();
        Ok(CountedPairs {
            pairs: best.into_iter().map(|pair| pair.finish(&texts, least)).collect(),
            found: reaching.at_least(0),
            stand_out: reaching.at_least(least),
            incomplete,
        })
    }

    /// Groups of texts that [`PassageView::pairs`] connect: those that stand out; if the conditions
    /// have a containment, all that reach it. The keys of each group ascend, and so do groups by
    /// their first key. Of the pairs, at most two a text are held, whatever their number.
    ///
    /// # Errors
    ///
    /// Those of [`PassageView::pairs`].
    pub fn clusters(&self, conditions: &Conditions<'_>) -> Result<Vec<Vec<Vec<u8>>>> {
        let run = self.prints()?.run;
        let contained = self.least_share_of_pairs(conditions)?;
        let texts = self.texts(conditions)?;
        let count = u32::try_from(texts.len())
            .map_err(|_| Error::invalid("clusters are limited to 2^32 texts"))?;
        let mut all = Lengths::default();
        let mut links: Vec<FoundPair> = Vec::new();
        each_pair(&texts, run, conditions, |pair| {
            all.add(&pair);
            if pair.reaches(contained, &texts) {
                links.push(pair);
            }
            if links.len() >= 2 * texts.len() {
                connect(&mut links, count);
            }
        })?;
        let least = if contained > 0.0 { 0 } else { all.least_out(texts.len()) };
        links.retain(|pair| pair.longest.0 >= least);
        let members = connect(&mut links, count).members();
        let groups = members.chunk_by(|(one, _), (other, _)| one == other);
        let key = |(_, number): &(u32, u32)| texts.get(index(*number)).map(|text| text.key.clone());
        let keys = |group: &[(u32, u32)]| group.iter().filter_map(key).collect();
        Ok(groups.take(conditions.limit).map(keys).collect())
    }

    /// The passages that two stored texts share, in the order of the second one: `query` is the
    /// place in `a`, and `stored` that in `b`. None if one of them is not stored. Only for an index
    /// of fingerprints.
    ///
    /// Costs a look-up for each 32 KiB of a text's table of words, and a comparison.
    ///
    /// # Errors
    ///
    /// `Invalid` if the index has no fingerprints. `Corrupt`, `Io`.
    pub fn shared<'a, 'b>(
        &self,
        a: impl Into<Key<'a>>,
        b: impl Into<Key<'b>>,
    ) -> Result<Vec<PassageMatch>> {
        let prints = self.prints()?;
        let conditions = Conditions::default();
        let asked = Asked::new(self, prints, &conditions);
        let table = |key: Key<'_>| {
            cut::check_key(key.as_bytes())?;
            Ok::<_, Error>(asked.stored(key.as_bytes())?.map(|(table, _)| table))
        };
        let (Some(a), Some(b)) = (table(a.into())?, table(b.into())?) else {
            return Ok(Vec::new());
        };
        let shared = Comparison::new(&a, prints.run).with(&b, &|| false);
        Ok(passages(&shared, &a.places()?, &b.places()?))
    }

    fn least_share_of_pairs(&self, conditions: &Conditions<'_>) -> Result<f64> {
        let params = self.snapshot.params();
        least_share(params.threshold(), conditions.check_of_pairs(params)?)
    }

    fn prints(&self) -> Result<&Prints> {
        self.cutter.prints().ok_or_else(|| {
            Error::invalid(
                "windows of words have no pairs of texts: add the texts to an index of \
                 fingerprints, `nearkin add NEW PATH... --for quotes`",
            )
        })
    }

    /// All texts that pass the conditions, by key.
    fn texts(&self, conditions: &Conditions<'_>) -> Result<Vec<Text>> {
        let mut read: HashMap<Vec<u8>, Read> = HashMap::new();
        for document in self.snapshot.iter() {
            refuse_if_stopped(conditions)?;
            let document = document?;
            let (key, number) = cut::split_key(&document.key)?;
            let text = match read.get_mut(key) {
                Some(text) => text,
                None => read.entry(key.to_vec()).or_default(),
            };
            text.prints.extend(Print::stored(&document.signature).map(|one| (number, one)));
            if number > 0 {
                if !document.payload.is_empty() {
                    text.parts.push((number, document.payload));
                }
                continue;
            }
            let (count, payload) = self.cutter.split_first(&document.payload)?;
            if conditions.pass(DocumentView { key, payload, time: document.time })? {
                let (part, _, place) = cut::table_of(&document.payload)?;
                let words = usize::try_from(place.start).map_err(|_| foreign())?;
                text.first = Some((words, place.end, count));
                text.parts.push((0, part.to_vec()));
            }
        }
        let mut texts = Vec::with_capacity(read.len());
        for (key, mut text) in read {
            // Salvage may leave a text without its first piece.
            let Some((words, bytes, count)) = text.first else { continue };
            text.parts.retain(|(number, _)| *number < count);
            text.parts.sort_unstable();
            let table: Vec<u8> = text.parts.into_iter().flat_map(|(_, part)| part).collect();
            if wide(table.len()) == bytes {
                let own = text.prints.into_iter().filter(|(number, _)| *number < count);
                let prints = own.map(|(_, print)| print).collect();
                let table = WordTable::decode(table, words).ok();
                texts.extend(table.map(|table| Text { key, table, prints }));
            }
        }
        texts.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        Ok(texts)
    }
}

/// Finds all pairs, whatever their shares, in no order.
fn each_pair(
    texts: &[Text],
    run: usize,
    conditions: &Conditions<'_>,
    mut each: impl FnMut(FoundPair),
) -> Result<()> {
    let groups = Groups::new(texts);
    let mut met = vec![usize::MAX; texts.len()];
    for (number, text) in texts.iter().enumerate() {
        refuse_if_stopped(conditions)?;
        let comparison = Comparison::new(&text.table, run);
        for other in groups.after(text, number) {
            if std::mem::replace(&mut met[other], number) == number {
                continue;
            }
            let theirs = &texts[other];
            let shared = comparison.with(&theirs.table, &|| conditions.stop.is_due());
            if !shared.complete {
                refuse_if_stopped(conditions)?;
            } else if shared.stretches.is_empty() {
                continue;
            }
            each(FoundPair {
                longest: Reverse(shared.longest),
                words: Reverse(shared.ours),
                a: number,
                b: other,
                words_of_b: shared.theirs,
                complete: shared.complete,
            });
        }
    }
    Ok(())
}

fn refuse_if_stopped(conditions: &Conditions<'_>) -> Result<()> {
    if conditions.stop.is_due() {
        return Err(Error::new(ErrorKind::Cancelled, "the search for pairs was stopped"));
    }
    Ok(())
}

/// The texts of each fingerprint, by number.
struct Groups(Vec<(Print, usize)>);

impl Groups {
    fn new(texts: &[Text]) -> Self {
        let of = |(number, text): (usize, &Text)| {
            text.prints.iter().map(move |print| (*print, number)).collect::<Vec<_>>()
        };
        let mut postings: Vec<(Print, usize)> = texts.iter().enumerate().flat_map(of).collect();
        postings.sort_unstable();
        postings.dedup();
        Self(postings)
    }

    /// The texts of higher numbers that share a fingerprint with this one; some of them repeatedly.
    fn after<'a>(&'a self, text: &'a Text, number: usize) -> impl Iterator<Item = usize> + 'a {
        text.prints.iter().flat_map(move |print| {
            let after = self.0.partition_point(|one| *one <= (*print, number));
            let all = self.0.get(after..).unwrap_or_default().iter();
            all.take_while(move |(other, _)| other == print).map(|(_, other)| *other)
        })
    }
}

/// Numbers of pairs by their longest run.
#[derive(Default)]
struct Lengths(BTreeMap<usize, u64>);

impl Lengths {
    fn add(&mut self, pair: &FoundPair) {
        *self.0.entry(pair.longest.0).or_default() += 1;
    }

    /// Number of pairs whose longest run has at least this many words.
    fn at_least(&self, least: usize) -> u64 {
        self.0.range(least..).map(|(_, count)| count).sum()
    }

    /// The words of a run that stands out among all pairs of so many texts.
    fn least_out(&self, texts: usize) -> usize {
        let all = texts * texts.saturating_sub(1) / 2;
        // Few texts have few pairs, and one copy may be more than a twentieth of them.
        let mut before = wide(texts.max(all / 20));
        for (longest, count) in self.0.iter().rev() {
            match before.checked_sub(*count) {
                Some(rest) => before = rest,
                None => return (2 * longest).max(OUT_MIN),
            }
        }
        OUT_MIN
    }
}

/// Keeps fewer links than texts, those of the longest runs first: for any length, the links of runs
/// of that length or more connect the same texts as before.
fn connect(links: &mut Vec<FoundPair>, texts: u32) -> Forest {
    links.sort_unstable();
    let mut forest = Forest::new(texts);
    let number = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    links.retain(|pair| forest.unite(number(pair.a), number(pair.b)));
    forest
}
