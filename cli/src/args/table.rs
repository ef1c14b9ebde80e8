//! Sets as the rows of a table.

use std::path::PathBuf;

/// Sets as rows of a table
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Sets as rows of a table")]
pub(crate) struct TableGiven {
    /// Read sets from the rows of a CSV file, a row for each item of a set, in any order; `-` is
    /// stdin. A new index then has `--shingles items`
    ///
    /// Rows are sorted, 128 MiB of them at a time, with the help of temporary files.
    #[arg(long, value_name = "FILE", requires = "columns", conflicts_with = "jsonl")]
    pub(crate) transactions: Option<PathBuf>,

    /// The column of the set's key and that of the item, by their names in the first line; or by
    /// their numbers from 1, and then the first line is a row like the others
    #[arg(long, value_name = "KEY,ITEM", requires = "transactions", value_parser = columns)]
    pub(crate) columns: Option<Columns>,

    /// With numbers for columns: pass over the first line
    #[arg(long, requires = "transactions")]
    pub(crate) header: bool,

    /// Exchange the two: items become the keys, and the sets they are in their items
    #[arg(long, requires = "transactions")]
    pub(crate) transpose: bool,

    /// What stands between cells, a character or `tab` [default: tab for .tsv, else a comma]
    #[arg(long, value_name = "C", requires = "transactions", value_parser = delimiter)]
    pub(crate) delimiter: Option<u8>,
}

/// Two columns of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Columns {
    Names(String, String),
    /// Counted from 0.
    Places(usize, usize),
}

fn columns(text: &str) -> Result<Columns, String> {
    let wrong = || "must be two columns with a comma between, as in user,film or 1,2".to_owned();
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

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [one] if *one != b'"' && *one != b'\n' && *one != b'\r' => Ok(*one),
        _ => Err("must be one ASCII character, or `tab`".to_owned()),
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

    #[test]
    fn a_delimiter_is_one_character() {
        assert_eq!((delimiter(";"), delimiter("tab")), (Ok(b';'), Ok(b'\t')));
        assert!(delimiter("::").is_err() && delimiter("\"").is_err() && delimiter("").is_err());
    }
}
