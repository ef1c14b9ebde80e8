//! Placeholder for `serve` in builds without the server: running it is an error.

use std::path::Path;

use crate::args::serve::Serve;
use nearkin_input::FULL_BUILD;
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::output::Output;

/// Fails: this build has no server.
pub fn run(args: &Serve, _: &mut Output) -> Result<Ended, Failure> {
    Err(none_for(&args.index))
}

fn none_for(index: &Path) -> Failure {
    Failure::new(
        format!("cannot serve {}: this build of nearkin has no server", index.display()),
        format!("in a clone of nearkin: `{FULL_BUILD}`"),
    )
}

/// Placeholder for `mcp`.
pub mod mcp {
    use super::{Ended, Failure, Output, none_for};
    use crate::args::mcp::Mcp;

    /// Fails: this build has no server.
    pub fn run(args: &Mcp, _: &mut Output) -> Result<Ended, Failure> {
        Err(none_for(&args.index))
    }
}
