//! The commands, one file or folder each, and which of them runs.
//!
//! A command parses what it was given, calls the library, and prints. Those that are large have
//! packages of their own: `nearkin-folders` and `nearkin-server`.

mod add;
mod added;
mod admit;
mod clusters;
mod copied;
mod copies;
mod dedup;
mod exchange;
mod list;
mod maintain;
mod manual;
mod margin;
mod match_object;
mod pairs;
mod passages;
mod query;
mod remove;
mod resume;
mod transfer;
mod tune;

use crate::args::Command;
use nearkin_folders::{apply, dups, mirror};
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::opened::leaving_nothing;
use nearkin_kit::interrupt;
use nearkin_kit::output::Output;
use nearkin_server::{audit, report, serve};

/// Runs a command. `Ok` is the status of a command that did what it was asked to.
pub(crate) fn run(command: Command, output: &mut Output) -> Result<Ended, Failure> {
    use Command::{Get, List, Query, Stats, Tune};
    if matches!(command, Query(_) | List(_) | Get(_) | Stats(_) | Tune(_)) {
        interrupt::end_at_once("run the command again".to_owned());
    }
    match command {
        Command::Create(args) => maintain::create(&args, output),
        Command::Add(args) => leaving_nothing(&args.index, || add::run(&args, output)),
        Command::Admit(args) => leaving_nothing(&args.index, || admit::run(&args, output)),
        Command::Mirror(args) => leaving_nothing(&args.index, || mirror::run(&args, output)),
        Command::Dedup(args) => dedup::run(&args, output),
        Command::Audit(args) => audit::run(&args, output),
        Command::Dups(args) => dups::run(&args, output),
        Command::Apply(args) => apply::run(&args, output),
        Command::Query(args) => query::run(&args, output),
        Command::List(args) => list::list(&args, output),
        Command::Get(args) => list::get(&args, output),
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
        Command::Mcp(args) => serve::mcp::run(&args, output),
        Command::Tune(args) => tune::run(&args, output),
        Command::Completions(args) => manual::completions(&args, output),
        Command::Man(args) => manual::man(&args, output),
    }
}
