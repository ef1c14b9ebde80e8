//! Handler for admitting documents. The library decides; this module converts requests and answers.

use axum::Json;
use nearkin::{Decision, Newcomer, Outcome};

use crate::serve::api::answers::{self, Admitted, Decided};
use crate::serve::api::bodies::{self, AdmitBody, Body, MATCHES_DEFAULT};
use crate::serve::api::conditions::WithConditions;
use crate::serve::api::error_response::ErrorResponse;
use crate::serve::call::Call;

/// Default minimum similarity to reject a document, as in `nearkin admit`.
const REJECT_DEFAULT: f64 = 0.9;

pub(crate) fn admit(call: &Call<'_>, body: &Body) -> Result<Json<Admitted>, ErrorResponse> {
    let WithConditions { own: request, conditions } = body.read::<WithConditions<AdmitBody>>()?;
    let AdmitBody { key, text, items, rows, payload, time, payloads, .. } = &request;
    let (text, items, rows) = (text.as_deref(), items.as_deref(), rows.as_deref());
    let signature = bodies::signature(&call.sketcher, text, items, rows)?;
    let reject = request.reject.unwrap_or(REJECT_DEFAULT);
    let limit = bodies::limit(request.limit, MATCHES_DEFAULT)?;
    let conditions = conditions.begin()?.threshold(reject).limit(limit);
    let terms = nearkin::Admit::at(conditions)
        .relate(request.relate.unwrap_or(reject))
        .keep(request.keep.into());
    let mut newcomer = Newcomer::new(&key.0, &signature);
    if let Some(payload) = payload {
        newcomer = newcomer.payload(&payload.0);
    }
    newcomer = time.iter().fold(newcomer, |newcomer, time| newcomer.time(*time));
    call.check()?;
    let admission = call.index.admit_one(&newcomer, &terms)?;
    let mut admitted = Admitted {
        decision: Decided::Rejected,
        duplicates: Vec::new(),
        related: Vec::new(),
        removed: Vec::new(),
        complete: admission.complete,
        change: admission.change,
    };
    match admission.decision {
        Decision::Rejected { duplicates, .. } => {
            admitted.duplicates = answers::found(duplicates, *payloads);
        }
        Decision::Admitted { related, outcome, removed, .. } => {
            admitted.decision = match outcome {
                Outcome::Replaced => Decided::Replaced,
                Outcome::Unchanged => Decided::Unchanged,
                _ => Decided::Admitted,
            };
            admitted.related = answers::found(related, *payloads);
            admitted.removed = answers::found(removed, *payloads);
        }
    }
    Ok(Json(admitted))
}
