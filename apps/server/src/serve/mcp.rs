//! `nearkin mcp`: the index as tools of the Model Context Protocol (revision 2025-06-18), over
//! standard input and output. Messages are JSON-RPC 2.0, a line each.

mod message;
mod tools;

use std::io::{self, BufRead, Read};
use std::time::Duration;

use message::{Answer, LineAnswer};
use nearkin_kit::args::machine;
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::opened;
use nearkin_kit::output::Output;

use super::http::access::Access;
use super::shared::{Limits, Shared};
use super::{open, originals};
use crate::args::mcp::Mcp;

/// Maximum length of a message.
const MESSAGE_BYTES_MAX: usize = 8 << 20;

/// How far a message that is too long is searched for its id.
const ID_BYTES_MAX: u64 = 64 << 20;

/// Maximum time of a call.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Runs the command: answers messages until the input ends. (A signal ends the process: what was
/// answered is safe.)
pub fn run(args: &Mcp, output: &mut Output) -> Result<Ended, Failure> {
    let index = open(&args.index, args.read_only, None)?;
    opened::check_of_documents(index.params(), "mcp")?;
    let body_bytes_max = machine::memory_part(16, MESSAGE_BYTES_MAX);
    let limits = Limits { body_bytes_max, requests_max: 1, timeout: TIMEOUT };
    let title = crate::report_page::name_of(&args.index);
    let originals = originals(&args.texts, &index)?;
    let mut shared = Shared::new(index, title, limits, Access::of_parent());
    shared.originals = originals;
    let answered = answer_all(&shared, &mut io::stdin().lock(), output);
    shared.index.close()?;
    answered?;
    Ok(Ended::Well)
}

fn answer_all(
    shared: &Shared,
    input: &mut impl BufRead,
    output: &mut Output,
) -> Result<(), Failure> {
    let unread = |error| Failure::new(format!("cannot read the standard input: {error}"), "");
    let most = shared.limits.body_bytes_max as u64;
    let mut line = Vec::new();
    loop {
        line.clear();
        input.by_ref().take(most + 1).read_until(b'\n', &mut line).map_err(unread)?;
        let answer = match line.last() {
            None => return Ok(()),
            Some(last) if *last != b'\n' && line.len() as u64 > most => {
                let mut rest = RestOfLine { input: &mut *input, has_ended: false };
                let id = message::id_of(line.as_slice().chain(rest.by_ref().take(ID_BYTES_MAX)));
                io::copy(&mut rest, &mut io::sink()).map_err(unread)?;
                let why = format!("a message has more than {most} bytes: send a part of the text");
                Some(LineAnswer::One(Answer::not_read(id, why)))
            }
            Some(_) => message::answer(shared, &line),
        };
        if let Some(answer) = answer {
            output.object(&answer)?;
            output.flush()?;
        }
    }
}

/// What is left of a line, with its end.
struct RestOfLine<'a, R> {
    input: &'a mut R,
    has_ended: bool,
}

impl<R: BufRead> Read for RestOfLine<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.has_ended {
            return Ok(0);
        }
        let held = self.input.fill_buf()?;
        let most = held.len().min(out.len());
        let end = held[..most].iter().position(|byte| *byte == b'\n');
        let count = end.map_or(most, |at| at + 1);
        out[..count].copy_from_slice(&held[..count]);
        self.input.consume(count);
        self.has_ended = end.is_some() || count == 0;
        Ok(count)
    }
}
