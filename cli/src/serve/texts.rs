//! Texts of stored documents, read again from where they came from.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri};

use super::answers::TextRead;
use super::bodies::Blob;
use super::documents::key_after;
use super::refused::Refused;
use super::shared::Shared;
use crate::originals::TextNow;

/// Where the path of a text begins.
const PREFIX: &str = "/v1/texts/";

/// Bytes of a text that is answered, at most.
const TEXT_BYTES_MAX: usize = 4 << 20;

pub(super) async fn get(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
) -> Result<Json<TextRead>, Refused> {
    let key = key_after(PREFIX, &uri)?;
    shared.work(move |shared| read(shared, key)).await
}

fn read(shared: &Shared, key: Vec<u8>) -> Result<Json<TextRead>, Refused> {
    let Some(originals) = &shared.originals else {
        let message = "this server does not read texts";
        return Err(Refused::new(StatusCode::NOT_FOUND, "no_text", message)
            .advise("start it with --texts, and with --from FILE.jsonl if they are in lines"));
    };
    let snapshot = shared.index.snapshot();
    // First: a file that is no document is not even opened.
    if snapshot.signature(&key)?.is_none() {
        return Err(Refused::unknown_key(&key));
    }
    let name = String::from_utf8_lossy(&key).into_owned();
    match originals.text_now(&snapshot, &key)? {
        TextNow::Text(text) if text.len() <= TEXT_BYTES_MAX => {
            Ok(Json(TextRead { key: Blob(key), text }))
        }
        TextNow::Text(text) => {
            let message = format!("the text of {name:?} has {} bytes", text.len());
            Err(Refused::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
                .advise("`nearkin report` compares longer ones"))
        }
        TextNow::Changed => {
            let message = format!("the text of {name:?} has changed since it was added");
            Err(Refused::new(StatusCode::CONFLICT, "changed", message)
                .advise("add it again to compare it"))
        }
        TextNow::Missing => {
            let message = format!("the text of {name:?} was not found where --texts looks");
            Err(Refused::new(StatusCode::NOT_FOUND, "no_text", message)
                .advise("start the server in the folder of the keys, or with --from FILE.jsonl"))
        }
    }
}
