//! The extension module `nearkin._nearkin`: the engine as Python classes.
//!
//! It contains no algorithm: the library computes all answers. `nearkin/` is the Python layer.

use pyo3::prelude::*;

mod arrow;
mod called;
mod columns;
mod datasketch;
mod dedup;
mod error;
mod events;
mod index;
mod interrupt;
mod lock;
mod options;
mod parallel;
mod progress;
mod search;
mod shards;
mod sketch;
mod tables;

/// Panics, so that a test can check how panics are converted.
#[pyfunction]
fn _panic(py: Python<'_>, message: String) -> PyResult<()> {
    error::unlocked(py, || panic!("{message}"))
}

/// Whether a row is without a value, for the columns that are put together in Python.
#[pyfunction]
fn _is_null(object: &Bound<'_, PyAny>) -> bool {
    columns::column::is_null(object)
}

/// The extension module; import `nearkin` instead.
#[pymodule]
mod _nearkin {
    use pyo3::prelude::pymodule;

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "the name in Python")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    use crate::_is_null;
    #[pymodule_export]
    use crate::_panic;
    #[pymodule_export]
    use crate::datasketch::{hasher::Hasher, tables::Tables};
    #[pymodule_export]
    use crate::dedup::audit::audit_rows;
    #[pymodule_export]
    use crate::dedup::questions::{FoundQuestion, Questions};
    #[pymodule_export]
    use crate::dedup::rows::{decide_rows, dedup_params};
    #[pymodule_export]
    use crate::dedup::sieve::RowSieve;
    #[pymodule_export]
    use crate::error::_advice;
    #[pymodule_export]
    use crate::index::copies::{rebuild, salvage};
    #[pymodule_export]
    use crate::index::originals::similarity;
    #[pymodule_export]
    use crate::index::passages::PassageIndex;
    #[pymodule_export]
    use crate::index::readable::{Readable, Snapshot};
    #[pymodule_export]
    use crate::index::reader::Reader;
    #[pymodule_export]
    use crate::index::writer::{Index, exists};
    #[pymodule_export]
    use crate::search::answers::{_similarity_text, Answer, Document, Match, SeenDocument};
    #[pymodule_export]
    use crate::search::quotations::{Passage, Passages, Text, TextPair};
    #[pymodule_export]
    use crate::shards::compared::decide_in_order;
    #[pymodule_export]
    use crate::shards::judged::judge_in_order;
    #[pymodule_export]
    use crate::sketch::learner::learn_common;
    #[pymodule_export]
    use crate::sketch::params::Params;
    #[pymodule_export]
    use crate::sketch::signature::Signature;
    #[pymodule_export]
    use crate::sketch::signatures::Signatures;
    #[pymodule_export]
    use crate::sketch::sketcher::Sketcher;
    #[pymodule_export]
    use crate::tables::streams::KeysSource;
    #[pymodule_export]
    use crate::tables::table::{_table_of, Stream, Table};

    /// What `nearkin.shards` exports.
    #[pymodule]
    mod shards {
        #[pymodule_export]
        use crate::shards::compared::{compare, shingles};
        #[pymodule_export]
        use crate::shards::graph::{are_stars, components, dropped, large_star, small_star};
        #[pymodule_export]
        use crate::shards::manifest::{Manifest, Shards};
        #[pymodule_export]
        use crate::shards::sealing::{Sealed, Ticket, seal};
        #[pymodule_export]
        use crate::shards::steps::{
            band_entries, connect_buckets, shard_of, verify, verify_between, verify_buckets,
        };
    }
}
