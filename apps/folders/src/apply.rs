//! `nearkin apply`: carries out a plan, line by line, after looking at each file again.

mod act;
mod empty;
mod journal;
mod tally;
mod trash;
mod undo;

use std::path::Path;
use std::{env, fs, iter};

use crate::args::apply::Apply;
use crate::plan::RemovalPlan;
use act::{Actor, Outcome};
use journal::{Deed, Journal};
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::interrupt;
use nearkin_kit::output::progress::{Progress, Unit};
use nearkin_kit::output::{self, Output, counted};
use nearkin_kit::plan::{self, Fate, PlannedFile, name};
use tally::Tally;

/// Runs the command.
pub fn run(args: &Apply, output: &mut Output) -> Result<Ended, Failure> {
    interrupt::listen();
    let text = fs::read_to_string(&args.plan).map_err(|e| Failure::reading(&args.plan, &e))?;
    let mut plan = RemovalPlan::read(&text).ok_or_else(|| {
        let message = format!("{} is no plan that this version reads", args.plan.display());
        Failure::new(message, "`nearkin dups FOLDER --plan FILE` writes one")
    })?;
    find_relative(&mut plan, args)?;
    let mut journal = Journal::open(&args.plan)?;
    let journal_path = journal.path().display().to_string();
    let mut tally = Tally { journal: journal_path, ..Tally::default() };
    let done = undo::settle(&mut journal, &mut tally).and_then(|()| {
        if args.undo {
            undo::bring_back(&mut journal, &mut tally)
        } else {
            carry_out(args, &plan, &mut journal, &mut tally)
        }
    });
    done.and_then(|()| journal.sync())
        .map_err(|failure| failure.after(&tally.text("nothing was done")))?;
    report(args, &tally, output)?;
    Ok(if tally.stayed > 0 { Ended::Skipped } else { Ended::Well })
}

/// Takes relative paths, as the pages of `report` and `serve` write them, below the current folder.
/// Fails if no file of the plan is there: most likely the folder is another one.
fn find_relative(plan: &mut RemovalPlan, args: &Apply) -> Result<(), Failure> {
    let mut relative = plan.groups.iter_mut().flatten().filter(|file| !file.path.is_absolute());
    let Some(first) = relative.next() else { return Ok(()) };
    let here = env::current_dir().and_then(fs::canonicalize);
    let here = here.map_err(|error| Failure::reading(Path::new("."), &error))?;
    let mut is_any_there = false;
    for file in iter::once(first).chain(relative) {
        file.path = plan::below(&here, &file.path);
        is_any_there |= file.path.exists();
    }
    if is_any_there || args.undo {
        return Ok(());
    }
    let message = format!("no file of {} is in {}", args.plan.display(), here.display());
    Err(Failure::new(message, "change to the folder that the paths in the plan begin in"))
}

fn carry_out(
    args: &Apply,
    plan: &RemovalPlan,
    journal: &mut Journal,
    tally: &mut Tally,
) -> Result<(), Failure> {
    for line in &plan.wrong {
        tally.stayed += 1;
        let plan = args.plan.display();
        output::warn(format!("{plan}:{line}: not understood, and left out"));
    }
    let wanted = match (args.delete, args.link) {
        (true, _) => Deed::Delete,
        (_, true) => Deed::Link,
        _ => Deed::Trash,
    };
    let goes = |file: &&PlannedFile| file.fate != Fate::Keep;
    let all = plan.groups.iter().flatten().filter(goes);
    let bytes = all.fold(0_u64, |bytes, file| bytes.saturating_add(file.bytes));
    let progress = Progress::start("comparing", Unit::Bytes, Some(bytes));
    let mut actor = Actor::new(journal, args.any_owner, &progress);
    for group in &plan.groups {
        for file in group.iter().filter(goes) {
            interrupt::check()?;
            let deed = if file.fate == Fate::Link { Deed::Link } else { wanted };
            match actor.act(deed, file, group)? {
                Outcome::Done(bytes) => tally.add(deed, bytes),
                Outcome::Absent => tally.absent += 1,
                Outcome::Stays(why) => {
                    tally.stayed += 1;
                    let (plan, path) = (args.plan.display(), name::encode(&file.path));
                    progress.warn(format!("{plan}:{}: {path} stays: {why}", file.line));
                    actor.note_stays(deed, file, &why)?;
                }
            }
        }
    }
    if args.remove_empty { empty::remove(plan, journal, tally) } else { Ok(()) }
}

fn report(args: &Apply, tally: &Tally, output: &mut Output) -> Result<(), Failure> {
    if output.json() {
        output.object(tally)?;
    }
    output.flush()?;
    output::note(tally.text("nothing to do"));
    if tally.bytes_freed > 0 {
        output::note(format!("{} freed", output::bytes(tally.bytes_freed)));
    }
    if tally.trashed > 0 {
        let (files, bytes) = (counted(tally.trashed, "file"), output::bytes(tally.bytes_trashed));
        let plan = args.plan.display();
        output::note(format!(
            "{files} in the trash: {bytes} are freed when you empty it; `nearkin apply {plan} \
             --undo` brings all back"
        ));
    }
    Ok(())
}
