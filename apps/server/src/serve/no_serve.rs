//! Placeholder for `serve` in builds without the server: running it is an error.

use crate::args::serve::Serve;
use nearkin_input::FULL_BUILD;
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::output::Output;

/// Fails: this build has no server.
pub fn run(args: &Serve, _: &mut Output) -> Result<Ended, Failure> {
    Err(Failure::new(
        format!("cannot serve {}: this build of nearkin has no server", args.index.display()),
        format!("in a clone of nearkin: `{FULL_BUILD}`"),
    ))
}
