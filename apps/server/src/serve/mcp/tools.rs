//! The tools that an assistant may call. Their arguments are bodies of the API over HTTP, and the
//! same handlers answer them.

use axum::Json;
use nearkin::{Scheme, Shingles};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::serve::api::blob::Blob;
use crate::serve::api::bodies::Body;
use crate::serve::api::error_response::ErrorResponse;
use crate::serve::call::Call;
use crate::serve::handlers::{admit, documents, search};
use crate::serve::shared::Shared;

/// A tool: its name, and what answers a call.
struct Tool {
    name: &'static str,
    answer: fn(&Call<'_>, &Body) -> Result<Value, ErrorResponse>,
    described: fn(&Shared) -> Value,
}

const TOOLS: [Tool; 4] = [
    Tool { name: "find_similar", answer: find_similar, described: find_similar_described },
    Tool { name: "get_document", answer: get_document, described: get_document_described },
    Tool { name: "get_text", answer: get_text, described: get_text_described },
    Tool { name: "admit", answer: admit_document, described: admit_described },
];

/// The argument of a tool that takes a key.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfKey {
    key: Blob,
}

#[derive(Deserialize)]
struct CallParams {
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

impl Tool {
    fn is_offered(&self, shared: &Shared) -> bool {
        match self.name {
            "admit" => shared.index.is_writable(),
            "get_text" => shared.originals.is_some(),
            _ => true,
        }
    }
}

fn offered(shared: &Shared) -> impl Iterator<Item = &'static Tool> {
    TOOLS.iter().filter(|tool| tool.is_offered(shared))
}

pub(super) fn list(shared: &Shared) -> Vec<Value> {
    let described = |tool: &Tool| {
        let mut described = (tool.described)(shared);
        described["name"] = tool.name.into();
        described["inputSchema"]["type"] = "object".into();
        described["inputSchema"]["additionalProperties"] = false.into();
        described
    };
    offered(shared).map(described).collect()
}

/// Calls a tool. What the tool itself refuses is a result, so that the assistant reads it. Wrong
/// parameters of the call are an error.
pub(super) fn call(shared: &Shared, params: Value) -> Result<Value, String> {
    if !params.is_object() {
        return Err("params of tools/call are an object".to_owned());
    }
    let CallParams { name, arguments } =
        serde_json::from_value(params).map_err(|error| format!("params of tools/call: {error}"))?;
    let Some(tool) = offered(shared).find(|tool| tool.name == name) else {
        let names: Vec<&str> = offered(shared).map(|tool| tool.name).collect();
        return Err(format!("there is no tool {name:?}, but {}", names.join(", ")));
    };
    let body = Body::of_bytes(Value::Object(arguments).to_string(), shared);
    let answered = body.and_then(|body| (tool.answer)(&Call::awaited(shared), &body));
    Ok(match answered {
        Ok(value) => {
            let text = json!({ "type": "text", "text": value.to_string() });
            let content: Vec<Value> = stale(shared).into_iter().chain([text]).collect();
            json!({ "content": content, "structuredContent": value })
        }
        Err(refused) => json!({
            "content": [{ "type": "text", "text": refused.told() }],
            "isError": true,
        }),
    })
}

/// What an assistant is told if the answer may no longer be that of the index.
fn stale(shared: &Shared) -> Option<Value> {
    let currency = shared.index.currency().filter(|currency| currency.is_stale)?;
    let why = currency.failure.unwrap_or_default();
    let age = currency.age.as_secs();
    let text = format!(
        "This answer is of the index as it was {age} s ago: it cannot be read any more ({why})."
    );
    Some(json!({ "type": "text", "text": text }))
}

fn value(answer: &impl Serialize) -> Result<Value, ErrorResponse> {
    serde_json::to_value(answer).map_err(|error| ErrorResponse::new("internal", error.to_string()))
}

fn find_similar(call: &Call<'_>, body: &Body) -> Result<Value, ErrorResponse> {
    let Json(answer) = search::query(call, body)?;
    value(&answer)
}

fn get_document(call: &Call<'_>, body: &Body) -> Result<Value, ErrorResponse> {
    value(&documents::stored(call, &body.read::<OfKey>()?.key.0)?)
}

fn get_text(call: &Call<'_>, body: &Body) -> Result<Value, ErrorResponse> {
    value(&documents::text_of(call, body.read::<OfKey>()?.key.0)?)
}

fn admit_document(call: &Call<'_>, body: &Body) -> Result<Value, ErrorResponse> {
    let Json(admitted) = admit::admit(call, body)?;
    value(&admitted)
}

/// The content of a document of this index: its name, and its schema.
fn content(shared: &Shared) -> (&'static str, Value) {
    let params = shared.index.params();
    if matches!(params.scheme(), Scheme::External(_)) {
        let values = json!({ "type": "integer", "minimum": 0 });
        return (
            "rows",
            json!({ "type": "array", "items": values, "description":
            "The rows of a signature by the index's own scheme." }),
        );
    }
    if params.shingles() == Shingles::Items {
        let values = json!({ "type": ["string", "integer"] });
        return (
            "items",
            json!({ "type": "array", "items": values, "description":
            "All items of the set." }),
        );
    }
    ("text", json!({ "type": "string", "description": "The whole text." }))
}

fn find_similar_described(shared: &Shared) -> Value {
    let (name, schema) = content(shared);
    let mut described = json!({
        "title": "Find similar documents",
        "description": "Finds the stored documents that are most similar to a text, or to a \
            stored document: its near-duplicates, other versions and copies. Answers keys with \
            estimated similarities, the most similar first.",
        "inputSchema": {
            "properties": {
                "key": key("The key of a stored document, in place of a new document's content."),
                "threshold": share("The least similarity. Default: that of the index."),
                "contained": share("Instead of similarity: the least share of the smaller \
                    document that the larger one contains."),
                "limit": limit(),
                "payloads": { "type": "boolean", "description": "Whether to answer payloads." },
                "exact": { "type": "boolean", "description": "Whether to compare the texts \
                    themselves, where the server reads texts." },
            },
        },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    });
    described["inputSchema"]["properties"][name] = schema;
    described
}

fn get_document_described(_: &Shared) -> Value {
    json!({
        "title": "Get a document",
        "description": "The payload and the time of the stored document with this key. (The index \
            keeps no texts.)",
        "inputSchema": of_key(),
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    })
}

fn get_text_described(_: &Shared) -> Value {
    json!({
        "title": "Read a text",
        "description": "The text of the stored document with this key, read again from its file, \
            if it still is the text that was added.",
        "inputSchema": of_key(),
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    })
}

fn admit_described(shared: &Shared) -> Value {
    let (name, schema) = content(shared);
    let mut described = json!({
        "title": "Add a document unless it is a copy",
        "description": "Stores a document under a key unless a document of another key is too \
            similar, in one step. Answers the decision, and the documents that are like it.",
        "inputSchema": {
            "properties": {
                "key": key("1 to 4,096 bytes. A document that has it already is replaced."),
                "payload": { "type": "string", "description": "Stored with it; at most 64 KiB." },
                "reject": share("The similarity from which a document is rejected. Default: 0.9."),
                "relate": share("The similarity from which stored documents are named as related."),
                "limit": limit(),
            },
            "required": ["key", name],
        },
        "annotations": {
            "readOnlyHint": false, "destructiveHint": true, "idempotentHint": true,
            "openWorldHint": false,
        },
    });
    described["inputSchema"]["properties"][name] = schema;
    described
}

fn of_key() -> Value {
    let key = key("The key of a stored document.");
    json!({ "properties": { "key": key }, "required": ["key"] })
}

/// A key: as text, or its bytes.
fn key(description: &str) -> Value {
    let bytes = json!({
        "type": "object", "properties": { "base64": { "type": "string" } },
        "required": ["base64"], "additionalProperties": false,
    });
    json!({ "anyOf": [{ "type": "string" }, bytes], "description": description })
}

fn share(description: &str) -> Value {
    json!({ "type": "number", "minimum": 0, "maximum": 1, "description": description })
}

fn limit() -> Value {
    json!({
        "type": "integer", "minimum": 1, "maximum": 1000,
        "description": "The most documents to answer. Default: 10.",
    })
}
