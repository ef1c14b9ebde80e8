//! Shutdown of the server, on a signal and otherwise.
#![cfg(unix)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::Scratch;
use super::http::Server;

fn text(writer: usize, number: u64) -> String {
    format!("document {number} of writer {writer} says {} and {}", number * 7, number * 13)
}

#[test]
fn nothing_acknowledged_is_lost_by_a_kill() {
    let scratch = Scratch::new();
    scratch.ok("create i");
    let mut server = Server::start(&scratch, &[]);
    let acknowledged: Vec<_> = (0..6).map(|_| AtomicU64::new(0)).collect();
    thread::scope(|scope| {
        for (writer, count) in acknowledged.iter().enumerate() {
            let mut client = server.connect();
            scope.spawn(move || {
                for number in 0.. {
                    let body = json!({"text": text(writer, number)}).to_string();
                    let request = format!(
                        "PUT /v1/documents/{writer}/{number} HTTP/1.1\r\nHost: localhost\r\n\
                         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                        body.len()
                    );
                    if client.send(request.as_bytes()).is_err() {
                        return;
                    }
                    match client.answer() {
                        Ok(answer) => assert_eq!(answer.has(201).json()["outcome"], "inserted"),
                        Err(_) => return,
                    }
                    count.store(number + 1, Ordering::SeqCst);
                }
            });
        }
        let counts = || acknowledged.iter().map(|count| count.load(Ordering::SeqCst));
        let began = Instant::now();
        while counts().sum::<u64>() < 300 || counts().any(|count| count == 0) {
            assert!(began.elapsed() < Duration::from_secs(60), "they do not come on");
            thread::sleep(Duration::from_millis(1));
        }
        server.child().kill().unwrap();
    });
    drop(server);
    let server = Server::start(&scratch, &[]);
    let mut client = server.connect();
    let mut stored = 0;
    for (writer, count) in acknowledged.iter().enumerate() {
        let count = count.load(Ordering::SeqCst);
        assert!(count > 0, "writer {writer} has not started");
        for number in 0..count {
            let query = json!({"text": text(writer, number), "threshold": 1.0});
            let answer = client.ask("POST", "/v1/query", Some(&query)).has(200).json();
            assert_eq!(answer["matches"][0]["key"], format!("{writer}/{number}"));
        }
        stored += count;
    }
    // Each of the six connections may have had one unfinished write.
    let documents = client.ask("GET", "/v1/stats", None).has(200).json()["documents"].clone();
    assert!((stored..=stored + 6).contains(&documents.as_u64().unwrap()), "{stored} {documents}");
    server.stop();
    scratch.ok("verify i");
}

#[test]
fn a_signal_ends_it_well_and_what_runs_is_finished() {
    for signal in ["-TERM", "-INT"] {
        let scratch = Scratch::with_licences();
        let server = Server::start(&scratch, &["--timeout", "60"]);
        let mut idle = server.connect();
        idle.ask("GET", "/health", None).has(200);
        let operation =
            |key: u64| json!({"insert": {"key": key.to_string(), "text": text(0, key)}});
        let batch = json!({"operations": (0..20_000).map(operation).collect::<Vec<_>>()});
        let mut client = server.connect();
        let body = batch.to_string();
        let request = format!(
            "POST /v1/batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        client.send(request.as_bytes()).unwrap();
        client.send(body.as_bytes()).unwrap();
        // Wait until the server has read the request and is processing it.
        let mut other = server.connect();
        let runs = || {
            let metrics = other.ask("GET", "/metrics", None).has(200).text();
            metrics.lines().any(|line| line == "nearkin_requests_running 2")
        };
        assert!(std::iter::repeat_with(runs).take(1_000).any(|runs| runs), "never seen to run");
        server.signal(signal);
        let written = client.answer().unwrap().has(200).json();
        assert_eq!(written["outcomes"].as_array().unwrap().len(), 20_000);
        let ran = server.ends().ends_with(0);
        assert!(ran.stdout.contains("stopped: ") && ran.stdout.contains("20,005 documents"));
        ran.says(&["stopping: finishing running requests"]);
        // The index was closed: no changes to replay.
        let stats = scratch.ok("stats i --json").objects();
        assert_eq!(stats[0]["documents"], 20_005);
        assert_eq!(stats[0]["memtable_documents"], 0);
    }
}

#[test]
fn an_incomplete_request_does_not_delay_stopping() {
    let scratch = Scratch::with_licences();
    let server = Server::start(&scratch, &[]);
    let mut slow = server.connect();
    slow.send(b"GET /health HTTP/1.1\r\n").unwrap();
    let mut idle = server.connect();
    idle.ask("GET", "/health", None).has(200);
    let began = std::time::Instant::now();
    server.stop();
    assert!(began.elapsed() < Duration::from_secs(15), "as long as a request may take");
}

#[test]
fn json_tells_where_it_listens_and_where_it_stopped() {
    let scratch = Scratch::with_licences();
    let server = Server::start(&scratch, &["--json"]);
    server.ask("DELETE", "/v1/documents/docs/MIT.txt", None).has(200);
    let ran = server.stop();
    let stopped = &ran.objects()[0];
    assert_eq!((&stopped["documents"], &stopped["requests"]), (&json!(4), &json!(1)));
    assert_eq!(stopped["change"], 2);
}
