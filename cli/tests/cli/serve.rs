//! `nearkin serve`: tests against a real server over sockets.

use super::*;

#[path = "serve/abuse.rs"]
mod abuse;
#[path = "serve/access.rs"]
mod access;
#[cfg(unix)]
#[path = "serve/deploy.rs"]
mod deploy;
#[cfg(unix)]
#[path = "serve/following.rs"]
mod following;
#[path = "serve/http.rs"]
mod http;
#[cfg(unix)]
#[path = "serve/listening.rs"]
mod listening;
#[path = "serve/many.rs"]
mod many;
#[cfg(unix)]
#[path = "serve/moved.rs"]
mod moved;
#[path = "serve/operations.rs"]
mod operations;
#[cfg(unix)]
#[path = "serve/rolling.rs"]
mod rolling;
#[path = "serve/routes.rs"]
mod routes;
#[path = "serve/search.rs"]
mod search;
#[path = "serve/stopping.rs"]
mod stopping;
#[path = "serve/texts.rs"]
mod texts;

use http::Server;

#[test]
fn an_address_for_others_needs_a_token() {
    let scratch = Scratch::with_licences();
    scratch.fails("serve i --listen 0.0.0.0:0", &["requires a token", "--token-file", "127.0.0.1"]);
    scratch.write("short", "secret\n");
    scratch.fails("serve i --listen 0.0.0.0:0 --token-file short", &["fewer than 16 characters"]);
    scratch.fails("serve i --token-file none", &["none"]);
}

#[test]
fn serve_refuses_an_index_it_cannot_serve() {
    let scratch = Scratch::with_licences();
    scratch.fails("serve nowhere --listen 127.0.0.1:0", &["nearkin create"]);
    scratch.ok("create p --shingles words:3 --passages 64:32");
    scratch.fails("serve p --listen 127.0.0.1:0", &["of passages"]);
    let server = Server::start(&scratch, &[]);
    let taken = server.address.to_string();
    scratch.ok("create other");
    scratch.fails(&format!("serve other --listen {taken}"), &["cannot listen on", "port 0"]);
    // Other processes write and read meanwhile.
    scratch.ok("remove i docs/ISC.txt");
    scratch.ok("query i --key docs/MIT.txt");
    server.stop();
}

#[cfg(unix)]
#[test]
fn the_examples_of_the_help_work() {
    let scratch = Scratch::new();
    scratch.ok("create my.nearkin");
    scratch.write("token.txt", "0123456789abcdef0123456789abcdef\n");
    let help = scratch.ok("serve --help").stdout;
    let (_, examples) = help.split_once("\nExamples:").unwrap();
    let examples: Vec<_> =
        examples.lines().filter_map(|line| line.strip_prefix("  nearkin serve ")).collect();
    assert_eq!(examples.len(), 3);
    for example in examples {
        // The ports of the examples may be in use on this machine, so each server takes a free one.
        let mut words: Vec<_> = example.split(' ').collect();
        match words.iter().position(|word| *word == "--listen") {
            Some(at) if words[at + 1].starts_with("0.0.0.0") => words[at + 1] = "0.0.0.0:0",
            Some(at) => words[at + 1] = "127.0.0.1:0",
            None => words.extend(["--listen", "127.0.0.1:0"]),
        }
        Server::with_arguments(&scratch, &words).stop();
    }
    assert!(scratch.ok("--help").stdout.contains("\n  serve"));
}
