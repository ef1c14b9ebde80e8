//! What whoever runs the server relies on: its log, request ids, reads only, and health checks.
#![cfg(unix)]

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::http::Server;
use super::{Scratch, licence};

#[test]
fn each_request_leaves_a_line_with_its_id() {
    let scratch = Scratch::with_licences();
    let logged = |options: &[&str]| {
        let server = Server::start(&scratch, options);
        let mut client = server.connect();
        let given = "X-Request-Id: my-id.7\r\n";
        let answer = client.ask_with("GET", "/v1/documents?limit=2", given, None).has(200);
        assert!(answer.head.contains("\r\nx-request-id: my-id.7\r\n"), "{}", answer.head);
        let bad = "X-Request-Id: my id\r\n";
        let answer = client.ask_with("GET", "/v1/documents/no%0Aline", bad, None).has(404);
        let id = answer.head.split("\r\nx-request-id: ").nth(1).unwrap();
        let id = id.split('\r').next().unwrap().to_owned();
        assert!(!id.contains("my id") && id.len() > 8, "{id}");
        let body = json!({"text": licence("MIT")});
        client.ask("POST", "/v1/query", Some(&body)).has(200);
        (server.stop().stderr, id)
    };
    let (text, id) = logged(&[]);
    let lines: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split(' ').collect())
        .filter(|l: &Vec<_>| l.len() == 8)
        .collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert_eq!(lines[0][2..5], ["GET", "/v1/documents?limit=2", "200"]);
    assert_eq!(lines[0][7], "my-id.7");
    assert_eq!(
        (lines[1][3..5].to_vec(), lines[1][7]),
        (vec!["/v1/documents/no%0Aline", "404"], &*id)
    );
    assert!(lines[0][0].ends_with('Z') && lines[0][1].starts_with("127.0.0.1:"), "{text}");
    let (text, id) = logged(&["--access-log", "json"]);
    let objects: Vec<Value> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!(objects.len(), 3, "{text}");
    assert_eq!((&objects[1]["id"], &objects[1]["status"]), (&json!(id), &json!(404)));
    assert_eq!((&objects[2]["method"], &objects[2]["path"]), (&json!("POST"), &json!("/v1/query")));
    assert!(objects[2]["bytes"].as_u64().unwrap() > 50 && objects[2]["ms"].is_number());
    let (text, _) = logged(&["--access-log", "off"]);
    assert!(!text.contains("/v1/"), "{text}");
}

/// Nobody reads the pipe here until the server has ended.
#[test]
fn a_log_that_nobody_reads_holds_no_request_and_not_the_end() {
    let scratch = Scratch::with_licences();
    let server = Server::start(&scratch, &[]);
    let mut client = server.connect();
    let path = format!("/v1/documents/{}", "k".repeat(900));
    for _ in 0..12_000 {
        client.ask("GET", &path, None).has(404);
    }
    let began = Instant::now();
    server.signal("-TERM");
    server.ends().ends_with(0);
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

#[test]
fn a_server_that_only_reads_runs_beside_a_writer_and_follows_it() {
    let scratch = Scratch::with_licences();
    let writer = Server::start(&scratch, &[]);
    let server = Server::start(&scratch, &["--read-only"]);
    let document = json!({"text": licence("MIT")});
    for (method, path, body) in [
        ("PUT", "/v1/documents/a", Some(&document)),
        ("DELETE", "/v1/documents/docs/MIT.txt", None),
        ("DELETE", "/v1/documents?prefix=docs", None),
    ] {
        server.ask(method, path, body).fails(403, "read_only");
    }
    server.ask("GET", "/v1/documents/docs/MIT.txt", None).has(200);
    writer.ask("PUT", "/v1/documents/new", Some(&document)).has(201);
    let began = Instant::now();
    while server.ask("GET", "/v1/documents/new", None).status != 200 {
        assert!(began.elapsed() < Duration::from_secs(20), "the change is not seen");
        std::thread::sleep(Duration::from_millis(50));
    }
    server.stop();
    writer.stop();
}

#[test]
fn idle_connections_do_not_starve_a_health_check() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum.or(Some(4_096));
    setrlimit(Resource::Nofile, limit).unwrap();
    let scratch = Scratch::with_licences();
    let server = Server::start(&scratch, &[]);
    let mut idle = Vec::new();
    for _ in 0..1_100 {
        idle.push(server.connect());
    }
    let began = Instant::now();
    server.ask("GET", "/health", None).has(200);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    // More than there are places: idle ones make room.
    let began = Instant::now();
    for _ in 0..600 {
        idle.push(server.connect());
    }
    server.ask("GET", "/health", None).has(200);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    server.stop();
}
