//! Handler for queries. The library decides what matches; this module converts requests and
//! answers.

use std::cell::Cell;
use std::time::Instant;

use axum::Json;
use nearkin::{Alike, Answer, Exact, Match, Original, Params, Signature, Snapshot};

use crate::serve::api::answers::{Answered, Answers, Found, QueryAnswer};
use crate::serve::api::blob::{Blob, Item};
use crate::serve::api::bodies::{self, Body, MATCHES_DEFAULT, QueryBody};
use crate::serve::api::conditions::{GivenConditions, WithConditions};
use crate::serve::api::error_response::ErrorResponse;
use crate::serve::call::Call;
use nearkin_kit::input::opened;
use nearkin_kit::input::originals::{ExactFields, Originals};
use nearkin_kit::output::visible;

/// Maximum number of texts in a request.
const TEXTS_MAX: usize = 1_000;

/// Maximum number of matches that the answers to several texts may hold together.
const MATCHES_MAX: usize = 20_000;

/// Maximum bytes of all payloads of an answer: as many as 1,000 matches can have.
const PAYLOAD_BYTES_MAX: usize = 64 << 20;

/// Maximum number of matches that a brief query may ask for.
const BRIEF_MATCHES_MAX: usize = 100;

/// Maximum number of matches that are looked at if texts decide which of them stay.
const LOOKED_AT_MAX: usize = 100_000;

/// Number of matches that are looked at first.
const LOOKED_AT_FIRST: usize = 1_000;

pub(crate) fn query(call: &Call<'_>, body: &Body) -> Result<Json<QueryAnswer>, ErrorResponse> {
    answer(call, &body.read()?).map(Json)
}

/// What is searched for.
enum Sought<'a> {
    Content(Signature),
    /// With `exact`: the document itself.
    Document(Original),
    Key(&'a Blob),
    Keys(&'a [Blob]),
}

fn answer(call: &Call<'_>, body: &WithConditions<QueryBody>) -> Result<QueryAnswer, ErrorResponse> {
    let WithConditions { own: request, conditions } = body;
    let QueryBody { text, texts, items, rows, key, keys, .. } = request;
    let given = [text.is_some(), items.is_some(), rows.is_some(), key.is_some(), keys.is_some()];
    let given = given.iter().filter(|given| **given).count() + usize::from(texts.is_some());
    if given != 1 {
        return Err(ErrorResponse::invalid(
            "exactly one of `text`, `texts`, `items`, `rows`, `key` and `keys` is needed",
        ));
    }
    call.give_up_if(texts.is_some() || keys.is_some() || request.exact)?;
    let search = Search::new(call, request, conditions)?;
    if let Some(texts) = texts {
        if texts.len() > TEXTS_MAX || texts.len() * search.limit > MATCHES_MAX {
            let message = format!(
                "at most {TEXTS_MAX} `texts`, and {MATCHES_MAX} matches (`texts` times `limit`)"
            );
            return Err(ErrorResponse::invalid(message));
        }
        let one = |(at, text): (usize, &String)| {
            call.check()?;
            let answered = search.content(Some(text), None, None).and_then(|q| search.run(&q));
            answered.map_err(|refused| refused.with_prefix(&format!("texts[{at}]")))
        };
        let answers = texts.iter().enumerate().map(one).collect::<Result<_, _>>()?;
        return Ok(QueryAnswer::Many(Answers { answers }));
    }
    let sought = match (key, keys) {
        (Some(key), _) => Sought::Key(key),
        (_, Some(keys)) => Sought::Keys(keys),
        _ => search.content(text.as_deref(), items.as_deref(), rows.as_deref())?,
    };
    search.run(&sought).map(QueryAnswer::One)
}

/// A checked request. All of its queries see the same state of the index.
struct Search<'a> {
    call: &'a Call<'a>,
    request: &'a QueryBody,
    conditions: &'a GivenConditions,
    snapshot: Snapshot,
    limit: usize,
    /// The condition of a match.
    alike: Alike,
    /// With `exact`: where the texts of matches are read again.
    originals: Option<&'a Originals>,
    /// Reading texts ends at this time.
    deadline: Instant,
    /// Bytes of the payloads of all answers so far.
    payload_bytes: Cell<usize>,
}

impl<'a> Search<'a> {
    fn new(
        call: &'a Call<'a>,
        request: &'a QueryBody,
        conditions: &'a GivenConditions,
    ) -> Result<Self, ErrorResponse> {
        let own = call.index.params().threshold();
        let minimum = |name| conditions.number(name);
        let alike = Alike::from_minima(minimum("threshold"), minimum("contained"), own);
        let originals = match (&call.originals, request.exact) {
            (_, false) => None,
            (Some(originals), true) => Some(originals),
            (None, true) => {
                return Err(ErrorResponse::invalid("`exact`: this server does not read texts")
                    .advise("start it with --texts"));
            }
        };
        if request.exact && (request.rows.is_some() || request.keys.is_some()) {
            return Err(ErrorResponse::invalid("`exact` needs `text`, `texts`, `items` or `key`"));
        }
        Ok(Self {
            call,
            request,
            conditions,
            snapshot: call.index.snapshot(),
            limit: bodies::limit(request.limit, MATCHES_DEFAULT)?,
            alike,
            originals,
            deadline: Instant::now() + call.limits.timeout,
            payload_bytes: Cell::new(0),
        })
    }

    fn content(
        &self,
        text: Option<&str>,
        items: Option<&[Item]>,
        rows: Option<&[u64]>,
    ) -> Result<Sought<'a>, ErrorResponse> {
        let sketcher = &self.call.sketcher;
        Ok(match (self.originals, text, items) {
            (Some(_), Some(text), _) => Sought::Document(sketcher.original_text(text)?),
            (Some(_), _, Some(items)) => Sought::Document(sketcher.original_items(items)?),
            _ => Sought::Content(bodies::signature(sketcher, text, items, rows)?),
        })
    }

    fn run(&self, sought: &Sought<'_>) -> Result<Answered, ErrorResponse> {
        self.check_prefix(sought)?;
        let (mut answer, exact) = match self.originals {
            Some(originals) => {
                let (answer, exact) = self.verified(sought, originals)?;
                (answer, Some(exact))
            }
            None => (self.found(sought, self.limit)?, None),
        };
        answer.matches.truncate(self.limit);
        self.count_payloads(&answer)?;
        let params = self.call.index.params();
        let threshold = self.conditions.number("threshold").unwrap_or(answer.threshold);
        let expected_recall = match self.conditions.number("contained") {
            Some(contained) => contained_recall(params, contained),
            None => self.call.expected_recall(threshold),
        };
        let exact =
            |at: usize| ExactFields::new(exact.as_ref().and_then(|all| all.get(at).copied()));
        let payloads = self.request.payloads;
        let matches = answer.matches.into_iter().enumerate();
        let matches = matches.map(|(at, found)| Found::new(found, payloads, &exact(at))).collect();
        Ok(Answered {
            matches,
            found: answer.found,
            threshold,
            expected_recall,
            complete: answer.complete,
            change: answer.change,
            warning: self.warning(params, threshold),
        })
    }

    /// Refuses an answer whose payloads take too much memory.
    fn count_payloads(&self, answer: &Answer) -> Result<(), ErrorResponse> {
        if !self.request.payloads {
            return Ok(());
        }
        let bytes: usize = answer.matches.iter().map(|found| found.payload.len()).sum();
        self.payload_bytes.set(self.payload_bytes.get() + bytes);
        if self.payload_bytes.get() <= PAYLOAD_BYTES_MAX {
            return Ok(());
        }
        let mib = PAYLOAD_BYTES_MAX >> 20;
        let message = format!("the payloads of all matches have more than {mib} MiB");
        Err(ErrorResponse::new("too_large", message)
            .advise("ask for fewer texts or matches, or without `payloads`"))
    }

    /// Refuses a key that does not begin with the prefix, stored or not: a tenant's request must
    /// not reveal what another tenant has.
    fn check_prefix(&self, sought: &Sought<'_>) -> Result<(), ErrorResponse> {
        let Some(prefix) = &self.conditions.prefix else { return Ok(()) };
        let keys = match sought {
            Sought::Key(key) => std::slice::from_ref(*key),
            Sought::Keys(keys) => keys,
            Sought::Content(_) | Sought::Document(_) => &[],
        };
        match keys.iter().find(|key| !key.0.starts_with(&prefix.0)) {
            Some(key) => {
                let key = visible(&key.0);
                let message = format!("the key {key} does not begin with the prefix");
                Err(ErrorResponse::invalid(message))
            }
            None => Ok(()),
        }
    }

    /// Runs a query of which texts decide later which matches stay. Each match may have a payload
    /// of 64 KiB, so more are asked for only if too few stay.
    fn verified(
        &self,
        sought: &Sought<'_>,
        originals: &Originals,
    ) -> Result<(Answer, Vec<Exact>), ErrorResponse> {
        let mut limit = self.limit.max(LOOKED_AT_FIRST);
        loop {
            let mut answer = self.found(sought, limit)?;
            let is_all = answer.matches.len() < limit || limit >= LOOKED_AT_MAX;
            let exact = self.verify(&mut answer, sought, originals)?;
            if is_all || answer.matches.len() >= self.limit {
                return Ok((answer, exact));
            }
            limit = LOOKED_AT_MAX.min(limit * 10);
        }
    }

    fn found(&self, sought: &Sought<'_>, limit: usize) -> Result<Answer, ErrorResponse> {
        let snapshot = &self.snapshot;
        let query = match sought {
            Sought::Content(signature) => snapshot.query(signature),
            Sought::Document(document) => snapshot.query(document.signature()),
            Sought::Key(key) => snapshot.query_key(&key.0),
            Sought::Keys(keys) => snapshot.query_keys(keys.iter().map(|key| &key.0)),
        };
        let is_decided_later = self.originals.is_some();
        let alike = if is_decided_later { self.alike.for_verification() } else { self.alike };
        let mut conditions = self.conditions.begin()?.alike(alike).limit(limit);
        let own = self.conditions.number("max_candidates");
        let brief = self.call.brief_candidates_max();
        // Each match may have a payload of 64 KiB.
        self.call.give_up_if(brief.is_some() && limit > BRIEF_MATCHES_MAX)?;
        let brief = brief.filter(|most| own.is_none_or(|own| own > *most as f64));
        if let Some(most) = brief {
            conditions = conditions.max_candidates(most);
        }
        let mut answer = query.conditions(conditions.cancel_if(self.call.is_abandoned())).run()?;
        self.call.give_up_if(brief.is_some() && !answer.complete)?;
        self.call.check()?;
        if is_decided_later {
            answer.complete &= answer.found <= LOOKED_AT_MAX as u64;
        }
        Ok(answer)
    }

    /// Compares the documents themselves, most similar first, until the limit is reached. Matches
    /// below the condition are dropped. Returns the result for each match that stays.
    fn verify(
        &self,
        answer: &mut Answer,
        sought: &Sought<'_>,
        originals: &Originals,
    ) -> Result<Vec<Exact>, ErrorResponse> {
        let fetch = &mut |key: &[u8]| Ok(originals.fetch(key));
        let (mut stay, mut all_exact) = (Vec::new(), Vec::new());
        for found in std::mem::take(&mut answer.matches) {
            if stay.len() >= self.limit {
                break;
            }
            self.call.check()?;
            if Instant::now() >= self.deadline {
                let message = "the time was not enough to compare the texts of all matches";
                return Err(ErrorResponse::new("timeout", message));
            }
            let exact = self.exactly(sought, &found, fetch)?;
            if exact == Exact::Below {
                answer.found -= 1;
            } else {
                stay.push(found);
                all_exact.push(exact);
            }
        }
        answer.matches = stay;
        Ok(all_exact)
    }

    fn exactly(
        &self,
        sought: &Sought<'_>,
        found: &Match,
        fetch: &mut nearkin::Fetch<'_>,
    ) -> nearkin::Result<Exact> {
        match sought {
            Sought::Document(document) => {
                let one = std::slice::from_ref(found);
                let exact = self.snapshot.exact_matches(document, one, self.alike, fetch)?;
                Ok(exact.first().copied().unwrap_or(Exact::Missing))
            }
            Sought::Key(key) => {
                let pair = found.pair_with(key.0.as_slice());
                self.snapshot.exact_pair(&pair, self.alike, fetch)
            }
            // `Search::new` refuses these.
            Sought::Content(_) | Sought::Keys(_) => Ok(Exact::Missing),
        }
    }

    /// What the bands of the index miss, if that is much; or what threshold 1 does not mean.
    fn warning(&self, params: &Params, threshold: f64) -> Option<String> {
        if let Some(contained) = self.conditions.number("contained") {
            let recall = contained_recall(params, contained);
            return (recall < 0.9).then(|| {
                format!(
                    "this query misses about {:.0} % of texts contained to {contained} in one \
                     twice as long: the index was built for similarities of {} and above",
                    100.0 * (1.0 - recall),
                    params.threshold()
                )
            });
        }
        let recall = params.candidate_probability(threshold);
        if recall < 0.5 {
            return Some(format!(
                "this query misses about {:.0} % of matches at similarity {threshold}: the index \
                 was built for {} and above",
                100.0 * (1.0 - recall),
                params.threshold()
            ));
        }
        let is_estimated = threshold >= 1.0 && self.originals.is_none();
        is_estimated.then(|| opened::equality_is_estimated("`exact` compares them"))
    }
}

/// The probability that a text is compared with one that is twice as long and contains this
/// fraction of it.
fn contained_recall(params: &Params, contained: f64) -> f64 {
    params.candidate_probability(Params::similarity_of_contained(contained, 2.0))
}
