//! Tests of segments and dead files, on a real disk.
