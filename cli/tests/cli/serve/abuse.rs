//! Requests that the server must refuse, and abuse that it must survive.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::http::Server;
use super::{Scratch, licence};

#[test]
fn garbage_is_refused_with_what_is_wrong() {
    let scratch = Scratch::with_licences();
    let server = Server::start(&scratch, &[]);
    let mut client = server.connect();
    let deep: Value = (0..100).fold(json!(1), |inner, _| json!([inner]));
    for (path, body, said) in [
        ("/v1/query", json!({}), "is needed"),
        ("/v1/query", json!({"text": "a", "key": "b"}), "exactly one of"),
        ("/v1/query", json!({"text": "a", "rows": [1]}), "exactly one of"),
        ("/v1/query", json!({"texts": "a"}), "expected a sequence"),
        ("/v1/query", json!({"contents": "a"}), "unknown field"),
        ("/v1/query", json!({"text": 7}), "expected a string"),
        ("/v1/query", json!({"text": "a b c", "threshold": 1.5}), "from 0 to 1"),
        ("/v1/query", json!({"text": "a b c", "limit": 0}), "from 1 to 1000"),
        ("/v1/query", json!({"text": "a b c", "limit": -1}), "`-1`, expected an integer from 0"),
        ("/v1/query", json!({"text": "a", "threshold": "x"}), "the body: threshold: invalid type"),
        ("/v1/query", json!({"text": "a", "deadline_ms": -1}), "milliseconds, 0 or more, not -1"),
        ("/v1/query", json!([1]), "the body"),
        ("/v1/query", json!([]), "expected a JSON object"),
        ("/v1/query", json!({"keys": deep}), "the body"),
        ("/v1/query", json!({"key": ""}), "no document"),
        ("/v1/batch", json!({}), "operations"),
        ("/v1/batch", json!({"operations": [{"upsert": {}}]}), "upsert"),
        ("/v1/batch", json!({"operations": [{"insert": {"text": "a"}}]}), "key"),
        ("/v1/batch", json!({"operations": [{"remove": {"key": ""}}]}), "1 to 4"),
        ("/v1/admit", json!({"key": "k", "text": "a", "keep": "best"}), "best"),
        ("/v1/admit", json!({"key": "k", "text": "a", "reject": 0.1, "relate": 0.5}), "relate"),
        ("/v1/admit", json!({"text": "a"}), "key"),
    ] {
        let answer = client.ask("POST", path, Some(&body));
        let text = answer.text();
        assert!([400, 404].contains(&answer.status), "{path} {body}: {text}");
        assert!(text.contains(said), "{path} {body}: {text}");
    }
    for (path, said) in [
        ("/v1/pairs?threshold=x", "threshold must be a number from 0 to 1, not \\\"x\\\""),
        ("/v1/clusters?after=now", "after must be milliseconds since 1970 (a whole number), not"),
        ("/v1/pairs?limit=-1", "limit must be a whole number, 0 or more"),
    ] {
        let answer = client.ask("GET", path, None).fails(400, "invalid");
        assert!(answer.text().contains(said), "{path}: {}", answer.text());
    }
    let long = format!("/v1/documents/{}", "k".repeat(4_097));
    client.ask("PUT", &long, Some(&json!({"text": "a"}))).fails(400, "invalid");
    client.ask("PUT", "/v1/documents/%zz", Some(&json!({"text": "a"}))).fails(400, "invalid");
    client.ask("PUT", "/v1/documents/", Some(&json!({"text": "a"}))).fails(404, "no_route");
    let payload = json!({"text": "a", "payload": "p".repeat(65_537)});
    client.ask("PUT", "/v1/documents/a", Some(&payload)).fails(400, "invalid");
    // Not HTTP, not UTF-8, not JSON: the server sends an error or closes the connection, and serves
    // the next client.
    for garbage in
        [&b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..], b"GET\r\n\r\n", b"\0\0\r\n"]
    {
        let mut other = server.connect();
        other.send(garbage).unwrap();
        other.send(b"\r\n\r\n").unwrap();
        if let Ok(answer) = other.answer() {
            answer.has(400);
        }
    }
    let mut other = server.connect();
    let body = b"{\"text\":\"\xff\"}";
    let head = "POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let head = format!("{head}Content-Length: {}\r\n\r\n", body.len());
    other.send(&[head.as_bytes(), body].concat()).unwrap();
    other.answer().unwrap().fails(400, "invalid");
    client.ask("GET", "/health", None).has(200);
    server.stop();
}

#[test]
fn a_body_that_is_no_json_is_named_for_what_it_is() {
    let scratch = Scratch::with_licences();
    let server = Server::start(&scratch, &[]);
    let mut client = server.connect();
    for (header, body, status, said) in [
        ("", &b"\xef\xbb\xbf{}"[..], 400, "byte order mark"),
        ("", b"{\"text\":\"\\ud83d\"}", 400, "half of a surrogate pair at line 1"),
        ("", b"\x1f\x8b\x08\0", 400, "compressed (gzip)"),
        ("Content-Encoding: gzip\r\n", b"\x1f\x8b\x08\0", 415, "Content-Encoding: \\\"gzip"),
        ("Content-Encoding: identity\r\n", b"{\"key\":\"docs/MIT.txt\"}", 200, "docs/JSON.txt"),
    ] {
        let head = "POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json";
        let head = format!("{head}\r\n{header}Content-Length: {}\r\n\r\n", body.len());
        client.send(&[head.as_bytes(), body].concat()).unwrap();
        let answer = client.answer().unwrap().has(status).text();
        assert!(answer.contains(said), "{said}: {answer}");
    }
    server.stop();
}

#[test]
fn a_health_check_may_name_no_host() {
    let scratch = Scratch::with_licences();
    let server = Server::start(&scratch, &[]);
    for (path, host, status) in [
        ("/health", "", 200),
        ("/health", "Host: evil.example\r\n", 403),
        ("/health", "Host: localhost\r\nHost: localhost\r\n", 403),
        ("/v1/stats", "", 403),
    ] {
        let mut client = server.connect();
        client.send(format!("GET {path} HTTP/1.0\r\n{host}\r\n").as_bytes()).unwrap();
        client.answer().unwrap().has(status);
    }
    server.stop();
}

/// More connections with half a request than the server keeps. Without the early end of half
/// requests, the health check would wait for the hour of `--timeout`. (Other systems queue fewer
/// connections.)
#[cfg(target_os = "linux")]
#[test]
fn a_crowd_of_half_requests_does_not_starve_a_health_check() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut files = getrlimit(Resource::Nofile);
    if files.maximum.is_some_and(|most| most < 4_096) {
        return eprintln!("SKIPPED: this process may not open 4,096 files");
    }
    files.current = Some(4_096);
    setrlimit(Resource::Nofile, files).unwrap();
    let scratch = Scratch::with_licences();
    let server = Server::start(&scratch, &["--timeout", "3600"]);
    let body = "POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                Content-Length: 100\r\n\r\n{";
    for half in ["GET /health HTTP/1.1\r\nHost: localhost\r\nX: ", body] {
        let crowd: Vec<_> = (0..1_400)
            .map(|_| {
                let mut client = server.connect();
                // The first ones may have been closed already.
                let _ = client.send(half.as_bytes());
                client
            })
            .collect();
        server.ask("GET", "/health", None).has(200);
        drop(crowd);
    }
    server.stop();
}

#[test]
fn a_body_that_is_too_large_is_refused_and_not_held() {
    let scratch = Scratch::with_licences();
    let server = Server::start(&scratch, &["--body-bytes-max", "100000"]);
    let large = json!({"text": "x ".repeat(50_001)});
    let answer = server.ask("POST", "/v1/query", Some(&large));
    assert!(answer.head.to_lowercase().contains("connection: close"), "{}", answer.head);
    assert!(answer.fails(413, "too_large").text().contains("100000"));
    // A client that reads the answer only after it has sent everything gets it, too.
    let much = json!({"text": "x ".repeat(8 << 20)});
    server.ask("POST", "/v1/query", Some(&much)).fails(413, "too_large");
    let mut client = server.connect();
    let plain = vec![b'x'; 8 << 20];
    let head = "POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n";
    let head = format!("{head}Content-Length: {}\r\n\r\n", plain.len());
    client.send(&[head.as_bytes(), &plain].concat()).unwrap();
    client.answer().unwrap().fails(415, "content_type");
    // Chunked: the total size is not announced.
    let mut client = server.connect();
    let head = "POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    client.send(format!("{head}Transfer-Encoding: chunked\r\n\r\n").as_bytes()).unwrap();
    let part = format!("8000\r\n{}\r\n", " ".repeat(0x8000));
    for _ in 0..10 {
        // The server may have answered and closed the connection already.
        if client.send(part.as_bytes()).is_err() {
            break;
        }
    }
    client.answer().unwrap().fails(413, "too_large");
    let fits = json!({"text": "x ".repeat(40_000)});
    server.ask("POST", "/v1/query", Some(&fits)).has(200);
    server.stop();
}

#[test]
fn a_page_of_a_stranger_cannot_ask() {
    let scratch = Scratch::with_licences();
    let server = Server::start(&scratch, &[]);
    let mut client = server.connect();
    let port = server.address.port();
    for host in ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "0.0.0.0"] {
        let mut client = server.connect();
        client.send(format!("GET /v1/stats HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).unwrap();
        client.answer().unwrap().fails(403, "host");
    }
    for host in [format!("localhost:{port}"), "LOCALHOST".to_owned(), format!("[::1]:{port}")] {
        let mut client = server.connect();
        client.send(format!("GET /v1/stats HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).unwrap();
        client.answer().unwrap().has(200);
    }
    let query = json!({"key": "docs/MIT.txt"});
    for header in [
        "Origin: http://evil.example\r\n",
        "Origin: null\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: same-site\r\n",
    ] {
        let refused = client.ask_with("POST", "/v1/query", header, Some(&query));
        assert!(refused.text().contains("--allow-origin"), "{}", refused.text());
        refused.fails(403, "origin");
        client.ask_with("DELETE", "/v1/documents/a", header, None).fails(403, "origin");
    }
    for (name, first, second) in [
        ("Origin", format!("http://{}", server.address), "http://evil.example"),
        ("Sec-Fetch-Site", "same-origin".to_owned(), "cross-site"),
    ] {
        let headers = format!("{name}: {first}\r\n{name}: {second}\r\n");
        client.ask_with("POST", "/v1/query", &headers, Some(&query)).fails(403, "origin");
    }
    let own = format!("Origin: http://{}\r\nSec-Fetch-Site: same-origin\r\n", server.address);
    let answer = client.ask_with("POST", "/v1/query", &own, Some(&query)).has(200);
    assert!(!answer.head.to_lowercase().contains("access-control"), "{}", answer.head);
    // Content types that a form of another site can send without a preflight request.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let header = format!("Content-Type: {kind}\r\nContent-Length: 2\r\n\r\n{{}}");
        let request = format!("POST /v1/batch HTTP/1.1\r\nHost: localhost\r\n{header}");
        client.send(request.as_bytes()).unwrap();
        client.answer().unwrap().fails(415, "content_type");
    }
    client.ask("OPTIONS", "/v1/batch", None).fails(405, "method");
    server.stop();
}

#[test]
fn a_token_is_demanded_also_on_loopback() {
    let scratch = Scratch::with_licences();
    let token = "0123456789abcdef";
    scratch.write("token", format!("{token}\n"));
    let from_file = Server::start(&scratch, &["--token-file", "token"]);
    check_token(&from_file, token);
    from_file.stop();
    let mut command = scratch.command(&["serve", "i", "--listen", "127.0.0.1:0"]);
    let from_environment = Server::spawn({
        command.env("NEARKIN_TOKEN", token);
        command
    });
    check_token(&from_environment, token);
    from_environment.stop();
}

fn check_token(server: &Server, token: &str) {
    let mut client = server.connect();
    let mut stats = |headers: &str| client.ask_with("GET", "/v1/stats", headers, None);
    let refused = stats("").fails(401, "token");
    assert!(refused.head.to_lowercase().contains("www-authenticate: basic"), "{}", refused.head);
    for wrong in ["Bearer 0123456789abcdeg", "Bearer", "Basic OjAxMjM=", "0123456789abcdef"] {
        stats(&format!("Authorization: {wrong}\r\n")).fails(401, "token");
    }
    stats(&format!("Authorization: Bearer {token}\r\n")).has(200);
    // These are the credentials `any:0123456789abcdef` in base64.
    stats("Authorization: Basic YW55OjAxMjM0NTY3ODlhYmNkZWY=\r\n").has(200);
    for path in [
        "/",
        "/metrics",
        "/openapi.json",
        "/api",
        "/v1/texts/a",
        "/report",
        "/nothing",
        "/v1/documents/a",
    ] {
        server.ask("GET", path, None).fails(401, "token");
    }
    server.ask("GET", "/health", None).has(200);
}

#[test]
fn slow_clients_are_dropped_and_hold_nobody_up() {
    let scratch = Scratch::with_licences();
    let server = Server::start(&scratch, &["--timeout", "1", "--requests-max", "4"]);
    let mut heads: Vec<_> = (0..20).map(|_| server.connect()).collect();
    let mut bodies: Vec<_> = (0..20).map(|_| server.connect()).collect();
    let head = "POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    for client in &mut bodies {
        client.send(format!("{head}Content-Length: 100\r\n\r\n{{").as_bytes()).unwrap();
    }
    let began = Instant::now();
    let query = json!({"text": licence("MIT")});
    let (mut heads_dropped, mut requests, mut held_up) = (false, 0, 0);
    while began.elapsed() < Duration::from_secs(30) && !heads_dropped {
        let sent = heads.iter_mut().map(|client| client.send(b"G"));
        heads_dropped = sent.filter(Result::is_err).count() == 20;
        let sent_at = Instant::now();
        let answer = server.ask("POST", "/v1/query", Some(&query));
        requests += 1;
        // A busy machine may stall for a moment, but not most of the time.
        if answer.status == 504 || sent_at.elapsed() >= Duration::from_secs(1) {
            held_up += 1;
        } else {
            answer.has(200);
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(heads_dropped, "a head that never ends is waited for");
    assert!(held_up * 4 < requests, "held up {held_up} times of {requests}");
    for client in &mut bodies {
        client.answer().unwrap().fails(504, "timeout");
    }
    server.stop();
}

#[test]
fn more_than_it_can_do_at_once_is_refused_and_said() {
    let scratch = Scratch::with_licences();
    let server = Server::start(&scratch, &["--requests-max", "1"]);
    let operation =
        |key: usize| json!({"insert": {"key": key.to_string(), "text": licence("MIT")}});
    let batch = json!({"operations": (0..2_000).map(operation).collect::<Vec<_>>()});
    let busy = std::thread::scope(|scope| {
        let askers: Vec<_> =
            (0..8).map(|_| scope.spawn(|| server.ask("POST", "/v1/batch", Some(&batch)))).collect();
        let answers: Vec<_> = askers.into_iter().map(|asker| asker.join().unwrap()).collect();
        let done = answers.iter().filter(|answer| answer.status == 200).count();
        assert!(done >= 1);
        answers.into_iter().filter(|answer| answer.status != 200).collect::<Vec<_>>()
    });
    for answer in busy {
        let answer = answer.fails(503, "busy");
        assert!(answer.head.to_lowercase().contains("retry-after: 1"), "{}", answer.head);
    }
    server.ask("GET", "/v1/documents/1999", None).has(200);
    server.stop();
}
