//! The command-line tool `nearkin`: runs one command and turns its result into an exit status.
//!
//! This module knows no details of any command, and prints only through `output`.

mod add;
mod added;
mod admit;
mod allocator;
mod args;
mod base64;
mod checkpoint;
mod clusters;
mod content;
mod copies;
mod decode;
mod dedup;
mod doubts;
mod dups;
mod ended;
mod exchange;
mod failure;
mod fields;
mod files;
mod guess;
mod input;
mod interrupt;
mod lines;
mod maintain;
mod manual;
mod mirror;
mod on_disk;
mod opened;
mod originals;
mod output;
mod pairs;
mod params_args;
mod passages;
mod pipeline;
mod progress;
mod query;
mod quoted;
mod raw;
mod records;
mod remove;
mod repetitive;
mod report;
mod resume;
mod row_count;
mod scratch;
#[cfg(feature = "serve")]
mod serve;
#[cfg(not(feature = "serve"))]
#[path = "serve/no_serve.rs"]
mod serve;
mod sets;
mod shards;
mod skips;
mod sniff;
mod source;
mod table;
mod table_file;
mod texts;
mod threads;
mod time;
mod transfer;
mod tune;
mod web;
mod window;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use ended::Ended;
use failure::Failure;
use opened::leaving_nothing;
use output::Output;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if let Some(ended) = texts::if_asked() {
        return ended;
    }
    let args = Args::parse();
    if matches!(args.command, Command::Mirror(_) | Command::Dups(_)) {
        allocator::give_back_at_once();
    }
    if let Some(command) = args.pdf_command {
        texts::read_pdf_by(command);
    }
    if let Some(encoding) = args.encoding {
        decode::force(encoding);
    }
    output::set_level(args.quiet, args.verbose);
    let mut output = Output::new(args.json);
    let ended = run(args.command, &mut output).and_then(|ended| {
        output.flush()?;
        Ok(ended)
    });
    doubts::tell();
    match ended {
        Ok(ended) => ExitCode::from(ended as u8),
        // The reader of our output has closed the pipe, as `nearkin pairs | head` does.
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            let status = if failure.is_interruption() { interrupt::STATUS } else { 2 };
            // Results found before the failure are printed before its message. If even that fails,
            // the message is still more useful than an error about printing.
            let _ = output.flush();
            output::error(&failure);
            ExitCode::from(status)
        }
    }
}

fn run(command: Command, output: &mut Output) -> Result<Ended, Failure> {
    match command {
        Command::Create(args) => maintain::create(&args, output),
        Command::Add(args) => leaving_nothing(&args.index, || add::run(&args, output)),
        Command::Admit(args) => leaving_nothing(&args.index, || admit::run(&args, output)),
        Command::Mirror(args) => leaving_nothing(&args.index, || mirror::run(&args, output)),
        Command::Dedup(args) => dedup::run(&args, output),
        Command::Dups(args) => dups::run(&args, output),
        Command::Query(args) => query::run(args, output),
        Command::Remove(args) => remove::run(args, output),
        Command::Pairs(args) => pairs::pairs(&args, output),
        Command::Clusters(args) => clusters::run(&args, output),
        Command::Report(args) => report::run(&args, output),
        Command::Stats(args) => maintain::stats(&args, output),
        Command::Verify(args) => maintain::verify(&args, output),
        Command::Compact(args) => maintain::compact(&args, output),
        Command::Backup(args) => copies::backup(&args, output),
        Command::Salvage(args) => copies::salvage(&args, output),
        Command::Export(args) => transfer::export(&args, output),
        Command::Import(args) => leaving_nothing(&args.index, || transfer::import(&args, output)),
        Command::Rebuild(args) => transfer::rebuild(&args, output),
        Command::Serve(args) => serve::run(&args, output),
        Command::Tune(args) => tune::run(&args, output),
        Command::Completions(args) => manual::completions(&args, output),
        Command::Man(args) => manual::man(&args, output),
    }
}
