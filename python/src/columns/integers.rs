//! Columns of integers, and the lengths of columns.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::columns::column::{Rows, chunk_at};
use crate::error::InvalidError;

/// A column of 64-bit integers; a null is an error.
pub(crate) fn integers(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<i64>> {
    let rows = Rows::from_object(object, name)?;
    let null = |row| InvalidError::new_err(format!("{name}[{row}] is null"));
    let Rows::Arrow(chunks) = &rows else {
        return (0..rows.len()).map(|row| rows.object(row)?.extract()).collect();
    };
    if chunks.iter().any(|(_, chunk)| !chunk.is_of_integers()) {
        return Err(PyTypeError::new_err(format!("{name} must be integers")));
    }
    let integer = |row| {
        let number = chunk_at(chunks, row).and_then(|(chunk, row)| chunk.integer(row));
        let number = number.ok_or_else(|| null(row))?;
        i64::try_from(number)
            .map_err(|_| InvalidError::new_err(format!("{name}[{row}] needs more than 63 bits")))
    };
    (0..rows.len()).map(integer).collect()
}

/// Fails if a column has not as many values as there are rows.
pub(crate) fn check_rows(rows: usize, other: usize, name: &str) -> PyResult<()> {
    if rows == other {
        return Ok(());
    }
    Err(InvalidError::new_err(format!(
        "{name} must have one value per row: {rows} rows, but {other} values"
    )))
}
