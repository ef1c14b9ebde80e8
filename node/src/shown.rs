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
    let length = u32::try_from(values.len())
        .map_err(|_| Failure::invalid("the answer is too long for an array"))?;
    let mut array = env.create_array(length)?;
    for (at, one) in (0_u32..).zip(values) {
        array.set(at, show(one)?)?;
    }
    Ok(Array::to_unknown(&array))
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

fn found<'e>(env: &'e Env, found: &Match, keys: KeyType) -> Result<Unknown<'e>, Failure> {
    let mut fields = Fields::new(env)?;
    fields.key("key", &found.key, keys)?;
    fields.bytes("payload", &found.payload)?;
    fields.number("timeMs", found.time)?;
    fields.set("similarity", found.similarity)?;
    fields.set("standardError", found.standard_error)?;
    fields.set("equalRows", found.equal_rows)?;
    if let Some(containment) = &found.containment {
        fields.set("contained", containment.estimate)?;
    }
    Ok(fields.done())
}

fn matches<'e>(env: &'e Env, all: &[Match], keys: KeyType) -> Result<Unknown<'e>, Failure> {
    list(env, all, |one| found(env, one, keys))
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

fn pair<'e>(env: &'e Env, pair: &Pair, keys: KeyType) -> Result<Unknown<'e>, Failure> {
    let mut fields = Fields::new(env)?;
    fields.key("a", &pair.a, keys)?;
    fields.key("b", &pair.b, keys)?;
    fields.set("similarity", pair.similarity)?;
    fields.set("equalRows", pair.equal_rows)?;
    if let Some(containment) = &pair.containment {
        fields.set("contained", containment.estimate)?;
    }
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
    Page<Pair>: |env, page, keys| list(env, &page.0, |one| pair(env, one, keys));
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
