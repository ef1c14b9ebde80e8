//! Two servers on one folder: both write, and one takes the place of the other without an error.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::http::{Client, Server};
use super::{Scratch, spelled};

fn document(number: u64) -> serde_json::Value {
    json!({"text": format!("the text {} of a client of its own", spelled(number * 7_919))})
}

#[test]
fn two_servers_write_to_one_folder_and_see_each_other() {
    let scratch = Scratch::with_licences();
    let servers = [Server::start(&scratch, &[]), Server::start(&scratch, &[])];
    for number in 0..20 {
        let (at, path) = (usize::from(number % 3 == 0), format!("/v1/documents/d{number}"));
        servers[at].ask("PUT", &path, Some(&document(number))).has(201);
        let begun = Instant::now();
        while servers[1 - at].ask("GET", &path, None).status != 200 {
            assert!(begun.elapsed() < Duration::from_secs(10), "{number} is not seen");
            thread::sleep(Duration::from_millis(10));
        }
    }
    // The same text is admitted by one of the two servers only.
    let body = json!({"key": "one", "text": "a text that two clients upload at one moment"});
    let first = servers[0].ask("POST", "/v1/admit", Some(&body)).has(200).json();
    let body = json!({"key": "other", "text": body["text"]});
    let second = servers[1].ask("POST", "/v1/admit", Some(&body)).has(200).json();
    let decisions = [&first["decision"], &second["decision"]];
    assert_eq!(decisions, ["admitted", "rejected"], "{first} {second}");
    for server in servers {
        server.stop();
    }
    scratch.ok("verify i");
    scratch.ok("stats i --json").has("documents", 5 + 20 + 1);
}

/// What a load balancer does: requests go to the newest server, and the one before is stopped.
#[test]
fn a_rolling_restart_fails_no_request_and_loses_nothing() {
    let scratch = Scratch::with_licences();
    let server = Server::start(&scratch, &["--drain", "2"]);
    let address = Mutex::new(server.address);
    let (is_over, next) = (AtomicBool::new(false), AtomicU64::new(0));
    let client = || {
        let current = || *address.lock().unwrap();
        let mut connection = (current(), Client::new(current()));
        while !is_over.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if connection.0 != current() {
                connection = (current(), Client::new(current()));
            }
            let path = format!("/v1/documents/d{number}");
            connection.1.ask("PUT", &path, Some(&document(number))).has(201);
            connection.1.ask("GET", &path, None).has(200);
        }
    };
    let mut old = server;
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(client);
        }
        for _ in 0..3 {
            let new = Server::start(&scratch, &["--drain", "2"]);
            new.ask("GET", "/health", None).has(200);
            *address.lock().unwrap() = new.address;
            thread::sleep(Duration::from_millis(100));
            // It answers what is sent to it for two seconds more.
            let drained = std::mem::replace(&mut old, new);
            drained.stop();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    old.stop();
    scratch.ok("verify i");
    let documents = scratch.ok("stats i --json").objects()[0]["documents"].as_u64().unwrap();
    assert_eq!(documents, 5 + next.load(Ordering::Relaxed));
}
