//! The access log: a line on stderr for each request.
//!
//! A thread of its own writes the lines, so that no request waits for whatever reads them. If that
//! is too slow, lines are dropped and counted.

use std::cell::RefCell;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::args::serve::LogFormat;
use nearkin_kit::time;

/// Bytes of lines that wait to be written.
const WAITING_BYTES_MAX: usize = 4 << 20;

/// Length of most lines.
const LINE_BYTES: usize = 256;

/// Time for which lines are collected, because waking the thread for each line would cost more than
/// the line.
const COLLECTED: Duration = Duration::from_millis(50);

/// Maximum time for writing the last lines when the server ends.
const LAST: Duration = Duration::from_secs(1);

/// Polling interval meanwhile.
const TICK: Duration = Duration::from_millis(2);

/// Maximum length of a path in the log.
const PATH_BYTES_MAX: usize = 1_024;

/// Maximum length of a method in the log: a client may make up longer ones.
const METHOD_BYTES_MAX: usize = 32;

/// A request, as it is logged.
#[derive(Serialize)]
pub(crate) struct Logged<'a> {
    /// When it was answered, in UTC.
    pub(crate) time: String,
    pub(crate) peer: Option<SocketAddr>,
    pub(crate) method: &'a str,
    /// Path and parameters as they were sent.
    pub(crate) path: &'a str,
    pub(crate) status: u16,
    pub(crate) ms: f64,
    /// Length of the answer, if it is known when the answer begins.
    pub(crate) bytes: Option<u64>,
    pub(crate) id: &'a str,
}

/// The lines that wait to be written.
#[derive(Default)]
struct Waiting {
    lines: Vec<u8>,
    /// Number of lines dropped since the last write.
    dropped: u64,
    ended: bool,
}

/// Lines that requests append and a thread writes.
#[derive(Default)]
struct Lines {
    waiting: Mutex<Waiting>,
    /// Notified when there is a first line, and at the end.
    filled: Condvar,
}

impl Lines {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // If a thread has panicked with the lock held, a line may be incomplete.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a line, or drops it if too many wait.
    fn append(&self, line: &[u8]) {
        let mut waiting = self.lock();
        if waiting.lines.len() >= WAITING_BYTES_MAX {
            waiting.dropped += 1;
            return;
        }
        let is_first = waiting.lines.is_empty();
        waiting.lines.extend_from_slice(line);
        waiting.lines.push(b'\n');
        drop(waiting);
        if is_first {
            self.filled.notify_one();
        }
    }

    /// Writes lines until the end.
    fn write_all(&self) {
        let mut lines = Vec::new();
        loop {
            let none = |waiting: &mut Waiting| waiting.lines.is_empty() && !waiting.ended;
            drop(self.filled.wait_while(self.lock(), none));
            std::thread::sleep(COLLECTED);
            let mut waiting = self.lock();
            // The memory of the lines that were written is used again.
            std::mem::swap(&mut waiting.lines, &mut lines);
            let (dropped, ended) = (std::mem::take(&mut waiting.dropped), waiting.ended);
            drop(waiting);
            if dropped > 0 {
                lines.extend(format!("nearkin: {dropped} lines dropped\n").as_bytes());
            }
            // If stderr is closed, there is nowhere left to report to.
            let _ = io::stderr().write_all(&lines);
            lines.clear();
            if ended {
                return;
            }
        }
    }
}

/// The log, and the thread that writes it.
pub(crate) struct AccessLog {
    format: LogFormat,
    lines: Arc<Lines>,
    writer: JoinHandle<()>,
}

impl AccessLog {
    /// Starts the thread that writes to stderr.
    pub(crate) fn start(format: LogFormat) -> io::Result<Self> {
        let lines = Arc::<Lines>::default();
        let written = Arc::clone(&lines);
        let named = std::thread::Builder::new().name("access log".to_owned());
        let writer = named.spawn(move || written.write_all())?;
        Ok(Self { format, lines, writer })
    }

    /// Logs a request.
    pub(crate) fn log(&self, mut logged: Logged<'_>) {
        logged.path = cut(logged.path, PATH_BYTES_MAX);
        logged.method = cut(logged.method, METHOD_BYTES_MAX);
        let mut line = Vec::with_capacity(LINE_BYTES);
        // Writing to memory does not fail.
        let _ = match self.format {
            LogFormat::Json => serde_json::to_writer(&mut line, &logged).map_err(io::Error::from),
            LogFormat::Text | LogFormat::Off => text(&mut line, &logged),
        };
        self.lines.append(&line);
    }

    /// Writes a line between those of requests, without waiting.
    pub(crate) fn say(&self, line: &str) {
        self.lines.append(line.as_bytes());
    }

    /// Waits until all lines are written, or for a short time if nobody reads them.
    pub(crate) fn finish(self) {
        self.lines.lock().ended = true;
        self.lines.filled.notify_one();
        let end = Instant::now() + LAST;
        while !self.writer.is_finished() && Instant::now() < end {
            std::thread::sleep(TICK);
        }
    }
}

fn text(line: &mut Vec<u8>, logged: &Logged<'_>) -> io::Result<()> {
    let Logged { time, peer, method, path, status, ms, bytes, id } = logged;
    write!(line, "{time} ")?;
    match peer {
        Some(peer) => write!(line, "{peer}")?,
        None => line.push(b'-'),
    }
    write!(line, " {method} ")?;
    for part in path.split_inclusive(char::is_control) {
        let end = part.trim_end_matches(char::is_control).len();
        write!(line, "{}{}", &part[..end], part[end..].escape_unicode())?;
    }
    write!(line, " {status} {ms:.1}ms ")?;
    match bytes {
        Some(bytes) => write!(line, "{bytes}")?,
        None => line.push(b'-'),
    }
    write!(line, "B {id}")
}

/// The longest beginning of at most so many bytes.
fn cut(text: &str, bytes_max: usize) -> &str {
    (0..=bytes_max.min(text.len())).rev().find_map(|end| text.get(..end)).unwrap_or_default()
}

thread_local! {
    /// The last second that this thread has logged, and its text.
    static SECOND: RefCell<(u64, String)> = const { RefCell::new((0, String::new())) };
}

/// The present time in UTC, with milliseconds.
pub(crate) fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    SECOND.with_borrow_mut(|(second, text)| {
        if *second != since.as_secs() || text.is_empty() {
            *second = since.as_secs();
            *text = time::second(*second * 1_000);
        }
        let ms = since.subsec_millis();
        let mut shown = String::with_capacity(LINE_BYTES / 8);
        shown.push_str(text.trim_end_matches('Z'));
        shown.push('.');
        for digit in [ms / 100, ms / 10 % 10, ms % 10] {
            shown.extend(char::from_digit(digit, 10));
        }
        shown.push('Z');
        shown
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_parts_in_order() {
        let logged = Logged {
            time: "2026-11-26T20:00:00.000Z".to_owned(),
            peer: Some(([127, 0, 0, 1], 5).into()),
            method: "GET",
            path: "/v1/stats?x",
            status: 200,
            ms: 1.25,
            bytes: None,
            id: "a-1",
        };
        let line = "2026-11-26T20:00:00.000Z 127.0.0.1:5 GET /v1/stats?x 200 1.2ms -B a-1";
        let mut shown = Vec::new();
        text(&mut shown, &logged).unwrap();
        assert_eq!(String::from_utf8(shown).unwrap(), line);
        // Paths may have letters that are not ASCII, and the control characters of C1.
        let long = format!("/ab\u{9b}2J\u{85}{}", "\u{e9}".repeat(2_000));
        let logged = Logged { path: cut(&long, PATH_BYTES_MAX), ..logged };
        assert_eq!(logged.path.len(), PATH_BYTES_MAX - 1);
        let mut shown = Vec::new();
        text(&mut shown, &logged).unwrap();
        let shown = String::from_utf8(shown).unwrap();
        assert!(shown.contains(" GET /ab\\u{9b}2J\\u{85}\u{e9}"), "{shown}");
        assert!(!shown.contains(char::is_control));
        let now = now();
        assert!(now.len() == 24 && now.starts_with("20") && now.ends_with('Z'), "{now}");
    }
}
