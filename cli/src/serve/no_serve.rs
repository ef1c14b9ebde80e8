//! The server, where the tool was built without it: says so.

use crate::args::Serve;
use crate::ended::Ended;
use crate::failure::Failure;
use crate::output::Output;

pub(crate) fn run(args: &Serve, _: &mut Output) -> Result<Ended, Failure> {
    Err(Failure::new(
        format!(
            "{} is not served: this nearkin was built without the server",
            args.index.display()
        ),
        "build it with the feature `serve`",
    ))
}
