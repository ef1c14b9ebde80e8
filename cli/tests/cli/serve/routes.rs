//! Every route with valid requests.

use serde_json::json;

use super::http::Server;
use super::{Scratch, licence};

fn with_licences() -> (Scratch, Server) {
    let scratch = Scratch::with_licences();
    let server = Server::start(&scratch, &[]);
    (scratch, server)
}

#[test]
fn a_document_is_put_got_replaced_and_removed() {
    let (_scratch, server) = with_licences();
    let mut client = server.connect();
    let path = "/v1/documents/docs/new%20one.txt";
    client.ask("GET", path, None).fails(404, "not_found");
    let document = json!({"text": licence("MIT"), "payload": {"base64": "AP8="}});
    let put = client.ask("PUT", path, Some(&document)).has(201).json();
    assert_eq!(put["outcome"], "inserted");
    let got = client.ask("GET", path, None).has(200).json();
    assert_eq!(got["key"], "docs/new one.txt");
    assert_eq!(got["payload"], json!({"base64": "AP8="}));
    assert!(got["time"].as_u64().unwrap() > 1_600_000_000_000);
    assert!(got["shingle_count"].as_u64().unwrap() > 50);
    let again = client.ask("PUT", path, Some(&document)).has(200).json();
    assert_eq!((&again["outcome"], &again["change"]), (&json!("unchanged"), &put["change"]));
    let other = json!({"text": "words of another kind"});
    assert_eq!(client.ask("PUT", path, Some(&other)).has(200).json()["outcome"], "replaced");
    let empty = json!({"text": " \n"});
    client.ask("PUT", path, Some(&empty)).fails(400, "empty");
    // A payload changes only if the request contains one.
    let payload = |client: &mut super::http::Client| {
        client.ask("GET", path, None).has(200).json()["payload"].clone()
    };
    assert_eq!(payload(&mut client), json!({"base64": "AP8="}));
    let set = |key: &str| json!({"set_payload": {"key": key, "payload": "set"}});
    let batch = json!({"operations": [set("docs/new one.txt"), set("nobody")]});
    let written = client.ask("POST", "/v1/batch", Some(&batch)).has(200).json();
    assert_eq!(written["outcomes"], json!(["replaced", "missing"]));
    let insert = json!({"insert": {"key": "docs/new one.txt", "text": "words of a third kind"}});
    client.ask("POST", "/v1/batch", Some(&json!({"operations": [insert]}))).has(200);
    let admit = json!({"key": "docs/new one.txt", "text": "words of a fourth kind"});
    client.ask("POST", "/v1/admit", Some(&admit)).has(200);
    assert_eq!(payload(&mut client), "set");
    let cleared = json!({"text": "words of another kind", "payload": ""});
    client.ask("PUT", path, Some(&cleared)).has(200);
    assert_eq!(payload(&mut client), "");
    assert_eq!(client.ask("DELETE", path, None).has(200).json()["outcome"], "removed");
    client.ask("DELETE", path, None).fails(404, "not_found");
    server.stop();
}

#[test]
fn a_query_answers_as_the_command_does() {
    let (scratch, server) = with_licences();
    let mut client = server.connect();
    let ran = scratch.ok("query i docs/MIT.txt --threshold 0.5 --json");
    let query = json!({"text": licence("MIT"), "threshold": 0.5});
    let answer = client.ask("POST", "/v1/query", Some(&query)).has(200).json();
    let matches = answer["matches"].as_array().unwrap();
    assert_eq!(matches.len(), ran.objects().len());
    for (found, printed) in matches.iter().zip(ran.objects()) {
        for field in ["key", "similarity", "standard_error"] {
            assert_eq!(found[field], printed[field]);
        }
        assert!(found.get("payload").is_none());
    }
    assert_eq!((&answer["complete"], &answer["threshold"]), (&json!(true), &json!(0.5)));
    let recall = answer["expected_recall"].as_f64().unwrap();
    assert!((0.1..0.9).contains(&recall), "{recall}");
    assert!(answer["warning"].is_string(), "0.5 in an index for 0.7: {answer}");

    let by_key = json!({"key": "docs/MIT.txt", "limit": 1, "payloads": true});
    let answer = client.ask("POST", "/v1/query", Some(&by_key)).has(200).json();
    assert_eq!(answer["matches"][0]["key"], "docs/JSON.txt");
    assert_eq!(answer["matches"][0]["payload"], "");
    assert!(answer.get("warning").is_none());
    let by_keys = json!({"keys": ["docs/MIT.txt", "docs/JSON.txt"], "threshold": 0.0});
    let answer = client.ask("POST", "/v1/query", Some(&by_keys)).has(200).json();
    let keys: Vec<_> = answer["matches"].as_array().unwrap().iter().map(|m| &m["key"]).collect();
    assert!(!keys.contains(&&json!("docs/MIT.txt")) && keys.contains(&&json!("docs/Xnet.txt")));
    let bounded = json!({"text": licence("MIT"), "max_candidates": 1, "threshold": 0.1});
    let answer = client.ask("POST", "/v1/query", Some(&bounded)).has(200).json();
    assert_eq!(answer["complete"], false);
    let unknown = json!({"key": "nobody"});
    client.ask("POST", "/v1/query", Some(&unknown)).fails(404, "not_found");
    server.stop();
}

#[test]
fn a_batch_is_one_change_or_none() {
    let (_scratch, server) = with_licences();
    let mut client = server.connect();
    let batch = json!({"operations": [
        {"insert": {"key": "a", "text": "one two three four"}},
        {"remove": {"key": "docs/MIT.txt"}},
        {"remove": {"key": "nobody"}},
        {"insert": {"key": "b", "text": "one two three five"}},
        {"remove": {"key": "b"}},
    ]});
    let before = client.ask("GET", "/v1/stats", None).has(200).json();
    let written = client.ask("POST", "/v1/batch", Some(&batch)).has(200).json();
    let outcomes = json!(["inserted", "removed", "missing", "superseded", "missing"]);
    assert_eq!(written["outcomes"], outcomes);
    let after = client.ask("GET", "/v1/stats", None).has(200).json();
    assert_eq!(after["documents"], before["documents"]);
    assert_eq!(after["change"].as_u64().unwrap(), before["change"].as_u64().unwrap() + 1);
    let bad = json!({"operations": [
        {"insert": {"key": "c", "text": "one two three four"}},
        {"insert": {"key": "d", "text": ""}},
    ]});
    let refused = client.ask("POST", "/v1/batch", Some(&bad)).fails(400, "empty");
    let named = refused.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(named.starts_with("operations[1], key \"d\": "), "{named}");
    client.ask("GET", "/v1/documents/c", None).fails(404, "not_found");
    server.stop();
}

#[test]
fn newcomers_are_admitted_or_turned_away() {
    let (_scratch, server) = with_licences();
    let mut client = server.connect();
    let mut admit = |body| client.ask("POST", "/v1/admit", Some(&body)).has(200).json();
    let rejected = admit(json!({"key": "copy", "text": licence("MIT")}));
    assert_eq!(rejected["decision"], "rejected");
    assert_eq!(rejected["duplicates"][0]["key"], "docs/MIT.txt");
    assert_eq!(rejected["complete"], true);
    let admitted = admit(json!({"key": "new", "text": "none of that sort at all"}));
    assert_eq!(admitted["decision"], "admitted");
    let newest = json!({"key": "copy", "text": licence("MIT"), "keep": "newest", "reject": 0.95,
        "relate": 0.5});
    let admitted = admit(newest);
    assert_eq!(admitted["decision"], "admitted");
    assert_eq!(admitted["removed"][0]["key"], "docs/MIT.txt");
    assert_eq!(admitted["related"][0]["key"], "docs/JSON.txt");
    let again = admit(json!({"key": "copy", "text": licence("MIT"), "reject": 1.0}));
    assert_eq!(again["decision"], "unchanged");
    // A tenant's part: nothing of others rejects, is shown or is removed.
    let mine = |number: u32, keep: &str| {
        json!({"key": format!("south/{number}"), "text": licence("JSON"), "keep": keep,
            "relate": 0.1, "prefix": "south/"})
    };
    let admitted = admit(mine(1, "newest"));
    assert_eq!(admitted["decision"], "admitted");
    assert_eq!((&admitted["related"], &admitted["removed"]), (&json!([]), &json!([])));
    let rejected = admit(mine(2, "first"));
    assert_eq!(rejected["duplicates"].as_array().unwrap().len(), 1);
    assert_eq!(rejected["duplicates"][0]["key"], "south/1");
    let outside = json!({"key": "docs/JSON.txt", "text": "of another", "prefix": "south/"});
    client.ask("POST", "/v1/admit", Some(&outside)).fails(400, "invalid");
    client.ask("GET", "/v1/documents/docs%2FJSON.txt", None).has(200);
    let hidden = json!({"key": "south/1", "text": "words of its own", "before": 1});
    let refused = client.ask("POST", "/v1/admit", Some(&hidden)).fails(409, "exists");
    let said =
        "that the conditions do not let pass has the key \\\"south/1\\\"; choose another key";
    assert!(refused.text().contains(said), "{}", refused.text());
    let late = json!({"key": "late", "text": licence("MIT"), "deadline_ms": 0});
    let refused = client.ask("POST", "/v1/admit", Some(&late)).fails(503, "cancelled");
    assert!(refused.text().contains("give more `deadline_ms`"), "{}", refused.text());
    server.stop();
}

#[test]
fn state_health_metrics_page_and_description() {
    let (_scratch, server) = with_licences();
    let mut client = server.connect();
    assert_eq!(client.ask("GET", "/health", None).has(200).json()["status"], "ok");
    let stats = client.ask("GET", "/v1/stats", None).has(200).json();
    assert_eq!((&stats["documents"], &stats["params"]["shingles"]), (&json!(5), &json!("words:3")));
    assert!(stats["params"].get("seed").is_none(), "it may be secret");
    let page = client.ask("GET", "/", None).has(200);
    let policy = page.head.split("content-security-policy: ").nth(1).unwrap();
    let nonce = policy.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"));
    assert!(page.text().contains(&format!("<script nonce=\"{nonce}\">")));
    // The page loads nothing from other hosts.
    for elsewhere in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!page.text().contains(elsewhere), "{elsewhere}");
    }
    assert_ne!(client.ask("GET", "/", None).text(), page.text(), "another nonce each time");
    let described = client.ask("GET", "/openapi.json", None).has(200).json();
    assert!(described["paths"]["/v1/query"]["post"].is_object());
    let api = client.ask("GET", "/api", None).has(200);
    assert!(api.head.contains("default-src 'none'") && api.text().contains("<h1>API"));
    let report = client.ask("GET", "/report", None).has(200).text();
    assert!(report.contains("<title>") && report.contains("docs/MIT.txt"), "{report}");
    client.ask("GET", "/nothing", None).fails(404, "no_route");
    client.ask("PATCH", "/v1/stats", None).fails(405, "method");
    client.ask("POST", "/v1/documents/a", None).fails(405, "method");
    let text = client.ask("GET", "/metrics", None).has(200).text();
    for line in [
        "nearkin_documents 5",
        "nearkin_segments 1",
        "nearkin_requests_total{method=\"GET\",route=\"/\",status=\"200\"} 2",
        "nearkin_requests_total{method=\"GET\",route=\"other\",status=\"404\"} 1",
        "nearkin_request_seconds_count{method=\"GET\",route=\"/v1/stats\"} 1",
    ] {
        assert!(text.lines().any(|one| one == line), "no {line} in:\n{text}");
    }
    server.stop();
}

#[test]
fn sets_and_signatures_are_taken_by_indexes_of_such() {
    let scratch = Scratch::new();
    scratch.ok("create i --shingles items --threshold 0.3");
    let server = Server::start(&scratch, &[]);
    let mut client = server.connect();
    let set = json!({"items": ["tea", 2, "milk", -7]});
    client.ask("PUT", "/v1/documents/a", Some(&set)).has(201);
    let query = json!({"items": ["2", "milk", "tea", "-7"]});
    let answer = client.ask("POST", "/v1/query", Some(&query)).has(200).json();
    assert_eq!(answer["matches"][0]["similarity"], 1.0);
    client.ask("PUT", "/v1/documents/a", Some(&json!({"text": "a"}))).fails(400, "invalid");
    server.stop();
    let scratch = Scratch::new();
    scratch.run("create i --scheme external:mine --hashes 16 --bands 4 --rows-per-band 4");
    let server = Server::start(&scratch, &[]);
    let rows: Vec<u64> = (0..16).map(|row| u64::MAX - row).collect();
    server.ask("PUT", "/v1/documents/a", Some(&json!({"rows": rows}))).has(201);
    let answer = server.ask("POST", "/v1/query", Some(&json!({"rows": rows}))).has(200).json();
    assert_eq!(answer["matches"][0]["key"], "a");
    server.ask("PUT", "/v1/documents/a", Some(&json!({"rows": [1]}))).fails(400, "invalid");
    server.stop();
}

#[test]
fn texts_are_served_only_on_request_and_of_documents() {
    let (scratch, server) = with_licences();
    let none = server.ask("GET", "/v1/texts/docs/MIT.txt", None).fails(404, "no_text");
    assert!(none.text().contains("--texts"), "{}", none.text());
    let stats = server.ask("GET", "/v1/stats", None).has(200).json();
    assert_eq!(stats["server"]["texts"], json!(false));
    assert_eq!(stats["server"]["index"], json!("i"));
    server.stop();
    let server = Server::start(&scratch, &["--texts"]);
    let mut client = server.connect();
    let read = client.ask("GET", "/v1/texts/docs/MIT.txt", None).has(200).json();
    assert_eq!((&read["key"], &read["text"]), (&json!("docs/MIT.txt"), &json!(licence("MIT"))));
    // A file that is not a document, and a document whose file has changed.
    scratch.write("secret.txt", "a secret that nobody added");
    client.ask("GET", "/v1/texts/secret.txt", None).fails(404, "not_found");
    let claimed = json!({"text": "what somebody adds under the name of a file"});
    client.ask("PUT", "/v1/documents/secret.txt", Some(&claimed)).has(201);
    let refused = client.ask("GET", "/v1/texts/secret.txt", None).fails(409, "changed");
    assert!(!refused.text().contains("a secret"), "{}", refused.text());
    std::fs::remove_file(scratch.path("docs/JSON.txt")).unwrap();
    client.ask("GET", "/v1/texts/docs/JSON.txt", None).fails(404, "no_text");
    client.ask("GET", "/v1/texts/%zz", None).fails(400, "invalid");
    let report = client.ask("GET", "/report", None).has(200).text();
    assert!(report.contains("\"texts_asked\":true"), "the report has texts, too");
    server.stop();
}
