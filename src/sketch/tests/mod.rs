//! Tests of the pure part: paths that must agree, known answers, and statistics.

mod naive;
pub(crate) mod oracle;
#[cfg(test)]
mod paths;
#[cfg(test)]
mod processors;
#[cfg(test)]
mod statistics;
#[cfg(test)]
mod steps;
#[cfg(test)]
mod textbook_example;
#[cfg(test)]
mod vectors;
