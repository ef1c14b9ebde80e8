//! Placeholder for `serve` in builds without the server: running it is an error.

use crate::args::Serve;
use crate::ended::Ended;
use crate::failure::Failure;
use crate::output::Output;

pub(crate) fn run(args: &Serve, _: &mut Output) -> Result<Ended, Failure> {
    Err(Failure::new(
        format!("cannot serve {}: this build of nearkin has no server", args.index.display()),
        "build nearkin with the feature `serve`",
    ))
}
