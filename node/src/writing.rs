//! Writes: batches of edits, removals, and admission.

use std::sync::Arc;

use napi::Env;
use napi::bindgen_prelude::Buffer;
use napi_derive::napi;
use nearkin::{Admit, Batch, Edit, Index, Keep, Newcomer, Outcome, Signature};

use crate::documents::{Document, Given, Sketch};
use crate::failure::Failure;
use crate::handle::Handle;
use crate::job::{Reply, Stop, run};
use crate::keys::{Bytes, owned};
use crate::numbers::{count, deadline, whole};
use crate::options::alike;

/// One edit as given: a document is inserted, a payload alone is set, and nothing at all removes.
#[napi(object, object_to_js = false)]
pub struct GivenEdit {
    pub key: Bytes,
    pub document: Option<Given>,
    pub payload: Option<Buffer>,
    pub time_ms: Option<f64>,
}

/// An edit, free of JavaScript.
struct OwnedEdit {
    key: Vec<u8>,
    document: Option<Document>,
    payload: Option<Vec<u8>>,
    time: Option<u64>,
}

fn owned_edits(given: Vec<GivenEdit>) -> Result<Vec<OwnedEdit>, Failure> {
    let one = |(number, given): (usize, GivenEdit)| {
        let time = given.time_ms.map(|ms| whole(ms, "time")).transpose();
        Ok(OwnedEdit {
            key: owned(given.key),
            document: given.document.map(Document::from),
            payload: given.payload.map(|payload| payload.to_vec()),
            time: time.map_err(|failure| failure.of_document(number))?,
        })
    };
    given.into_iter().enumerate().map(one).collect()
}

fn batch(sketch: &Sketch, edits: &[OwnedEdit]) -> Result<Batch, Failure> {
    let mut batch = Batch::new();
    for (number, edit) in edits.iter().enumerate() {
        let key = edit.key.as_slice();
        let signature = edit.document.as_ref().map(|document| sketch.signature(document));
        let several = edits.len() > 1;
        let signature = signature
            .transpose()
            .map_err(|failure| if several { failure.of_document(number) } else { failure })?;
        let mut put = match (&signature, &edit.payload) {
            (Some(signature), _) => Edit::insert(key, signature),
            (None, Some(payload)) => {
                batch.push(Edit::set_payload(key, payload));
                continue;
            }
            (None, None) => {
                batch.push(Edit::remove(key));
                continue;
            }
        };
        if let Some(payload) = &edit.payload {
            put = put.payload(payload);
        }
        if let Some(time) = edit.time {
            put = put.time(time);
        }
        batch.push(put);
    }
    Ok(batch)
}

/// The options of admission.
#[napi(object, object_to_js = false)]
#[derive(Default)]
pub struct Admitting {
    pub reject: Option<f64>,
    pub contained: Option<f64>,
    pub relate: Option<f64>,
    pub keep: Option<String>,
    pub prefix: Option<Bytes>,
    pub limit: Option<f64>,
    pub max_candidates: Option<f64>,
    pub timeout_ms: Option<f64>,
}

impl Admitting {
    fn terms(self, own: f64, stop: Option<Stop>) -> Result<Admit<'static>, Failure> {
        let mut admit = Admit::at(alike(own, self.reject, self.contained));
        if let Some(relate) = self.relate {
            admit = admit.relate(relate);
        }
        admit = admit.keep(match self.keep.as_deref() {
            None | Some("first") => Keep::First,
            Some("newest") => Keep::Newest,
            Some("longest") => Keep::Longest,
            Some(other) => {
                return Err(Failure::invalid(format!(
                    "keep must be 'first', 'newest' or 'longest', not '{other}'"
                )));
            }
        });
        if let Some(prefix) = self.prefix {
            admit = admit.prefix(owned(prefix));
        }
        if let Some(limit) = self.limit {
            admit = admit.limit(count(limit, "limit")?);
        }
        if let Some(max) = self.max_candidates {
            admit = admit.max_candidates(count(max, "maxCandidates")?);
        }
        if let Some(ms) = self.timeout_ms
            && let Some(deadline) = deadline(ms, "timeoutMs")?
        {
            admit = admit.deadline(deadline);
        }
        Ok(match stop {
            Some(stop) => admit.cancel_if(move || stop.is_set()),
            None => admit,
        })
    }
}

fn admitted(
    index: &Index,
    sketch: &Sketch,
    edits: &[OwnedEdit],
    admit: &Admit<'_>,
) -> Result<Vec<nearkin::Admission>, Failure> {
    let signed = |(number, edit): (usize, &OwnedEdit)| {
        let Some(document) = &edit.document else {
            return Err(Failure::invalid("a newcomer needs a document").of_document(number));
        };
        sketch
            .signature(document)
            .map_err(|failure| if edits.len() > 1 { failure.of_document(number) } else { failure })
    };
    let signatures: Vec<Signature> =
        edits.iter().enumerate().map(signed).collect::<Result<_, _>>()?;
    let newcomer = |(edit, signature)| {
        let OwnedEdit { key, payload, time, .. }: &OwnedEdit = edit;
        let mut newcomer = Newcomer::new(key.as_slice(), signature);
        if let Some(payload) = payload {
            newcomer = newcomer.payload(payload);
        }
        match time {
            Some(time) => newcomer.time(*time),
            None => newcomer,
        }
    };
    let newcomers: Vec<Newcomer<'_>> = edits.iter().zip(&signatures).map(newcomer).collect();
    Ok(index.admit_all(&newcomers, admit)?)
}

#[napi]
impl Handle {
    /// Writes edits as one change.
    #[napi]
    pub fn write<'e>(
        &self,
        env: &'e Env,
        sync: bool,
        given: Vec<GivenEdit>,
        stop: Option<&Stop>,
    ) -> napi::Result<Reply<'e>> {
        let (index, sketch, edits) = (self.writer(), self.sketch.clone(), owned_edits(given));
        run(env, self.call(sync, stop), move || {
            let (index, batch) = (index?, batch(&sketch, &edits?)?);
            Ok(index.write(&batch)?)
        })
    }

    /// Writes one edit; returns its outcome.
    #[napi]
    pub fn edit<'e>(
        &self,
        env: &'e Env,
        sync: bool,
        given: GivenEdit,
        stop: Option<&Stop>,
    ) -> napi::Result<Reply<'e>> {
        let (index, sketch, edits) = (self.writer(), self.sketch.clone(), owned_edits(vec![given]));
        run(env, self.call(sync, stop), move || {
            let (index, batch) = (index?, batch(&sketch, &edits?)?);
            let written = index.write(&batch)?;
            Ok(written.outcomes.first().copied().unwrap_or(Outcome::Unchanged))
        })
    }

    /// Inserts each document unless a stored one is too similar.
    #[napi]
    pub fn admit<'e>(
        &self,
        env: &'e Env,
        sync: bool,
        given: Vec<GivenEdit>,
        admitting: Admitting,
        stop: Option<&Stop>,
    ) -> napi::Result<Reply<'e>> {
        let (index, sketch, edits) = (self.writer(), self.sketch.clone(), owned_edits(given));
        let own = self.params().inner.threshold();
        let admit = admitting.terms(own, stop.cloned());
        run(env, self.call(sync, stop), move || admitted(&*index?, &sketch, &edits?, &admit?))
    }

    #[napi]
    pub fn remove_prefix<'e>(
        &self,
        env: &'e Env,
        sync: bool,
        prefix: Bytes,
    ) -> napi::Result<Reply<'e>> {
        let (index, prefix) = (self.writer(), owned(prefix));
        run(env, self.call(sync, None), move || {
            let index: Arc<Index> = index?;
            Ok(index.remove_prefix(prefix)?)
        })
    }

    #[napi]
    pub fn remove_before<'e>(&self, env: &'e Env, sync: bool, ms: f64) -> napi::Result<Reply<'e>> {
        let (index, time) = (self.writer(), whole(ms, "time"));
        run(env, self.call(sync, None), move || Ok(index?.remove_before(time?)?))
    }
}
