//! The access log: a line on stderr for each request.
//!
//! A thread of its own writes the lines, so that no request waits for whatever reads them. If that
//! is too slow, lines are dropped and counted.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::args::serve::LogFormat;
use nearkin_kit::time;

/// Lines that wait to be written.
const WAITING_MAX: usize = 1 << 15;

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
    lines: SyncSender<String>,
    /// Number of lines dropped since the last write.
    dropped: Arc<AtomicU64>,
    writer: JoinHandle<()>,
}

/// Writes lines until the end.
fn write_all(lines: &Receiver<String>, dropped: &AtomicU64) {
    while let Ok(first) = lines.recv() {
        std::thread::sleep(COLLECTED);
        let mut text = first + "\n";
        for line in lines.try_iter() {
            text.extend([&line, "\n"]);
        }
        let dropped = dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            text.extend(["nearkin: ", &dropped.to_string(), " lines dropped\n"]);
        }
        // If stderr is closed, there is nowhere left to report to.
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

impl AccessLog {
    /// Starts the thread that writes to stderr.
    pub(crate) fn start(format: LogFormat) -> io::Result<Self> {
        let (lines, written) = sync_channel(WAITING_MAX);
        let dropped = Arc::<AtomicU64>::default();
        let counted = Arc::clone(&dropped);
        let named = std::thread::Builder::new().name("access log".to_owned());
        let writer = named.spawn(move || write_all(&written, &counted))?;
        Ok(Self { format, lines, dropped, writer })
    }

    /// Logs a request.
    pub(crate) fn log(&self, mut logged: Logged<'_>) {
        // Paths are ASCII, so any place is the end of a character.
        logged.path = logged.path.get(..PATH_BYTES_MAX).unwrap_or(logged.path);
        let line = match self.format {
            LogFormat::Json => serde_json::to_string(&logged).unwrap_or_default(),
            LogFormat::Text | LogFormat::Off => text(&logged),
        };
        self.say(line);
    }

    /// Writes a line between those of requests, without waiting.
    pub(crate) fn say(&self, line: String) {
        if self.lines.try_send(line).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until all lines are written, or for a short time if nobody reads them.
    pub(crate) fn finish(self) {
        drop(self.lines);
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
