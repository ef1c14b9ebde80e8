//! The folder of a running server is moved and another index is created at its path, or the folder
//! is deleted.

use serde_json::json;

use super::http::Server;
use super::{Scratch, fs, licence};

/// Actions of the server after the move; then it is stopped, which flushes.
const ACTS: [&str; 3] = ["flush", "write", "remove"];

fn lines(name: &str, count: usize) -> String {
    let line = |number| {
        let text = format!("{name} {number} is a text of its own, with words enough to be indexed");
        format!("{}\n", json!({"id": format!("{name}{number}"), "text": text}))
    };
    (0..count).map(line).collect()
}

fn documents(scratch: &Scratch, index: &str) -> u64 {
    scratch.ok(&format!("verify {index}"));
    let stats = scratch.ok(&format!("stats {index} --json"));
    stats.objects()[0]["documents"].as_u64().unwrap()
}

/// Runs `serve`, `mv` and `add` in 36 variants. In each of them, an earlier version of the server
/// damaged the second index.
fn move_in_36_ways(scratch: &Scratch) {
    scratch.write("first.jsonl", lines("first", 5));
    scratch.write("later.jsonl", lines("later", 3));
    for (act, inserts) in ACTS.into_iter().flat_map(|act| (0..12).map(move |count| (act, count))) {
        scratch.write("second.jsonl", lines("second", inserts));
        scratch.ok("add i --jsonl first.jsonl");
        let server = Server::start(scratch, &[]);
        let mut client = server.connect();
        let document = json!({"text": licence("MIT")});
        client.ask("PUT", "/v1/documents/MIT", Some(&document)).has(201);
        fs::rename(scratch.path("i"), scratch.path("i.old")).unwrap();
        scratch.ok("create i");
        scratch.ok("add i --jsonl second.jsonl");
        let more = match act {
            "write" => {
                let document = json!({"text": licence("ISC")});
                client.ask("PUT", "/v1/documents/ISC", Some(&document)).has(201);
                2
            }
            "remove" => {
                client.ask("DELETE", "/v1/documents/first0", None).has(200);
                0
            }
            _ => 1,
        };
        scratch.ok("add i --jsonl later.jsonl");
        drop(client);
        server.stop();
        let found = (documents(scratch, "i"), documents(scratch, "i.old"));
        assert_eq!(found, (inserts as u64 + 3, 5 + more), "{act}, {inserts}");
        for index in ["i", "i.old"] {
            fs::remove_dir_all(scratch.path(index)).unwrap();
        }
    }
}

#[test]
fn a_moved_index_is_not_written_at_its_old_path() {
    move_in_36_ways(&Scratch::new());
}

#[test]
fn the_same_on_a_file_system_in_memory() {
    match tempfile::tempdir_in("/dev/shm") {
        Ok(dir) => move_in_36_ways(&Scratch { dir }),
        Err(error) => eprintln!("skipped: no /dev/shm ({error})"),
    }
}

#[test]
fn a_server_answers_after_its_folder_is_removed() {
    let scratch = Scratch::with_licences();
    let server = Server::start(&scratch, &[]);
    let mut client = server.connect();
    fs::remove_dir_all(scratch.path("i")).unwrap();
    let document = json!({"text": licence("MIT")});
    client.ask("PUT", "/v1/documents/GPL", Some(&document)).fails(503, "closed");
    client.ask("GET", "/v1/documents/docs/MIT.txt", None).has(200);
    let health = client.ask("GET", "/health", None).has(503).json();
    assert_eq!(health["status"], "poisoned");
    drop(client);
    server.signal("-TERM");
    server.ends().ends_with(2).says(&["was removed; open the index again"]);
}
