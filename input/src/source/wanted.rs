//! The columns that a command reads from tables and Parquet files.

use std::path::Path;

use crate::Error;

/// Maximum number of columns to list in a message.
const LISTED_MAX: usize = 20;

/// The columns that hold keys and content; several hold parts of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub(crate) key: String,
    pub(crate) content: Vec<String>,
    /// Whether the column of keys may be missing.
    pub is_key_optional: bool,
    /// Whether no other columns are read.
    pub only: bool,
    /// Whether rows of Parquet must be sound in all columns, read or not: they are copied later.
    pub is_for_copy: bool,
}

impl Wanted {
    /// Reads another column, too.
    #[must_use]
    pub fn and(mut self, name: &str) -> Self {
        self.content.push(name.to_owned());
        self
    }

    /// The places of the wanted columns among `there`; `None` if all columns are read. Fails if a
    /// column is missing, or if two have its name.
    pub(crate) fn places(
        &self,
        path: &Path,
        there: &[String],
    ) -> Result<Option<Vec<usize>>, Error> {
        let key = place(path, there, &self.key, self.is_key_optional)?;
        let mut places: Vec<usize> = key.into_iter().collect();
        for content in &self.content {
            places.extend(place(path, there, content, false)?);
        }
        places.sort_unstable();
        places.dedup();
        Ok(self.only.then_some(places))
    }
}

/// The place of a wanted column.
fn place(
    path: &Path,
    there: &[String],
    wanted: &str,
    is_optional: bool,
) -> Result<Option<usize>, Error> {
    let mut found = there.iter().enumerate().filter(|(_, name)| *name == wanted);
    let first = found.next();
    if found.next().is_some() {
        return Err(Error::new(
            format!("{} has two columns {wanted:?}", path.display()),
            "rename one of them",
        )
        .of_wrong_input());
    }
    match first {
        None if !is_optional => {
            let mut names: Vec<_> = there.iter().take(LISTED_MAX).map(String::as_str).collect();
            if there.len() > LISTED_MAX {
                names.push("...");
            }
            Err(Error::new(
                format!(
                    "{} has no column {wanted:?}: it has the fields {}",
                    path.display(),
                    names.join(", ")
                ),
                "name the columns: --key-field NAME --text-field NAME",
            )
            .of_wrong_input())
        }
        first => Ok(first.map(|(place, _)| place)),
    }
}
