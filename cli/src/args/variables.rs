//! Environment variables that stand for options: an option counts more, an empty variable is none.

use std::env;

use super::Args;
use nearkin_kit::args::{machine, values};
use nearkin_kit::failure::Failure;

impl Args {
    /// Fills the options that were not given from their variables.
    pub(crate) fn with_variables(mut self) -> Result<Self, Failure> {
        self.threads = or_variable(self.threads, "NEARKIN_THREADS", values::threads)?;
        self.encoding = or_variable(self.encoding, "NEARKIN_ENCODING", values::encoding)?;
        self.quoted = or_variable(self.quoted, "NEARKIN_QUOTED", values::quoted)?;
        let memory = &mut self.machine.memory;
        *memory = or_variable(memory.take(), "NEARKIN_MEMORY", machine::memory)?;
        let command = env::var_os("NEARKIN_PDF_COMMAND").filter(|command| !command.is_empty());
        self.pdf_command = self.pdf_command.or(command);
        Ok(self)
    }
}

fn or_variable<T>(
    given: Option<T>,
    name: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, Failure> {
    let text = env::var_os(name).filter(|text| !text.is_empty());
    let (None, Some(text)) = (&given, text) else { return Ok(given) };
    let parsed = text.to_str().ok_or_else(|| "is not UTF-8".to_owned()).and_then(parse);
    let refused = |why| {
        let message = format!("the variable {name} is \"{}\": {why}", text.display());
        Failure::new(message, format!("set {name} to another value, or unset it"))
    };
    parsed.map(Some).map_err(refused)
}
