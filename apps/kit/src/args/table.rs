//! Options for sets from table rows.

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::input::table_file::{self, Columns};
use nearkin_input::sets::Sets;
use nearkin_input::source::RowOptions;

/// Sets as rows of a table
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Sets as rows of a table")]
pub struct TableGiven {
    /// Read sets from a CSV file, which has one row per item of a set, in any order; `-` is stdin.
    /// A new index then has `--shingles items`
    ///
    /// Rows are sorted in blocks of 128 MiB, with temporary files.
    #[arg(long, value_name = "FILE", requires = "columns", conflicts_with = "jsonl")]
    pub transactions: Option<PathBuf>,

    /// Columns of the set's key and of the item: names from the first line, or numbers from 1; with
    /// numbers, the first line is data
    #[arg(long, value_name = "KEY,ITEM", requires = "transactions", value_parser = columns)]
    pub columns: Option<Columns>,

    /// With column numbers: skip the first line
    #[arg(long, requires = "transactions")]
    pub header: bool,

    /// Swap the columns: items become the keys of sets
    #[arg(long, requires = "transactions")]
    pub transpose: bool,
}

impl TableGiven {
    /// Groups the rows of the table into sets; also returns the number of unusable rows.
    pub fn sets(&self, path: &Path, options: &RowOptions) -> Result<(Sets, u64), Failure> {
        table_file::read(path, (self.columns.as_ref(), self.header, self.transpose), options)
    }
}

fn columns(text: &str) -> Result<Columns, String> {
    let wrong = || "must be two columns separated by a comma: user,film or 1,2".to_owned();
    let (key, item) = text.split_once(',').ok_or_else(wrong)?;
    if key.is_empty() || item.is_empty() || item.contains(',') {
        return Err(wrong());
    }
    match (key.parse::<usize>(), item.parse::<usize>()) {
        (Ok(0), _) | (_, Ok(0)) => Err("columns are counted from 1".to_owned()),
        (Ok(key), Ok(item)) => Ok(Columns::Places(key - 1, item - 1)),
        _ => Ok(Columns::Names(key.to_owned(), item.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_names_or_numbers() {
        let names = |key: &str, item: &str| Ok(Columns::Names(key.to_owned(), item.to_owned()));
        assert_eq!(columns("user,film"), names("user", "film"));
        assert_eq!(columns("1,film"), names("1", "film"));
        assert_eq!(columns("2,1"), Ok(Columns::Places(1, 0)));
        for wrong in ["", "a", "a,", ",b", "a,b,c", "0,1", "1,0"] {
            assert!(columns(wrong).is_err(), "{wrong}");
        }
    }
}
