//! The parser process: this program, started again to parse files. At worst, a malformed file
//! crashes this process, which holds no data.

use std::env;
use std::ffi::OsString;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::decode;
use super::decode::Decoded;
use super::format::{Format, refused};
use super::html;
use super::limits;
use super::mail;
use super::office;
use super::pdf;
use super::rtf;
use super::wire::{ParseRequest, QUOTED_KEPT, WORD, write_reply};
use crate::raw::Reason;

/// Stack of the parser thread; deeply nested documents need much. This only reserves address space:
/// memory is taken as it is used.
const STACK_BYTES: usize = 64 << 20;

/// If this process was started as a parser, parses files until the parent closes the pipe.
pub fn if_asked() -> Option<ExitCode> {
    let mut arguments = env::args_os().skip(1);
    if arguments.next()?.to_str() != Some(WORD) {
        return None;
    }
    let encoding = arguments.next()?;
    if let Some(encoding) = encoding.to_str().and_then(decode::by_label) {
        decode::force(encoding);
    }
    if arguments.next()? == QUOTED_KEPT {
        mail::keep_quoted();
    }
    Some(run(arguments.next(), PAUSE))
}

pub(super) fn run(pdf_command: Option<OsString>, pause: Duration) -> ExitCode {
    if let Some(command) = pdf_command {
        pdf::read_by(command);
    }
    if pdf::command().is_none() {
        // If this thread cannot be started, parsing works without it.
        let _ = thread::Builder::new().spawn(move || end_if_it_hangs(pause));
    }
    // Panic messages are not read by anyone, and there may not be enough memory to format one.
    panic::set_hook(Box::new(|_| ()));
    let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn(serve);
    // The parent notices any failure, because it gets no reply.
    match thread.map(thread::JoinHandle::join) {
        Ok(Ok(Ok(()))) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Whether a parser is running.
static AT_WORK: AtomicBool = AtomicBool::new(false);

/// The processor time is checked at intervals of `PAUSE`. After `PAUSES` intervals without any use
/// of the processor, a parser counts as deadlocked.
const PAUSE: Duration = Duration::from_secs(5);
const PAUSES: u32 = 12;

/// Aborts this process if a parser waits for something that never happens: limits on processor time
/// do not catch that. Even on a busy machine, a working parser gets some processor time every
/// minute. Not used with an external program (`--pdf-command`).
fn end_if_it_hangs(pause: Duration) {
    let (mut last, mut idle) = (None, 0);
    loop {
        thread::sleep(pause);
        let now = limits::processor_ms().filter(|_| AT_WORK.load(Ordering::Relaxed));
        idle = if now.is_some() && now == last { idle + 1 } else { 0 };
        last = now;
        if idle == PAUSES {
            std::process::abort();
        }
    }
}

fn serve() -> io::Result<()> {
    let mut requests = io::stdin().lock();
    let limit = |memory, seconds, length| limits::set(memory, seconds, length);
    while let Some(ParseRequest { format, bytes, .. }) = ParseRequest::read(&mut requests, limit)? {
        AT_WORK.store(true, Ordering::Relaxed);
        let read = panic::catch_unwind(AssertUnwindSafe(|| parse(format, bytes)));
        AT_WORK.store(false, Ordering::Relaxed);
        let reply = read.unwrap_or_else(|_| Err(panicked(format)));
        write_reply(&mut io::stdout().lock(), &reply)?;
    }
    Ok(())
}

fn panicked(format: Format) -> Reason {
    refused(format.name(), "its parser panicked")
}

/// Parses a file of any format. On malformed input, the parser may panic, hang or run out of
/// memory.
fn parse(format: Format, bytes: Vec<u8>) -> Result<Decoded, Reason> {
    match format {
        Format::Html => html::text(bytes),
        Format::Pdf => pdf::text(bytes).map(Decoded::exact),
        Format::Mail => mail::text(&bytes),
        Format::Office => office::text(bytes),
        Format::Rtf => rtf::text(bytes).map(Decoded::exact),
        Format::Plain | Format::Mailbox => Err(refused(format.name(), "no parser is needed")),
        #[cfg(test)]
        Format::Trial => trial(&bytes).map(Decoded::exact),
    }
}

/// Simulates parser failures, for tests.
#[cfg(test)]
fn trial(bytes: &[u8]) -> Result<String, Reason> {
    match bytes {
        b"burn" => loop {
            std::hint::black_box(0);
        },
        b"sleep" => thread::sleep(Duration::from_secs(60)),
        b"allocate" => drop(std::hint::black_box(vec![1_u8; 1 << 30])),
        b"panic" => panic!("on garbage"),
        b"abort" => std::process::abort(),
        b"print" => println!("an unknown glyph"),
        b"fail" => return Err(refused("X", "garbage")),
        _ => {}
    }
    Ok(format!("{} in {}", String::from_utf8_lossy(bytes), std::process::id()))
}
