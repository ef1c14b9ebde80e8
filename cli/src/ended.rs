//! How a command that worked ended.

/// How a command that worked ended: the process's exit status (2 is an error).
pub(crate) enum Ended {
    /// Done as asked; also when nothing matched.
    Well = 0,
    /// Done, and what was looked at is not as it should be: damage found, a key missing.
    Amiss = 1,
}
