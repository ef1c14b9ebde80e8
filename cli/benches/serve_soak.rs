//! Soak test: sends a bounded, mixed load to a running `nearkin serve`, and watches its memory and
//! files.
//!
//! `cargo bench --bench serve_soak -- 127.0.0.1:7878 --minutes 60 --pid PID --dir INDEX`
//!
//! Each connection owns a fixed range of keys, which it inserts, replaces, removes, queries and
//! admits repeatedly. The set of live documents is thus bounded, and any growth is a leak. The
//! program prints a line per minute. At the end it compares the last sixth of the run with the
//! second sixth (in an hour: minutes 50 to 60 with 10 to 20). It exits with status 1 if a request
//! failed, or if memory or the number of files grew by a factor of more than 1.1. Connects to
//! loopback only.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Number of keys per connection.
const KEYS: u64 = 5_000;

/// Operations per batch.
const BATCH: u64 = 50;

/// Growth beyond this factor counts as a leak.
const GROWTH_MAX: f64 = 1.1;

/// Command-line arguments.
struct Args {
    address: SocketAddr,
    minutes: f64,
    connections: u64,
    /// Requests per second over all connections; 0: no limit.
    rate: f64,
    pid: Option<u32>,
    dir: Option<PathBuf>,
}

fn args() -> Result<Args, String> {
    let mut words = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let usage = "serve_soak ADDR:PORT [--minutes N] [--connections N] [--rate N] [--pid PID] \
                 [--dir INDEX]";
    let address = words.next().and_then(|word| word.parse().ok()).ok_or(usage)?;
    let mut args =
        Args { address, minutes: 60.0, connections: 16, rate: 0.0, pid: None, dir: None };
    while let Some(name) = words.next() {
        let value = words.next().ok_or(usage)?;
        let bad = || format!("{name} {value}: not a number");
        match name.as_str() {
            "--minutes" => args.minutes = value.parse().map_err(|_| bad())?,
            "--connections" => args.connections = value.parse().map_err(|_| bad())?,
            "--rate" => args.rate = value.parse().map_err(|_| bad())?,
            "--pid" => args.pid = Some(value.parse().map_err(|_| bad())?),
            "--dir" => args.dir = Some(value.into()),
            _ => return Err(usage.to_owned()),
        }
    }
    if !args.address.ip().is_loopback() {
        return Err("it soaks servers of this machine only".to_owned());
    }
    Ok(args)
}

/// A pseudo-random number generator.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    /// A text of random words from a vocabulary of a few thousand. Three in four texts have 20 to
    /// 200 words and resemble no other. One in four belongs to one of 2,000 families: the texts of
    /// a family have 60 words in common and are near-duplicates of each other.
    fn text(&mut self) -> String {
        if self.below(4) > 0 {
            let words = 20 + self.below(180);
            return self.words(words);
        }
        let mut family = Random(0x9e37_79b9 + self.below(2_000) * 2);
        format!("{} {}", family.words(60), self.words(5))
    }

    fn words(&mut self, count: u64) -> String {
        let words: Vec<_> = (0..count).map(|_| format!("w{}", self.below(4_000))).collect();
        words.join(" ")
    }
}

/// Counts between two reports.
#[derive(Default)]
struct Counts {
    requests: AtomicU64,
    errors: AtomicU64,
    micros: Mutex<Vec<u32>>,
    /// Full text of the first error.
    first: Mutex<Option<String>>,
}

/// A connection to the server.
struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    fn new(address: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    fn ask(&mut self, method: &str, path: &str, body: &str) -> std::io::Result<(u16, String)> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let (mut status, mut length, mut line) = (0, 0, String::new());
        loop {
            line.clear();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(rest) = line.strip_prefix("HTTP/1.1 ") {
                status = rest.get(..3).and_then(|code| code.parse().ok()).unwrap_or(0);
            }
            if let Some(rest) = line.to_lowercase().strip_prefix("content-length:") {
                length = rest.trim().parse().unwrap_or(0);
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer)?;
        Ok((status, String::from_utf8_lossy(&answer).into_owned()))
    }
}

/// A random request of the mix: method, path and body, with the response statuses that are not
/// errors.
fn request(random: &mut Random, owner: u64) -> (&'static str, String, String, &'static [u16]) {
    let key = format!("{owner}-{}", random.below(KEYS));
    let document = format!("/v1/documents/{key}");
    let text = |random: &mut Random| format!("\"text\":\"{}\"", random.text());
    match random.below(100) {
        0..30 => ("PUT", document, format!("{{{}}}", text(random)), &[200, 201]),
        30..45 => ("DELETE", document, String::new(), &[200, 404]),
        45..80 => {
            let body = format!("{{{},\"threshold\":0.5}}", text(random));
            ("POST", "/v1/query".to_owned(), body, &[200])
        }
        80..85 => ("GET", document, String::new(), &[200, 404]),
        85..88 => {
            let body = format!("{{\"key\":\"{key}\"}}");
            ("POST", "/v1/query".to_owned(), body, &[200, 404])
        }
        88..96 => {
            let body = format!("{{\"key\":\"{key}\",{},\"keep\":\"newest\"}}", text(random));
            ("POST", "/v1/admit".to_owned(), body, &[200])
        }
        96..98 => ("GET", "/v1/stats".to_owned(), String::new(), &[200]),
        _ => {
            let operation = |random: &mut Random| {
                let key = format!("{owner}-{}", random.below(KEYS));
                if random.below(2) == 0 {
                    return format!("{{\"remove\":{{\"key\":\"{key}\"}}}}");
                }
                format!("{{\"insert\":{{\"key\":\"{key}\",{}}}}}", text(random))
            };
            let operations: Vec<_> = (0..BATCH).map(|_| operation(random)).collect();
            let body = format!("{{\"operations\":[{}]}}", operations.join(","));
            ("POST", "/v1/batch".to_owned(), body, &[200])
        }
    }
}

/// Sends requests until `stop` is set.
fn soak(args: &Args, owner: u64, counts: &Counts, stop: &AtomicBool) {
    let mut random = Random(owner * 7_919 + 88_172_645_463_325_252);
    let mut client = None;
    let pause = Duration::from_secs_f64(if args.rate > 0.0 {
        args.connections as f64 / args.rate
    } else {
        0.0
    });
    // Connections begin one after the other, not all at once.
    let mut next = Instant::now() + pause.mul_f64(owner as f64 / args.connections as f64);
    while !stop.load(Ordering::Relaxed) {
        let (method, path, body, fine) = request(&mut random, owner);
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        next += pause;
        let began = Instant::now();
        let answer = match &mut client {
            Some(client) => Client::ask(client, method, &path, &body),
            None => Client::new(args.address)
                .and_then(|new| client.insert(new).ask(method, &path, &body)),
        };
        let micros = u32::try_from(began.elapsed().as_micros()).unwrap_or(u32::MAX);
        counts.requests.fetch_add(1, Ordering::Relaxed);
        counts.micros.lock().unwrap().push(micros);
        let wrong = match answer {
            Ok((status, _)) if fine.contains(&status) => continue,
            Ok((status, answer)) => format!("{method} {path}: status {status}: {answer}"),
            Err(error) => {
                client = None;
                format!("{method} {path}: {error}")
            }
        };
        counts.errors.fetch_add(1, Ordering::Relaxed);
        counts.first.lock().unwrap().get_or_insert(wrong);
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Resources of the server at one time.
#[derive(Debug, Clone, Copy, Default)]
struct Taken {
    rss_kib: u64,
    anonymous_kib: u64,
    files: u64,
    bytes: u64,
}

fn taken(args: &Args) -> Taken {
    let mut taken = Taken::default();
    if let Some(pid) = args.pid {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("0");
            line.trim().split(' ').next().and_then(|kib| kib.parse().ok()).unwrap_or(0)
        };
        (taken.rss_kib, taken.anonymous_kib) = (field("VmRSS:"), field("RssAnon:"));
    }
    if let Some(dir) = &args.dir {
        count(dir, &mut taken);
    }
    taken
}

fn count(dir: &Path, taken: &mut Taken) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        match entry.metadata() {
            Ok(data) if data.is_dir() => count(&entry.path(), taken),
            Ok(data) => {
                taken.files += 1;
                taken.bytes += data.len();
            }
            // The file was deleted between listing and reading it.
            Err(_) => {}
        }
    }
}

/// Prints a line per minute. Returns the number of errors.
fn report(args: &Args, counts: &Counts, samples: &mut Vec<(f64, Taken)>) -> u64 {
    let began = Instant::now();
    let end = began + Duration::from_secs_f64(args.minutes * 60.0);
    println!("minute   requests   errors   p50 ms   p99 ms   RSS MiB  anonymous   files  disk MiB");
    let (mut errors, mut minute) = (0, 0);
    while Instant::now() < end {
        minute += 1;
        let until = end.min(began + Duration::from_secs(60 * minute));
        while Instant::now() < until {
            let now = Instant::now();
            std::thread::sleep(Duration::from_secs(1).min(until.saturating_duration_since(now)));
            samples.push((began.elapsed().as_secs_f64() / 60.0, taken(args)));
        }
        let requests = counts.requests.swap(0, Ordering::Relaxed);
        let failed = counts.errors.swap(0, Ordering::Relaxed);
        errors += failed;
        let mut micros = std::mem::take(&mut *counts.micros.lock().unwrap());
        micros.sort_unstable();
        let at = |share: usize| micros.get(micros.len() * share / 100).copied().unwrap_or(0);
        let (p50, p99) = (f64::from(at(50)) / 1e3, f64::from(at(99)) / 1e3);
        let now = taken(args);
        let (rss, anonymous) = (now.rss_kib as f64 / 1024.0, now.anonymous_kib as f64 / 1024.0);
        let disk = now.bytes as f64 / 1_048_576.0;
        println!(
            "{minute:6}  {requests:9}  {failed:7}  {p50:7.2}  {p99:7.2}  {rss:8.1}  \
             {anonymous:9.1}  {:6}  {disk:8.1}",
            now.files
        );
        if let Some(first) = counts.first.lock().unwrap().take() {
            println!("        {first}");
        }
    }
    errors
}

/// Selects one resource of a sample.
type Field = fn(&Taken) -> u64;

/// Mean of the samples between two times, in minutes.
fn mean(samples: &[(f64, Taken)], from: f64, to: f64, field: Field) -> f64 {
    let of: Vec<f64> = samples
        .iter()
        .filter(|(minute, _)| (from..=to).contains(minute))
        .map(|(_, taken)| field(taken) as f64)
        .collect();
    of.iter().sum::<f64>() / of.len().max(1) as f64
}

fn main() -> ExitCode {
    let args = match args() {
        Ok(args) => args,
        Err(usage) => {
            eprintln!("{usage}");
            return ExitCode::from(2);
        }
    };
    let (counts, stop, mut samples) = (Counts::default(), AtomicBool::new(false), Vec::new());
    let errors = std::thread::scope(|scope| {
        for owner in 1..=args.connections {
            let (args, counts, stop) = (&args, &counts, &stop);
            scope.spawn(move || soak(args, owner, counts, stop));
        }
        let errors = report(&args, &counts, &mut samples);
        stop.store(true, Ordering::Relaxed);
        errors
    });
    let sixth = args.minutes / 6.0;
    let mut well = errors == 0;
    let fields: [(&str, Field); 3] = [
        ("RSS, KiB", |taken| taken.rss_kib),
        ("anonymous memory, KiB", |taken| taken.anonymous_kib),
        ("files", |taken| taken.files),
    ];
    println!("mean of the last {sixth:.1} minutes beside minutes {sixth:.1} to {:.1}", 2.0 * sixth);
    for (name, field) in fields {
        let early = mean(&samples, sixth, 2.0 * sixth, field);
        let late = mean(&samples, 5.0 * sixth, args.minutes + 1.0, field);
        let growth = if early > 0.0 { late / early } else { 1.0 };
        let grown = growth > GROWTH_MAX;
        well &= !grown;
        let verdict = if grown { "GROWN" } else { "well" };
        println!("{name:>22}: {early:.0} -> {late:.0}, {growth:.3} times: {verdict}");
    }
    println!("{errors} errors: {}", if well { "passed" } else { "FAILED" });
    if well { ExitCode::SUCCESS } else { ExitCode::from(1) }
}
