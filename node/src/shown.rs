//! Answers of the engine as values of JavaScript. The names are those of the engine in camelCase.

use napi::bindgen_prelude::{Array, BigInt, Object, ToNapiValue, Unknown};
use napi::{Env, JsValue};
use nearkin::{
    Admission, Answer, Cluster, Decision, Document, Match, Outcome, Pair, Signature, Verification,
    Written,
};

use crate::failure::Failure;
use crate::keys::{KeyType, buffer};

/// A value that a thread made and JavaScript gets.
pub trait Shown: Send {
    fn show(self: Box<Self>, env: &Env, keys: KeyType) -> Result<Unknown<'_>, Failure>;
}

/// Converts a simple value.
pub(crate) fn value(env: &Env, given: impl ToNapiValue) -> Result<Unknown<'_>, Failure> {
    Ok(given.into_unknown(env)?)
}

/// An object that is being filled.
struct Fields<'e> {
    env: &'e Env,
    object: Object<'e>,
}

impl<'e> Fields<'e> {
    fn new(env: &'e Env) -> Result<Self, Failure> {
        Ok(Self { env, object: Object::new(env)? })
    }

    fn set(&mut self, name: &str, given: impl ToNapiValue) -> Result<(), Failure> {
        Ok(self.object.set(name, given)?)
    }

    /// A number of things, changes or milliseconds: exact up to 2^53.
    fn number(&mut self, name: &str, number: u64) -> Result<(), Failure> {
        self.set(name, number as f64)
    }

    fn bytes(&mut self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let bytes = buffer(self.env, bytes)?;
        self.set(name, bytes)
    }

    fn key(&mut self, name: &str, key: &[u8], keys: KeyType) -> Result<(), Failure> {
        let key = keys.show(self.env, key)?;
        self.set(name, key)
    }

    fn done(self) -> Unknown<'e> {
        self.object.to_unknown()
    }
}

fn list<'e, T>(
    env: &'e Env,
    values: &[T],
    show: impl Fn(&T) -> Result<Unknown<'e>, Failure>,
) -> Result<Unknown<'e>, Failure> {
    let mut flat = Flat::new(env, values.len(), 1)?;
    for one in values {
        flat.push(show(one)?)?;
    }
    Ok(flat.done())
}

pub(crate) fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Inserted => "inserted",
        Outcome::Replaced => "replaced",
        Outcome::Unchanged => "unchanged",
        Outcome::Removed => "removed",
        Outcome::Missing => "missing",
        Outcome::Superseded => "superseded",
        _ => "other",
    }
}

/// A flat array that is being filled: `lib/shapes.js` makes objects of it, many times faster than
/// they can be made from here.
struct Flat<'e> {
    array: Array<'e>,
    next: u32,
}

impl<'e> Flat<'e> {
    /// With room for `count` things of `fields` fields.
    fn new(env: &'e Env, count: usize, fields: usize) -> Result<Self, Failure> {
        let length = u32::try_from(count.saturating_mul(fields))
            .map_err(|_| Failure::invalid("the answer is too long for an array: give a limit"))?;
        Ok(Self { array: env.create_array(length)?, next: 0 })
    }

    fn push(&mut self, given: impl ToNapiValue) -> Result<(), Failure> {
        self.array.set(self.next, given)?;
        self.next += 1;
        Ok(())
    }

    fn done(self) -> Unknown<'e> {
        Array::to_unknown(&self.array)
    }
}

/// Number of fields of a match in a flat array, and of a pair.
const MATCH_FIELDS: usize = 7;
const PAIR_FIELDS: usize = 5;

fn matches<'e>(env: &'e Env, all: &[Match], keys: KeyType) -> Result<Unknown<'e>, Failure> {
    let mut flat = Flat::new(env, all.len(), MATCH_FIELDS)?;
    for found in all {
        flat.push(keys.show(env, &found.key)?)?;
        match found.payload.as_slice() {
            [] => flat.push(())?,
            payload => flat.push(buffer(env, payload)?)?,
        }
        flat.push(found.time as f64)?;
        flat.push(found.similarity)?;
        flat.push(found.standard_error)?;
        flat.push(found.equal_rows)?;
        match &found.containment {
            None => flat.push(())?,
            Some(containment) => flat.push(containment.estimate)?,
        }
    }
    Ok(flat.done())
}

fn pairs<'e>(env: &'e Env, all: &[Pair], keys: KeyType) -> Result<Unknown<'e>, Failure> {
    let mut flat = Flat::new(env, all.len(), PAIR_FIELDS)?;
    for pair in all {
        flat.push(keys.show(env, &pair.a)?)?;
        flat.push(keys.show(env, &pair.b)?)?;
        flat.push(pair.similarity)?;
        flat.push(pair.equal_rows)?;
        match &pair.containment {
            None => flat.push(())?,
            Some(containment) => flat.push(containment.estimate)?,
        }
    }
    Ok(flat.done())
}

fn signature<'e>(env: &'e Env, signature: &Signature) -> Result<Unknown<'e>, Failure> {
    let mut fields = Fields::new(env)?;
    fields.bytes("bytes", signature.as_bytes())?;
    fields.set("shingleCount", signature.shingle_count())?;
    fields.set("id", BigInt::from(signature.id()))?;
    Ok(fields.done())
}

fn admission<'e>(env: &'e Env, told: &Admission, keys: KeyType) -> Result<Unknown<'e>, Failure> {
    let mut fields = Fields::new(env)?;
    fields.set("admitted", told.is_admitted())?;
    let (mut outcome, none) = (None, Vec::new());
    let (duplicates, related, removed) = match &told.decision {
        Decision::Rejected { duplicates, .. } => (duplicates, &none, &none),
        Decision::Admitted { related, outcome: written, removed, .. } => {
            outcome = Some(outcome_word(*written));
            (&none, related, removed)
        }
    };
    fields.set("outcome", outcome.unwrap_or("rejected"))?;
    fields.set("duplicates", matches(env, duplicates, keys)?)?;
    fields.set("related", matches(env, related, keys)?)?;
    fields.set("removed", matches(env, removed, keys)?)?;
    fields.set("complete", told.complete)?;
    fields.number("change", told.change)?;
    Ok(fields.done())
}

fn cluster<'e>(env: &'e Env, cluster: &Cluster, keys: KeyType) -> Result<Unknown<'e>, Failure> {
    let mut fields = Fields::new(env)?;
    fields.key("representative", cluster.representative(), keys)?;
    fields.set("keys", list(env, &cluster.keys, |key| keys.show(env, key))?)?;
    fields.set("timesMs", list(env, &cluster.times, |time| value(env, *time as f64))?)?;
    Ok(fields.done())
}

/// Implements [`Shown`] for types of which a line says how.
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

/// A text that JavaScript parses.
pub(crate) struct Json(pub(crate) String);

/// A page of an iteration: empty at the end.
pub(crate) struct Page<T>(pub(crate) Vec<T>);

shown! {
    (): |env, _unit, _keys| value(env, ());
    bool: |env, is, _keys| value(env, is);
    u64: |env, number, _keys| value(env, number as f64);
    Json: |env, text, _keys| value(env, text.0);
    Outcome: |env, outcome, _keys| value(env, outcome_word(outcome));
    Signature: |env, made, _keys| signature(env, &made);
    Option<Signature>: |env, made, _keys| match &made {
        Some(made) => signature(env, made),
        None => value(env, ()),
    };
    Vec<Option<Signature>>: |env, all, _keys| list(env, &all, |made| match made {
        Some(made) => signature(env, made),
        None => value(env, napi::bindgen_prelude::Null),
    });
    Admission: |env, told, keys| admission(env, &told, keys);
    Vec<Admission>: |env, all, keys| list(env, &all, |told| admission(env, told, keys));
    Page<Pair>: |env, page, keys| pairs(env, &page.0, keys);
    Page<Cluster>: |env, page, keys| list(env, &page.0, |one| cluster(env, one, keys));
    Page<Vec<u8>>: |env, page, keys| list(env, &page.0, |key| keys.show(env, key));
    Written: |env, written, _keys| {
        let mut fields = Fields::new(env)?;
        fields.number("change", written.change)?;
        let word = |outcome: &Outcome| value(env, outcome_word(*outcome));
        fields.set("outcomes", list(env, &written.outcomes, word)?)?;
        Ok(fields.done())
    };
    Answer: |env, answer, keys| {
        let mut fields = Fields::new(env)?;
        fields.set("matches", matches(env, &answer.matches, keys)?)?;
        fields.number("found", answer.found)?;
        fields.set("threshold", answer.threshold)?;
        fields.set("complete", answer.complete)?;
        fields.number("change", answer.change)?;
        Ok(fields.done())
    };
    Option<Document>: |env, document, keys| {
        let Some(document) = document else { return value(env, ()) };
        let mut fields = Fields::new(env)?;
        fields.key("key", &document.key, keys)?;
        fields.bytes("payload", &document.payload)?;
        fields.number("timeMs", document.time)?;
        fields.set("signature", signature(env, &document.signature)?)?;
        Ok(fields.done())
    };
    Verification: |env, found, _keys| {
        let mut fields = Fields::new(env)?;
        fields.set("ok", found.is_ok())?;
        fields.number("documents", found.documents)?;
        fields.set("problems", list(env, &found.problems, |one| value(env, one.to_string()))?)?;
        Ok(fields.done())
    };
}
