//! If the system refuses threads, the tool reports an error and does not panic.

use super::*;

/// Runs a command that cannot start threads: the stack size is set larger than the address space.
#[track_caller]
fn refused(scratch: &Scratch, arguments: &str, stdin: &[u8]) {
    let arguments: Vec<_> = arguments.split(' ').collect();
    let mut child = scratch
        .command(&arguments)
        .env("RUST_MIN_STACK", (1_u64 << 50).to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The command may have exited already.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    let ran = Ran::new(child.wait_with_output().unwrap()).ends_with(2);
    assert!(ran.stderr.contains("cannot start"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
}

#[test]
fn threads_that_cannot_be_started_are_an_error() {
    let scratch = Scratch::with_licences();
    let line = json_line("a text of some words that stands for itself");
    scratch.write("lines.jsonl", &line);
    for command in [
        "add i docs",
        "add i --jsonl lines.jsonl",
        "admit i --jsonl lines.jsonl",
        "query i docs/MIT.txt docs/ISC.txt",
        "query i --jsonl lines.jsonl",
        "tune docs",
        "dedup lines.jsonl --out out.jsonl",
        "mirror i docs",
        "compact i",
    ] {
        refused(&scratch, command, b"");
    }
    for command in ["query i --jsonl -", "tune --jsonl -", "dedup - --out out.jsonl"] {
        refused(&scratch, command, line.as_bytes());
    }
    #[cfg(feature = "serve")]
    refused(&scratch, "serve i --listen 127.0.0.1:0", b"");
    // `stats` needs no threads, so it works.
    let mut alone = scratch.command(&["stats", "i"]);
    alone.env("RUST_MIN_STACK", (1_u64 << 50).to_string());
    Ran::new(alone.output().unwrap()).ends_with(0);
    scratch.ok("verify i");
}

fn json_line(text: &str) -> String {
    format!("{}\n", serde_json::json!({"id": "a", "text": text}))
}
