//! All pairs of texts of an index of fingerprints that share a run of words.
//!
//! Holds the words and fingerprints of all texts in memory.

use std::collections::{BTreeSet, HashMap};

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

impl PassageView {
    /// All pairs of texts that share a run of words, those of the longest run first, then of most
    /// words, then by key. Only for an index of fingerprints.
    ///
    /// These conditions apply: prefix, times, filter, containment (the larger of both shares),
    /// limit, deadline and cancellation. What a list of common shingles has leads to no pair.
    ///
    /// Reads all documents. Costs memory for the words and fingerprints of all texts together,
    /// about 10 bytes a word, and a comparison for each two texts that share a fingerprint.
    ///
    /// # Errors
    ///
    /// `Invalid` if the index has no fingerprints, or for conditions that do not apply.
    /// `Cancelled`,
    /// `Corrupt`, `Io`.
    pub fn pairs(&self, conditions: &Conditions<'_>) -> Result<Vec<PassagePair>> {
        let run = self.prints()?.run;
        let contained = least_share(self, conditions)?;
        let texts = self.texts(conditions)?;
        let groups = Groups::new(&texts);
        let mut pairs = Vec::new();
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
                pairs.push(PassagePair {
                    a: text.key.clone(),
                    b: theirs.key.clone(),
                    share_of_a: share_of(shared.ours, &text.table),
                    share_of_b: share_of(shared.theirs, &theirs.table),
                    words: wide(shared.ours),
                    longest: wide(shared.longest),
                    stands_out: false,
                    complete: shared.complete,
                });
            }
        }
        pairs.sort_by(|one, other| {
            let rank = |pair: &PassagePair| (pair.longest, pair.words);
            let keys = |pair: &PassagePair| (pair.a.clone(), pair.b.clone());
            rank(other).cmp(&rank(one)).then_with(|| keys(one).cmp(&keys(other)))
        });
        mark(&mut pairs, texts.len());
        // Not before: what stands out depends on all pairs.
        pairs.retain(|pair| pair.share_of_a.max(pair.share_of_b) >= contained);
        pairs.truncate(conditions.limit);
        Ok(pairs)
    }

    /// Groups of texts that [`PassageView::pairs`] connect: those that stand out; if the conditions
    /// have a containment, all that reach it. The keys of each group ascend, and so do groups by
    /// their first key.
    ///
    /// # Errors
    ///
    /// Those of [`PassageView::pairs`].
    pub fn clusters(&self, conditions: &Conditions<'_>) -> Result<Vec<Vec<Vec<u8>>>> {
        let is_any = least_share(self, conditions)? > 0.0;
        let mut pairs = self.pairs(&conditions.clone().limit(usize::MAX))?;
        pairs.retain(|pair| is_any || pair.stands_out);
        let ends = pairs.iter().flat_map(|pair| [&pair.a, &pair.b]);
        let keys: Vec<&Vec<u8>> = ends.collect::<BTreeSet<_>>().into_iter().collect();
        let number = |key: &Vec<u8>| u32::try_from(keys.partition_point(|other| *other < key));
        let too_many = |_| Error::invalid("clusters are limited to 2^32 texts");
        let mut forest = Forest::new(u32::try_from(keys.len()).map_err(too_many)?);
        for pair in &pairs {
            forest.unite(number(&pair.a).map_err(too_many)?, number(&pair.b).map_err(too_many)?);
        }
        let members = forest.members();
        let groups = members.chunk_by(|(one, _), (other, _)| one == other);
        let key = |(_, number): &(u32, u32)| keys.get(index(*number)).map(|key| (*key).clone());
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

/// Marks the pairs whose longest run stands out; `pairs` are sorted by it.
fn mark(pairs: &mut [PassagePair], texts: usize) {
    let all = texts * texts.saturating_sub(1) / 2;
    // Few texts have few pairs, and one copy may be more than a twentieth of them.
    let usual = pairs.get(texts.max(all / 20)).map_or(0, |pair| pair.longest);
    let least = (2 * usual).max(wide(OUT_MIN));
    for pair in pairs {
        pair.stands_out = pair.longest >= least;
    }
}
