//! Converts answers of the engine to arrays of JavaScript, and matches to bytes. `lib/shapes.js`
//! makes objects of them, many times faster than N-API does.

use napi::bindgen_prelude::{Array, BigInt, Null, ToNapiValue, Unknown};
use napi::{Env, JsValue};
use nearkin::{
    Admission, Answer, Cluster, Containment, Decision, Document, Match, Outcome, Signature, Stats,
    Verification, Written,
};

use crate::failure::Failure;
use crate::job::Shown;
use crate::keys::{KeyType, buffer, value};
use crate::pages::{Item, Page};

/// An array that is being filled.
struct Row<'e> {
    array: Array<'e>,
    next: u32,
}

impl<'e> Row<'e> {
    /// With room for `fields`, and for `count` things of `of_each` fields.
    fn new(env: &'e Env, fields: usize, count: usize, of_each: usize) -> Result<Self, Failure> {
        let length = u32::try_from(count.saturating_mul(of_each).saturating_add(fields))
            .map_err(|_| Failure::invalid("the answer is too long for an array: give a limit"))?;
        Ok(Self { array: env.create_array(length)?, next: 0 })
    }

    fn push(&mut self, given: impl ToNapiValue) -> Result<(), Failure> {
        self.array.set(self.next, given)?;
        self.next += 1;
        Ok(())
    }

    /// `undefined` if the search had no condition `contained`.
    fn push_containment(&mut self, containment: Option<Containment>) -> Result<(), Failure> {
        match containment {
            None => self.push(()),
            Some(containment) => self.push(containment.estimate),
        }
    }

    fn done(self) -> Unknown<'e> {
        Array::to_unknown(&self.array)
    }
}

/// Number of fields of a pair in a row.
const PAIR_FIELDS: usize = 5;

/// An array of these values.
macro_rules! row {
    ($env:expr; $($given:expr),+ $(,)?) => {{
        let mut row = Row::new($env, [$(stringify!($given)),+].len(), 0, 0)?;
        $(row.push($given)?;)+
        Ok(row.done())
    }};
}

fn list<'e, T>(
    env: &'e Env,
    values: &[T],
    show: impl Fn(&T) -> Result<Unknown<'e>, Failure>,
) -> Result<Unknown<'e>, Failure> {
    let mut row = Row::new(env, 0, values.len(), 1)?;
    for one in values {
        row.push(show(one)?)?;
    }
    Ok(row.done())
}

/// The value of a number that is not there: none of them is negative.
const NONE: f64 = -1.0;

/// Numbers of [`flat`] of its own, and of each match.
const OWN_FIELDS: usize = 3;
const MATCH_FIELDS: usize = 7;

/// Matches as bytes. First come numbers, of 64 bits each: those of `head`; the number of matches,
/// the length of their keys in bytes, and 1 if these are ASCII; then seven of each match. Then come
/// the keys that are text, and then, match by match, the key if it is a buffer, and the payload.
fn flat(head: &[f64], all: &[Match], keys: KeyType) -> Result<Vec<u8>, Failure> {
    let sizes = all.iter().map(|found| found.key.len() + found.payload.len());
    let numbers = head.len() + OWN_FIELDS + all.len() * MATCH_FIELDS;
    let mut bytes = Vec::with_capacity(numbers * size_of::<f64>() + sizes.sum::<usize>());
    let (mut text, mut blobs) = (Vec::new(), Vec::new());
    let mut push = |numbers: &[f64]| {
        for number in numbers {
            bytes.extend_from_slice(&number.to_ne_bytes());
        }
    };
    push(head);
    let texts = all.iter().map(|found| Ok(keys.text(&found.key)?.unwrap_or_default()));
    let texts = texts.collect::<Result<Vec<&str>, Failure>>()?;
    let (length, is_ascii) = texts
        .iter()
        .fold((0, true), |(sum, ascii), key| (sum + key.len(), ascii && key.is_ascii()));
    push(&[all.len() as f64, length as f64, f64::from(u8::from(is_ascii))]);
    for (found, key) in all.iter().zip(&texts) {
        let units = if key.len() == found.key.len() {
            let units = if is_ascii { key.len() } else { key.encode_utf16().count() };
            text.extend_from_slice(key.as_bytes());
            units as f64
        } else {
            blobs.extend_from_slice(&found.key);
            // Below 0, also for an empty one.
            -1.0 - found.key.len() as f64
        };
        blobs.extend_from_slice(&found.payload);
        push(&[
            found.time as f64,
            found.similarity,
            found.standard_error,
            f64::from(found.equal_rows),
            found.containment.map_or(NONE, |containment| containment.estimate),
            units,
            found.payload.len() as f64,
        ]);
    }
    bytes.append(&mut text);
    bytes.append(&mut blobs);
    Ok(bytes)
}

/// An answer as bytes: its numbers, then its matches.
pub(crate) fn flat_answer(answer: &Answer, keys: KeyType) -> Result<Vec<u8>, Failure> {
    let complete = f64::from(u8::from(answer.complete));
    let head = [answer.found as f64, answer.threshold, complete, answer.change as f64];
    flat(&head, &answer.matches, keys)
}

/// Matches as a buffer; `undefined` if there are none.
fn matches<'e>(env: &'e Env, all: &[Match], keys: KeyType) -> Result<Unknown<'e>, Failure> {
    if all.is_empty() { value(env, ()) } else { buffer(env, &flat(&[], all, keys)?) }
}

fn page<'e>(env: &'e Env, page: &Page, keys: KeyType) -> Result<Unknown<'e>, Failure> {
    let is_of_pairs = matches!(page.first(), Some(Item::Pair(_)));
    let mut row = Row::new(env, 0, page.len(), if is_of_pairs { PAIR_FIELDS } else { 1 })?;
    for item in page {
        match item {
            Item::Pair(pair) => {
                row.push(keys.show(env, &pair.a)?)?;
                row.push(keys.show(env, &pair.b)?)?;
                row.push(pair.similarity)?;
                row.push(pair.equal_rows)?;
                row.push_containment(pair.containment)?;
            }
            Item::Cluster(found) => row.push(cluster(env, found, keys)?)?,
            Item::Key(key) => row.push(keys.show(env, key.as_bytes())?)?,
        }
    }
    Ok(row.done())
}

fn cluster<'e>(env: &'e Env, cluster: &Cluster, keys: KeyType) -> Result<Unknown<'e>, Failure> {
    row![env; keys.show(env, cluster.representative())?,
        list(env, &cluster.keys, |key| keys.show(env, key))?,
        list(env, &cluster.times, |time| value(env, *time as f64))?]
}

fn signature<'e>(env: &'e Env, made: &Signature) -> Result<Unknown<'e>, Failure> {
    row![env; buffer(env, made.as_bytes())?, made.shingle_count(), BigInt::from(made.id())]
}

fn admission<'e>(
    env: &'e Env,
    admission: &Admission,
    keys: KeyType,
) -> Result<Unknown<'e>, Failure> {
    let (none, keys) = (&Vec::new(), keys.of_writes());
    let (duplicates, related, removed) = match &admission.decision {
        Decision::Rejected { duplicates, .. } => (duplicates, none, none),
        Decision::Admitted { related, removed, .. } => (none, related, removed),
    };
    row![env; admission.decision.as_str(), matches(env, duplicates, keys)?,
        matches(env, related, keys)?, matches(env, removed, keys)?, admission.complete,
        admission.change as f64]
}

/// Implements [`Shown`] for each type with the expression beside it.
macro_rules! shown {
    ($($type:ty: |$env:ident, $value:ident, $keys:ident| $show:expr;)+) => {
        $(impl Shown for $type {
            fn show(self: Box<Self>, $env: &Env, $keys: KeyType)
                -> Result<Unknown<'_>, Failure> {
                let $value = *self;
                $show
            }
        })+
    };
}

shown! {
    (): |env, _unit, _keys| value(env, ());
    bool: |env, is, _keys| value(env, is);
    u64: |env, number, _keys| value(env, number as f64);
    // JSON, of which `lib/shapes.js` makes an object.
    Stats: |env, stats, _keys|
        value(env, serde_json::to_string(&stats).map_err(nearkin::Error::other)?);
    Outcome: |env, outcome, _keys| value(env, outcome.as_str());
    Signature: |env, made, _keys| signature(env, &made);
    Vec<Option<Signature>>: |env, all, _keys| list(env, &all, |made| match made {
        Some(made) => signature(env, made),
        None => value(env, Null),
    });
    Vec<Admission>: |env, all, keys| list(env, &all, |one| admission(env, one, keys));
    Page: |env, items, keys| page(env, &items, keys);
    Answer: |env, found, keys| buffer(env, &flat_answer(&found, keys)?);
    Written: |env, written, _keys| row![env; written.change as f64,
        list(env, &written.outcomes, |outcome| value(env, outcome.as_str()))?];
    Option<Document>: |env, document, keys| match document {
        None => value(env, ()),
        Some(found) => row![env; keys.show(env, &found.key)?, buffer(env, &found.payload)?,
            found.time as f64, signature(env, &found.signature)?],
    };
    Verification: |env, found, _keys| row![env; found.is_ok(), found.documents as f64,
        list(env, &found.problems, |problem| value(env, problem.to_string()))?];
}
