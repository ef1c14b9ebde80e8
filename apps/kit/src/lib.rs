//! What the commands of the tool `nearkin` share: options, opening an index, turning what was named
//! into documents and signatures, printing, signals. Made for that tool: it prints, and keeps the
//! verbosity for the whole process.

#![expect(
    clippy::missing_errors_doc,
    reason = "a failure is what a person reads: its message says why, its advice what to do"
)]
#![expect(clippy::should_implement_trait, reason = "what is read one by one can fail in between")]

pub mod args;
pub mod base64;
pub mod checkpoint;
pub mod ended;
pub mod failure;
pub mod file_state;
pub mod input;
pub mod interrupt;
pub mod output;
pub mod plan;
pub mod scratch;
pub mod target;
pub mod threads;
pub mod time;
