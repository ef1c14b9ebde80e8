//! Placeholder for `--watch` in builds without it: using it is an error.

use super::pass::Mirroring;
use crate::args::mirror::Mirror;
use nearkin_input::FULL_BUILD;
use nearkin_kit::failure::Failure;
use nearkin_kit::output::Output;

pub(super) fn check(args: &Mirror) -> Result<(), Failure> {
    if args.watch { Err(missing()) } else { Ok(()) }
}

pub(super) fn watch(_: &mut Mirroring<'_>, _: &mut Output) -> Result<(), Failure> {
    Err(missing())
}

fn missing() -> Failure {
    Failure::new(
        "this build of nearkin has no --watch",
        format!("run the command periodically (cron), or in a clone of nearkin: `{FULL_BUILD}`"),
    )
}
