//! Two tenants upload the same texts under the same ids at the same time, and the service is
//! killed again and again. No tenant is rejected, replaced or shown anything because of the other
//! one: each answer is the one that a model of this tenant alone gives.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Kills of the service.
const ROUNDS: usize = 8;

/// Texts that have no words in common. Each has a second version, which is similar, but no copy.
const TEXTS: usize = 24;

/// Ids that both tenants use.
const IDS: usize = 60;

/// The service, killed by SIGKILL when it is dropped.
struct Service {
    child: Child,
    address: String,
}

impl Service {
    fn start(index: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nearkin-service-example"));
        command.arg(index).arg("127.0.0.1:0").stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").expect(&line).to_owned();
        Self { child, address }
    }

    fn connect(&self) -> Client {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.set_nodelay(true).unwrap();
        Client(BufReader::new(stream))
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection to the service.
struct Client(BufReader<TcpStream>);

impl Client {
    /// Status and body of an answer; an error if the service was killed before it.
    fn ask(&mut self, head: &str, body: &str) -> io::Result<(u16, Value)> {
        let request = format!(
            "{head} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.0.get_mut().write_all(request.as_bytes())?;
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.0.read_line(&mut head)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let head = head.to_lowercase();
        let length = head.split("content-length: ").nth(1).unwrap().lines().next().unwrap();
        let mut body = vec![0; length.parse().unwrap()];
        self.0.read_exact(&mut body)?;
        Ok((status, serde_json::from_slice(&body).unwrap()))
    }

    fn upload(&mut self, tenant: &str, id: &str, text: Text) -> io::Result<(u16, Value)> {
        let body = json!({"tenant": tenant, "id": id, "text": text.words()});
        self.ask("POST /documents", &body.to_string())
    }

    fn similar(&mut self, tenant: &str, id: &str) -> (u16, Value) {
        self.ask(&format!("GET /similar?tenant={tenant}&id={id}"), "").unwrap()
    }
}

/// A text, in one of its two versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Text {
    number: usize,
    version: usize,
}

impl Text {
    /// 60 words, of which the two versions share 48: a similarity of 0.66, between RELATED and
    /// COPY.
    fn words(self) -> String {
        let word =
            |at| format!("word{}x{at}x{}", self.number, if at < 48 { 0 } else { self.version });
        (0..60).map(word).collect::<Vec<_>>().join(" ")
    }
}

/// What a tenant knows of its own documents, and nothing about others.
struct Tenant {
    name: &'static str,
    /// Ids and texts of the stored documents.
    stored: BTreeMap<String, Text>,
    /// The upload that was not answered, because the service was killed.
    unanswered: Option<(String, Text)>,
    random: u64,
    rejected: usize,
    replaced: usize,
    related: usize,
}

impl Tenant {
    fn new(name: &'static str, random: u64) -> Self {
        let stored = BTreeMap::new();
        Self { name, stored, unanswered: None, random, rejected: 0, replaced: 0, related: 0 }
    }

    fn random(&mut self, below: usize) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.random >> 33).unwrap() % below
    }

    /// The ids of stored documents with a text, or with another version of it.
    fn ids(&self, except: &str, wanted: impl Fn(&Text) -> bool) -> Vec<String> {
        let stored = self.stored.iter().filter(|(id, text)| *id != except && wanted(text));
        stored.map(|(id, _)| id.clone()).collect()
    }

    /// Uploads until the service is killed.
    fn work(&mut self, mut client: Client, is_killed: &AtomicBool) {
        loop {
            let id = format!("d{}", self.random(IDS));
            let text = Text { number: self.random(TEXTS), version: self.random(2) };
            let Ok(answer) = client.upload(self.name, &id, text) else {
                assert!(is_killed.load(Ordering::SeqCst), "the connection ended too early");
                self.unanswered = Some((id, text));
                return;
            };
            self.check_upload(id, text, &answer);
        }
    }

    /// Compares an answer with the documents of this tenant alone.
    fn check_upload(&mut self, id: String, text: Text, (status, answer): &(u16, Value)) {
        let copies = self.ids(&id, |other| *other == text);
        let who = format!("{} uploads {text:?} as {id}: {answer}", self.name);
        if !copies.is_empty() {
            assert_eq!(*status, 409, "{who}");
            assert_eq!(listed(&answer["copy_of"]), copies, "{who}");
            self.rejected += 1;
            return;
        }
        assert_eq!(*status, 201, "{who}");
        let related = self.ids(&id, |other| other.number == text.number && *other != text);
        assert_eq!(listed(&answer["related"]), related, "{who}");
        self.related += related.len();
        self.replaced += usize::from(self.stored.insert(id, text).is_some());
    }

    /// Checks after a start that all and only the documents of this tenant are there.
    fn check_all(&mut self, client: &mut Client) {
        if let Some((id, text)) = self.unanswered.take() {
            // The upload is stored or not. Its repetition says which: either nothing else is a copy
            // of it, or it is rejected now as it was before.
            let answer = client.upload(self.name, &id, text).unwrap();
            self.check_upload(id, text, &answer);
        }
        for number in 0..IDS {
            let id = format!("d{number}");
            let (status, answer) = client.similar(self.name, &id);
            let Some(text) = self.stored.get(&id) else {
                assert_eq!(status, 404, "{} has no {id}: {answer}", self.name);
                continue;
            };
            let similar = self.ids(&id, |other| other.number == text.number);
            assert_eq!((status, listed(&answer["similar"])), (200, similar), "{} {id}", self.name);
        }
    }
}

/// The ids of an answer, in order.
fn listed(matches: &Value) -> Vec<String> {
    let matches = matches.as_array().expect("a list");
    let mut ids: Vec<_> =
        matches.iter().map(|found| found["id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

#[test]
fn concurrent_tenants_stay_isolated_when_the_service_is_killed() {
    let index = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tenants.nearkin");
    if index.exists() {
        std::fs::remove_dir_all(&index).unwrap();
    }
    let mut tenants = [Tenant::new("north", 1), Tenant::new("south", 2)];
    for round in 0..ROUNDS {
        let mut service = Service::start(&index);
        for tenant in &mut tenants {
            tenant.check_all(&mut service.connect());
        }
        let is_killed = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for tenant in &mut tenants {
                let (client, is_killed) = (service.connect(), &is_killed);
                scope.spawn(move || tenant.work(client, is_killed));
            }
            std::thread::sleep(Duration::from_millis(100 + 37 * round as u64));
            is_killed.store(true, Ordering::SeqCst);
            service.kill();
        });
    }
    let service = Service::start(&index);
    for tenant in &mut tenants {
        tenant.check_all(&mut service.connect());
        let Tenant { name, stored, rejected, replaced, related, .. } = tenant;
        println!(
            "{name}: {} stored, {rejected} rejected, {replaced} replaced, {related} related",
            stored.len()
        );
        assert!(stored.len() > 10 && *rejected > 50 && *replaced > 10 && *related > 50);
    }
    drop(service);
    std::fs::remove_dir_all(&index).unwrap();
}
