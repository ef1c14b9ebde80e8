//! Where the server listens: Unix sockets, the socket of systemd, a path below a proxy; and how it
//! is told to stop.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use super::http::Server;
use super::{Scratch, fs, licence};

/// Starts a server, and waits until it says where it listens.
fn spawn(mut command: Command) -> (Child, String) {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut line, mut byte) = (Vec::new(), [0]);
    while byte[0] != b'\n' && child.stdout.as_mut().unwrap().read(&mut byte).unwrap() == 1 {
        line.push(byte[0]);
    }
    (child, String::from_utf8(line).unwrap())
}

#[test]
fn a_unix_socket_is_its_owners_and_goes_with_the_server() {
    let scratch = Scratch::with_licences();
    let arguments = ["serve", "i", "--listen", "unix:s.sock", "--access-log", "off"];
    let path = scratch.path("s.sock");
    scratch.write("s.sock", "no socket");
    scratch.fails("serve i --listen unix:s.sock", &["cannot listen on unix:s.sock", "no socket"]);
    fs::remove_file(&path).unwrap();
    let (mut child, said) = spawn(scratch.command(&arguments));
    assert!(said.starts_with("listening on unix:s.sock (stop"), "{said}");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    let ask = || {
        let mut stream = UnixStream::connect(&path).unwrap();
        // No browser reaches a file, so any host may be named.
        let request = "GET /v1/stats HTTP/1.1\r\nHost: search.example\r\nConnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    assert!(ask().starts_with("HTTP/1.1 200 "), "{}", ask());
    scratch.ok("create other");
    let taken = "serve other --listen unix:s.sock";
    scratch.fails(taken, &["another server listens there"]);
    // The next server takes the socket of one that was killed.
    child.kill().unwrap();
    child.wait().unwrap();
    let (child, _) = spawn(scratch.command(&arguments));
    assert!(ask().starts_with("HTTP/1.1 200 "), "{}", ask());
    crate::signal(child.id(), "-TERM");
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    assert!(!path.exists());
}

#[test]
fn the_socket_of_a_socket_unit_is_served() {
    let scratch = Scratch::with_licences();
    scratch.fails("serve i --listen systemd", &["passes no socket", "socket unit"]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = "exec 3<&0 </dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" \"$@\"";
    let arguments = ["serve", "i", "--listen", "systemd", "--access-log", "off"];
    let plain = scratch.command(&arguments);
    let mut command = Command::new("sh");
    command.args(["-c", serve]).arg(plain.get_program()).args(plain.get_args());
    command.current_dir(scratch.path(".")).stdin(OwnedFd::from(listener));
    command.env_remove("NEARKIN_TOKEN").env_remove("NEARKIN_READ_TOKEN");
    let (child, said) = spawn(command);
    assert!(said.contains(&format!("http://{address} ")), "{said}");
    let mut client = super::http::Client::new(address);
    client.ask("GET", "/v1/stats", None).has(200);
    crate::signal(child.id(), "-TERM");
    assert!(child.wait_with_output().unwrap().status.success());
}

#[test]
fn a_proxy_may_show_the_server_below_a_path() {
    let scratch = Scratch::with_licences();
    let server = Server::start(&scratch, &["--base-path", "/search/"]);
    let mut client = server.connect();
    let moved = client.ask("GET", "/search", None).has(308);
    assert!(moved.head.to_lowercase().contains("location: /search/\r\n"), "{}", moved.head);
    for page in ["/search/", "/"] {
        let page = client.ask("GET", page, None).has(200).text();
        // Links and requests of the page are relative.
        assert!(page.contains("href=\"report\"") && page.contains("ask(\"v1/stats\")"), "{page}");
    }
    let document = json!({"text": licence("MIT")});
    client.ask("PUT", "/search/v1/documents/search/%FF", Some(&document)).has(201);
    client.ask("GET", "/v1/documents/search/%FF", None).has(200);
    for path in ["/search/health", "/health", "/search/report", "/search/openapi.json"] {
        client.ask("GET", path, None).has(200);
    }
    client.ask("GET", "/searching/health", None).fails(404, "no_route");
    client.ask("GET", "/search/search/health", None).fails(404, "no_route");
    server.stop();
}

#[test]
fn a_server_that_drains_says_so_and_answers() {
    let scratch = Scratch::with_licences();
    let server = Server::start(&scratch, &["--drain", "3600", "--access-log", "off"]);
    let mut client = server.connect();
    client.ask("GET", "/health", None).has(200);
    server.signal("-TERM");
    let mut health = || client.ask("GET", "/health", None);
    let mut asked = std::iter::repeat_with(&mut health).take(100_000);
    let stopping = asked.find(|health| health.status == 503);
    assert_eq!(stopping.unwrap().json()["status"], "stopping");
    // Requests go on, on new connections, too.
    let document = json!({"text": licence("MIT")});
    server.ask("PUT", "/v1/documents/late", Some(&document)).has(201);
    client.ask("GET", "/v1/documents/late", None).has(200);
    server.signal("-TERM");
    server.ends().ends_with(2).says(&["serving for 3600 s more", "exited at once"]);
    let server = Server::start(&scratch, &["--drain", "1"]);
    server.ask("GET", "/v1/documents/late", None).has(200);
    server.stop();
}
