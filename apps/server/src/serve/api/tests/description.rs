//! Makes `openapi.json`, the OpenAPI document that the server serves, from the route table and from
//! the types of requests and answers.

use std::borrow::Cow;

use nearkin::{ConditionSetting, SettingValue};
use serde_json::{Map, Value, json};
use utoipa::openapi::schema::{
    AdditionalProperties, Object, ObjectBuilder, OneOfBuilder, SchemaType, Type,
};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::serve::api::answers::{
    Admitted, Answered, Answers, BatchWritten, ClusterLine, DocumentList, FileText, PairLine,
    PrefixRemoved, Stored, TextRead, Written,
};
use crate::serve::api::blob::{Blob, Item};
use crate::serve::api::bodies::{AdmitBody, FileBody, Operations, Put, QueryBody};
use crate::serve::api::conditions::{HasConditions, settings};
use crate::serve::api::error_response::{ErrorObject, KINDS};
use crate::serve::handlers::lines;
use crate::serve::handlers::state::{HealthObject, ServerStatsObject};
use crate::serve::http::guard::described;

/// Describes a route: its purpose, input and answers.
pub(crate) struct RouteDescription {
    pub(crate) method: &'static str,
    /// The path in the syntax of the router.
    pub(crate) path: &'static str,
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    /// Name of the type of the body.
    pub(crate) body: Option<&'static str>,
    pub(crate) answers: &'static [Answer],
    /// The groups of error statuses that the route may return: constants such as [`ANY`].
    pub(crate) errors: &'static [&'static [u16]],
}

/// An answer: status, meaning and content.
pub(crate) type Answer = (u16, &'static str, AnswerContent);

pub(crate) enum AnswerContent {
    /// JSON of the named type.
    Json(&'static str),
    /// JSON of one of the named types.
    OneOf(&'static [&'static str]),
    /// Lines of JSON, each of the named type.
    Lines(&'static str),
    /// Other content, by media type.
    Media(&'static str),
}

// Error statuses, by what a route does.
/// Any route.
pub(crate) const ANY: &[u16] = &[403];
/// Needs a token.
pub(crate) const TOKEN: &[u16] = &[401];
/// Uses the index.
pub(crate) const INDEX: &[u16] = &[500, 503, 504];
/// Takes a key.
pub(crate) const KEY: &[u16] = &[400];
/// Takes a key that may not be stored.
pub(crate) const UNKNOWN_KEY: &[u16] = &[404];
/// Returns a text that may have changed since it was added.
pub(crate) const CHANGED: &[u16] = &[409];
/// Takes a key that a document outside the conditions may have, or a signature made elsewhere.
pub(crate) const CONFLICT: &[u16] = &[409];
/// Has a request body.
pub(crate) const BODY: &[u16] = &[400, 413, 415];
/// Returns a text that may be too large.
pub(crate) const TOO_LARGE: &[u16] = &[413];
/// Writes to the index.
pub(crate) const WRITE: &[u16] = &[507];

/// For each error status: its name and its meaning.
const ERRORS: [(u16, &str, &str); 11] = [
    (400, "BadRequest", "`invalid` (the message says what), or `empty` (nothing to compare)"),
    (401, "Token", "`token`: missing or wrong token"),
    (
        403,
        "Forbidden",
        "`host`, `origin`: cross-site requests are refused; `read_token`: the token allows reading \
         only; `read_only`: so is the disk",
    ),
    (404, "NotFound", "`not_found`: no document has the key; `no_text`: its text was not found"),
    (
        409,
        "Conflict",
        "`changed`: the text is no longer the one that was added; `exists`: a document that the \
         conditions do not let pass has the key; `mismatch`: a signature of other parameters",
    ),
    (413, "TooLarge", "`too_large`: more than --body-bytes-max, or a text of more than 4 MiB"),
    (415, "NotJson", "`content_type`: not application/json"),
    (
        500,
        "Failed",
        "`io`, `corrupt`, `unknown` (may or may not be stored), `unsupported`, `internal`",
    ),
    (
        503,
        "Busy",
        "`busy`: too much at once, try again; `cancelled`: `deadline_ms` passed, nothing was \
         stored; `poisoned`: restart the server",
    ),
    (504, "Late", "`timeout`: a write may still complete; repeating it is safe"),
    (507, "Full", "`disk_full`: nothing was written"),
];

/// What the library says of an index: fields of its `Stats`, which is no type of this crate.
pub(super) const STATS: [(&str, &str); 22] = [
    ("documents", "Live documents."),
    ("dead", "Dead documents that still take space."),
    ("segments", "Segments."),
    ("memtable_documents", "Documents in the memtable, not yet in a segment."),
    ("memtable_bytes", "Memory of the memtable."),
    ("own_bytes", "Own memory of the index: the memtable, and the filter over small segments."),
    ("mapped_bytes", "Bytes of segments that are mapped. Their pages belong to the page cache."),
    ("bytes_on_disk", "Bytes of all files of the index."),
    ("change", "The last change that queries see."),
    ("durable_change", "The last change that survives power loss."),
    ("floor", "The last change that segments and catalog contain."),
    ("bytes_read", "Bytes read since the start, except through memory maps."),
    ("bytes_written", "Bytes written since the start."),
    ("syncs", "Syncs of files and folders since the start."),
    ("snapshots_pinning", "Number of older states of the index that snapshots still hold."),
    ("changes_replayed", "Changes that opening replayed from the log: 0 after a clean close."),
    ("bytes_cut", "Bytes of a torn record that opening cut off the end of the log."),
    ("files_swept", "Files that opening deleted because the catalog does not list them."),
    ("recovery", "What opening found: the three numbers before, and the bytes that it read."),
    ("maintenance_failure", "Error of the last maintenance, if it failed."),
    ("unicode_created", "The Unicode versions that the index was created with."),
    ("unicode", "The Unicode versions of this build."),
];

/// `superseded`: a later operation of the batch has the same key. `other`: an outcome that this
/// version has no name for.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes the words of an outcome")]
#[schema(rename_all = "snake_case")]
pub(crate) enum Outcome {
    Inserted,
    Replaced,
    Unchanged,
    Removed,
    Missing,
    Superseded,
    Other,
}

/// The OpenAPI document.
pub(crate) fn document(operations: &[RouteDescription]) -> serde_json::Result<Value> {
    let mut paths = Map::new();
    for route in operations {
        let path = described(route.path);
        let item = paths.entry(path.clone()).or_insert_with(|| item_of(&path));
        item[route.method] = operation(route);
    }
    Ok(json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Nearkin",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "A similarity index over HTTP",
            "description": "Documents in, near-duplicates out. `nearkin serve INDEX` answers to \
                this; docs/guide/SERVE.md has examples and the limits. Errors are JSON, too. \
                Unknown fields are refused in requests, and may be added to answers.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "http://127.0.0.1:7878"}],
        "security": [{}, {"bearer": []}, {"basic": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "description":
                    "The token of --token-file or NEARKIN_TOKEN, if the server has one; for \
                        reading, also that of --read-token-file or NEARKIN_READ_TOKEN."},
                "basic": {"type": "http", "scheme": "basic", "description":
                    "The token as the password of any user, for browsers."},
            },
            "responses": ERRORS.iter().map(|(_, name, meaning)| {
                ((*name).to_owned(), json!({"description": meaning, "content": of_type("Error")}))
            }).collect::<Map<_, _>>(),
            "schemas": schemas()?,
        },
    }))
}

/// The part of a path's description that all its HTTP methods share: the parameter `key`, if the
/// path has it.
fn item_of(path: &str) -> Value {
    if !path.contains("{key}") {
        return json!({});
    }
    json!({"parameters": [{
        "name": "key", "in": "path", "required": true, "schema": {"type": "string"},
        "description": "The document's key, percent-encoded: 1 to 4,096 bytes of any kind. \
            Slashes need no encoding.",
    }]})
}

fn operation(route: &RouteDescription) -> Value {
    let mut responses = Map::new();
    for (status, description, content) in route.answers {
        let content = match content {
            AnswerContent::Json(name) => of_type(name),
            AnswerContent::OneOf(names) => {
                let choices: Value = names.iter().map(|name| reference(name)).collect();
                json!({"application/json": {"schema": {"oneOf": choices}}})
            }
            AnswerContent::Lines(name) => {
                json!({"application/x-ndjson": {"schema": reference(name)}})
            }
            AnswerContent::Media(media) => json!({*media: {}}),
        };
        let answer = json!({"description": description, "content": content});
        responses.insert(status.to_string(), answer);
    }
    for (status, name, _) in ERRORS {
        let fails = route.errors.iter().any(|errors| errors.contains(&status));
        if fails && !responses.contains_key(&status.to_string()) {
            let error = json!({"$ref": format!("#/components/responses/{name}")});
            responses.insert(status.to_string(), error);
        }
    }
    let mut operation = json!({
        "operationId": route.id, "summary": route.summary, "responses": responses,
    });
    let parameters = parameters(route.id);
    if parameters != json!([]) {
        operation["parameters"] = parameters;
    }
    if let Some(name) = route.body {
        operation["requestBody"] = json!({"required": true, "content": of_type(name)});
    }
    if !route.errors.contains(&TOKEN) {
        operation["security"] = json!([]);
    }
    operation
}

fn of_type(name: &str) -> Value {
    json!({"application/json": {"schema": reference(name)}})
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// The parameters that a route takes after `?`.
fn parameters(id: &str) -> Value {
    let text = || json!({"type": "string"});
    let count = json!({"type": "integer", "minimum": 1, "maximum": 1000, "default": 100});
    let payloads = json!({"type": "boolean", "default": false});
    let time = json!({"type": "integer", "format": "int64", "minimum": 0});
    let prefix = "Only keys that begin with these bytes, percent-encoded.";
    let after = "Only keys greater than this one: `after` of the page before.";
    let all = match id {
        "pairs" | "clusters" => settings(lines::WITHOUT)
            .map(|setting| {
                let schema = match setting.value {
                    SettingValue::Text => text(),
                    _ => schema_of(setting),
                };
                (setting.name, schema, false, setting.meaning)
            })
            .collect(),
        "listDocuments" => vec![
            ("prefix", text(), false, prefix),
            (
                "contains",
                text(),
                false,
                "Only keys that contain this text, in upper or lower case.",
            ),
            ("after", text(), false, after),
            ("limit", count, false, "Maximum number of documents on the page."),
            ("payloads", payloads, false, "Whether to return payloads."),
        ],
        "deleteDocuments" => vec![
            ("prefix", text(), false, "The beginning of the keys to remove; this or `before`."),
            ("before", time, false, "Documents older than this go: milliseconds since 1970."),
        ],
        _ => Vec::new(),
    };
    all.into_iter()
        .map(|(name, schema, required, text)| {
            json!({"name": name, "in": "query", "required": required, "schema": schema,
            "description": text})
        })
        .collect()
}

/// The type of a condition.
fn schema_of(setting: &ConditionSetting) -> Value {
    match setting.value {
        SettingValue::Share => {
            json!({"type": "number", "format": "double", "minimum": 0, "maximum": 1})
        }
        SettingValue::Switch => json!({"type": "boolean"}),
        SettingValue::Count => json!({"type": "integer", "minimum": 0}),
        SettingValue::Span => json!({"type": "number", "format": "double", "minimum": 0}),
        SettingValue::Time => json!({"type": "integer", "format": "int64", "minimum": 0}),
        _ => reference("Bytes"),
    }
}

/// Describes the conditions that a body has beside its own fields.
fn add_conditions<T: HasConditions + ToSchema>(schemas: &mut Value) {
    for setting in settings(T::WITHOUT) {
        let mut field = schema_of(setting);
        if let Some(kind) = field.get("type").cloned() {
            field["type"] = json!([kind, "null"]);
        } else {
            field = json!({"oneOf": [field, {"type": "null"}]});
        }
        field["description"] = json!(setting.meaning);
        schemas[&*T::name()]["properties"][setting.name] = field;
    }
}

type Schemas = Vec<(String, RefOr<Schema>)>;

fn add<T: ToSchema>(all: &mut Schemas) {
    all.push((T::name().into_owned(), T::schema()));
    T::schemas(all);
}

pub(super) fn schemas() -> serde_json::Result<Value> {
    let mut all = Schemas::new();
    add::<Put>(&mut all);
    add::<Operations>(&mut all);
    add::<QueryBody>(&mut all);
    add::<AdmitBody>(&mut all);
    add::<Stored>(&mut all);
    add::<TextRead>(&mut all);
    add::<FileText>(&mut all);
    add::<FileBody>(&mut all);
    add::<Written>(&mut all);
    add::<BatchWritten>(&mut all);
    add::<Answered>(&mut all);
    add::<Answers>(&mut all);
    add::<DocumentList>(&mut all);
    add::<PrefixRemoved>(&mut all);
    add::<PairLine>(&mut all);
    add::<ClusterLine>(&mut all);
    add::<Admitted>(&mut all);
    add::<HealthObject>(&mut all);
    add::<ServerStatsObject>(&mut all);
    add::<ErrorObject>(&mut all);
    let mut schemas = json!({});
    for (name, schema) in all {
        schemas[name] = serde_json::to_value(schema)?;
    }
    add_conditions::<QueryBody>(&mut schemas);
    add_conditions::<AdmitBody>(&mut schemas);
    // Each operation is an object with exactly one field.
    if let Some(choices) = schemas["Operation"]["oneOf"].as_array_mut() {
        for choice in choices {
            choice["additionalProperties"] = json!(false);
        }
    }
    for (name, text) in STATS {
        let (kind, is_required) = match name {
            "maintenance_failure" => ("string", false),
            "unicode" | "unicode_created" => ("string", true),
            "recovery" => ("object", true),
            _ => ("integer", true),
        };
        let mut field = json!({"type": kind, "description": text});
        if kind == "integer" {
            field["format"] = json!("int64");
            field["minimum"] = json!(0);
        }
        schemas["Stats"]["properties"][name] = field;
        if is_required && let Some(required) = schemas["Stats"]["required"].as_array_mut() {
            required.push(json!(name));
        }
    }
    schemas["Error"]["properties"]["error"]["properties"]["kind"]["enum"] =
        KINDS.iter().flat_map(|(_, kinds)| *kinds).copied().collect();
    Ok(schemas)
}

impl PartialSchema for Blob {
    fn schema() -> RefOr<Schema> {
        let base64 = ObjectBuilder::new()
            .title(Some("Base64Bytes"))
            .property("base64", Object::with_type(Type::String))
            .required("base64")
            .additional_properties(Some(AdditionalProperties::FreeForm(false)));
        let text = "Bytes: a string where they are UTF-8, else base64 with padding.";
        let one_of = OneOfBuilder::new().item(Object::with_type(Type::String)).item(base64);
        one_of.description(Some(text)).into()
    }
}

impl ToSchema for Blob {
    fn name() -> Cow<'static, str> {
        "Bytes".into()
    }
}

impl PartialSchema for Item {
    fn schema() -> RefOr<Schema> {
        let types = SchemaType::from_iter([Type::String, Type::Integer]);
        let text = "An item of a set: 1 is the item \"1\".";
        ObjectBuilder::new().schema_type(types).description(Some(text)).into()
    }
}

impl ToSchema for Item {}
