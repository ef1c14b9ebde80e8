//! Queries for many signatures at once.

#[cfg(doc)]
use crate::Query;
use crate::format::bytes::index;
use crate::index::read::conditions::{Conditions, setters};
use crate::index::read::query::{BATCH_SIGNATURES, CheckedTerms};
use crate::index::read::scratch::SearchScratch;
use crate::index::state::versions::Snapshot;
use crate::{Answer, Result, Signature};
use std::fmt;

/// A builder for one query per signature, all run together.
///
/// The answers equal those of one [`Query`] per signature. Running the queries together overlaps
/// their memory accesses, and all of them see the same state of the index.
#[derive(Clone)]
#[must_use = "queries do nothing until they are run"]
pub struct Queries<'a> {
    snapshot: Snapshot,
    signatures: &'a [Signature],
    conditions: Conditions<'a>,
}

setters!(Queries);

impl Snapshot {
    /// Queries for documents similar to each of these signatures. See [`Queries`].
    pub fn queries<'a>(&self, signatures: &'a [Signature]) -> Queries<'a> {
        Queries { snapshot: self.clone(), signatures, conditions: Conditions::default() }
    }
}

impl Queries<'_> {
    /// Runs the queries. Returns the answers in the order of the signatures.
    ///
    /// Costs somewhat less than the same number of single queries. It uses one thread only: to use
    /// several threads, give each of them a part of the signatures.
    ///
    /// # Errors
    ///
    /// Those of [`Query::run`].
    pub fn run(&self) -> Result<Vec<Answer>> {
        let snapshot = &self.snapshot;
        let checked = CheckedTerms::new(snapshot, &self.conditions)?;
        for (number, signature) in self.signatures.iter().enumerate() {
            snapshot
                .check_signature(signature)
                .map_err(|error| error.of_query(number, self.signatures.len()))?;
        }
        let mut answers = Vec::with_capacity(self.signatures.len());
        let mut scratch = SearchScratch::take();
        let mut search = checked.search(snapshot, &mut scratch);
        let mut bytes: [&[u8]; BATCH_SIGNATURES] = [&[]; BATCH_SIGNATURES];
        for together in self.signatures.chunks(BATCH_SIGNATURES) {
            let mut counts = [0; BATCH_SIGNATURES];
            for ((bytes, count), signature) in bytes.iter_mut().zip(&mut counts).zip(together) {
                (*bytes, *count) = (signature.as_bytes(), signature.shingle_count());
            }
            search.run(&bytes[..together.len()], checked.equal_rows_min)?;
            let cut: [bool; BATCH_SIGNATURES] = std::array::from_fn(|number| search.is_cut(number));
            let mut rest = search.found().as_mut_slice();
            for (number, cut) in cut.iter().enumerate().take(together.len()) {
                let count = rest.partition_point(|found| index(found.probe) <= number);
                let (of_this, of_others) = rest.split_at_mut(count);
                let complete = planted!(AllComplete, true, !cut);
                answers.push(snapshot.answer(of_this, &checked, &counts, complete)?);
                rest = of_others;
            }
        }
        scratch.keep();
        Ok(answers)
    }
}

impl fmt::Debug for Queries<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut queries = f.debug_struct("Queries");
        queries.field("signatures", &self.signatures.len()).field("conditions", &self.conditions);
        queries.field("change", &self.snapshot.visible).finish()
    }
}
