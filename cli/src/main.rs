//! The command-line tool `nearkin`: runs one command and turns its result into an exit status.
//!
//! This module knows no details of any command, and prints only through `output`.

mod allocator;
mod args;
mod commands;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use nearkin_input::formats::{self, decode};
use nearkin_input::source;
use nearkin_kit::args::machine;
use nearkin_kit::args::values::Quoted;
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::doubts;
use nearkin_kit::output::{self, Output};
use nearkin_kit::{interrupt, threads};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if let Some(ended) = formats::if_asked() {
        return ended;
    }
    let args = Args::try_parse().unwrap_or_else(|error| refused(&error));
    if matches!(args.command, Command::Mirror(_) | Command::Dups(_)) {
        allocator::give_back_at_once();
    }
    output::set_level(args.quiet, args.verbose);
    output::set_json_errors(args.json);
    let mut output = Output::new(args.json);
    // These print while they work: cut short, they leave something undone, or unsaid.
    let works = matches!(args.command, Command::Admit(_) | Command::Mirror(_) | Command::Verify(_));
    let ended = run(args, &mut output);
    doubts::report();
    if let Some(advice) = formats::faster_pdf() {
        output::note(advice);
    }
    match ended {
        Ok(ended) => ExitCode::from(ended.with_damage() as u8),
        // The reader of our output has closed the pipe, as `nearkin pairs | head` does.
        Err(failure) if failure.is_broken_pipe() && !works => ExitCode::SUCCESS,
        Err(failure) => {
            let status = if failure.is_interruption() { interrupt::STATUS } else { 2 };
            // Results found before the failure are printed before its message. If even that fails,
            // the message is still more useful than an error about printing.
            let _ = output.flush();
            let failure = if failure.is_broken_pipe() {
                failure.advise("the command ended before its work was done; run it again")
            } else {
                failure
            };
            output::failure(&failure);
            ExitCode::from(status)
        }
    }
}

fn run(args: Args, output: &mut Output) -> Result<Ended, Failure> {
    let Args { pdf_command, encoding, zstd_window, quoted, threads, machine, command, .. } =
        args.with_variables()?;
    if let Some(bytes) = machine.memory {
        formats::allow_memory(bytes as u64);
    }
    machine::set(machine);
    if let Some(command) = pdf_command {
        formats::read_pdf_by(command);
    }
    if let Some(encoding) = encoding {
        decode::force(encoding);
    }
    if let Some(bytes) = zstd_window {
        source::set_window_max(bytes);
    }
    if quoted == Some(Quoted::Keep) {
        formats::keep_quoted();
    }
    if let Some(threads) = threads {
        threads::limit(threads);
    }
    let ended = commands::run(command, output)?;
    output.flush()?;
    Ok(ended)
}

/// Ends the program: the arguments ask for the help or the version, or are refused.
fn refused(error: &clap::Error) -> ! {
    if error.use_stderr() && std::env::args_os().any(|argument| argument == "--json") {
        let text = error.render().to_string();
        let (message, advice) = text.trim_end().split_once("\n\n").unwrap_or((&text, ""));
        let message = message.strip_prefix("error: ").unwrap_or(message);
        output::set_json_errors(true);
        output::failure(&Failure::new(message, advice));
        std::process::exit(error.exit_code());
    }
    error.exit()
}
