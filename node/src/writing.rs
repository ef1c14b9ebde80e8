//! Writes: batches of edits, removals, and admission.

use napi::Env;
use napi::bindgen_prelude::Buffer;
use napi_derive::napi;
use nearkin::{Admission, Admit, Batch, Edit, Error, Index, Newcomer, Outcome, Signature, Written};

use crate::documents::{Document, Given, Sketch};
use crate::failure::Failure;
use crate::handle::Handle;
use crate::job::{How, Reply, Stop, go_on, refuse_aborted};
use crate::keys::{Bytes, owned};
use crate::numbers::whole;
use crate::options::admit;

/// An edit of a caller: it inserts its document, sets its payload if it has no document, and
/// removes if it has neither.
#[napi(object, object_to_js = false)]
pub struct GivenEdit {
    pub key: Bytes,
    pub document: Option<Given>,
    pub payload: Option<Buffer>,
    pub time_ms: Option<f64>,
}

/// An edit without values of JavaScript.
struct OwnedEdit {
    key: Vec<u8>,
    document: Option<Document>,
    payload: Option<Vec<u8>>,
    time: Option<u64>,
}

fn owned_edits(given: Vec<GivenEdit>) -> Result<Vec<OwnedEdit>, Failure> {
    let count = given.len();
    let one = |(number, given): (usize, GivenEdit)| {
        let (key, time) = (owned(given.key), given.time_ms.map(|ms| whole(ms, "time")).transpose());
        Ok(OwnedEdit {
            time: time.map_err(|error| error.of_document(number, count, &key))?,
            key,
            document: given.document.map(Document::from),
            payload: given.payload.map(|payload| payload.to_vec()),
        })
    };
    given.into_iter().enumerate().map(one).collect()
}

/// The signatures of edits; `None` for an edit without a document.
fn signatures(
    sketch: &Sketch,
    edits: &[OwnedEdit],
    stop: Option<&Stop>,
) -> Result<Vec<Option<Signature>>, Failure> {
    let one = |(number, edit): (usize, &OwnedEdit)| {
        refuse_aborted(stop)?;
        let signature = edit.document.as_ref().map(|document| sketch.signature(document));
        let named = |error: Error| error.of_document(number, edits.len(), &edit.key);
        Ok(signature.transpose().map_err(named)?)
    };
    edits.iter().enumerate().map(one).collect()
}

fn written(
    index: &Index,
    sketch: &Sketch,
    edits: &[OwnedEdit],
    stop: Option<&Stop>,
) -> Result<Written, Failure> {
    let signatures = signatures(sketch, edits, stop)?;
    let mut batch = Batch::new();
    for (OwnedEdit { key, payload, time, .. }, signature) in edits.iter().zip(&signatures) {
        let mut edit = match (signature, payload) {
            (Some(signature), _) => Edit::insert(key, signature),
            (None, Some(payload)) => Edit::set_payload(key, payload),
            (None, None) => Edit::remove(key),
        };
        if let (Some(_), Some(payload)) = (signature, payload) {
            edit = edit.payload(payload);
        }
        batch.push(match time {
            Some(time) => edit.time(*time),
            None => edit,
        });
    }
    refuse_aborted(stop)?;
    Ok(index.write(&batch)?)
}

fn admitted(
    index: &Index,
    sketch: &Sketch,
    edits: &[OwnedEdit],
    admit: &Admit<'_>,
    stop: Option<&Stop>,
) -> Result<Vec<Admission>, Failure> {
    let signatures = signatures(sketch, edits, stop)?;
    let mut newcomers = Vec::new();
    for (number, (edit, signature)) in edits.iter().zip(&signatures).enumerate() {
        let Some(signature) = signature else {
            let error = Error::invalid("a newcomer needs a document");
            return Err(error.of_document(number, edits.len(), &edit.key).into());
        };
        let mut newcomer = Newcomer::new(&edit.key, signature);
        if let Some(payload) = &edit.payload {
            newcomer = newcomer.payload(payload);
        }
        newcomers.push(match edit.time {
            Some(time) => newcomer.time(time),
            None => newcomer,
        });
    }
    Ok(index.admit_all(&newcomers, admit)?)
}

#[napi]
impl Handle {
    /// Writes edits as one change.
    #[napi]
    pub fn write<'e>(&self, env: &'e Env, how: How<'_>, given: Vec<GivenEdit>) -> Reply<'e> {
        let (sketch, edits) = (self.sketch.clone(), owned_edits(given));
        self.run_writer(env, how, move |index, stop| written(index, &sketch, &edits?, stop))
    }

    /// Writes one edit; returns its outcome.
    #[napi]
    pub fn edit<'e>(&self, env: &'e Env, how: How<'_>, given: GivenEdit) -> Reply<'e> {
        let (sketch, edits) = (self.sketch.clone(), owned_edits(vec![given]));
        self.run_writer(env, how, move |index, stop| {
            let written = written(index, &sketch, &edits?, stop)?;
            Ok(written.outcomes.first().copied().unwrap_or(Outcome::Unchanged))
        })
    }

    /// Inserts each document unless a stored one is too similar.
    #[napi]
    pub fn admit<'e>(
        &self,
        env: &'e Env,
        how: How<'_>,
        given: Vec<GivenEdit>,
        settings: String,
        prefix: Option<Bytes>,
    ) -> Reply<'e> {
        let (sketch, edits) = (self.sketch.clone(), owned_edits(given));
        let admit = admit(&settings, prefix);
        self.run_writer(env, how, move |index, stop| {
            let (edits, mut admit) = (edits?, admit?);
            if let Some(stop) = stop {
                admit = admit.cancel_if(|| stop.is_set());
            }
            admitted(index, &sketch, &edits, &admit, stop)
        })
    }

    #[napi]
    pub fn remove_prefix<'e>(&self, env: &'e Env, how: How<'_>, prefix: Bytes) -> Reply<'e> {
        let prefix = owned(prefix);
        self.run_writer(env, how, move |index, stop| {
            Ok(index.remove_prefix_with(prefix, &mut |_| go_on(stop))?)
        })
    }

    #[napi]
    pub fn clear<'e>(&self, env: &'e Env, how: How<'_>) -> Reply<'e> {
        self.run_writer(env, how, |index, stop| Ok(index.clear_with(&mut |_| go_on(stop))?))
    }

    #[napi]
    pub fn remove_before<'e>(&self, env: &'e Env, how: How<'_>, ms: f64) -> Reply<'e> {
        let time = whole(ms, "time");
        self.run_writer(env, how, move |index, stop| {
            Ok(index.remove_before_with(time?, &mut |_| go_on(stop))?)
        })
    }
}
