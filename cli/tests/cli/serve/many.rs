//! Routes about many documents: pages of keys, removal by prefix, pairs and clusters as lines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(unix)]
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::http::{Client, Server};
use super::{Scratch, licence};

fn insert(client: &mut Client, keys: impl Iterator<Item = String>, text: impl Fn(&str) -> String) {
    let operation = |key: String| json!({"insert": {"key": key, "text": text(&key)}});
    let batch = json!({"operations": keys.map(operation).collect::<Vec<_>>()});
    client.ask("POST", "/v1/batch", Some(&batch)).has(200);
}

/// The keys of all pages, and the number of pages.
fn all_keys(client: &mut Client, query: &str) -> (Vec<String>, usize) {
    let (mut keys, mut pages, mut after) = (Vec::new(), 0, String::new());
    loop {
        let page = client.ask("GET", &format!("/v1/documents?{query}{after}"), None).has(200);
        let page = page.json();
        let some = page["documents"].as_array().unwrap();
        keys.extend(some.iter().map(|one| one["key"].as_str().unwrap().to_owned()));
        pages += 1;
        let Some(last) = page["after"].as_str() else { return (keys, pages) };
        assert_eq!(Some(last), keys.last().map(String::as_str));
        after = format!("&after={}", last.replace('/', "%2F"));
    }
}

#[test]
fn documents_are_listed_in_pages_and_removed_by_prefix() {
    let scratch = Scratch::with_licences();
    let server = Server::start(&scratch, &[]);
    let mut client = server.connect();
    let document = json!({"text": licence("MIT"), "payload": "p"});
    client.ask("PUT", "/v1/documents/%FF%2B", Some(&document)).has(201);
    client.ask("PUT", "/v1/documents/other%20one", Some(&document)).has(201);
    let list = client.ask("GET", "/v1/documents", None).has(200).json();
    let keys: Vec<_> =
        list["documents"].as_array().unwrap().iter().map(|one| &one["key"]).collect();
    assert_eq!(keys.len(), 7);
    assert_eq!((keys[0], keys[6]), (&json!("docs/ISC.txt"), &json!({"base64": "/ys="})));
    assert!(list.get("after").is_none() && list["documents"][0].get("payload").is_none());
    assert!(list["documents"][0]["time"].as_u64().unwrap() > 1_600_000_000_000);
    let odd = client.ask("GET", "/v1/documents?prefix=%ff%2b&payloads=true", None).has(200).json();
    assert_eq!(odd["documents"][0]["payload"], "p");
    let (keys, pages) = all_keys(&mut client, "prefix=docs/&limit=2");
    let names = ["ISC", "JSON", "MIT", "Xnet", "Zlib"];
    assert_eq!((keys, pages), (names.map(|name| format!("docs/{name}.txt")).to_vec(), 3));
    assert_eq!(all_keys(&mut client, "prefix=other+one").0, ["other one"]);
    assert_eq!(all_keys(&mut client, "prefix=none").0, [""; 0]);
    for bad in ["limit=0", "limit=1001", "limit=x", "offset=1", "prefix=%f", "payloads=maybe"] {
        client.ask("GET", &format!("/v1/documents?{bad}"), None).fails(400, "invalid");
    }
    for bad in ["/v1/documents", "/v1/documents?prefix=", "/v1/documents?limit=3"] {
        client.ask("DELETE", bad, None).fails(400, "invalid");
    }
    let removed = client.ask("DELETE", "/v1/documents?prefix=docs/", None).has(200).json();
    assert_eq!(removed, json!({"removed": 5}));
    let removed = client.ask("DELETE", "/v1/documents?prefix=docs/", None).has(200).json();
    assert_eq!(removed, json!({"removed": 0}));
    assert_eq!(client.ask("GET", "/v1/stats", None).has(200).json()["documents"], 2);
    server.stop();
}

#[test]
fn documents_have_times_of_their_own_and_go_by_age() {
    let scratch = Scratch::new();
    scratch.ok("create i");
    let server = Server::start(&scratch, &["--memory", "16M", "--durability", "os"]);
    let mut client = server.connect();
    let old = json!({"text": "an old text of some words", "time": 5_000});
    client.ask("PUT", "/v1/documents/put", Some(&old)).has(201);
    let insert = json!({"key": "batch", "text": "another old text of words", "time": 6_000});
    let batch = json!({"operations": [{"insert": insert}]});
    client.ask("POST", "/v1/batch", Some(&batch)).has(200);
    let newcomer = json!({"key": "admit", "text": "quite a different thing to say", "time": 7_000});
    client.ask("POST", "/v1/admit", Some(&newcomer)).has(200);
    let time = |client: &mut Client, key: &str| {
        let found = client.ask("GET", &format!("/v1/documents/{key}"), None).has(200).json();
        found["time"].as_u64().unwrap()
    };
    assert_eq!(["put", "batch", "admit"].map(|key| time(&mut client, key)), [5_000, 6_000, 7_000]);
    for bad in ["before=x", "before=-1", "before=9&prefix=a", "before=9000&prefix="] {
        client.ask("DELETE", &format!("/v1/documents?{bad}"), None).fails(400, "invalid");
    }
    let removed = client.ask("DELETE", "/v1/documents?before=7000", None).has(200).json();
    assert_eq!(removed, json!({"removed": 2}));
    // All stay, and the new one is told what it is like.
    let beside = json!({"key": "beside", "text": "quite a different thing to say", "keep": "all"});
    let beside = client.ask("POST", "/v1/admit", Some(&beside)).has(200).json();
    assert_eq!(
        (&beside["decision"], &beside["related"][0]["key"]),
        (&json!("admitted"), &json!("admit"))
    );
    assert_eq!(client.ask("GET", "/v1/stats", None).has(200).json()["documents"], 2);
    server.stop();
}

#[test]
fn a_key_that_stays_is_listed_once_while_others_come_and_go() {
    let scratch = Scratch::new();
    scratch.ok("create i");
    let server = Server::start(&scratch, &[]);
    let mut client = server.connect();
    let text = |key: &str| format!("the text of {key} and nothing else");
    let stays: Vec<String> = (0..500).map(|number| format!("k/{:03}", number * 2)).collect();
    insert(&mut client, stays.iter().cloned(), text);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mut writer = server.connect();
        let done = &done;
        scope.spawn(move || {
            for round in 0_u64.. {
                let mut keys = (0..20).map(|at| (round * 37 + at * 53) % 1_000);
                let key = |number| format!("k/{:03}", number / 2 * 2 + 1);
                insert(&mut writer, keys.by_ref().take(10).map(key), text);
                let remove = |key: String| json!({"remove": {"key": key}});
                let batch = json!({"operations": keys.map(key).map(remove).collect::<Vec<_>>()});
                writer.ask("POST", "/v1/batch", Some(&batch)).has(200);
                if done.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        for _ in 0..20 {
            let (keys, _) = all_keys(&mut client, "prefix=k/&limit=23");
            assert!(keys.is_sorted_by(|one, next| one < next), "{keys:?}");
            let keys: BTreeSet<_> = keys.into_iter().collect();
            assert!(stays.iter().all(|key| keys.contains(key)));
        }
        done.store(true, Ordering::Relaxed);
    });
    server.stop();
}

#[test]
fn pairs_and_clusters_are_those_of_the_command() {
    let scratch = Scratch::with_licences();
    let line = |number: usize| {
        let text = format!("document {} begins alike, then says {}", number / 5, number % 5 / 2);
        json!({"id": format!("d{number:03}"), "text": text}).to_string() + "\n"
    };
    scratch.write("lines.jsonl", (0..400).map(line).collect::<String>());
    scratch.ok("add i --jsonl lines.jsonl");
    let listed = |command: &str| scratch.ok(command).objects();
    let pairs = |objects: &[Value]| {
        let pair = |one: &Value| (one["a"].to_string(), one["b"].to_string());
        let found: BTreeMap<_, _> =
            objects.iter().map(|one| (pair(one), one["similarity"].to_string())).collect();
        assert_eq!(found.len(), objects.len(), "a pair twice");
        found
    };
    let starts = |key: &Value| key.as_str().unwrap().starts_with("d00");
    let expected = pairs(&listed("pairs i --json --threshold 0.6"));
    let contained = pairs(&listed("pairs i --json --contained 0.9"));
    let clusters = listed("clusters i --json --threshold 0.6");
    let server = Server::start(&scratch, &[]);
    let mut client = server.connect();
    let answer = client.ask("GET", "/v1/pairs?threshold=0.6", None).has(200);
    assert!(answer.head.contains("application/x-ndjson"), "{}", answer.head);
    assert_eq!(pairs(&answer.lines()), expected);
    assert!(expected.len() > 100);
    let found = client.ask("GET", "/v1/pairs?contained=0.9", None).has(200).lines();
    assert!(found.iter().all(|one| one["contained"].as_f64().unwrap() >= 0.9));
    assert_eq!(pairs(&found), contained);
    let found = client.ask("GET", "/v1/clusters?threshold=0.6", None).has(200).lines();
    // The command prints a line for each member.
    let mut expected: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for one in clusters {
        expected.entry(one["cluster"].to_string()).or_default().insert(one["key"].to_string());
    }
    let members = |one: &Value| {
        let keys = one["keys"].as_array().unwrap();
        assert_eq!(one["size"], keys.len());
        keys.iter().map(Value::to_string).collect::<BTreeSet<_>>()
    };
    let found: BTreeSet<_> = found.iter().map(members).collect();
    assert!(!found.is_empty());
    assert_eq!(found, expected.into_values().collect());
    let part = "prefix=d00&threshold=0.6";
    let found = client.ask("GET", &format!("/v1/pairs?{part}"), None).has(200).lines();
    assert_eq!(pairs(&found), pairs(&listed("pairs i --json --threshold 0.6 --prefix d00")));
    assert!(!found.is_empty() && found.iter().all(|one| starts(&one["a"]) && starts(&one["b"])));
    let found = client.ask("GET", &format!("/v1/clusters?{part}&limit=2"), None).has(200).lines();
    assert_eq!(found.len(), 2);
    assert!(found.iter().flat_map(|one| one["keys"].as_array().unwrap()).all(starts));
    let found = client.ask("GET", "/v1/pairs?threshold=0.6&limit=3", None).has(200).lines();
    assert_eq!(found.len(), 3);
    for none in ["pairs?after=9000000000000", "clusters?before=1000"] {
        assert!(client.ask("GET", &format!("/v1/{none}"), None).has(200).lines().is_empty());
    }
    for path in [
        "/v1/pairs?threshold=2",
        "/v1/clusters?threshold=-1",
        "/v1/pairs?limit=-1",
        "/v1/clusters?after=5&before=5",
        "/v1/pairs?offset=1",
    ] {
        client.ask("GET", path, None).fails(400, "invalid");
    }
    server.stop();
}

/// A crowd has more pairs than a client that does not read can be sent.
#[cfg(unix)]
#[test]
fn a_client_that_does_not_read_blocks_no_other_and_no_shutdown() {
    let scratch = Scratch::new();
    scratch.ok("create i");
    let server = Server::start(&scratch, &["--timeout", "60"]);
    let mut client = server.connect();
    let same = |_: &str| "the same text in each of them, word for word".to_owned();
    insert(&mut client, (0..1_500).map(|number| format!("{}{number}", "k".repeat(200))), same);
    let head = "GET /v1/pairs HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut silent: Vec<_> = (0..4).map(|_| server.connect()).collect();
    for one in &mut silent {
        one.send(head.as_bytes()).unwrap();
    }
    let began = Instant::now();
    let sent = "nearkin_requests_total{method=\"GET\",route=\"/v1/pairs\",status=\"200\"} 4";
    while !client.ask("GET", "/metrics", None).has(200).text().contains(sent) {
        assert!(began.elapsed() < Duration::from_secs(30), "they do not begin");
    }
    let refused = client.ask("GET", "/v1/clusters", None).fails(503, "busy");
    assert!(refused.head.to_lowercase().contains("retry-after: "), "{}", refused.head);
    client.ask("POST", "/v1/query", Some(&json!({"text": same(""), "limit": 3}))).has(200);
    let began = Instant::now();
    let ran = server.stop();
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert!(ran.stdout.contains("1,500 documents"), "the index was not closed");
    // The answers were cut, and say so by their missing end.
    for one in &mut silent {
        assert!(one.answer().is_err());
    }
}

/// All documents share one band and no pair is similar: the search has no line to send for minutes.
#[cfg(unix)]
#[test]
fn a_search_without_results_ends_with_its_client_or_server() {
    let scratch = Scratch::new();
    let bands = "--hashes 32 --bands 8 --rows-per-band 4";
    scratch.ok(&format!("create i --scheme external:made {bands}"));
    let server = Server::start(&scratch, &["--timeout", "60"]);
    let mut client = server.connect();
    for part in 0..6 {
        let operation = |number: u64| {
            let row = |at| if at < 4 { 0 } else { (number * 64 + at) * 2_654_435_761 % (1 << 48) };
            let rows: Vec<_> = (0..32).map(row).collect();
            json!({"insert": {"key": number.to_string(), "rows": rows}})
        };
        let some: Vec<_> = (10_000 * part..10_000 * (part + 1)).map(operation).collect();
        client.ask("POST", "/v1/batch", Some(&json!({"operations": some}))).has(200);
    }
    let mut running = Vec::new();
    for route in ["/v1/pairs", "/v1/clusters"] {
        let head = format!("GET {route}?threshold=0.99 HTTP/1.1\r\nHost: localhost\r\n\r\n");
        // Waits for a place: clients that left are noticed a little later.
        let start = || {
            let since = Instant::now();
            loop {
                let mut one = server.connect();
                one.send(head.as_bytes()).unwrap();
                if one.head().unwrap().contains(" 200 ") {
                    return one;
                }
                assert!(since.elapsed() < Duration::from_secs(15), "no client's search has ended");
            }
        };
        let all: Vec<_> = (running.len()..4).map(|_| start()).collect();
        server.ask("GET", route, None).fails(503, "busy");
        // Their clients leave: then there is place for another one.
        drop(all);
        running.push(start());
    }
    let began = Instant::now();
    let ran = server.stop();
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    assert!(ran.stdout.contains("60,000 documents"), "the index was not closed");
    // The answers were cut, and say so by their missing end.
    for one in &mut running {
        assert!(one.chunks().is_err());
    }
}
