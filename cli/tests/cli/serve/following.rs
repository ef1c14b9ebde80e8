//! A server that only reads, while the index at its path is replaced, removed or damaged.

use serde_json::json;

use super::http::{Client, Server};
use super::{Scratch, fs};

/// An index with one document, whose key is the index's own name.
fn make(scratch: &Scratch, name: &str, options: &str) {
    scratch.ok(&format!("create {name} {options}"));
    let text = "the quick brown fox jumps over the lazy dog";
    scratch.write("one.jsonl", format!("{}\n", json!({"id": name, "text": text})));
    scratch.ok(&format!("add {name} --jsonl one.jsonl"));
}

fn point(scratch: &Scratch, name: &str) {
    std::os::unix::fs::symlink(name, scratch.path("next")).unwrap();
    fs::rename(scratch.path("next"), scratch.path("current")).unwrap();
}

/// Waits until the server notices what has changed on the disk.
fn wait_for(client: &mut Client, mut is_so: impl FnMut(&mut Client) -> bool) {
    for _ in 0..1_200 {
        if is_so(client) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("never seen in a minute");
}

fn is_healthy(client: &mut Client) -> bool {
    client.ask("GET", "/health", None).status == 200
}

fn is_failing(client: &mut Client) -> bool {
    let metrics = client.ask("GET", "/metrics", None).has(200).text();
    let value = |name: &str| {
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().parse::<f64>().unwrap()
    };
    assert!(value("nearkin_state_age_seconds ") >= 0.0);
    value("nearkin_following_failing ") > 0.0
}

#[test]
fn a_link_that_leads_to_the_next_index_is_followed() {
    let scratch = Scratch::new();
    make(&scratch, "blue", "--threshold 0.6");
    make(&scratch, "green", "--threshold 0.6");
    make(&scratch, "other", "--threshold 0.9");
    point(&scratch, "blue");
    let server =
        Server::with_arguments(&scratch, &["current", "--read-only", "--listen", "127.0.0.1:0"]);
    let mut client = server.connect();
    client.ask("GET", "/v1/documents/blue", None).has(200);
    point(&scratch, "green");
    let green = |client: &mut Client| client.ask("GET", "/v1/documents/green", None).status == 200;
    wait_for(&mut client, green);
    client.ask("GET", "/v1/documents/blue", None).fails(404, "not_found");
    assert!(is_healthy(&mut client) && !is_failing(&mut client));
    let stats = client.ask("GET", "/v1/stats", None).has(200).json();
    assert!(stats["server"]["state_age_seconds"].is_number(), "{stats}");
    // Clients know the parameters: an index of others is not served in the place of this one.
    point(&scratch, "other");
    wait_for(&mut client, |client| !is_healthy(client));
    let health = client.ask("GET", "/health", None).has(503).json();
    assert_eq!(health["status"], "stale");
    let stats = client.ask("GET", "/v1/stats", None).has(200).json();
    let why = stats["server"]["following_failure"].as_str().unwrap();
    assert!(why.contains("other parameters") && is_failing(&mut client), "{why}");
    client.ask("GET", "/v1/documents/green", None).has(200);
    point(&scratch, "green");
    wait_for(&mut client, is_healthy);
    assert!(!is_failing(&mut client));
    drop(client);
    server.stop().says(&["another index is at", "with other parameters"]);
}

#[test]
fn a_removed_or_damaged_index_is_not_healthy() {
    for damaged in [false, true] {
        let scratch = Scratch::new();
        make(&scratch, "i", "--threshold 0.6");
        let server = Server::start(&scratch, &["--read-only"]);
        let mut client = server.connect();
        assert!(is_healthy(&mut client) && !is_failing(&mut client));
        fs::rename(scratch.path("i"), scratch.path("kept")).unwrap();
        if damaged {
            scratch.write("kept/catalog.redb", "no catalog");
            fs::rename(scratch.path("kept"), scratch.path("i")).unwrap();
        } else {
            fs::remove_dir_all(scratch.path("kept")).unwrap();
        }
        wait_for(&mut client, |client| !is_healthy(client));
        assert_eq!(client.ask("GET", "/health", None).json()["status"], "stale");
        assert!(is_failing(&mut client));
        // The last state still answers.
        client.ask("GET", "/v1/documents/i", None).has(200);
        if !damaged {
            // A new index at the path is served, as a new release would be.
            make(&scratch, "i", "--threshold 0.6");
            wait_for(&mut client, is_healthy);
        }
        drop(client);
        server.stop().says(&["the changes of the index cannot be read"]);
    }
}
