//! `nearkin mcp`: an index as tools of the Model Context Protocol.

use super::*;
use serde_json::{Value, json};

const FOX: &str = "the quick brown fox jumps over the lazy dog and runs away into the dark wood";

fn stored() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("fox.txt", FOX);
    scratch.write("sea.txt", "ships leave the harbour at dawn when the tide allows it");
    scratch.ok("add i fox.txt sea.txt");
    scratch
}

/// The answers to messages, by their ids.
fn answers(scratch: &Scratch, command: &str, messages: &[Value]) -> Vec<Value> {
    let lines: Vec<String> = messages.iter().map(Value::to_string).collect();
    let ran = scratch.run_with_stdin(command, lines.join("\n").as_bytes()).ends_with(0);
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn request(id: u32, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn call(id: u32, tool: &str, arguments: &Value) -> Value {
    request(id, "tools/call", &json!({"name": tool, "arguments": arguments}))
}

#[test]
fn an_assistant_finds_admits_and_gets_documents() {
    let scratch = stored();
    let hello = json!({"protocolVersion": "2025-03-26", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    let answers = answers(
        &scratch,
        "mcp i --texts",
        &[
            request(1, "initialize", &hello),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            request(2, "tools/list", &json!({})),
            call(3, "find_similar", &json!({"text": format!("{FOX} again"), "limit": 1})),
            call(4, "admit", &json!({"key": "copy", "text": FOX})),
            call(
                5,
                "admit",
                &json!({"key": "new", "text": "nobody wrote this before", "payload": "p"}),
            ),
            call(6, "get_document", &json!({"key": "new"})),
            call(7, "get_text", &json!({"key": "fox.txt"})),
            request(8, "ping", &json!({})),
        ],
    );
    let ids: Vec<u64> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6, 7, 8]);
    let result = |id: usize| &answers[id - 1]["result"];
    assert_eq!(result(1)["protocolVersion"], "2025-03-26");
    assert_eq!(result(1)["serverInfo"]["name"], "nearkin");
    let tools = result(2)["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["find_similar", "get_document", "get_text", "admit"]);
    assert!(tools.iter().all(|tool| tool["inputSchema"]["type"] == "object"));
    let found = &result(3)["structuredContent"];
    assert_eq!(found["matches"][0]["key"], "fox.txt", "{found}");
    let text = result(3)["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), *found);
    let rejected = &result(4)["structuredContent"];
    assert_eq!(rejected["decision"], "rejected", "{rejected}");
    assert_eq!(rejected["duplicates"][0]["key"], "fox.txt");
    assert_eq!(result(5)["structuredContent"]["decision"], "admitted");
    assert_eq!(result(6)["structuredContent"]["payload"], "p");
    assert_eq!(result(7)["structuredContent"]["text"], FOX);
    assert_eq!(*result(8), json!({}));
    // It is there.
    scratch.ok("get i new");
}

#[test]
fn what_an_assistant_asks_wrongly_is_explained() {
    let scratch = stored();
    let answers = answers(
        &scratch,
        "mcp i --read-only",
        &[
            request(1, "tools/list", &json!({})),
            call(2, "admit", &json!({"key": "new", "text": "nobody wrote this before"})),
            call(3, "find_similar", &json!({"txt": "fox"})),
            call(4, "get_document", &json!({"key": "none"})),
            request(5, "resources/list", &json!({})),
            request(6, "tools/call", &json!({"arguments": {}})),
            json!([request(7, "ping", &json!({}))]),
            json!({"id": 8, "method": "ping"}),
        ],
    );
    assert_eq!(answers.len(), 8);
    assert_eq!(answers[0]["result"]["tools"].as_array().unwrap().len(), 2);
    let code = |at: usize| answers[at - 1]["error"]["code"].as_i64().unwrap();
    assert_eq!([2, 5, 6, 8].map(code), [-32_602, -32_601, -32_602, -32_600]);
    // Messages that come together are answered together.
    assert_eq!(answers[6][0]["id"], 7, "{}", answers[6]);
    for (at, says) in [(3, "txt"), (4, "none")] {
        let result = &answers[at - 1]["result"];
        assert_eq!(result["isError"], true, "{result}");
        assert!(result["content"][0]["text"].as_str().unwrap().contains(says), "{result}");
    }
    // A message that cannot be read is answered under its id: its client waits for that.
    let half = r#""name":"find_similar","arguments":{"text":"cut \ud83d"}"#;
    let half = format!(r#"{{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{{{half}}}}}"#);
    let text = json!({"name": "find_similar", "arguments": {"text": "x".repeat(9 << 20)}});
    let long = format!(r#"{{"jsonrpc":"2.0","method":"tools/call","params":{text},"id":"long"}}"#);
    let deep = format!("{{\"id\":10,\"params\":{}{}}}", "[".repeat(500), "]".repeat(500));
    let many = json!(vec![request(11, "ping", &json!({})); 100]);
    let lines = format!("{half}\n{long}\n{deep}\n{many}\n{}", request(12, "ping", &json!({})));
    let ran = scratch.run_with_stdin("mcp i", lines.as_bytes()).ends_with(0);
    let told: Vec<Value> = ran.objects();
    let ids: Vec<_> = told.iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(ids, [json!(9), json!("long"), json!(10), Value::Null, json!(12)], "{}", ran.stdout);
    // Each of many messages in a line is answered.
    let answers = told[3].as_array().unwrap();
    assert_eq!((answers.len(), &answers[31]["result"]), (100, &json!({})));
    assert!(answers[32]["id"] == 11 && answers[32]["error"].is_object(), "{}", answers[32]);
    for (answer, says) in told.iter().zip(["half of a surrogate", "a part", "recursion"]) {
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(says), "{message}");
    }
    let ran = scratch.run_with_stdin("mcp i", b"no json\n\n").ends_with(0);
    assert!(ran.stdout.contains("-32700"), "{}", ran.stdout);
    assert_eq!(ran.stdout.lines().count(), 1);
    scratch.fails("mcp nowhere", &["nowhere"]);
}

#[test]
fn an_index_of_sets_is_offered_as_one() {
    let scratch = Scratch::new();
    scratch.write("sets.jsonl", "{\"id\": \"a\", \"items\": [1, 2, \"three\"]}\n");
    scratch.ok("add i --jsonl sets.jsonl --shingles items");
    let items = json!([3, "three", 2, 1]);
    let answers = answers(
        &scratch,
        "mcp i",
        &[
            request(1, "tools/list", &json!({})),
            call(2, "find_similar", &json!({"items": items, "threshold": 0.5})),
            call(3, "admit", &json!({"key": {"base64": "/w=="}, "items": [7, 8, 9]})),
            call(4, "get_document", &json!({"key": {"base64": "/w=="}})),
        ],
    );
    let tools = answers[0]["result"]["tools"].as_array().unwrap();
    for tool in tools.iter().filter(|tool| tool["name"] != "get_document") {
        let schema = &tool["inputSchema"]["properties"];
        assert!(schema["items"].is_object() && schema["text"].is_null(), "{tool}");
    }
    assert_eq!(answers[1]["result"]["structuredContent"]["matches"][0]["key"], "a");
    assert_eq!(answers[2]["result"]["structuredContent"]["decision"], "admitted", "{}", answers[2]);
    assert_eq!(answers[3]["result"]["structuredContent"]["key"], json!({"base64": "/w=="}));
}
