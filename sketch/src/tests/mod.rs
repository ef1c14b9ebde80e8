//! Tests of the pure part: paths that must agree, known answers, and statistics.

#[cfg(test)]
mod common;
#[cfg(test)]
mod definition;
#[cfg(test)]
mod fold;
mod naive;
#[cfg(test)]
mod options;
pub(crate) mod oracle;
#[cfg(test)]
mod paths;
#[cfg(test)]
mod processors;
#[cfg(test)]
mod repeats;
#[cfg(test)]
mod scripts;
#[cfg(test)]
mod sections;
#[cfg(test)]
mod statistics;
#[cfg(test)]
mod steps;
#[cfg(test)]
mod tables;
#[cfg(test)]
mod textbook_example;
#[cfg(test)]
mod unicode;
#[cfg(test)]
mod unicode_tables;
#[cfg(test)]
mod vectors;
#[cfg(test)]
mod vectors_lists;
