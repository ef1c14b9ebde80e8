//! Messages of JSON-RPC 2.0: what is asked, and what is answered.

use std::io::Read;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::tools;
use crate::serve::api::malformed;
use crate::serve::shared::Shared;

/// Revisions of the protocol that this server speaks, the newest first.
const REVISIONS: [&str; 3] = ["2025-06-18", "2025-03-26", "2024-11-05"];

/// Maximum number of messages in a line: all their answers are held.
const MESSAGES_MAX: usize = 32;

const PARSE_ERROR: i32 = -32_700;
const INVALID_REQUEST: i32 = -32_600;
const METHOD_NOT_FOUND: i32 = -32_601;
const INVALID_PARAMS: i32 = -32_602;

/// What an assistant is told about the tools.
const INSTRUCTIONS: &str = "An index of documents that finds near-duplicates: texts that share \
    most of their sequences of words. It does not find texts that say the same in other words. \
    Similarities are estimates of the Jaccard similarity, from 0 to 1.";

#[derive(Deserialize)]
struct Request {
    jsonrpc: String,
    /// Missing in a notification.
    #[serde(default, deserialize_with = "some")]
    id: Option<Value>,
    method: String,
    #[serde(default)]
    params: Value,
}

/// A value that is there, also if it is null.
fn some<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// An answer to a request.
#[derive(Serialize)]
pub(super) struct Answer {
    jsonrpc: &'static str,
    id: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Refusal>,
}

/// Why a message has no result.
#[derive(Debug, Serialize)]
struct Refusal {
    code: i32,
    message: String,
}

impl Answer {
    fn new(id: Value, result: Result<Value, Refusal>) -> Self {
        let (result, error) = match result {
            Ok(result) => (Some(result), None),
            Err(refusal) => (None, Some(refusal)),
        };
        Self { jsonrpc: "2.0", id, result, error }
    }

    fn too_many(id: Value) -> Self {
        let message = format!("a line has more than {MESSAGES_MAX} messages: send it again");
        Self::new(id, Err(Refusal { code: INVALID_REQUEST, message }))
    }

    /// The answer to a message that could not be read, but for its id.
    pub(super) fn not_read(id: Value, message: String) -> Self {
        Self::new(id, Err(Refusal { code: PARSE_ERROR, message }))
    }
}

/// The id of a message that cannot be read whole, or null: without it a client waits for ever.
pub(super) fn id_of(message: impl Read) -> Value {
    #[derive(Deserialize)]
    struct OnlyId {
        id: Value,
    }
    let found = OnlyId::deserialize(&mut serde_json::Deserializer::from_reader(message));
    found.map(|message| message.id).unwrap_or_default()
}

/// The answers to a line.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum LineAnswer {
    One(Answer),
    /// To several messages, which the revision of March 2025 sends together.
    Several(Vec<Answer>),
}

/// Answers the messages of a line; `None` if none of them wants an answer.
pub(super) fn answer(shared: &Shared, line: &[u8]) -> Option<LineAnswer> {
    if line.trim_ascii().is_empty() {
        return None;
    }
    let one = match serde_json::from_slice(line) {
        Ok(Value::Array(messages)) if !messages.is_empty() => {
            let answers = (0..).zip(messages).filter_map(|(at, one)| {
                if at < MESSAGES_MAX {
                    return answer_one(shared, one);
                }
                one.get("id").map(|id| Answer::too_many(id.clone()))
            });
            let answers: Vec<Answer> = answers.collect();
            return (!answers.is_empty()).then_some(LineAnswer::Several(answers));
        }
        Ok(message) => answer_one(shared, message),
        Err(error) => {
            let refused = malformed::explained("message", line, &error.to_string());
            Some(Answer::not_read(id_of(line), refused.told()))
        }
    };
    one.map(LineAnswer::One)
}

fn answer_one(shared: &Shared, value: Value) -> Option<Answer> {
    let id = value.get("id").cloned();
    let invalid = |message: String| {
        let refusal = Refusal { code: INVALID_REQUEST, message };
        Some(Answer::new(id.clone().unwrap_or_default(), Err(refusal)))
    };
    let is_response = value.get("method").is_none()
        && (value.get("result").is_some() || value.get("error").is_some());
    if is_response {
        // This server asks nothing, so nothing waits for it.
        return None;
    }
    if !value.is_object() {
        return invalid("a message is an object".to_owned());
    }
    match serde_json::from_value::<Request>(value) {
        Ok(Request { id: Some(id), .. }) if !id.is_string() && !id.is_number() => {
            invalid("an id is a string or a number".to_owned())
        }
        Ok(request) if request.jsonrpc == "2.0" => {
            let id = request.id?;
            Some(Answer::new(id, result(shared, &request.method, request.params)))
        }
        Ok(request) => invalid(format!("jsonrpc is {:?}, not \"2.0\"", request.jsonrpc)),
        Err(error) => invalid(format!("this is no request of JSON-RPC 2.0: {error}")),
    }
}

fn result(shared: &Shared, method: &str, params: Value) -> Result<Value, Refusal> {
    match method {
        "initialize" => Ok(initialized(&params)),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({ "tools": tools::list(shared) })),
        "tools/call" => {
            tools::call(shared, params).map_err(|message| Refusal { code: INVALID_PARAMS, message })
        }
        other => Err(Refusal {
            code: METHOD_NOT_FOUND,
            message: format!("there is no method {other:?}; this server offers tools"),
        }),
    }
}

fn initialized(params: &Value) -> Value {
    let wanted = params.get("protocolVersion").and_then(Value::as_str);
    let revision = REVISIONS.into_iter().find(|known| Some(*known) == wanted);
    json!({
        "protocolVersion": revision.unwrap_or(REVISIONS[0]),
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "nearkin", "version": env!("CARGO_PKG_VERSION") },
        "instructions": INSTRUCTIONS,
    })
}
