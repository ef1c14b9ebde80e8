//! Which texts the server reads again: those below the folder of `--texts-root`, and no others.
#![cfg(unix)]

use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use serde_json::json;

use super::http::Server;
use super::{Scratch, licence};

/// Stores a text under a key that is chosen to be a path, and asks for the text of that path.
fn claimed(server: &Server, key: &str) -> (u16, String) {
    let mut client = server.connect();
    let insert = json!({"insert": {"key": key, "text": "what a client claims"}});
    let batch = json!({"operations": [insert]});
    client.ask("POST", "/v1/batch", Some(&batch)).has(200);
    let path = format!("/v1/texts/{}", key.replace('/', "%2F").replace("..", "%2E%2E"));
    let answer = client.ask("GET", &path, None);
    (answer.status, answer.text().replace(key, "KEY"))
}

#[test]
fn a_file_outside_is_answered_like_one_that_does_not_exist() {
    let scratch = Scratch::with_licences();
    scratch.write("secret", "a secret that nobody added");
    scratch.write("docs/own", "a file that nobody added");
    symlink(scratch.path("secret"), scratch.path("docs/link")).unwrap();
    symlink("/dev/zero", scratch.path("docs/device")).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(scratch.path("docs/pipe")).status();
    assert!(pipe.unwrap().success());
    let server = Server::start(&scratch, &["--texts", "--texts-root", "docs"]);
    let none = claimed(&server, "nothing/of/the/kind");
    assert_eq!(none.0, 404);
    let outside = scratch.path("secret").to_str().unwrap().to_owned();
    let keys = ["../secret", "link", "device", "pipe", "/etc/passwd", "/etc/none", "own/../own"];
    for key in keys.into_iter().chain([outside.as_str()]) {
        assert_eq!(claimed(&server, key), none, "{key}");
    }
    // The check is not vain: a file inside is read, and found to be another text.
    assert_eq!(claimed(&server, "own").0, 409);
    let inside = scratch.path("docs/own").canonicalize().unwrap();
    assert_eq!(claimed(&server, inside.to_str().unwrap()).0, 409);
    let text = json!({"text": licence("MIT")});
    server.ask("PUT", "/v1/documents/MIT.txt", Some(&text)).has(201);
    let read = server.ask("GET", "/v1/texts/MIT.txt", None).has(200).json();
    assert_eq!(read["text"], licence("MIT"));
    server.stop();
    scratch.fails("serve i --texts --texts-root nowhere", &["nowhere"]);
    scratch.fails("serve i --texts-root docs", &["--texts"]);
}

/// `/proc/kmsg` is a regular file whose reader waits for the next message of the kernel.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_blocks_holds_no_thread() {
    let scratch = Scratch::with_licences();
    let options = ["--texts", "--texts-root", "/", "--requests-max", "2", "--timeout", "20"];
    let server = Server::start(&scratch, &options);
    for _ in 0..4 {
        assert_eq!(claimed(&server, "/proc/kmsg").0, 404);
    }
    let began = Instant::now();
    server.stop();
    assert!(began.elapsed() < Duration::from_secs(10), "a reader still waits");
}
