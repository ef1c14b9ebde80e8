//! The decisions on rows, and the table that tells them.

use nearkin::{Duplicate, Evidence};

use crate::arrow::{Cell, Field, Kind};
use crate::columns::keys::{KeyType, key_kind};
use crate::dedup::differences::Differences;
use crate::tables::table::Table;

/// The decision on a row.
#[derive(Debug, Clone, Default)]
pub(crate) enum Fate {
    /// The row is kept.
    #[default]
    Kept,
    /// The row has nothing to compare, and is left out because the caller wants so.
    Blank,
    /// Dropped as a duplicate of this row, which is kept.
    Of(usize, Reason),
    /// Dropped as a duplicate of this document of the index.
    InIndex(Vec<u8>, Reason),
    /// Kept although it is similar to this row, which is kept, too.
    Apart { of: usize, reason: Reason, what: &'static str },
}

/// The values on which a decision rests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reason {
    similarity: f64,
    containment: Option<f64>,
    /// If shingles were compared: number of shingles of the dropped row, of the other document, and
    /// of both.
    pub(crate) counts: Option<[u32; 3]>,
}

impl Reason {
    pub(crate) fn from_duplicate<K>(duplicate: &Duplicate<K>) -> Self {
        let counts = match duplicate.evidence {
            Evidence::Shingles { own, other, shared, .. } => Some([own, other, shared]),
            _ => None,
        };
        let Duplicate { similarity, containment, .. } = *duplicate;
        Self { similarity, containment, counts }
    }

    /// A reason from the counts of shingles that were compared elsewhere.
    pub(crate) fn from_counts([own, other, shared]: [u32; 3]) -> Self {
        let ratio = |of: u64| f64::from(shared) / of.max(1) as f64;
        let similarity = ratio((u64::from(own) + u64::from(other)).saturating_sub(shared.into()));
        let containment = Some(ratio(own.min(other).into()));
        Self { similarity, containment, counts: Some([own, other, shared]) }
    }
}

impl Fate {
    pub(crate) fn is_kept(&self) -> bool {
        matches!(self, Self::Kept | Self::Apart { .. })
    }

    fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Kept | Self::Blank => None,
            Self::Of(_, reason) | Self::InIndex(_, reason) | Self::Apart { reason, .. } => {
                Some(reason)
            }
        }
    }

    /// The row that this one is compared with in the result, if their shingles differ.
    pub(crate) fn differs_from(&self) -> Option<usize> {
        match self {
            Self::Of(of, reason) | Self::Apart { of, reason, .. } => {
                reason.counts.is_some_and(|all| !are_equal(all)).then_some(*of)
            }
            _ => None,
        }
    }
}

/// Whether two documents have the same shingles.
fn are_equal([own, other, shared]: [u32; 3]) -> bool {
    own == shared && other == shared
}

/// What was asked for beside the decisions.
pub(crate) struct Shown {
    /// Whether shingles were compared.
    pub(crate) by_shingles: bool,
    /// The words that only one of two texts has, by the row that was compared.
    pub(crate) differences: Option<Differences>,
}

/// The result table: `kept, cluster, cluster_size, duplicate_of, similarity, index_key`; if
/// shingles were compared also `contained, shingles, of_shingles, shared, apart, similar_to`; then
/// perhaps the columns of the differences.
pub(crate) fn fates_table(fates: &[Fate], keys: KeyType, shown: &Shown) -> Table {
    let mut fields = vec![
        Field::new("kept", Kind::Bool),
        Field::nullable("cluster", Kind::Integer),
        Field::nullable("cluster_size", Kind::Integer),
        Field::nullable("duplicate_of", Kind::Integer),
        Field::nullable("similarity", Kind::Float),
        Field::nullable("index_key", key_kind(keys)),
    ];
    if shown.by_shingles {
        fields.push(Field::nullable("contained", Kind::Float));
        let counts = ["shingles", "of_shingles", "shared"];
        fields.extend(counts.map(|name| Field::nullable(name, Kind::Integer)));
        fields.push(Field::nullable("apart", Kind::Text));
        fields.push(Field::nullable("similar_to", Kind::Integer));
    }
    if shown.differences.is_some() {
        fields.extend(Differences::FIELDS);
    }
    let mut sizes = vec![1_i64; fates.len()];
    for fate in fates {
        if let Fate::Of(of, _) = fate
            && let Some(size) = sizes.get_mut(*of)
        {
            *size += 1;
        }
    }
    let rows = fates.iter().enumerate().map(|(row, fate)| {
        let size_of = |cluster: usize| sizes.get(cluster).copied();
        let decided = decision(row, fate, size_of).into_iter();
        let reasons = shown.by_shingles.then(|| evidence(fate)).into_iter().flatten();
        let words = shown.differences.as_ref().map(|all| all.cells(row));
        decided.chain(reasons).chain(words.into_iter().flatten())
    });
    Table::filled(&fields, rows)
}

/// Which document a row duplicates.
fn decision(row: usize, fate: &Fate, size_of: impl Fn(usize) -> Option<i64>) -> [Cell<'_>; 6] {
    let (cluster, of, key) = match fate {
        Fate::Kept | Fate::Apart { .. } => (Some(row), None, None),
        Fate::Blank => (None, None, None),
        Fate::Of(of, _) => (Some(*of), Some(*of), None),
        Fate::InIndex(key, _) => (None, None, Some(key.as_slice())),
    };
    [
        fate.is_kept().into(),
        cluster.into(),
        cluster.and_then(size_of).into(),
        of.into(),
        fate.reason().map(|reason| reason.similarity).into(),
        key.into(),
    ]
}

/// What two documents have in common, and what sets them apart.
fn evidence(fate: &Fate) -> [Cell<'_>; 6] {
    let reason = fate.reason();
    let counts = reason.and_then(|reason| reason.counts);
    let [own, other, shared] = [0, 1, 2].map(|at| counts.and_then(|all| all.get(at).copied()));
    let (apart, similar_to) = match fate {
        Fate::Apart { of, what, .. } => (Some(what.as_bytes()), Some(*of)),
        _ => (None, None),
    };
    [
        reason.and_then(|reason| reason.containment).into(),
        own.into(),
        other.into(),
        shared.into(),
        apart.into(),
        similar_to.into(),
    ]
}
