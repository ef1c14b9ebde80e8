//! Options for what the machine has: memory, durability and how files are read. They hold for every
//! index that a command opens.

use std::sync::OnceLock;
use std::time::Duration;

use nearkin::Options;

use super::values;

/// Given by the user, for the whole process.
static GIVEN: OnceLock<MachineGiven> = OnceLock::new();

/// Least value of `--memory`: the program itself needs some, too.
const MEMORY_MIN: u64 = 16 << 20;

/// How indexes are opened
#[derive(Debug, Clone, Default, clap::Args)]
pub struct MachineGiven {
    /// Plan for this memory, such as 64M in a container of 128M: the index gets half of it,
    /// documents that are read and requests get parts [default: not limited] [env: NEARKIN_MEMORY]
    #[arg(long, global = true, value_name = "SIZE", help_heading = HEADING)]
    #[arg(value_parser = memory)]
    pub memory: Option<usize>,

    /// When a write survives a power loss: sync, before it is confirmed; os, when the system writes
    /// it; or N, at most N milliseconds later [default: sync]
    #[arg(long, global = true, value_name = "sync|os|N", help_heading = HEADING)]
    #[arg(value_parser = |text: &str| setting("durability", text))]
    durability: Option<String>,

    /// How segments are read: mmap, by memory maps; pread, by read calls, which leaves their memory
    /// to the page cache [default: mmap]
    #[arg(long, global = true, value_name = "mmap|pread", help_heading = HEADING)]
    #[arg(value_parser = |text: &str| setting("read_mode", text))]
    read_mode: Option<String>,

    /// Fail at once if another process writes to the index, instead of waiting up to 10 seconds
    #[arg(long, global = true, help_heading = HEADING)]
    no_wait: bool,
}

const PATIENCE: Duration = Duration::from_secs(10);

const HEADING: &str = "Memory and disk";

/// Parses `--memory`.
pub fn memory(text: &str) -> Result<usize, String> {
    match usize::try_from(values::bytes(text)?) {
        Ok(bytes) if bytes as u64 >= MEMORY_MIN => Ok(bytes),
        _ => Err("must be at least 16M".to_owned()),
    }
}

/// Checks the value of a setting of [`Options`].
fn setting(name: &str, text: &str) -> Result<String, String> {
    let checked = Options::from_settings([(name, text)]);
    checked.map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// Sets what the user gave; to be called before an index is opened.
pub fn set(given: MachineGiven) {
    // The first call counts; there is no other.
    let _ = GIVEN.set(given);
}

/// Options with which a command opens an index, unless it knows better.
pub fn options() -> Options {
    GIVEN.get().map_or_else(Options::default, MachineGiven::options)
}

/// How long a command waits for another process that writes to the index.
pub(crate) fn patience() -> Duration {
    let no_wait = GIVEN.get().is_some_and(|given| given.no_wait);
    if no_wait { Duration::ZERO } else { PATIENCE }
}

/// `most`, or one `inverse`th of the memory that the user allows if that is less.
pub fn memory_part(inverse: usize, most: usize) -> usize {
    let allowed = GIVEN.get().and_then(|given| given.memory);
    allowed.map_or(most, |bytes| most.min(bytes / inverse))
}

impl MachineGiven {
    fn options(&self) -> Options {
        let memory = self.memory.map(|bytes| (bytes / 2).to_string());
        let settings = [
            ("memory_bytes", memory.as_ref()),
            ("durability", self.durability.as_ref()),
            ("read_mode", self.read_mode.as_ref()),
        ];
        let given = settings.into_iter().filter_map(|(name, text)| Some((name, text?)));
        // Each was checked when it was parsed.
        Options::from_settings(given).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_machine_are_those_of_the_library() {
        let given = MachineGiven {
            memory: memory("64M").ok(),
            durability: setting("durability", "os").ok(),
            read_mode: setting("read_mode", "pread").ok(),
            no_wait: true,
        };
        let expected = "memory_bytes=33554432,durability=os,read_mode=pread";
        let expected: Options = expected.parse().unwrap();
        assert_eq!(format!("{:?}", given.options()), format!("{expected:?}"));
        assert!(memory("15M").is_err() && memory("a lot").is_err());
        assert!(setting("durability", "often").unwrap_err().contains("sync, os"));
    }
}
