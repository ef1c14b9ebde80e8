//! The access log: a line on stderr for each request.
//!
//! A thread of its own writes the lines, so that no request waits for whatever reads them. If that
//! is too slow, lines are dropped and counted.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::args::serve::LogFormat;
use nearkin_kit::time;

/// Bytes of lines that wait to be written.
const WAITING_MAX: usize = 8 << 20;

/// Time for which lines are collected, because waking the thread for each line would cost more than
/// the line.
const COLLECTED: Duration = Duration::from_millis(50);

/// Maximum time for writing the last lines when the server ends.
const LAST: Duration = Duration::from_secs(1);

/// Polling interval meanwhile.
const TICK: Duration = Duration::from_millis(2);

/// Maximum length of a path in the log.
const PATH_BYTES_MAX: usize = 1_024;

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

/// The log, and the thread that writes it.
pub(crate) struct AccessLog {
    format: LogFormat,
    lines: Arc<QueuedLines>,
    writer: JoinHandle<()>,
}

/// Lines on their way to the thread.
#[derive(Default)]
struct QueuedLines {
    waiting: Mutex<Waiting>,
    /// Notified when the first line waits, and at the end.
    some: Condvar,
}

#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// Number of lines dropped since the last write.
    dropped: u64,
    has_ended: bool,
}

impl QueuedLines {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, line: &str) {
        let mut waiting = self.lock();
        if waiting.bytes.len() + line.len() >= WAITING_MAX {
            waiting.dropped += 1;
            return;
        }
        let is_first = waiting.bytes.is_empty();
        waiting.bytes.extend_from_slice(line.as_bytes());
        waiting.bytes.push(b'\n');
        drop(waiting);
        if is_first {
            self.some.notify_one();
        }
    }

    /// Writes lines until the end.
    fn write_all(&self) {
        let mut bytes = Vec::new();
        loop {
            let is_empty = |waiting: &mut Waiting| waiting.bytes.is_empty() && !waiting.has_ended;
            let waiting = self.some.wait_while(self.lock(), is_empty);
            let has_ended = waiting.unwrap_or_else(PoisonError::into_inner).has_ended;
            if !has_ended {
                std::thread::sleep(COLLECTED);
            }
            let mut waiting = self.lock();
            std::mem::swap(&mut bytes, &mut waiting.bytes);
            let dropped = std::mem::take(&mut waiting.dropped);
            drop(waiting);
            if dropped > 0 {
                bytes.extend_from_slice(format!("nearkin: {dropped} lines dropped\n").as_bytes());
            }
            // If stderr is closed, there is nowhere left to report to.
            let _ = io::stderr().write_all(&bytes);
            if has_ended && bytes.is_empty() {
                return;
            }
            bytes.clear();
        }
    }
}

impl AccessLog {
    /// Starts the thread that writes to stderr.
    pub(crate) fn start(format: LogFormat) -> io::Result<Self> {
        let lines = Arc::new(QueuedLines::default());
        let written = Arc::clone(&lines);
        let named = std::thread::Builder::new().name("access log".to_owned());
        let writer = named.spawn(move || written.write_all())?;
        Ok(Self { format, lines, writer })
    }

    /// Logs a request.
    pub(crate) fn log(&self, mut logged: Logged<'_>) {
        // Paths are ASCII, so any place is the end of a character.
        logged.path = logged.path.get(..PATH_BYTES_MAX).unwrap_or(logged.path);
        let line = match self.format {
            LogFormat::Json => serde_json::to_string(&logged).unwrap_or_default(),
            LogFormat::Text | LogFormat::Off => text(&logged),
        };
        self.say(&line);
    }

    /// Writes a line between those of requests, without waiting.
    pub(crate) fn say(&self, line: &str) {
        self.lines.push(line);
    }

    /// Waits until all lines are written, or for a short time if nobody reads them.
    pub(crate) fn finish(self) {
        self.lines.lock().has_ended = true;
        self.lines.some.notify_one();
        let end = Instant::now() + LAST;
        while !self.writer.is_finished() && Instant::now() < end {
            std::thread::sleep(TICK);
        }
    }
}

fn text(logged: &Logged<'_>) -> String {
    let Logged { time, peer, method, path, status, ms, bytes, id } = logged;
    let peer = peer.map_or_else(|| "-".to_owned(), |peer| peer.to_string());
    let bytes = bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string());
    format!("{time} {peer} {method} {path} {status} {ms:.1}ms {bytes}B {id}")
}

/// The present time in UTC, with milliseconds.
pub(crate) fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    let of_day = ms % time::DAY_MS;
    let (seconds, ms_left) = (of_day / 1_000, of_day % 1_000);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{}T{hour:02}:{minute:02}:{second:02}.{ms_left:03}Z", time::day(ms))
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
        assert_eq!(text(&logged), line);
        let now = now();
        assert!(now.len() == 24 && now.starts_with("20") && now.ends_with('Z'), "{now}");
    }
}
