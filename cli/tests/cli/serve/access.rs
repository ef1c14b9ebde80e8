//! The token that reads only, and pages of origins that are allowed to send requests.

use serde_json::json;

use super::http::{Answer, Server};
use super::{Scratch, licence};

const WRITES: &str = "Authorization: Bearer 0123456789abcdef\r\n";
const READS: &str = "Authorization: Bearer fedcba9876543210\r\n";

#[test]
fn a_token_for_reading_may_not_write() {
    let scratch = Scratch::with_licences();
    scratch.write("token", "0123456789abcdef\n");
    scratch.write("reads", "fedcba9876543210\n");
    for from_environment in [true, false] {
        let mut command = scratch.command(&["serve", "i", "--listen", "127.0.0.1:0", "--texts"]);
        command.args(["--token-file", "token"]);
        if from_environment {
            command.env("NEARKIN_READ_TOKEN", "fedcba9876543210");
        } else {
            command.args(["--read-token-file", "reads"]);
        }
        let server = Server::spawn(command);
        let mut client = server.connect();
        let document = json!({"text": licence("MIT")});
        let batch = json!({"operations": []});
        let admit = json!({"key": "a", "text": licence("MIT"), "reject": 1.0});
        for (method, path, body) in [
            ("PUT", "/v1/documents/a", Some(&document)),
            ("POST", "/v1/batch", Some(&batch)),
            ("POST", "/v1/admit", Some(&admit)),
            ("DELETE", "/v1/documents/a", None),
        ] {
            client.ask_with(method, path, READS, body).fails(403, "read_token");
            client.ask_with(method, path, "", body).fails(401, "token");
            let answer = client.ask_with(method, path, WRITES, body);
            assert!([200, 201].contains(&answer.status), "{method} {path}");
        }
        for path in [
            "/",
            "/metrics",
            "/v1/stats",
            "/report",
            "/v1/documents/docs/MIT.txt",
            "/v1/texts/docs/MIT.txt",
        ] {
            client.ask_with("GET", path, READS, None).has(200);
            client.ask_with("GET", path, "", None).fails(401, "token");
        }
        client.ask_with("POST", "/v1/query", READS, Some(&document)).has(200);
        // A path that does not exist is a write, too, as far as the token is concerned.
        client.ask_with("POST", "/v1/nothing", READS, None).fails(403, "read_token");
        server.stop();
    }
    scratch.fails("serve i --read-token-file reads", &["none for writing", "--token-file"]);
    let ran = scratch.run("serve i --token-file token --read-token-file token").ends_with(2);
    ran.says(&["the token for reading is the one for writing"]);
}

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    let is_it =
        |line: &&str| line.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    answer.head.lines().find(is_it).map(|line| line[name.len() + 1..].trim())
}

#[test]
fn pages_of_allowed_origins_may_ask_and_others_may_not() {
    let scratch = Scratch::with_licences();
    scratch.write("token", "0123456789abcdef\n");
    let options = ["--allow-origin", "https://app.example", "--token-file", "token"];
    let server = Server::start(&scratch, &options);
    let mut client = server.connect();
    let allow = "access-control-allow-origin";
    let page = "Origin: https://app.example\r\nSec-Fetch-Site: cross-site\r\n";
    let asks = "Access-Control-Request-Method: PUT\r\n\
                Access-Control-Request-Headers: authorization,content-type\r\n";
    let preflight = [page, asks].concat();
    let answer = client.ask_with("OPTIONS", "/v1/documents/a", &preflight, None).has(204);
    assert_eq!(header(&answer, allow), Some("https://app.example"));
    assert!(header(&answer, "access-control-allow-methods").unwrap().contains("PUT"));
    let headers = header(&answer, "access-control-allow-headers").unwrap();
    assert!(headers.contains("authorization") && headers.contains("content-type"));
    assert_eq!(header(&answer, "access-control-allow-credentials"), None);
    // Allowed or not, an answer can be read by the page; the token is still needed.
    let query = json!({"key": "docs/MIT.txt"});
    let refused = client.ask_with("POST", "/v1/query", page, Some(&query)).fails(401, "token");
    assert_eq!(header(&refused, allow), Some("https://app.example"));
    let request = [page, WRITES].concat();
    let answer = client.ask_with("POST", "/v1/query", &request, Some(&query)).has(200);
    assert_eq!(header(&answer, allow), Some("https://app.example"));
    assert_eq!(header(&answer, "vary"), Some("origin"));
    for other in ["https://evil.example", "http://app.example", "https://app.example:444", "null"] {
        let origin = format!("Origin: {other}\r\n{WRITES}");
        let answer = client.ask_with("POST", "/v1/query", &origin, Some(&query));
        let answer = answer.fails(403, "origin");
        assert_eq!(header(&answer, allow), None, "{other}");
        let answer = client.ask_with("OPTIONS", "/v1/query", &[&origin, asks].concat(), None);
        answer.fails(403, "origin");
    }
    let twice = format!("Origin: https://app.example\r\nOrigin: https://evil.example\r\n{WRITES}");
    client.ask_with("POST", "/v1/query", &twice, Some(&query)).fails(403, "origin");
    // The name of the host is checked for allowed origins, too.
    let mut client = server.connect();
    let rebound = "POST /v1/batch HTTP/1.1\r\nHost: app.example\r\n";
    client.send(format!("{rebound}Origin: https://app.example\r\n\r\n").as_bytes()).unwrap();
    client.answer().unwrap().fails(403, "host");
    server.stop();
    scratch.fails("serve i --allow-origin *", &["must be an origin"]);
}
