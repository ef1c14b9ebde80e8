//! Calls of functions that may run any Python code: those of the caller.
//!
//! When the interpreter ends, CPython before 3.14 ends every other thread as soon as the thread
//! takes the interpreter lock, by unwinding its stack (`pthread_exit`). Rust frames cannot be
//! unwound that way: the process would abort. PyO3 guards the places where it takes the lock
//! itself; this module guards the calls in which Python code takes it.

use std::hint::black_box;
use std::ptr::null_mut;
use std::thread;

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyIterator, PyTuple};

/// Stops the thread for ever when it is dropped, as CPython 3.14 does with a thread that takes the
/// interpreter lock too late. Only such an unwinding drops it.
struct Hang;

impl Drop for Hang {
    fn drop(&mut self) {
        loop {
            thread::park();
        }
    }
}

type KnownCall = unsafe extern "C" fn(*mut PyObject, *mut PyObject, *mut PyObject) -> *mut PyObject;
/// `PyObject_Call`. It may unwind, and is called through a pointer: the compiler must not know the
/// function, whose usual declaration says that it cannot unwind.
type Call =
    unsafe extern "C-unwind" fn(*mut PyObject, *mut PyObject, *mut PyObject) -> *mut PyObject;
type KnownNext = unsafe extern "C" fn(*mut PyObject) -> *mut PyObject;
/// `PyIter_Next`, likewise.
type Next = unsafe extern "C-unwind" fn(*mut PyObject) -> *mut PyObject;

/// Calls a function of Python. If the interpreter ends meanwhile, this does not return.
#[expect(unsafe_code, reason = "a call of the C API that may unwind")]
pub(crate) fn call<'py, A>(
    function: &Bound<'py, PyAny>,
    arguments: A,
) -> PyResult<Bound<'py, PyAny>>
where
    A: IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>>,
    PyErr: From<A::Error>,
{
    let py = function.py();
    let arguments = arguments.into_pyobject(py)?;
    let known = black_box(ffi::PyObject_Call as KnownCall);
    // SAFETY: both types are of the same function, and of the same calling convention.
    let call = unsafe { std::mem::transmute::<KnownCall, Call>(known) };
    let guard = Hang;
    // SAFETY: the interpreter lock is held, and both objects are alive.
    let made = unsafe { call(function.as_ptr(), arguments.as_ptr(), null_mut()) };
    std::mem::forget(guard);
    // SAFETY: the call returned a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, made) }
}

/// Calls a method.
pub(crate) fn call_method<'py, A>(
    object: &Bound<'py, PyAny>,
    name: &str,
    arguments: A,
) -> PyResult<Bound<'py, PyAny>>
where
    A: IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>>,
    PyErr: From<A::Error>,
{
    call(&object.getattr(name)?, arguments)
}

/// Whether an object is true.
pub(crate) fn is_true(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    match object.cast::<PyBool>() {
        Ok(known) => Ok(known.is_true()),
        Err(_) => call(object.py().get_type::<PyBool>().as_any(), (object,))?.is_truthy(),
    }
}

/// The elements of an object that can be iterated over.
pub(crate) fn elements<'py>(object: &Bound<'py, PyAny>) -> PyResult<Elements<'py>> {
    let iter = object.py().import("builtins")?.getattr("iter")?;
    Ok(Elements(call(&iter, (object,))?.cast_into::<PyIterator>()?))
}

/// See [`elements`].
pub(crate) struct Elements<'py>(Bound<'py, PyIterator>);

impl<'py> Iterator for Elements<'py> {
    type Item = PyResult<Bound<'py, PyAny>>;

    #[expect(unsafe_code, reason = "a call of the C API that may unwind")]
    fn next(&mut self) -> Option<Self::Item> {
        let py = self.0.py();
        let known = black_box(ffi::PyIter_Next as KnownNext);
        // SAFETY: both types are of the same function, and of the same calling convention.
        let next = unsafe { std::mem::transmute::<KnownNext, Next>(known) };
        let guard = Hang;
        // SAFETY: the interpreter lock is held, and the iterator is alive.
        let made = unsafe { next(self.0.as_ptr()) };
        std::mem::forget(guard);
        // SAFETY: a new reference; or null at the end, or with an exception set.
        match unsafe { Bound::from_owned_ptr_or_opt(py, made) } {
            Some(element) => Some(Ok(element)),
            None => PyErr::take(py).map(Err),
        }
    }
}
