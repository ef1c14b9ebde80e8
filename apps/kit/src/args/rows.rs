//! Options for the rows of tables.

use nearkin_input::source::{Mark, RowOptions};

/// Rows of tables
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Rows of tables")]
pub struct RowsGiven {
    /// Delimiter between the cells of a table, a character or `tab`; a file whose name does not say
    /// what it is, and stdin, is then a table [default: tab for .tsv, | for .psv, else the one of
    /// , ; tab | that occurs most in the first line]
    #[arg(long, value_name = "C", value_parser = delimiter)]
    pub(crate) delimiter: Option<u8>,

    /// Quotation mark of cells, a character or `none` [default: "; in tables with tabs, `none` if
    /// the rows do not fit otherwise]
    #[arg(long, value_name = "C", value_parser = mark)]
    pub quote: Option<Mark>,

    /// Character before a quotation mark, delimiter or line end that is text, or `none` [default: a
    /// backslash before quotation marks, if the rows do not fit otherwise; doubled quotation marks
    /// are always read]
    #[arg(long, value_name = "C", value_parser = mark)]
    pub(crate) escape: Option<Mark>,
}

impl RowsGiven {
    /// How rows are read.
    pub fn options(&self, lenient: bool) -> RowOptions {
        let Self { delimiter, quote, escape } = *self;
        RowOptions { delimiter, quote, escape, lenient }
    }
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [one] if one.is_ascii() && *one != b'"' && *one != b'\n' && *one != b'\r' => Ok(*one),
        _ => Err("must be one ASCII character, or `tab`".to_owned()),
    }
}

fn mark(text: &str) -> Result<Mark, String> {
    match text.as_bytes() {
        b"none" => Ok(Mark::None),
        [one] if one.is_ascii() && *one != b'\n' && *one != b'\r' => Ok(Mark::Of(*one)),
        _ => Err("must be one ASCII character, or `none`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delimiter_is_one_character() {
        assert_eq!((delimiter(";"), delimiter("tab")), (Ok(b';'), Ok(b'\t')));
        assert!(delimiter("::").is_err() && delimiter("\"").is_err() && delimiter("").is_err());
        assert_eq!((mark("'"), mark("none")), (Ok(Mark::Of(b'\'')), Ok(Mark::None)));
        assert!(mark("''").is_err() && mark("\u{e9}").is_err());
    }
}
