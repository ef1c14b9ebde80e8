//! The conditions of searches and admissions: the options of a caller become conditions of the
//! engine here and nowhere else.

use std::ops::Range;
use std::time::Instant;

use nearkin::{Admit, Alike, DocumentView, Keep, Query};

use crate::failure::Failure;
use crate::job::Stop;
use crate::keys::{Bytes, owned};
use crate::numbers::{count, deadline, whole};

/// The checked conditions, without values of JavaScript.
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
    /// The conditions of the settings that `termsOf` in `lib/given.js` makes, one a line, and of a
    /// prefix, whose bytes need not be text.
    pub(crate) fn new(settings: &str, prefix: Option<Bytes>) -> Result<Self, Failure> {
        let mut terms = Self {
            threshold: None,
            contained: None,
            limit: usize::MAX,
            max_candidates: usize::MAX,
            deadline: None,
            times: ALWAYS,
            prefix: prefix.map(owned).unwrap_or_default(),
            relate: None,
            keep: Keep::default(),
        };
        for (name, value) in settings.lines().filter_map(|line| line.split_once('=')) {
            terms.set(name, value)?;
        }
        Ok(terms)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), Failure> {
        let number = |option: &str| {
            let refuse = |_| Failure::invalid(format!("{option} must be a number, not {value}"));
            value.parse::<f64>().map_err(refuse)
        };
        match name {
            "threshold" => self.threshold = Some(number("threshold")?),
            "contained" => self.contained = Some(number("contained")?),
            "limit" => self.limit = count(number("limit")?, "limit")?,
            "max_candidates" => {
                self.max_candidates = count(number("maxCandidates")?, "maxCandidates")?;
            }
            "deadline_ms" => self.deadline = deadline(number("timeoutMs")?, "timeoutMs")?,
            "after" => self.times.start = whole(number("after")?, "after")?,
            "before" => self.times.end = whole(number("before")?, "before")?,
            "relate" => self.relate = Some(number("relate")?),
            "keep" => {
                self.keep = match value {
                    "first" => Keep::First,
                    "newest" => Keep::Newest,
                    "longest" => Keep::Longest,
                    _ => {
                        let message = "keep must be 'first', 'newest' or 'longest'";
                        return Err(Failure::invalid(message));
                    }
                }
            }
            _ => return Err(Failure::invalid(format!("there is no condition {name}"))),
        }
        Ok(())
    }

    /// Whether a stored document counts.
    fn passes(&self, seen: DocumentView<'_>) -> bool {
        self.times.contains(&seen.time) && seen.key.starts_with(&self.prefix)
    }

    /// The condition under which two documents match. As in Python, the default threshold is 0 with
    /// `contained`, and otherwise that of the index (`own`).
    pub(crate) fn alike(&self, own: f64) -> Alike {
        match self.contained {
            Some(contained) => {
                Alike::contained(contained).and_similar(self.threshold.unwrap_or(0.0))
            }
            None => Alike::similar(self.threshold.unwrap_or(own)),
        }
    }

    /// Applies the conditions to a query of an index with the threshold `own`.
    pub(crate) fn query<'a>(
        &'a self,
        query: Query<'a>,
        own: f64,
        stop: Option<&'a Stop>,
    ) -> Query<'a> {
        restrict!(query.alike(self.alike(own)), self, stop)
    }

    /// The conditions of an admission to an index with the threshold `own`.
    pub(crate) fn admit<'a>(&'a self, own: f64, stop: Option<&'a Stop>) -> Admit<'a> {
        let mut admit = Admit::at(self.alike(own)).keep(self.keep).prefix(&self.prefix);
        if let Some(relate) = self.relate {
            admit = admit.relate(relate);
        }
        restrict!(admit, self, stop)
    }
}
