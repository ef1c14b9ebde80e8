//! The exit status of a successful command.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::output;
use nearkin_input::raw::Skipped;

/// Whether a file that the command read beside its input was damaged.
static IS_DAMAGED: AtomicBool = AtomicBool::new(false);

/// Names a damaged file, and makes the command end with [`Ended::Skipped`].
pub(crate) fn note_damaged(file: &Skipped) {
    output::note(file);
    IS_DAMAGED.store(true, Ordering::Relaxed);
}

/// The exit status of a successful command (errors have status 2).
pub enum Ended {
    /// Success, also if nothing matched.
    Well = 0,
    /// The command ran, but found damage or a missing key.
    Amiss = 1,
    /// The command ran, but skipped lines that it could not read, and `--lenient` was not given; or
    /// a file was damaged, and only its beginning was read; or it left files of a plan.
    Skipped = 3,
}

impl Ended {
    /// The status of the whole command: files that were read beside its input count, too.
    #[must_use]
    pub fn with_damage(self) -> Self {
        match self {
            Self::Well if IS_DAMAGED.load(Ordering::Relaxed) => Self::Skipped,
            ended => ended,
        }
    }
}
