//! A table that is printed while it is still being made.
//!
//! Knows columns and their widths, not what they mean.

use std::fmt::Write as _;

use crate::failure::Failure;
use crate::output::Output;

/// Rows that are held back to find how wide the columns are; later rows may stick out.
const ROWS_HELD_MAX: usize = 200;

/// A wider cell does not push all others to the right, only those of its own row.
const WIDTH_MAX: usize = 60;

/// A column's title, and whether its cells are numbers, which stand at the right.
pub(crate) type Column = (&'static str, Align);

/// The side at which a column's cells stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Prints nothing at all, not even titles, when there is no row.
pub(crate) struct Table<const N: usize> {
    columns: [Column; N],
    widths: [usize; N],
    held: Vec<[String; N]>,
    printing: bool,
}

impl<const N: usize> Table<N> {
    pub(crate) fn new(columns: [Column; N]) -> Self {
        let widths = columns.map(|(title, _)| title.len());
        Self { columns, widths, held: Vec::new(), printing: false }
    }

    pub(crate) fn row(&mut self, cells: [String; N], output: &mut Output) -> Result<(), Failure> {
        if self.printing {
            return self.print(&cells, output);
        }
        for (width, cell) in self.widths.iter_mut().zip(&cells) {
            let cell_width = cell.chars().count();
            if cell_width <= WIDTH_MAX {
                *width = cell_width.max(*width);
            }
        }
        self.held.push(cells);
        if self.held.len() == ROWS_HELD_MAX { self.release(output) } else { Ok(()) }
    }

    /// Prints what is still held back.
    pub(crate) fn finish(mut self, output: &mut Output) -> Result<(), Failure> {
        if self.printing || self.held.is_empty() { Ok(()) } else { self.release(output) }
    }

    fn release(&mut self, output: &mut Output) -> Result<(), Failure> {
        self.printing = true;
        self.print(&self.columns.map(|(title, _)| title.to_owned()), output)?;
        for cells in std::mem::take(&mut self.held) {
            self.print(&cells, output)?;
        }
        Ok(())
    }

    fn print(&self, cells: &[String; N], output: &mut Output) -> Result<(), Failure> {
        let mut line = String::new();
        for ((cell, width), (_, align)) in cells.iter().zip(self.widths).zip(self.columns) {
            if !line.is_empty() {
                line.push_str("  ");
            }
            let written = match align {
                Align::Left => write!(line, "{cell:<width$}"),
                Align::Right => write!(line, "{cell:>width$}"),
            };
            // A `String` takes everything.
            written.map_err(|error| Failure::new(error.to_string(), ""))?;
        }
        output.line(line.trim_end())
    }
}
