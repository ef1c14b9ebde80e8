//! The conditions under which documents are searched for and admitted.

use std::ops::Range;
use std::time::Instant;

use napi::bindgen_prelude::Float64Array;
use nearkin::{Admit, Alike, DocumentView, Keep, Query};

use crate::failure::Failure;
use crate::job::Stop;
use crate::keys::{Bytes, owned};
use crate::numbers::{deadline, most, whole};

/// The conditions, checked and free of JavaScript.
pub(crate) struct Terms {
    threshold: Option<f64>,
    contained: Option<f64>,
    limit: usize,
    max_candidates: usize,
    deadline: Option<Instant>,
    times: Range<u64>,
    pub(crate) prefix: Vec<u8>,
    relate: Option<f64>,
    keep: Keep,
}

/// Sets the conditions that a query and an admission have in common.
macro_rules! restrict {
    ($builder:expr, $terms:ident, $stop:ident) => {{
        let mut builder = $builder.limit($terms.limit).max_candidates($terms.max_candidates);
        if let Some(deadline) = $terms.deadline {
            builder = builder.deadline(deadline);
        }
        if $terms.times != ALWAYS || !$terms.prefix.is_empty() {
            builder = builder.filter_document(|seen| $terms.passes(seen));
        }
        match $stop {
            Some(stop) => builder.cancel_if(|| stop.is_set()),
            None => builder,
        }
    }};
}

const ALWAYS: Range<u64> = 0..u64::MAX;

impl Terms {
    /// The conditions as `termsOf` in `lib/given.js` gives them: not a number stands for none.
    pub(crate) fn new(numbers: &Float64Array, prefix: Option<Bytes>) -> Result<Self, Failure> {
        let given: Vec<Option<f64>> =
            numbers.iter().map(|number| (!number.is_nan()).then_some(*number)).collect();
        let &[threshold, contained, limit, candidates, timeout, after, before, relate, keep] =
            given.as_slice()
        else {
            return Err(Failure::invalid("a search has nine numbers"));
        };
        let deadline = timeout.map(|ms| deadline(ms, "timeoutMs")).transpose()?.flatten();
        let time = |ms: Option<f64>, name, none| ms.map_or(Ok(none), |ms| whole(ms, name));
        let times = time(after, "after", ALWAYS.start)?..time(before, "before", ALWAYS.end)?;
        let keep = match keep.map(|keep| whole(keep, "keep")) {
            None | Some(Ok(0)) => Keep::First,
            Some(Ok(1)) => Keep::Newest,
            Some(Ok(2)) => Keep::Longest,
            Some(_) => return Err(Failure::invalid("keep must be 'first', 'newest' or 'longest'")),
        };
        Ok(Self {
            threshold,
            contained,
            limit: most(limit, "limit")?,
            max_candidates: most(candidates, "maxCandidates")?,
            deadline,
            times,
            prefix: prefix.map(owned).unwrap_or_default(),
            relate,
            keep,
        })
    }

    /// Whether a stored document counts.
    fn passes(&self, seen: DocumentView<'_>) -> bool {
        self.times.contains(&seen.time) && seen.key.starts_with(&self.prefix)
    }

    /// The condition under which two documents match. As in Python, `contained` alone needs no
    /// similarity; without either, the threshold of the index decides.
    pub(crate) fn alike(&self, own: f64) -> Alike {
        match self.contained {
            Some(contained) => {
                Alike::contained(contained).and_similar(self.threshold.unwrap_or(0.0))
            }
            None => Alike::similar(self.threshold.unwrap_or(own)),
        }
    }

    /// Applies them to a query of an index with this threshold.
    pub(crate) fn query<'a>(
        &'a self,
        query: Query<'a>,
        own: f64,
        stop: Option<&'a Stop>,
    ) -> Query<'a> {
        restrict!(query.alike(self.alike(own)), self, stop)
    }

    /// The conditions of an admission to an index with this threshold.
    pub(crate) fn admit<'a>(&'a self, own: f64, stop: Option<&'a Stop>) -> Admit<'a> {
        let mut admit = Admit::at(self.alike(own)).keep(self.keep).prefix(&self.prefix);
        if let Some(relate) = self.relate {
            admit = admit.relate(relate);
        }
        restrict!(admit, self, stop)
    }
}
