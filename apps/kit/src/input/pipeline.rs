//! A pipeline of reader, workers and sink, in bounded memory and in input order.
//!
//! It moves chunks of documents and does not know what the work or the sink does.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, ScopedJoinHandle};

use bytes::Bytes;
use rayon::prelude::*;

use super::documents::{Input, Position};
use super::window::{Closing, Permit, Window};
use crate::args::machine;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::progress::Progress;
use crate::threads;
use nearkin_input::raw::{Origin, Raw};

/// A chunk ends when it reaches one of these limits (or a 64th of `--memory`). At most five chunks
/// exist at a time: one each in the reader and the sink, and three that are worked on or done. So
/// no core waits for the last document of a chunk, which may take long. [`Window`] allows fewer
/// chunks if documents are large.
const CHUNK_BYTES: usize = 4 << 20;
const CHUNK_DOCUMENTS: usize = 4_096;

/// The progress bar is updated after this many bytes, or when reading the next line may block.
const REPORTED_BYTES: usize = 64 << 10;

/// When the reader hands a chunk to the workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Only when it is full: the writes are few and large.
    Full,
    /// Also when reading the next line would block: an interactive client may wait for the answer
    /// before it sends the next line.
    Prompt,
}

/// Documents or their results, and the input position after them.
type Chunk<T> = (Vec<T>, Option<Position>);

/// A document in progress, and its permit unless it is small.
type Entered<'a> = (Raw, Option<Permit<'a>>);

/// Runs `work` on every document of `input`, on all cores, and passes the results to `sink` chunk
/// by chunk, in input order. If reading fails, `sink` still gets the documents read before; if
/// `sink` fails, reading stops. After a signal, reading and working stop; chunks that are worked on
/// already still go to `sink`, others are dropped.
pub fn run<T: Send>(
    input: &mut Input,
    pace: Pace,
    progress: &Progress,
    work: impl Fn(Raw) -> T + Sync,
    mut sink: impl FnMut(Vec<T>) -> Result<(), Failure> + Send,
) -> Result<(), Failure> {
    run_with_positions(input, pace, progress, work, |chunk, _| sink(chunk))
}

/// Like [`run`], but if the input is lines, `sink` also gets the input position after each chunk.
pub fn run_with_positions<T: Send>(
    input: &mut Input,
    pace: Pace,
    progress: &Progress,
    work: impl Fn(Raw) -> T + Sync,
    mut sink: impl FnMut(Vec<T>, Option<Position>) -> Result<(), Failure> + Send,
) -> Result<(), Failure> {
    threads::start_pool()?;
    let window = &Window::default();
    thread::scope(|scope| {
        let (to_work, chunks) = sync_channel::<Chunk<Entered<'_>>>(0);
        let (to_sink, results) = sync_channel::<ScopedJoinHandle<'_, Option<Chunk<T>>>>(1);
        let work = &work;
        let work = move |(raw, permit): Entered<'_>| {
            let done = (!interrupt::came()).then(|| work(raw));
            drop(permit);
            // After a signal, even a result may be wrong, because parsers were killed.
            done.filter(|_| !interrupt::came())
        };
        let worker = threads::scoped(scope, move || {
            let _closing = Closing(window);
            for (chunk, position) in chunks {
                interrupt::check()?;
                let work_on_all = move || {
                    let done: Option<Vec<T>> = chunk.into_par_iter().map(work).collect();
                    done.map(|done| (done, position))
                };
                if to_sink.send(threads::scoped(scope, work_on_all)?).is_err() {
                    break;
                }
            }
            Ok(())
        })?;
        let writer = threads::scoped(scope, move || {
            results.into_iter().try_for_each(|working| {
                let (chunk, position) = end(working).ok_or_else(Failure::interrupted)?;
                sink(chunk, position)
            })
        })?;
        let read = feed(input, pace, progress, (&to_work, window));
        // Closing the channels tells the other threads that the input has ended.
        drop(to_work);
        let sketched = end(worker);
        end(writer).and(read).and(sketched)
    })
}

/// Reads documents into chunks until the input ends or the receiver is gone.
fn feed<'a>(
    input: &mut Input,
    pace: Pace,
    progress: &Progress,
    (to_work, window): (&SyncSender<Chunk<Entered<'a>>>, &'a Window),
) -> Result<(), Failure> {
    let may_wait = input.may_wait();
    let chunk_bytes = machine::memory_part(64, CHUNK_BYTES);
    let mut chunk = Vec::new();
    let mut bytes = 0;
    let mut unreported = 0;
    loop {
        let next = input.next();
        // Checked before the document is used: after a signal, the last line of stdin may be
        // incomplete.
        interrupt::check()?;
        let raw = match next {
            Ok(Some(raw)) => raw,
            ended => {
                // Sending only fails if the sink has failed or a signal has stopped the worker.
                // That failure is reported when the threads are joined, so this one is not needed.
                let _ = to_work.send((chunk, input.before()));
                return ended.map(|_| ());
            }
        };
        let more = bytes_of(&raw);
        let would_wait = may_wait && input.would_wait();
        unreported += more;
        if unreported >= REPORTED_BYTES || would_wait {
            progress.reached(input.reached());
            unreported = 0;
        }
        // If the window is full, this blocks until documents leave it. The documents of this chunk
        // leave it only after the work on them, so send the chunk first.
        let mut sent = Ok(());
        let permit = window.enter(more, || {
            if !chunk.is_empty() {
                sent = to_work.send((std::mem::take(&mut chunk), input.before()));
                bytes = 0;
            }
        });
        bytes += more;
        chunk.push((raw, permit));
        if bytes >= chunk_bytes
            || chunk.len() >= CHUNK_DOCUMENTS
            || (pace == Pace::Prompt && would_wait)
        {
            sent = sent.and(to_work.send((std::mem::take(&mut chunk), input.position())));
            bytes = 0;
            // A document that is larger than the window has filled its chunk.
            window.wait_for_large();
        }
        if sent.is_err() {
            return Ok(());
        }
    }
}

fn bytes_of(raw: &Raw) -> usize {
    let name = match &raw.origin {
        Origin::File { name, .. } => 2 * name.len(),
        Origin::Line { .. } => 0,
        Origin::Set { key } => key.len(),
    };
    name + raw.body.as_ref().map_or(0, Bytes::len)
}

/// Joins a thread and propagates its panic.
fn end<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::progress::Unit;
    use nearkin_input::lines::Lines;
    use std::io::{self, Cursor, Read};

    fn numbers(count: usize) -> Input {
        let text = (0..count).map(|number| number.to_string() + "\n").collect::<String>();
        lines(Box::new(Cursor::new(text.into_bytes())))
    }

    fn lines(reader: Box<dyn Read>) -> Input {
        Input::from_lines(Lines::new("test", reader))
    }

    fn number(raw: Raw) -> usize {
        String::from_utf8(raw.body.unwrap().to_vec()).unwrap().parse().unwrap()
    }

    fn progress() -> Progress {
        Progress::start("testing", Unit::Bytes, None)
    }

    #[test]
    fn results_come_in_order_and_in_bounded_chunks() {
        let mut found = Vec::new();
        let sink = |chunk: Vec<usize>| {
            assert!(chunk.len() <= CHUNK_DOCUMENTS);
            found.extend(chunk);
            Ok(())
        };
        run(&mut numbers(20_000), Pace::Full, &progress(), number, sink).unwrap();
        assert!(found.into_iter().eq(0..20_000));
    }

    #[test]
    fn large_documents_make_small_chunks() {
        let line = "x".repeat(1 << 20) + "\n";
        let mut input = lines(Box::new(Cursor::new(line.repeat(20).into_bytes())));
        let mut largest = 0;
        let sink = |chunk: Vec<usize>| {
            largest = largest.max(chunk.into_iter().sum());
            Ok(())
        };
        let length = |raw: Raw| raw.body.unwrap().len();
        run(&mut input, Pace::Full, &progress(), length, sink).unwrap();
        assert!((1 << 20..=CHUNK_BYTES + (1 << 20)).contains(&largest), "{largest}");
    }

    #[test]
    fn a_failing_sink_ends_the_reading() {
        let sink = |_: Vec<usize>| Err(Failure::new("full", ""));
        let mut input = numbers(1_000_000);
        let failure = run(&mut input, Pace::Full, &progress(), number, sink).unwrap_err();
        assert_eq!(failure.to_string(), "error: full");
        assert!(input.next().unwrap().is_some(), "it was read to the end");
    }

    /// A reader that returns some lines and then fails.
    struct Failing(Cursor<Vec<u8>>);

    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::Error::other("the disk is gone")),
                read => Ok(read),
            }
        }
    }

    #[test]
    fn documents_before_a_failure_are_written() {
        let mut input = lines(Box::new(Failing(Cursor::new(b"0\n1\n2\n".to_vec()))));
        let mut found = Vec::new();
        let sink = |chunk: Vec<usize>| {
            found.extend(chunk);
            Ok(())
        };
        let failure = run(&mut input, Pace::Full, &progress(), number, sink).unwrap_err();
        assert_eq!(found, [0, 1, 2]);
        assert!(failure.to_string().contains("after line 3: the disk is gone"), "{failure}");
    }

    #[test]
    fn the_last_position_is_before_the_line_that_failed() {
        for text in [&b"0\n1\n\n2\n3"[..], b"0\n1\n\n2\n\xff\n4\n"] {
            let mut input = lines(Box::new(Failing(Cursor::new(text.to_vec()))));
            let mut last = None;
            let sink = |_: Vec<usize>, position| {
                last = position;
                Ok(())
            };
            run_with_positions(&mut input, Pace::Full, &progress(), number, sink).unwrap_err();
            // The next run continues here: behind the failed line, it would be lost.
            assert_eq!(last, Some(Position { file: 0, line: 4, byte: 7 }));
            assert_ne!(input.position(), input.before(), "nothing of the line was read");
        }
    }
}
