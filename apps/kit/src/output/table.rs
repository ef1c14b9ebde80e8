//! Prints a table row by row, before all rows are known.
//!
//! Not `comfy-table`: version 8.0.1 holds all rows until the last one is known (1.6 GB for a
//! million pairs), and wraps long cells over several lines, which `cut`, `sort` and `awk` cannot
//! read.
//!
//! This module knows columns and widths, not their meaning. On a terminal no row is wider than the
//! screen: long cells are shortened in the middle. In files and pipes everything is printed in
//! full.

use nearkin::Containment;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::failure::Failure;
use crate::output::Output;

/// The estimated containment, as a table cell.
pub fn contained(containment: Option<Containment>) -> String {
    containment.map_or_else(String::new, |containment| {
        format!("{:.2}+-{:.2}", containment.estimate, containment.standard_error)
    })
}

/// Number of rows that are buffered to determine the column widths. Later rows may be wider.
const ROWS_HELD_MAX: usize = 200;

/// Maximum column width if stdout is not a terminal. A wider cell shifts only its own row.
const WIDTH_MAX: usize = 60;

/// Cells are never shortened below this width.
const WIDTH_MIN: usize = 8;

/// Separator between columns.
const GAP: &str = "  ";

/// Replaces the omitted part of a cell.
const CUT: &str = "...";

/// A column's title, and the alignment of its cells.
pub(crate) type Column = (&'static str, Align);

/// Alignment of a column. Right-aligned cells (numbers) are never shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Left.
    Left,
    /// Right.
    Right,
}

/// A table of N columns, some of which may be hidden. Without rows it prints nothing, not even
/// titles.
pub struct Table<const N: usize> {
    columns: [Column; N],
    shown: [bool; N],
    /// The width of a hidden column is 0.
    widths: [usize; N],
    held: Vec<[String; N]>,
    printing: bool,
}

impl<const N: usize> Table<N> {
    /// A table with these columns.
    pub fn new(columns: [Column; N]) -> Self {
        Self::of_shown(columns.map(|column| (true, column)))
    }

    /// A table that shows only some of its columns. Its rows have cells for all columns.
    pub fn of_shown(columns: [(bool, Column); N]) -> Self {
        let widths = columns.map(|(shown, (title, _))| if shown { title.len() } else { 0 });
        let shown = columns.map(|(shown, _)| shown);
        let columns = columns.map(|(_, column)| column);
        Self { columns, shown, widths, held: Vec::new(), printing: false }
    }

    /// Prints a row, now or when the widths are known.
    pub fn row(&mut self, mut cells: [String; N], output: &mut Output) -> Result<(), Failure> {
        for (cell, _) in cells.iter_mut().zip(self.shown).filter(|(_, shown)| !shown) {
            cell.clear();
        }
        if self.printing {
            return self.print(&cells, output);
        }
        for (width, cell) in self.widths.iter_mut().zip(&cells) {
            let cell_width = match output.width() {
                Some(room) => cell.width().min(room),
                None if cell.width() > WIDTH_MAX => 0,
                None => cell.width(),
            };
            *width = cell_width.max(*width);
        }
        self.held.push(cells);
        if self.held.len() == ROWS_HELD_MAX { self.release(output) } else { Ok(()) }
    }

    /// Prints the buffered rows.
    pub fn finish(mut self, output: &mut Output) -> Result<(), Failure> {
        if self.printing || self.held.is_empty() { Ok(()) } else { self.release(output) }
    }

    fn release(&mut self, output: &mut Output) -> Result<(), Failure> {
        self.printing = true;
        self.widths = self.fitting(self.widths, output.width());
        let titles = self.columns.map(|(title, _)| title.to_owned());
        self.print(&titles, output)?;
        for cells in std::mem::take(&mut self.held) {
            self.print(&cells, output)?;
        }
        Ok(())
    }

    /// Column widths that fit the screen. The widest column that may be shortened is reduced first.
    fn fitting(&self, mut widths: [usize; N], room: Option<usize>) -> [usize; N] {
        let Some(room) = room else { return widths };
        let shown = self.shown.iter().filter(|shown| **shown).count();
        let gaps = GAP.len() * shown.saturating_sub(1);
        while widths.iter().sum::<usize>() + gaps > room {
            let columns = widths.iter_mut().zip(self.columns);
            let left = columns.filter(|(_, (_, align))| *align == Align::Left);
            match left.map(|(width, _)| width).max() {
                Some(width) if *width > WIDTH_MIN => *width -= 1,
                _ => break,
            }
        }
        widths
    }

    fn print(&self, cells: &[String; N], output: &mut Output) -> Result<(), Failure> {
        let mut widths = self.widths;
        for (at, cell) in self.cells(cells) {
            widths[at] = cell.width().max(widths[at]);
        }
        let room = self.fitting(widths, output.width());
        let mut line = String::new();
        let mut gap = "";
        for (at, cell) in self.cells(cells) {
            line.push_str(gap);
            gap = GAP;
            let cell = if cell.width() > room[at] { cut(cell, room[at]) } else { cell.to_owned() };
            let blanks = " ".repeat(self.widths[at].saturating_sub(cell.width()));
            match self.columns[at].1 {
                Align::Left => line.extend([cell, blanks]),
                Align::Right => line.extend([blanks, cell]),
            }
        }
        output.line(line.trim_end())
    }

    /// The cells of the columns that are shown, and their places.
    fn cells<'a>(&self, cells: &'a [String; N]) -> impl Iterator<Item = (usize, &'a str)> {
        let cells = cells.iter().map(String::as_str).enumerate();
        cells.zip(self.shown).filter(|(_, shown)| *shown).map(|(cell, _)| cell)
    }
}

/// Shortens a text to a display width by cutting out the middle, because names differ at both ends.
fn cut(text: &str, width: usize) -> String {
    let half = width.saturating_sub(CUT.len()) / 2;
    let mut used = 0;
    let fits = |used: &mut usize, most: usize, one: char| {
        *used += one.width().unwrap_or(0);
        *used <= most
    };
    let head: String = text.chars().take_while(|one| fits(&mut used, half, *one)).collect();
    let room = width.saturating_sub(CUT.len() + head.width());
    let mut used = 0;
    let tail: Vec<char> =
        text.chars().rev().take_while(|one| fits(&mut used, room, *one)).collect();
    // Skips combining marks at the beginning of the tail: without their letter, they would attach
    // to the last dot of `CUT`.
    let tail = tail.into_iter().rev().skip_while(|one| one.width() == Some(0));
    head + CUT + &tail.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table<3> {
        Table::new([("similarity", Align::Right), ("a", Align::Left), ("b", Align::Left)])
    }

    #[test]
    fn a_text_is_cut_in_the_middle() {
        assert_eq!(cut("docs/a/very/long/path.txt", 15), "docs/a...th.txt");
        assert_eq!(cut("docs/a/very/long/path.txt", 8), "do...txt");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        let wide = "\u{6f22}".repeat(20);
        assert_eq!(cut(&wide, 12).width(), 11, "half of one cannot be shown");
        assert_eq!(cut(&wide, 11).width(), 11);
        // A letter and its combining accent must stay together.
        let accents = "e\u{301}".repeat(20);
        for width in 8..20 {
            let cut = cut(&accents, width);
            assert!(cut.width() <= width && !cut.contains(".\u{301}"), "{cut}");
        }
    }

    #[test]
    fn the_widest_cells_give_way() {
        let table = table();
        assert_eq!(table.fitting([10, 50, 20], None), [10, 50, 20]);
        assert_eq!(table.fitting([10, 50, 20], Some(84)), [10, 50, 20]);
        assert_eq!(table.fitting([10, 50, 20], Some(60)), [10, 26, 20]);
        assert_eq!(table.fitting([10, 50, 20], Some(40)), [10, 13, 13]);
        assert_eq!(table.fitting([10, 50, 20], Some(9)), [10, 8, 8], "numbers are never cut");
        let (a, b, c) = (("a", Align::Left), ("b", Align::Left), ("c", Align::Left));
        let table = Table::of_shown([(true, a), (false, b), (true, c)]);
        assert_eq!(table.widths, [1, 0, 1]);
        assert_eq!(table.fitting([10, 0, 20], Some(32)), [10, 0, 20], "there is one gap");
        assert_eq!(table.fitting([10, 0, 20], Some(31)), [10, 0, 19]);
    }
}
