//! Tests of the pure part: paths that must agree, known answers, and statistics.

mod naive;
mod paths;
mod statistics;
mod textbook_example;
mod vectors;
