//! The exit status of a successful command.

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
