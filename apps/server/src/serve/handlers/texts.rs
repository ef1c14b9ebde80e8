//! Handler for the texts of stored documents, which are read again from their sources.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri};

use crate::serve::api::answers::TextRead;
use crate::serve::api::blob::Blob;
use crate::serve::api::error_response::ErrorResponse;
use crate::serve::http::url::key_after;
use crate::serve::shared::Shared;
use nearkin_kit::input::originals::TextNow;

/// Path prefix of texts.
const PREFIX: &str = "/v1/texts/";

/// Maximum size of a text in an answer.
const TEXT_BYTES_MAX: usize = 4 << 20;

pub(crate) async fn get(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
) -> Result<Json<TextRead>, ErrorResponse> {
    let key = key_after(PREFIX, &uri)?;
    shared.work(move |shared| read(shared, key)).await
}

fn read(shared: &Shared, key: Vec<u8>) -> Result<Json<TextRead>, ErrorResponse> {
    let Some(originals) = &shared.originals else {
        let message = "this server does not read texts";
        return Err(ErrorResponse::new(StatusCode::NOT_FOUND, "no_text", message).advise(
            "start it with --texts, and with --from FILE.jsonl if the texts are in JSON lines",
        ));
    };
    let snapshot = shared.index.snapshot();
    // Checked first: a file that is not a stored document must not even be opened.
    if snapshot.signature(&key)?.is_none() {
        return Err(ErrorResponse::unknown_key(&key));
    }
    let name = String::from_utf8_lossy(&key).into_owned();
    match originals.text_now(&snapshot, &key)? {
        TextNow::Text(text) if text.len() <= TEXT_BYTES_MAX => {
            Ok(Json(TextRead { key: Blob(key), text }))
        }
        TextNow::Text(text) => {
            let message = format!(
                "the text of {name:?} has {} bytes; the server returns up to {TEXT_BYTES_MAX}",
                text.len()
            );
            Err(ErrorResponse::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
                .advise("use `nearkin report` for longer texts"))
        }
        TextNow::Changed => {
            let message = format!("the text of {name:?} has changed since it was added");
            Err(ErrorResponse::new(StatusCode::CONFLICT, "changed", message)
                .advise("add the document again"))
        }
        TextNow::Missing => {
            let message = format!("the text of {name:?} was not found");
            Err(ErrorResponse::new(StatusCode::NOT_FOUND, "no_text", message)
                .advise("give the folder of the keys as --texts-root, or lines with --from"))
        }
    }
}
