//! `nearkin.Table` and `nearkin.Stream`: results as columns, for pandas, polars, DuckDB and Arrow.

use std::sync::{Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::types::{Float64Type, Int64Type, TimestampMillisecondType};
use arrow_array::{Array, ArrayRef};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList, PyString, PyTuple};

use crate::arrow::ffi::{SCHEMA_NAME, STREAM_NAME, export};
use crate::arrow::{Batch, Builder, Cell, Field, Kind, schema_of};
use crate::called::call;
use crate::columns::keys::not_utf8;
use crate::error::{InvalidError, from_engine, message_of, raise, unlocked};
use crate::progress::{callback, report};

/// Columns of equal length, in memory. Any library that supports the Arrow PyCapsule interface
/// (pyarrow, polars, pandas, DuckDB) reads them without a copy; none of these libraries is
/// required.
#[pyclass(frozen, module = "nearkin")]
#[derive(Debug)]
pub(crate) struct Table {
    fields: Vec<Field>,
    batches: Vec<Batch>,
}

impl Table {
    pub(crate) fn new(fields: &[Field], batches: Vec<Batch>) -> Self {
        Self { fields: fields.to_vec(), batches }
    }

    /// A table of these rows.
    pub(crate) fn filled<'a, R: IntoIterator<Item = Cell<'a>>>(
        fields: &[Field],
        rows: impl IntoIterator<Item = R>,
    ) -> Self {
        let mut builder = Builder::new(fields);
        rows.into_iter().for_each(|row| builder.row(row));
        Self::new(fields, builder.finish())
    }

    fn rows(&self) -> usize {
        self.batches.iter().map(Batch::num_rows).sum()
    }

    fn column_list<'py>(&self, py: Python<'py>, number: usize) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for batch in &self.batches {
            let Some((column, field)) = batch.columns().get(number).zip(self.fields.get(number))
            else {
                continue;
            };
            for row in 0..batch.num_rows() {
                list.append(value(py, field.kind, column, row)?)?;
            }
        }
        Ok(list)
    }
}

/// A value as a Python object.
fn value<'py>(
    py: Python<'py>,
    kind: Kind,
    column: &ArrayRef,
    row: usize,
) -> PyResult<Bound<'py, PyAny>> {
    if column.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    Ok(match kind {
        Kind::Integer => {
            column.as_primitive::<Int64Type>().value(row).into_pyobject(py)?.into_any()
        }
        Kind::Time => {
            let times = column.as_primitive::<TimestampMillisecondType>();
            times.value(row).into_pyobject(py)?.into_any()
        }
        Kind::Float => {
            column.as_primitive::<Float64Type>().value(row).into_pyobject(py)?.into_any()
        }
        Kind::Bool => column.as_boolean().value(row).into_pyobject(py)?.to_owned().into_any(),
        Kind::Text => PyString::new(py, column.as_string::<i32>().value(row)).into_any(),
        Kind::Bytes => PyBytes::new(py, column.as_binary::<i32>().value(row)).into_any(),
    })
}

/// A capsule with the schema of a table.
fn schema_capsule<'py>(py: Python<'py>, fields: &[Field]) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(&*schema_of(fields));
    let schema = schema.map_err(|error| InvalidError::new_err(error.to_string()))?;
    PyCapsule::new_with_value(py, schema, SCHEMA_NAME)
}

#[pymethods]
impl Table {
    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<&str> {
        self.fields.iter().map(|field| &*field.name).collect()
    }

    fn __len__(&self) -> usize {
        self.rows()
    }

    /// A column as a list.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let number = self.fields.iter().position(|field| field.name == name);
        let number = number.ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        self.column_list(py, number)
    }

    /// All columns as lists.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (number, field) in self.fields.iter().enumerate() {
            all.set_item(&*field.name, self.column_list(py, number)?)?;
        }
        Ok(all)
    }

    /// The rows as tuples.
    #[pyo3(name = "rows")]
    fn rows_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.first(py, usize::MAX)
    }

    /// The first rows as tuples.
    #[pyo3(name = "_first")]
    fn first<'py>(&self, py: Python<'py>, count: usize) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        let rows = self
            .batches
            .iter()
            .flat_map(|batch| (0..batch.num_rows()).map(move |row| (batch, row)));
        for (batch, row) in rows.take(count) {
            let columns = self.fields.iter().zip(batch.columns());
            let values = columns.map(|(field, column)| value(py, field.kind, column, row));
            list.append(PyTuple::new(py, values.collect::<PyResult<Vec<_>>>()?)?)?;
        }
        Ok(list)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.rows_list(py)?.try_iter()?.into_any())
    }

    /// The Arrow PyCapsule interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.fields)
    }

    /// The Arrow PyCapsule interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let mut batches = self.batches.clone().into_iter();
        let stream = export(schema_of(&self.fields), Box::new(move || Ok(batches.next())));
        PyCapsule::new_with_value(py, stream, STREAM_NAME)
    }

    /// Converts the table to a ``pyarrow.Table``.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        converted(slf, "to_arrow")
    }

    /// Converts the table to a ``pandas.DataFrame``.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        converted(slf, "to_pandas")
    }

    /// Converts the table to a ``polars.DataFrame``.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        converted(slf, "to_polars")
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, PickledTable<'py>)> {
        let make = py.import("nearkin._nearkin")?.getattr("_table_of")?;
        let fields = self.fields.iter().map(|field| {
            let Field { name, kind, nullable } = field;
            (name.to_string(), kind.format().to_owned(), *nullable)
        });
        let columns = (0..self.fields.len()).map(|number| self.column_list(py, number));
        Ok((make, (fields.collect(), columns.collect::<PyResult<_>>()?)))
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        converted(slf, "to_text")
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        converted(slf, "to_html")
    }
}

/// What a pickled table consists of: the name, type and nullability of each column, and its values.
type PickledTable<'py> = (Vec<(String, String, bool)>, Vec<Bound<'py, PyList>>);

/// Makes a table of what `__reduce__` returned.
#[pyfunction]
pub(crate) fn _table_of(
    fields: Vec<(String, String, bool)>,
    columns: Vec<Bound<'_, PyList>>,
) -> PyResult<Table> {
    let kinds = [Kind::Integer, Kind::Float, Kind::Time, Kind::Bool, Kind::Text, Kind::Bytes];
    let rows = columns.first().map_or(0, PyListMethods::len);
    if columns.len() != fields.len() || columns.iter().any(|column| column.len() != rows) {
        return Err(InvalidError::new_err(
            "not a pickled table: its columns are of unequal length",
        ));
    }
    let fields = fields.into_iter().map(|(name, format, nullable)| {
        let kind = kinds.into_iter().find(|kind| kind.format() == format);
        let kind = kind.ok_or_else(|| {
            InvalidError::new_err(format!("not a pickled table: a column of the type {format:?}"))
        })?;
        Ok(Field { name: name.into(), kind, nullable })
    });
    let fields = fields.collect::<PyResult<Vec<_>>>()?;
    let mut builder = Builder::new(&fields);
    for row in 0..rows {
        let values = columns.iter().map(|column| column.get_item(row));
        let values = values.collect::<PyResult<Vec<_>>>()?;
        let cells = fields.iter().zip(&values).map(|(field, value)| {
            Ok(match field.kind {
                Kind::Integer | Kind::Time => Cell::Integer(value.extract()?),
                Kind::Float => Cell::Float(value.extract()?),
                Kind::Bool => Cell::Bool(value.extract()?),
                Kind::Text => Cell::Bytes(value.extract::<Option<&str>>()?.map(str::as_bytes)),
                Kind::Bytes => Cell::Bytes(value.extract()?),
            })
        });
        builder.row(cells.collect::<PyResult<Vec<_>>>()?);
    }
    Ok(Table::new(&fields, builder.finish()))
}

/// Converts the object with `nearkin._tables`.
pub(crate) fn converted<'py, T: pyo3::PyTypeInfo>(
    object: &Bound<'py, T>,
    how: &str,
) -> PyResult<Bound<'py, PyAny>> {
    call(&object.py().import("nearkin._tables")?.getattr(how)?, (object,))
}

/// The source of a stream's batches.
pub(crate) trait BatchSource: Send + 'static {
    fn fields(&self) -> Vec<Field>;
    /// The next rows; `None` at the end. At most a few thousand, so that signals are handled in
    /// time.
    fn next(&mut self) -> Result<Option<Batch>, Failed>;
}

/// A source of which one batch was read ahead.
struct Ahead {
    first: Option<Batch>,
    rest: Box<dyn BatchSource>,
}

impl Ahead {
    fn boxed(first: Batch, rest: Box<dyn BatchSource>) -> Box<dyn BatchSource> {
        Box::new(Self { first: Some(first), rest })
    }
}

impl BatchSource for Ahead {
    fn fields(&self) -> Vec<Field> {
        self.rest.fields()
    }

    fn next(&mut self) -> Result<Option<Batch>, Failed> {
        self.first.take().map_or_else(|| self.rest.next(), |batch| Ok(Some(batch)))
    }
}

/// Why a source failed.
pub(crate) enum Failed {
    Engine(nearkin::Error),
    /// This key is not UTF-8, but the column is text.
    Key(Vec<u8>),
    /// The thread of the source panicked.
    Thread,
}

impl From<nearkin::Error> for Failed {
    fn from(error: nearkin::Error) -> Self {
        Self::Engine(error)
    }
}

impl Failed {
    fn text(&self) -> String {
        match self {
            Self::Engine(error) => message_of(error),
            Self::Key(key) => not_utf8(key),
            Self::Thread => "a thread of nearkin panicked: please report this bug".to_owned(),
        }
    }

    pub(crate) fn into_py(self, py: Python<'_>) -> PyErr {
        match &self {
            Self::Engine(error) => from_engine(py, error),
            Self::Key(_) => raise(py, "InvalidError", &self.text()),
            Self::Thread => raise(py, "BugError", &self.text()),
        }
    }
}

/// Record batches, computed while they are read. They can be read only once. Iterate over a stream,
/// or pass it to a library that supports the Arrow PyCapsule interface.
#[pyclass(frozen, module = "nearkin")]
pub(crate) struct Stream {
    fields: Vec<Field>,
    source: Mutex<Option<Box<dyn BatchSource>>>,
}

impl Stream {
    pub(crate) fn new(source: Box<dyn BatchSource>) -> Self {
        Self { fields: source.fields(), source: Mutex::new(Some(source)) }
    }

    /// Takes the source out; `None` once the stream has been read to its end or handed over. Waits
    /// while another thread is reading.
    fn take(&self, py: Python<'_>) -> PyResult<Option<Box<dyn BatchSource>>> {
        unlocked(py, || self.source.lock().unwrap_or_else(PoisonError::into_inner).take())
    }

    /// The next batch; `None` at the end.
    fn pull(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        py.check_signals()?;
        let next = unlocked(py, || {
            let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
            let next = source.as_mut().map_or(Ok(None), |source| source.next());
            if !matches!(next, Ok(Some(_))) {
                *source = None;
            }
            next
        })?;
        next.map_err(|failed| failed.into_py(py))
    }
}

#[pymethods]
impl Stream {
    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<&str> {
        self.fields.iter().map(|field| &*field.name).collect()
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    /// The next batch, as a :class:`Table`.
    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Table>> {
        let batch = self.pull(py)?;
        Ok(batch.map(|batch| Table::new(&self.fields, vec![batch])))
    }

    /// All remaining rows, in memory. ``progress`` is told the number of rows; the total is not
    /// known.
    #[pyo3(signature = (*, progress=None))]
    fn read_all(&self, py: Python<'_>, progress: Option<Bound<'_, PyAny>>) -> PyResult<Table> {
        let progress = callback(py, progress, "rows")?;
        let (mut batches, mut rows) = (Vec::new(), 0);
        while let Some(batch) = self.pull(py)? {
            rows += batch.num_rows() as u64;
            batches.push(batch);
            report(py, progress.as_ref(), rows, 0)?;
        }
        Ok(Table::new(&self.fields, batches))
    }

    /// The Arrow PyCapsule interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.fields)
    }

    /// The Arrow PyCapsule interface: hands over the remaining batches.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let source = self.take(py)?;
        let mut source =
            source.ok_or_else(|| InvalidError::new_err("the stream was read already"))?;
        let next = move || source.next().map_err(|failed| failed.text());
        let stream = export(schema_of(&self.fields), Box::new(next));
        PyCapsule::new_with_value(py, stream, STREAM_NAME)
    }

    /// Converts the remaining rows to a ``pyarrow.Table``.
    fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        converted(&Bound::new(py, self.read_all(py, None)?)?, "to_arrow")
    }

    /// Converts the remaining rows to a ``pandas.DataFrame``.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        converted(&Bound::new(py, self.read_all(py, None)?)?, "to_pandas")
    }

    /// Converts the remaining rows to a ``polars.DataFrame``.
    fn to_polars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        converted(&Bound::new(py, self.read_all(py, None)?)?, "to_polars")
    }

    /// The first rows, which stay to be read.
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let first = self.pull(py)?;
        if let Some(batch) = &first {
            let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
            let rest = source.take();
            *source = rest.map(|rest| Ahead::boxed(batch.clone(), rest));
        }
        let table = Table::new(&self.fields, first.into_iter().collect());
        converted(&Bound::new(py, table)?, "stream_to_text")?.extract()
    }
}
