//! The description of the API agrees with the code: a test fails if it does not, and writes
//! `openapi.json` with `NEARKIN_WRITE_OPENAPI=1`.

use std::collections::BTreeSet;

use axum::http::{StatusCode, header};
use axum::response::IntoResponse as _;
use serde_json::{Value, json};

use super::bodies::QueryBody;
use super::conditions::{HasConditions as _, settings};
use super::error_response::ErrorResponse;
use crate::serve::http::guard;
use crate::serve::routes::{OPENAPI, routes};
use description::{RouteDescription, STATS, schemas};

pub(crate) mod description;

fn operations() -> Vec<RouteDescription> {
    routes().into_iter().map(|route| route.operation).collect()
}

/// A client that repeats its writes after a second would do so for ever.
#[test]
fn an_index_that_is_poisoned_is_not_asked_again() {
    for (kind, is_asked) in
        [("busy", true), ("locked", true), ("poisoned", false), ("closed", false)]
    {
        let response = ErrorResponse::new(kind, "why").into_response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers().contains_key(header::RETRY_AFTER), is_asked, "{kind}");
    }
}

/// What is served is what the route table and the types describe.
#[test]
#[expect(clippy::disallowed_methods, reason = "writes a source file of this repository")]
fn the_served_description_is_current() {
    let described = description::document(&operations()).unwrap();
    let mut text = serde_json::to_string_pretty(&described).unwrap();
    text.push('\n');
    if std::env::var_os("NEARKIN_WRITE_OPENAPI").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/serve/api/openapi.json");
        std::fs::write(path, &text).unwrap();
    }
    assert!(
        text == OPENAPI,
        "openapi.json is stale: run `NEARKIN_WRITE_OPENAPI=1 cargo test -p nearkin-server \
         --all-features served_description`, then build again"
    );
}

#[test]
fn the_description_has_every_route_and_nothing_else() {
    let described = description::document(&operations()).unwrap();
    assert_eq!(described["openapi"], "3.1.0");
    assert_eq!(described["info"]["version"], env!("CARGO_PKG_VERSION"));
    let mut found = BTreeSet::new();
    for (path, methods) in described["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            if method == "parameters" {
                continue;
            }
            assert!(operation["operationId"].is_string(), "{method} {path}");
            assert!(operation["summary"].is_string(), "{method} {path}");
            found.insert((method.clone(), path.clone()));
        }
    }
    let expected: BTreeSet<_> = operations()
        .iter()
        .map(|route| (route.method.to_owned(), guard::described(route.path)))
        .collect();
    assert_eq!(found, expected);
    assert_eq!(found.len(), 20);
}

/// Checks that every `$ref` of the description can be resolved.
#[test]
fn no_reference_of_the_description_is_broken() {
    fn walk(value: &Value, all: &Value, count: &mut usize) {
        if let Some(target) = value.get("$ref").and_then(Value::as_str) {
            let pointer = target.strip_prefix('#').unwrap();
            assert!(all.pointer(pointer).is_some(), "{target}");
            *count += 1;
        }
        let inner: Vec<_> = match value {
            Value::Object(object) => object.values().collect(),
            Value::Array(array) => array.iter().collect(),
            _ => Vec::new(),
        };
        for value in inner {
            walk(value, all, count);
        }
    }
    let described = description::document(&operations()).unwrap();
    let mut count = 0;
    walk(&described, &described, &mut count);
    assert!(count > 20, "{count} references");
}

/// Clients depend on which fields there are, which of them are required, and on their bounds.
#[test]
fn types_are_described_as_they_are_read_and_written() {
    let schemas = schemas().unwrap();
    let names = |name: &str, list: &str| match &schemas[name][list] {
        Value::Object(fields) => fields.keys().cloned().collect::<BTreeSet<_>>(),
        Value::Array(names) => names.iter().map(|name| name.as_str().unwrap().to_owned()).collect(),
        _ => BTreeSet::new(),
    };
    let set = |names: &str| names.split_whitespace().map(str::to_owned).collect::<BTreeSet<_>>();
    let params = nearkin::Params::for_threshold(0.7).build().unwrap();
    let index = nearkin::Index::temporary(&params, nearkin::Options::default()).unwrap();
    let stats = serde_json::to_value(index.stats().unwrap()).unwrap();
    let stats: BTreeSet<_> = stats.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(stats, BTreeSet::from(STATS.map(|(name, _)| name)));
    let mut query = set("text texts items rows key keys exact limit payloads");
    query.extend(settings(QueryBody::WITHOUT).map(|setting| setting.name.to_owned()));
    assert_eq!(names("Query", "properties"), query);
    assert!(query.contains("max_candidates") && !query.contains("verify"), "{query:?}");
    assert_eq!(names("Query", "required"), set(""));
    assert_eq!(names("Admit", "required"), set("key"));
    assert_eq!(names("Document", "properties"), set("text items rows payload time"));
    let answer = "matches found threshold expected_recall complete change";
    assert_eq!(names("Answer", "required"), set(answer));
    assert_eq!(names("Match", "required"), set("key similarity standard_error equal_rows time"));
    for name in ["Document", "Insert", "Query", "Admit", "Batch"] {
        assert_eq!(schemas[name]["additionalProperties"], false, "{name}");
    }
    let limit = &schemas["Query"]["properties"]["limit"];
    assert_eq!((&limit["minimum"], &limit["maximum"]), (&json!(1), &json!(1_000)));
    // That exactly one of some fields is needed stands in words: a schema that says so makes
    // generated clients lose the type.
    for name in ["Document", "Insert", "Query", "Admit"] {
        assert!(schemas[name]["description"].as_str().unwrap().contains("xactly one of"));
        assert!(schemas[name].get("oneOf").is_none(), "{name}");
    }
    let outcomes = schemas["Outcome"]["enum"].as_array().unwrap();
    assert!(outcomes.contains(&json!("superseded")), "{outcomes:?}");
    let kinds = &schemas["Error"]["properties"]["error"]["properties"]["kind"]["enum"];
    assert!(kinds.as_array().unwrap().contains(&json!("disk_full")));
    assert_eq!(schemas["Bytes"]["oneOf"][1]["additionalProperties"], false);
    assert_eq!(schemas["Operation"]["oneOf"][2]["additionalProperties"], false);
    assert_eq!(schemas["Query"]["properties"]["payloads"]["default"], false);
}
