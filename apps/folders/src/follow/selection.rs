//! Which files a scan takes, besides the rules of ignore files.

use std::path::Path;

use ignore::overrides::{Override, OverrideBuilder};

use nearkin_kit::failure::Failure;

/// The files that `nearkin dups` looks at.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    /// Whether names that begin with a dot are included.
    pub hidden: bool,
    /// Patterns of files and folders to leave out, in the syntax of .gitignore.
    pub(crate) exclude: Vec<String>,
    /// Smaller files are left out.
    pub(crate) bytes_min: u64,
    /// Whether folders on another file system are left out.
    pub(crate) one_file_system: bool,
}

impl Selection {
    /// The patterns for a folder; `None` if there are none.
    pub(crate) fn excluded(&self, folder: &Path) -> Result<Option<Override>, Failure> {
        if self.exclude.is_empty() {
            return Ok(None);
        }
        let mut builder = OverrideBuilder::new(folder);
        for glob in &self.exclude {
            add(&mut builder, glob)?;
        }
        builder.build().map(Some).map_err(|error| Failure::new(error.to_string(), ADVICE))
    }

    /// Everything that a scan depends on, as bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![u8::from(self.hidden), u8::from(self.one_file_system)];
        bytes.extend(self.bytes_min.to_le_bytes());
        for glob in &self.exclude {
            bytes.extend((glob.len() as u64).to_le_bytes());
            bytes.extend(glob.as_bytes());
        }
        bytes
    }
}

const ADVICE: &str = "use the syntax of .gitignore: '*.bak', 'node_modules', '/tmp'";

fn add(builder: &mut OverrideBuilder, glob: &str) -> Result<(), Failure> {
    // The builder takes patterns of files to include; `!` inverts that.
    let added = builder.add(&format!("!{glob}"));
    added.map(|_| ()).map_err(|error| Failure::new(format!("--exclude {glob}: {error}"), ADVICE))
}
