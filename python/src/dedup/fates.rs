//! The decisions on rows, and the table that tells them.

use nearkin::{Duplicate, Evidence};

use crate::arrow::{Field, Kind};
use crate::columns::keys::{KeyType, key_kind};
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
}

/// The values on which a decision rests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reason {
    similarity: f64,
    containment: Option<f64>,
    /// If shingles were compared: number of shingles of the dropped row, of the other document, and
    /// of both.
    counts: Option<[u32; 3]>,
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
}

impl Fate {
    fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Kept | Self::Blank => None,
            Self::Of(_, reason) | Self::InIndex(_, reason) => Some(reason),
        }
    }
}

/// The result table: `kept, cluster, cluster_size, duplicate_of, similarity, index_key`; for exact
/// decisions also `contained, shingles, of_shingles, shared`.
pub(crate) fn fates_table(fates: &[Fate], keys: KeyType, exact: bool) -> Table {
    let mut fields = vec![
        Field::new("kept", Kind::Bool),
        Field::nullable("cluster", Kind::Integer),
        Field::nullable("cluster_size", Kind::Integer),
        Field::nullable("duplicate_of", Kind::Integer),
        Field::nullable("similarity", Kind::Float),
        Field::nullable("index_key", key_kind(keys)),
    ];
    if exact {
        fields.push(Field::nullable("contained", Kind::Float));
        let counts = ["shingles", "of_shingles", "shared"];
        fields.extend(counts.map(|name| Field::nullable(name, Kind::Integer)));
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
        let (cluster, of, key) = match fate {
            Fate::Kept => (Some(row), None, None),
            Fate::Blank => (None, None, None),
            Fate::Of(of, _) => (Some(*of), Some(*of), None),
            Fate::InIndex(key, _) => (None, None, Some(key.as_slice())),
        };
        let size = cluster.and_then(|cluster| sizes.get(cluster).copied());
        let reason = fate.reason();
        let counts = reason.and_then(|reason| reason.counts);
        let [own, other, shared] = [0, 1, 2].map(|at| counts.and_then(|all| all.get(at).copied()));
        [
            matches!(fate, Fate::Kept).into(),
            cluster.into(),
            size.into(),
            of.into(),
            reason.map(|reason| reason.similarity).into(),
            key.into(),
            reason.and_then(|reason| reason.containment).into(),
            own.into(),
            other.into(),
            shared.into(),
        ]
    });
    Table::filled(&fields, rows)
}
